package transfer_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

const closing = `{"type":"RUN_ERROR","message":"The process that ran the agent has ended.","code":"p20export.owner_lost"}`

// A pinned stream stays in its thread, and its entries are appended at once.
func TestStreamPinned(t *testing.T) {
	log, ctx := newLog(), t.Context()
	s := transfer.NewStream(log, transfer.StreamSettings{Tenant: "x", ID: "s", Thread: "t", Pinned: true})
	if got, want := fmt.Sprint(s.Parts()), "[{t 0 0 0 0 0}]"; got != want {
		t.Errorf("the parts are %s, want %s", got, want)
	}
	check := func(want int, err error) {
		t.Helper()
		if err == nil {
			err = s.Flush(ctx)
		}
		if n := len(entries(t, log, store.Key{Tenant: "x", Thread: "t"})); n != want || err != nil {
			t.Errorf("the thread has %d entries, want %d: %v", n, want, err)
		}
	}
	check(1, s.Input(ctx, []byte(input("q", "r")), begin))
	check(2, s.Event(ctx, []byte(delta(1)), begin))
	check(3, s.Event(ctx, []byte(started("other", "r")), begin))
	check(4, s.Event(ctx, []byte(started("third", "r2")), begin))
	check(5, s.Closing(ctx, []byte(closing), begin))
	check(6, s.End(ctx, capture.EndError, begin))
	list := entries(t, log, store.Key{Tenant: "x", Thread: "t"})
	if list[4].Kind != store.Closing || list[4].Type != "RUN_ERROR" || list[4].Run != 4 {
		t.Errorf("the fifth entry is %+v", list[4])
	}
	if got, want := fmt.Sprint(s.Parts()), "[{t 6 0 0 6 0}]"; got != want {
		t.Errorf("the parts are %s, want %s", got, want)
	}
}

