package transfer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/transfer"
)

// begin is the time at which test captures begin.
var begin = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

func started(thread, run string) string {
	return fmt.Sprintf(`{"type":"RUN_STARTED","threadId":%q,"runId":%q}`, thread, run)
}

func finished(thread, run string) string {
	return fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":%q,"runId":%q}`, thread, run)
}

func delta(i int) string {
	return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%d"}`, i)
}

// run returns the events of a run with n deltas.
func run(thread, id string, n int) []string {
	events := []string{started(thread, id)}
	for i := range n {
		events = append(events, delta(i))
	}
	return append(events, finished(thread, id))
}

// input returns a request.
func input(thread, id string) string {
	return fmt.Sprintf(`{"threadId":%q,"runId":%q,"messages":[],"tools":[]}`, thread, id)
}

// recording is a capture directory to write.
type recording struct {
	name    string
	kind    capture.Kind
	request string
	framing capture.Framing
	labels  map[string]string
	end     capture.End
}

// write writes a capture by a proxy, unless the recording says otherwise, of events in SSE.
// It returns its directory.
func (r recording) write(t testing.TB, events ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), r.name)
	s := capture.Settings{Source: capture.Source{Kind: capture.KindProxy}, Framing: capture.SSE, StartedAt: begin, Labels: r.labels, Tool: capture.Tool{Name: "test", Version: "1"}, Arrivals: true}
	if r.kind != "" {
		s.Source.Kind = r.kind
	}
	if r.framing != "" {
		s.Framing = r.framing
	}
	if r.request != "" {
		s.Request = []byte(r.request)
	}
	w, err := capture.Create(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		text := "data: " + e + "\n\n"
		if r.framing == capture.NDJSON {
			text = e
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	end := r.end
	if end == "" {
		end = capture.EndEOF
	}
	if _, err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	return dir
}

// plain writes events to a plain file and returns its path.
func plain(t testing.TB, events ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.ndjson")
	if err := os.WriteFile(path, []byte(strings.Join(events, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// mustImport imports a file, which must succeed, and returns the numbers of entries that
// were appended and that the log had before.
func mustImport(t testing.TB, log store.Log, path string, s transfer.ImportSettings) (appended, found int64) {
	t.Helper()
	row := transfer.Import(t.Context(), log, inputs.File(path), s)
	if row.Verdict != project.Written {
		t.Fatalf("%s: %s", path, show(row))
	}
	for _, p := range row.Parts {
		appended += p.Appended
		found += p.Found
	}
	return appended, found
}

// refused imports a file, which must be refused with a code, and nothing may be appended.
func refused(t testing.TB, log store.Log, path string, s transfer.ImportSettings, code finding.Code) transfer.Row {
	t.Helper()
	return withoutEntries(t, log, path, s, code, project.Refused)
}

// skipped checks that a capture has nothing to append.
func skipped(t testing.TB, log store.Log, path string, s transfer.ImportSettings, code finding.Code) transfer.Row {
	t.Helper()
	row := withoutEntries(t, log, path, s, code, project.Skipped)
	if finding.Failed(row.Findings) || !row.Nothing() {
		t.Errorf("%s: %s", path, show(row))
	}
	return row
}

func withoutEntries(t testing.TB, log store.Log, path string, s transfer.ImportSettings, code finding.Code, verdict project.Verdict) transfer.Row {
	t.Helper()
	before := dump(t, log)
	row := transfer.Import(t.Context(), log, inputs.File(path), s)
	if row.Verdict != verdict || !finding.Has(row.Findings, code) {
		t.Errorf("%s: %s, want %s and %s", path, show(row), verdict, code)
	}
	if after := dump(t, log); after != before {
		t.Errorf("%s was not appended and has changed the log:\n%s", path, after)
	}
	return row
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// entries returns the entries of a thread.
func entries(t testing.TB, log store.Log, key store.Key) (list []store.Entry) {
	t.Helper()
	for e, err := range log.Read(context.Background(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, *e)
	}
	return list
}

// thread returns a thread as text: an entry on each line.
func thread(t testing.TB, log store.Log, id string) string {
	t.Helper()
	return threadOf(t, log, store.Key{Thread: id})
}

func threadOf(t testing.TB, log store.Log, key store.Key) string {
	t.Helper()
	var b strings.Builder
	for _, e := range entries(t, log, key) {
		fmt.Fprintf(&b, "%d %s %s %s %s\n", e.Position, e.Stream, e.Kind, e.Arrived.Format(time.RFC3339Nano), e.Data)
	}
	return b.String()
}

// dump returns all threads as text.
func dump(t testing.TB, log store.Log) string {
	t.Helper()
	var b strings.Builder
	for th, err := range log.Threads(context.Background(), store.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%q %q\n%s", th.Tenant, th.Thread, threadOf(t, log, th.Key))
	}
	return b.String()
}

// newLog returns an empty log.
func newLog() store.Log { return memory.New() }
