package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/transfer"
)

// However a response ends, its capture has all that the agent sent and nothing else. Importing it
// into the log of the run appends nothing, and into another log the same events.
func TestCapturesOfEnds(t *testing.T) {
	t.Parallel()
	events := []string{started("t", "r"), step(1), finished("t", "r")}
	sse := func(list ...string) (text string) {
		for _, e := range list {
			text += "data: " + e + "\n\n"
		}
		return text
	}
	for _, test := range []struct {
		name, mediaType, sent string
		cut, cancel           bool
		maxBytes              int64
		events                int
		end                   capture.End
	}{
		{name: "complete", mediaType: "text/event-stream", sent: sse(events...), events: 3, end: capture.EndEOF},
		{name: "without an end of the run", mediaType: "text/event-stream", sent: sse(events[:2]...), events: 2, end: capture.EndEOF},
		{name: "of another thread", mediaType: "text/event-stream", sent: sse(started("other", "r"), step(1), finished("other", "r")), events: 3, end: capture.EndEOF},
		{name: "of a second thread", mediaType: "text/event-stream", sent: sse(append(events, started("other", "r2"), finished("other", "r2"))...), events: 5, end: capture.EndEOF},
		{name: "cut off", mediaType: "text/event-stream", sent: sse(events[:2]...) + "data: {", cut: true, events: 2, end: capture.EndError},
		{name: "cancelled", mediaType: "text/event-stream", sent: sse(events[:2]...), cancel: true, events: 2, end: capture.EndCancelled},
		{name: "lines", mediaType: "application/x-ndjson", sent: events[0] + "\n" + events[1] + "\n" + events[2], events: 3, end: capture.EndEOF},
		{name: "lines without an end of the run", mediaType: "application/x-ndjson", sent: events[0] + "\n" + events[1], events: 2, end: capture.EndEOF},
		{name: "lines that are cut off", mediaType: "application/x-ndjson", sent: events[0] + "\n" + events[1] + "\n", cut: true, events: 2, end: capture.EndError},
		{name: "limited", mediaType: "text/event-stream", sent: sse(events...), maxBytes: int64(len(sse(events[:2]...)) + 10), events: 2, end: capture.EndLimit},
		{name: "lines that are limited", mediaType: "application/x-ndjson", sent: events[0] + "\n" + events[1] + "\n" + events[2], maxBytes: int64(len(events[0]) + 10), events: 1, end: capture.EndLimit},
		{name: "lines that are cut off within one", mediaType: "application/x-ndjson", sent: events[0] + "\n" + events[1] + "\n{", cut: true, events: 2, end: capture.EndError},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			captures := t.TempDir()
			root, err := os.OpenRoot(captures)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			log, a := memory.New(), newAgent(t)
			p := start(t, log, a, serve.Settings{Exchanges: proxy.Settings{Captures: root, Tool: capture.Tool{Name: "p20export", Version: "0"}, MaxBytes: test.maxBytes}})
			answers := make(chan *answer, 1)
			go func() { answers <- p.post("/agents/a", input("t", "r")) }()
			c := a.next()
			c.do(func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", test.mediaType)
				io.WriteString(w, test.sent)
				w.(http.Flusher).Flush()
				if test.cut {
					conn, _, err := w.(http.Hijacker).Hijack()
					if err == nil {
						conn.Close()
					}
				}
			})
			switch {
			case test.cancel:
				(<-answers).events(test.events)
				p.post("/threads/t/runs/r/cancel", "").want(200, "cancelled")
			default:
				c.end()
				<-answers
			}
			p.ended(1)
			if err := p.server.Drain(context.Background()); err != nil {
				t.Error(err)
			}
			before := entries(t, log, "t")
			dirs, err := filepath.Glob(filepath.Join(captures, "*"))
			if err != nil || len(dirs) != 1 {
				t.Fatalf("captures: %q, %v", dirs, err)
			}
			row := transfer.Import(t.Context(), log, inputs.File(dirs[0]), transfer.ImportSettings{})
			if row.Verdict != project.Written || *row.End != test.end || len(row.Parts) != 1 || row.Parts[0].Appended != 0 || (row.Parts[0].Surplus != 0) != (test.maxBytes > 0) {
				t.Errorf("the import into the same log: %+v", row)
			}
			if diff := cmp.Diff(before, entries(t, log, "t")); diff != "" {
				t.Errorf("the import changed the log\n%s", diff)
			}
			other := memory.New()
			if row := transfer.Import(t.Context(), other, inputs.File(dirs[0]), transfer.ImportSettings{}); row.Verdict != project.Written {
				t.Fatalf("the import into another log: %+v", row)
			}
			want := fromAgent(t, log)
			if diff := cmp.Diff(want[:1+test.events], fromAgent(t, other)); diff != "" || test.maxBytes == 0 && len(want) != 1+test.events {
				t.Errorf("the capture has other events\n%s", diff)
			}
		})
	}
}

// fromAgent returns the request and the events of the agent, with their times.
func fromAgent(t *testing.T, log store.Log) (list []string) {
	t.Helper()
	for e, err := range log.Read(t.Context(), store.Key{Thread: "t"}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case store.Event:
			list = append(list, fmt.Sprint(e.Kind, e.Stream, e.Arrived, string(e.Data)))
		case store.Input:
			list = append(list, fmt.Sprint(e.Kind, e.Stream, string(e.Data)))
		}
	}
	return list
}
