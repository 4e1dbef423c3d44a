package transfer_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

func TestImportCapture(t *testing.T) {
	log := newLog()
	dir := recording{name: "one", request: input("t", "r")}.write(t, run("t", "r", 1)...)
	if appended, found := mustImport(t, log, dir, transfer.ImportSettings{}); appended != 5 || found != 0 {
		t.Errorf("%d entries were appended and %d found", appended, found)
	}
	list := entries(t, log, store.Key{Thread: "t"})
	var got []string
	for _, e := range list {
		if e.Arrived.Before(begin) || e.Stream != "one" {
			t.Errorf("entry %d is of stream %q and arrived at %v", e.Position, e.Stream, e.Arrived)
		}
		got = append(got, string(e.Kind)+" "+string(e.Data))
	}
	want := []string{"input " + input("t", "r"), "event " + started("t", "r"), "event " + delta(0), "event " + finished("t", "r"), "end eof"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !list[0].Arrived.Equal(begin) {
		t.Errorf("the request arrived at %v", list[0].Arrived)
	}
}

// Importing a capture twice, or under another tenant, appends exactly what is missing.
func TestImportTwice(t *testing.T) {
	log := newLog()
	for _, path := range []string{
		recording{name: "one", request: input("t", "r")}.write(t, run("t", "r", 3)...),
		recording{name: "two", kind: capture.KindHTTP}.write(t, run("t", "r", 3)...),
		plain(t, run("t", "r", 3)...),
	} {
		appended, _ := mustImport(t, log, path, transfer.ImportSettings{})
		once := dump(t, log)
		again, found := mustImport(t, log, path, transfer.ImportSettings{})
		if again != 0 || found != appended || dump(t, log) != once {
			t.Errorf("%s: %d entries, then %d, and %d were found", path, appended, again, found)
		}
		if other, _ := mustImport(t, log, path, transfer.ImportSettings{Tenant: "b"}); other != appended {
			t.Errorf("%s: %d entries of another tenant, want %d", path, other, appended)
		}
		for _, tenant := range []string{"", "b"} {
			whole, err := transfer.Find(t.Context(), log, inputs.File(path), transfer.ImportSettings{Tenant: tenant})
			if want := !strings.HasSuffix(path, ".ndjson"); err != nil || want && !whole.Ended {
				t.Errorf("%s of %q is not complete: %v", path, tenant, err)
			}
		}
	}
	if a, b := thread(t, log, "t"), threadOf(t, log, store.Key{Tenant: "b", Thread: "t"}); a != b {
		t.Errorf("the tenants have\n%s\nand\n%s", a, b)
	}
}

func TestThreadOfStream(t *testing.T) {
	custom := `{"type":"CUSTOM","name":"n","value":0}`
	long := strings.Repeat("x", store.MaxIDBytes+1)
	for _, c := range []struct {
		name, request string
		events        []string
		settings      transfer.ImportSettings
		want          string // "" if nothing names the thread
	}{
		{"run", input("q", "r"), run("t", "r", 1), transfer.ImportSettings{Thread: "f"}, "t"},
		{"frames before the run", input("q", "r"), append([]string{custom, "no JSON"}, run("t", "r", 1)...), transfer.ImportSettings{}, "t"},
		{"escaped type", "", []string{`{"type":"\u0052UN_STARTED","threadId":"t","runId":"r"}`}, transfer.ImportSettings{}, "t"},
		{"no run", input("q", "r"), []string{custom}, transfer.ImportSettings{Thread: "f"}, "q"},
		{"no event", input("q", "r"), nil, transfer.ImportSettings{}, "q"},
		{"neither", `{"messages":[]}`, []string{custom}, transfer.ImportSettings{Thread: "f"}, "f"},
		{"nothing", `{"messages":[]}`, []string{custom}, transfer.ImportSettings{}, ""},
		{"only text", "", []string{`"RUN_STARTED"`, `{"type":"CUSTOM","name":"RUN_STARTED","threadId":"x"}`}, transfer.ImportSettings{Thread: "f"}, "f"},
		{"number", "", []string{`{"type":"RUN_STARTED","threadId":1,"runId":"r"}`}, transfer.ImportSettings{Thread: "f"}, "f"},
		{"empty", input("q", "r"), []string{started("", "r")}, transfer.ImportSettings{}, "q"},
		{"long", input(long, "r"), []string{started(long, "r")}, transfer.ImportSettings{Thread: "f"}, "f"},
		{"NUL", "", []string{`{"type":"RUN_STARTED","threadId":"a\u0000","runId":"r"}`, started("t", "r")}, transfer.ImportSettings{}, "t"},
		{"lone surrogate", "", []string{`{"type":"RUN_STARTED","threadId":"\ud800","runId":"r"}`, started("t", "r")}, transfer.ImportSettings{}, "t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := newLog()
			dir := recording{name: "one", request: c.request}.write(t, c.events...)
			if c.want == "" {
				if row := refused(t, log, dir, c.settings, finding.StreamThreadUnknown); !row.Nothing() {
					t.Error("there is something to append")
				}
				return
			}
			appended, _ := mustImport(t, log, dir, c.settings)
			if n := len(entries(t, log, store.Key{Thread: c.want})); n == 0 || int64(n) != appended {
				t.Errorf("thread %q has %d of %d entries:\n%s", c.want, n, appended, dump(t, log))
			}
			if whole, err := transfer.Find(t.Context(), log, inputs.File(dir), c.settings); !whole.Ended || err != nil {
				t.Errorf("complete: %v, %v", whole, err)
			}
		})
	}
}