// The import of a capture finds all events in a stream that the program closed, by the label of
// the capture.
func TestImportClosed(t *testing.T) {
	t.Run("with an error", func(t *testing.T) { importClosed(t, closing) })
	t.Run("in order", func(t *testing.T) {
		importClosed(t, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`, `{"type":"STEP_FINISHED","stepName":"s"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}`)
	})
}

func importClosed(t *testing.T, closings ...string) {
	const id = "serve:0123:1"
	last := int64(6 + len(closings)) // the end
	all := run("t", "r", 4)
	live := func(t *testing.T, end bool) store.Log {
		log, ctx := newLog(), t.Context()
		s := transfer.NewStream(log, transfer.StreamSettings{ID: id, Thread: "t", Pinned: true})
		err := s.Input(ctx, []byte(input("t", "r")), begin)
		for _, e := range all[:4] {
			err = errors.Join(err, s.Event(ctx, []byte(e), begin))
		}
		for _, e := range closings {
			err = errors.Join(err, s.Closing(ctx, []byte(e), begin))
		}
		err = errors.Join(err, s.Flush(ctx))
		if end {
			err = errors.Join(err, s.End(ctx, capture.EndError, begin))
		}
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	labels := map[string]string{capture.StreamLabel: id}
	recovered := map[string]string{capture.StreamLabel: id, capture.RecoveredFrom: "one"}
	for name, c := range map[string]struct {
		labels                   map[string]string
		end                      bool
		events                   int
		appended, found, surplus int64
	}{
		"ended":                {labels, true, 4, 0, 6, 0},
		"not ended":            {labels, false, 4, 1, 5, 0},
		"recovered":            {recovered, true, 4, 0, 6, 0},
		"recovered, fewer":     {recovered, true, 2, 0, 4, 2},
		"recovered, not ended": {recovered, false, 2, 1, 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			log := live(t, c.end)
			dir := recording{name: "one", request: input("t", "r"), labels: c.labels, end: capture.EndError}.write(t, all[:c.events]...)
			want := transfer.Part{Thread: "t", Appended: c.appended, Found: c.found, Surplus: c.surplus, Last: last}
			for range 2 {
				row := transfer.Import(t.Context(), log, inputs.File(dir), transfer.ImportSettings{})
				if row.Verdict != project.Written || *row.Stream != id || len(row.Parts) != 1 || row.Parts[0] != want {
					t.Errorf("%s, want %+v", show(row), want)
				}
				want.Appended, want.Found = 0, want.Found+want.Appended
			}
			if list := entries(t, log, store.Key{Thread: "t"}); len(list) != int(last) || list[last-1].Kind != store.End {
				t.Error(dump(t, log))
			}
			if s, err := transfer.Find(t.Context(), log, inputs.File(dir), transfer.ImportSettings{}); err != nil || !s.Ended || s.ID != id {
				t.Errorf("Find = %+v, %v", s, err)
			}
		})
	}
	t.Run("ended in another way", func(t *testing.T) {
		log := live(t, true)
		before := dump(t, log)
		for _, end := range []capture.End{capture.EndEOF, capture.EndCancelled} {
			dir := recording{name: "one", request: input("t", "r"), labels: labels, end: end}.write(t, all[:4]...)
			row := transfer.Import(t.Context(), log, inputs.File(dir), transfer.ImportSettings{})
			if want := (transfer.Part{Thread: "t", Found: 6, Last: last}); row.Verdict != project.Written || row.Parts[0] != want {
				t.Errorf("%s, want %+v", show(row), want)
			}
		}
		if after := dump(t, log); after != before {
			t.Errorf("the import has changed the log:\n%s", after)
		}
	})
	t.Run("not stored to its end", func(t *testing.T) {
		for _, end := range []capture.End{capture.EndStorage, capture.EndLimit} {
			log := live(t, true)
			before := dump(t, log)
			dir := recording{name: "one", request: input("t", "r"), labels: labels, end: end}.write(t, all[:2]...)
			row := transfer.Import(t.Context(), log, inputs.File(dir), transfer.ImportSettings{})
			if want := (transfer.Part{Thread: "t", Found: 4, Surplus: 2, Last: last}); row.Verdict != project.Written || !finding.Has(row.Findings, finding.LogHasMore) || row.Parts[0] != want {
				t.Errorf("%s, want %+v", show(row), want)
			}
			if after := dump(t, log); after != before {
				t.Errorf("the import has changed the log:\n%s", after)
			}
		}
	})
	t.Run("closed before the last events", func(t *testing.T) {
		for name, labels := range map[string]map[string]string{"one": labels, "one-recovered": recovered} {
			log := live(t, true)
			dir := recording{name: name, request: input("t", "r"), labels: labels, end: capture.EndError}.write(t, all...)
			refused(t, log, dir, transfer.ImportSettings{}, finding.LogStreamClosed)
			dir = recording{name: name, request: input("t", "r"), labels: labels, end: capture.EndError}.write(t, all[0], all[2])
			refused(t, log, dir, transfer.ImportSettings{}, finding.LogEntryDiffers)
			if list := entries(t, log, store.Key{Thread: "t"}); len(list) != int(last) {
				t.Error(dump(t, log))
			}
		}
	})
	t.Run("a label that cannot be an id", func(t *testing.T) {
		dir := recording{name: "one", labels: map[string]string{capture.StreamLabel: ""}}.write(t, all...)
		if row := transfer.Import(t.Context(), newLog(), inputs.File(dir), transfer.ImportSettings{}); *row.Stream != "one" {
			t.Error(show(row))
		}
	})
}

// When somebody else ends a stream, its writer appends nothing after that, also if its log
// fails, and learns why.
func TestStreamEnded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		log, ctx := newLog(), t.Context()
		gone := errors.New("gone")
		failing := &faulty{Log: log,
			before: func(int) error { return failAt(r, "before", gone) },
			after:  func(int) error { return failAt(r, "after", gone) },
		}
		key := store.Key{Thread: "t"}
		s := transfer.NewStream(failing, transfer.StreamSettings{ID: "s", Thread: "t", Pinned: true})
		ended := false
		for i := range rapid.IntRange(1, 30).Draw(r, "steps") {
			switch rapid.IntRange(0, 4).Draw(r, "step") {
			case 0:
				if last := int64(len(entries(t, log, key))); !ended && last > 0 {
					ended = true
					if _, err := log.Append(ctx, key, last, []store.Entry{
						{Stream: "s", Kind: store.Closing, Data: []byte(closing)}, {Stream: "s", Kind: store.End, Data: []byte("cancelled")},
					}); err != nil {
						r.Fatal(err)
					}
				}
			case 1, 2:
				if err := s.Event(ctx, []byte(delta(i)), begin); err != nil {
					r.Fatal(err)
				}
				fallthrough
			default:
				if err := s.Flush(ctx); err != nil && !errors.Is(err, gone) && !(ended && errors.Is(err, transfer.ErrEnded)) {
					r.Fatal(err)
				}
			}
		}
		if !ended {
			return
		}
		failing.before, failing.after = nil, nil
		before := dump(t, log)
		for range 2 {
			var differs *transfer.DifferenceError
			if err := s.End(ctx, capture.EndEOF, begin); !errors.Is(err, transfer.ErrEnded) || !errors.As(err, &differs) || differs.Position != int64(len(entries(t, log, key))) {
				r.Fatal(err)
			}
		}
		if after := dump(t, log); after != before {
			r.Fatalf("the writer appended after the end:\n%s", after)
		}
	})
}

// The import of a capture with the labels of a stream and its thread stays in this thread,
// whatever thread the events and the request name.
func TestImportPinned(t *testing.T) {
	const id = "serve:0123:1"
	all := append(run("other", "r", 2), run("third", "r2", 2)...)
	labels := map[string]string{capture.StreamLabel: id, capture.ThreadLabel: "t"}
	key := store.Key{Tenant: "x", Thread: "t"}
	settings := transfer.ImportSettings{Tenant: "x", Thread: "fallback"}
	dir := recording{name: "one", request: input("asked", "r"), labels: labels}.write(t, all...)
	find := func(log store.Log) store.Stream {
		t.Helper()
		s, err := transfer.Find(t.Context(), log, inputs.File(dir), settings)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	log, ctx := newLog(), t.Context()
	s := transfer.NewStream(log, transfer.StreamSettings{Tenant: "x", ID: id, Thread: "t", Pinned: true})
	err := s.Input(ctx, []byte(input("asked", "r")), begin)
	for _, e := range all {
		err = errors.Join(err, s.Event(ctx, []byte(e), begin))
	}
	if err = errors.Join(err, s.Flush(ctx)); err != nil {
		t.Fatal(err)
	}
	if s := find(log); s.ID != id || s.Ended || s.Entries != 9 {
		t.Errorf("Find = %+v", s)
	}
	if err := s.End(ctx, capture.EndEOF, begin); err != nil {
		t.Fatal(err)
	}
	if s := find(log); !s.Ended {
		t.Errorf("Find = %+v", s)
	}
	before := dump(t, log)
	row := transfer.Import(ctx, log, inputs.File(dir), settings)
	if want := (transfer.Part{Thread: "t", Found: 10, Last: 10}); row.Verdict != project.Written || len(row.Parts) != 1 || row.Parts[0] != want {
		t.Errorf("%s, want %+v", show(row), want)
	}
	if after := dump(t, log); after != before {
		t.Errorf("the import has changed the log:\n%s\nbefore:\n%s", after, before)
	}
	if row := transfer.Import(ctx, newLog(), inputs.File(dir), settings); row.Verdict != project.Written || len(row.Parts) != 1 || row.Parts[0].Thread != "t" || row.Parts[0].Appended != 10 {
		t.Errorf("into another log: %s", show(row))
	}

	// Without both labels, and in captures of others, the events name the thread.
	for name, r := range map[string]recording{
		"no stream":   {labels: map[string]string{capture.ThreadLabel: "t"}},
		"no thread":   {labels: map[string]string{capture.StreamLabel: id}},
		"empty":       {labels: map[string]string{capture.StreamLabel: id, capture.ThreadLabel: ""}},
		"by a client": {labels: labels, kind: capture.KindHTTP},
	} {
		r.name = "one"
		row := transfer.Import(ctx, newLog(), inputs.File(r.write(t, all...)), settings)
		if row.Verdict != project.Written || len(row.Parts) != 2 || row.Parts[0].Thread != "other" || row.Parts[1].Thread != "third" {
			t.Errorf("%s: %s", name, show(row))
		}
	}
	if e := entries(t, log, key); len(e) != 10 {
		t.Errorf("%d entries", len(e))
	}
}