// Find reads the request, which can be large, only if no event names the thread.
func TestFindWithoutRequest(t *testing.T) {
	for _, c := range []struct {
		event string
		whole bool
	}{{started("t", "r"), true}, {`{"type":"CUSTOM"}`, false}} {
		log := newLog()
		dir := recording{name: "one", request: input("t", "r")}.write(t, c.event)
		mustImport(t, log, dir, transfer.ImportSettings{})
		if err := os.WriteFile(filepath.Join(dir, capture.RequestName), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		whole, err := transfer.Find(t.Context(), log, inputs.File(dir), transfer.ImportSettings{})
		if whole.Ended != c.whole || (err == nil) != c.whole {
			t.Errorf("%s: %v, %v", c.event, whole, err)
		}
	}
}

// Runs of other threads continue the stream in these threads. It ends in all of them.
func TestRunsOfTwoThreads(t *testing.T) {
	var events []string
	for _, r := range []struct{ thread, id string }{{"a", "1"}, {"b", "2"}, {"b", "3"}, {"a", "4"}} {
		events = append(events, run(r.thread, r.id, 1)...)
	}
	log := newLog()
	dir := recording{name: "one", request: input("a", "1")}.write(t, events...)
	mustImport(t, log, dir, transfer.ImportSettings{})
	once := dump(t, log)
	for thread, want := range map[string]int{"a": 8, "b": 7} {
		list := entries(t, log, store.Key{Thread: thread})
		if len(list) != want || list[want-1].Kind != store.End {
			t.Errorf("thread %s has %d entries, want %d\n%s", thread, len(list), want, once)
		}
	}
	mustImport(t, log, dir, transfer.ImportSettings{})
	if dump(t, log) != once {
		t.Error("the second import has changed the log")
	}
}

// An entry of the log that differs from the capture is reported, and nothing is appended.
func TestDifference(t *testing.T) {
	for name, change := range map[string]func([]string) []string{
		"another event": func(e []string) []string { e[2] = delta(9); return e },
		"fewer events":  func(e []string) []string { return e[:len(e)-2] },
		"more events":   func(e []string) []string { return append(e, delta(8)) },
		"longer event":  func(e []string) []string { e[2] += " "; return e },
	} {
		t.Run(name, func(t *testing.T) {
			log := newLog()
			mustImport(t, log, recording{name: "one"}.write(t, run("t", "r", 3)...), transfer.ImportSettings{})
			refused(t, log, recording{name: "one"}.write(t, change(run("t", "r", 3))...), transfer.ImportSettings{}, finding.LogEntryDiffers)
		})
	}
}

// The log can have events that a crash has taken from the capture.
func TestRecovered(t *testing.T) {
	labels := map[string]string{capture.RecoveredFrom: "one"}
	all := run("t", "r", 5)
	live := func(t *testing.T) store.Log {
		log := newLog()
		s := transfer.NewStream(log, transfer.StreamSettings{ID: "one"})
		for _, e := range all {
			if err := s.Event(t.Context(), []byte(e), begin); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		return log
	}
	t.Run("fewer events", func(t *testing.T) {
		log := live(t)
		dir := recording{name: "one-recovered", labels: labels, end: capture.EndError}.write(t, all[:3]...)
		for range 2 {
			row := transfer.Import(t.Context(), log, inputs.File(dir), transfer.ImportSettings{})
			if row.Verdict != project.Written || !finding.Has(row.Findings, finding.LogHasMore) || row.Parts[0].Surplus != 4 {
				t.Fatal(show(row))
			}
		}
		list := entries(t, log, store.Key{Thread: "t"})
		if len(list) != 8 || string(list[7].Data) != "error" {
			t.Error(dump(t, log))
		}
	})
	t.Run("last event cut", func(t *testing.T) {
		log := live(t)
		r := recording{name: "one-recovered", labels: labels, framing: capture.NDJSON, end: capture.EndError}
		dir := r.write(t, all[0]+"\n", all[1]+"\n", all[2][:10])
		mustImport(t, log, dir, transfer.ImportSettings{})
		// An event that goes on in the log must be the last one of the capture.
		refused(t, live(t), r.write(t, all[0]+"\n", all[1][:10]+"\n", all[2]+"\n"), transfer.ImportSettings{}, finding.LogEntryDiffers)
	})
	t.Run("other capture", func(t *testing.T) {
		refused(t, live(t), recording{name: "one"}.write(t, all[:3]...), transfer.ImportSettings{}, finding.LogEntryDiffers)
		refused(t, live(t), recording{name: "x", labels: labels}.write(t, all[0], all[2]), transfer.ImportSettings{}, finding.LogEntryDiffers)
	})
}

// A damaged capture appends nothing.
func TestDamagedCapture(t *testing.T) {
	events := run("t", "r", 2000)
	write := func(t *testing.T, change func(dir string) error) string {
		dir := recording{name: "one", request: input("t", "r")}.write(t, events...)
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, c := range []struct {
		code   finding.Code
		change func(dir string) error
	}{
		{finding.DigestMismatch, func(dir string) error { return flip(filepath.Join(dir, "response.sse"), -5) }},
		{finding.DigestMismatch, func(dir string) error { return flip(filepath.Join(dir, "arrivals.tsv"), -5) }},
		{finding.DigestMismatch, func(dir string) error { return flip(filepath.Join(dir, "request.json"), 3) }},
		{finding.CaptureUnfinished, func(dir string) error { return os.Remove(filepath.Join(dir, "capture.json")) }},
		{finding.CaptureFileMissing, func(dir string) error { return os.Remove(filepath.Join(dir, "response.sse")) }},
	} {
		refused(t, newLog(), write(t, c.change), transfer.ImportSettings{}, c.code)
	}
	row := skipped(t, newLog(), recording{name: "opaque", framing: capture.Opaque}.write(t, "x"), transfer.ImportSettings{}, finding.FramingOpaque)
	if row.Findings[0].Hint != hint.ImportOpaque {
		t.Errorf("the next step is %s", row.Findings[0].Hint)
	}
	skipped(t, newLog(), recording{name: "empty"}.write(t), transfer.ImportSettings{}, finding.NoEvents)
	refused(t, newLog(), plain(t, `[1] 2`), transfer.ImportSettings{Thread: "t"}, finding.ArrayMalformed)
	large := plain(t, started("t", "r"), `"`+strings.Repeat("x", capture.MaxEventBytes)+`"`)
	refused(t, newLog(), large, transfer.ImportSettings{}, finding.EventTooLarge)
}

// flip changes a byte of a file.
func flip(path string, at int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 1
	return os.WriteFile(path, b, 0o644)
}

// A file that is changed during the import leaves its stream open.
func TestChangedDuringImport(t *testing.T) {
	path := plain(t, run("t", "r", 10000)...)
	log := &faulty{Log: newLog(), before: func(n int) error {
		if n == 1 {
			return flip(path, -50)
		}
		return nil
	}}
	row := transfer.Import(t.Context(), log, inputs.File(path), transfer.ImportSettings{})
	if row.Verdict != project.Refused || !finding.Has(row.Findings, finding.DigestMismatch) {
		t.Error(show(row))
	}
	list := entries(t, log, store.Key{Thread: "t"})
	if len(list) == 0 || list[len(list)-1].Kind == store.End {
		t.Errorf("there are %d entries", len(list))
	}
}

func TestMissingFile(t *testing.T) {
	row := transfer.Import(t.Context(), newLog(), inputs.File(filepath.Join(t.TempDir(), "none")), transfer.ImportSettings{})
	if row.Verdict != project.Failed || !finding.Has(row.Findings, finding.IOFailed) {
		t.Error(show(row))
	}
}

func TestRefusedIDs(t *testing.T) {
	path := plain(t, run("t", "r", 1)...)
	refused(t, newLog(), path, transfer.ImportSettings{Tenant: "\xff"}, finding.LogIDRefused)
	refused(t, newLog(), plain(t, delta(1)), transfer.ImportSettings{Thread: "\x00"}, finding.LogIDRefused)
	log := newLog()
	mustImport(t, log, path, transfer.ImportSettings{})
	if _, err := log.Delete(t.Context(), store.Key{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	refused(t, log, path, transfer.ImportSettings{}, finding.LogThreadDeleted)
}

// faulty is a log whose Append can fail, before or after it has appended.
type faulty struct {
	store.Log
	n             int // the number of calls of Append
	before, after func(n int) error
}

func (f *faulty) Append(ctx context.Context, key store.Key, after int64, list []store.Entry) (int64, error) {
	if f.n++; f.before != nil {
		if err := f.before(f.n); err != nil {
			return 0, err
		}
	}
	last, err := f.Log.Append(ctx, key, after, list)
	if err == nil && f.after != nil {
		err = f.after(f.n)
	}
	return last, err
}

// An import that stops at any append, also if that was done, is completed by the next one.
func TestInterruptedImport(t *testing.T) {
	var events []string
	for _, thread := range []string{"a", "b", "a"} {
		events = append(events, run(thread, "r", 2200)...)
	}
	path := recording{name: "one", request: input("a", "r")}.write(t, events...)
	whole := newLog()
	mustImport(t, whole, path, transfer.ImportSettings{})
	want := dump(t, whole)
	stop := errors.New("stop")
	for _, done := range []bool{false, true} {
		for at := 1; ; at++ {
			log := &faulty{Log: newLog()}
			fail := func(n int) error {
				if n == at {
					return stop
				}
				return nil
			}
			if log.before = fail; done {
				log.before, log.after = nil, fail
			}
			row := transfer.Import(t.Context(), log, inputs.File(path), transfer.ImportSettings{})
			if log.n < at {
				if row.Verdict != project.Written || at < 8 {
					t.Errorf("append %d: %s", at, show(row.Findings))
				}
				break
			}
			if row.Verdict != project.Failed || !strings.Contains(show(row.Findings), "stop") {
				t.Errorf("append %d: %s", at, show(row))
			}
			if c, err := transfer.Find(t.Context(), log, inputs.File(path), transfer.ImportSettings{}); err != nil || c.Ended && dump(t, log) != want {
				t.Errorf("append %d: complete: %v, %v", at, c, err)
			}
			mustImport(t, log, path, transfer.ImportSettings{})
			if got := dump(t, log); got != want {
				t.Fatalf("stopped at append %d (done: %v):\n%s", at, done, cmp.Diff(want, got))
			}
		}
	}
}

// Imports at the same time, also of the same capture, append each stream once.
func TestConcurrentImports(t *testing.T) {
	log := newLog()
	paths := []string{recording{name: "one"}.write(t, run("t", "1", 2000)...), recording{name: "two"}.write(t, run("t", "2", 2000)...)}
	var wg sync.WaitGroup
	for range 3 {
		for _, path := range paths {
			wg.Go(func() {
				row := transfer.Import(t.Context(), log, inputs.File(path), transfer.ImportSettings{})
				if row.Verdict != project.Written {
					t.Errorf("%s: %s", path, show(row))
				}
			})
		}
	}
	wg.Wait()
	streams := make(map[string][]string)
	for _, e := range entries(t, log, store.Key{Thread: "t"}) {
		streams[e.Stream] = append(streams[e.Stream], string(e.Data))
	}
	want := map[string][]string{"one": append(run("t", "1", 2000), "eof"), "two": append(run("t", "2", 2000), "eof")}
	if diff := cmp.Diff(want, streams); diff != "" {
		t.Error(diff)
	}
}

// Every committed capture whose thread is known can be imported, and its entries are its
// request and its frames.
func TestCommittedCaptures(t *testing.T) {
	paths, err := filepath.Glob("../../discovery/captures/*/*")
	if err != nil || len(paths) < 200 {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	imported := 0
	for _, path := range paths {
		log := newLog()
		row := transfer.Import(t.Context(), log, inputs.File(path), transfer.ImportSettings{})
		if row.Verdict != project.Written {
			if row.Verdict != project.Skipped && row.Verdict != project.Refused || !row.Nothing() {
				t.Errorf("%s: %s", path, show(row))
			}
			continue
		}
		imported++
		want, got := framesOf(t, path), []string(nil)
		for _, p := range row.Parts {
			for _, e := range entries(t, log, store.Key{Thread: p.Thread}) {
				if e.Kind == store.Event {
					got = append(got, string(e.Data))
				}
			}
		}
		if len(row.Parts) == 1 && !cmp.Equal(want, got) || len(want) != len(got) {
			t.Errorf("%s has %d events, and %d are in the log", path, len(want), len(got))
		}
		roundTrip(t, log)
	}
	if imported < 200 {
		t.Errorf("only %d captures were imported", imported)
	}
}

// framesOf returns the frames of a capture.
func framesOf(t *testing.T, path string) (list []string) {
	t.Helper()
	c, err := capture.Open(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		f, err := c.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(f.Data))
	}
}
