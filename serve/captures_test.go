package serve_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// A capture has what the agent sent, and nothing of ours. Importing it into the log finds all
// of it, however the run ended.
func TestCaptures(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	a := newAgent(t)
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	p := start(t, log, a, serve.Settings{Exchanges: proxy.Settings{Captures: root, Tool: capture.Tool{Name: "test", Version: "1"}}})
	c, answer := p.begin(a, "finished", "r")
	c.send(finished("finished", "r"))
	c.end()
	answer.event()
	c, answer = p.begin(a, "open", "r")
	c.send(step(1))
	c.end()
	answer.event()
	answer.wantClosing("upstream_ended")
	go func() { a.next().refuse(http.StatusTooManyRequests, "wait") }()
	p.post("/agents/a", input("refused", "r")).want(http.StatusTooManyRequests, "wait")
	_, answer = p.begin(a, "cancelled", "r")
	p.post("/threads/cancelled/runs/r/cancel", "").want(http.StatusOK, "")
	answer.wantClosing("cancelled")
	go func() {
		c := a.next()
		c.accept()
		c.send(`{"type":"RUN_ERROR","message":"no"}`)
		c.end()
	}()
	p.post("/agents/a", input("failed", "r")).want(http.StatusOK, `"no"`)
	p.ended(5)
	if err := p.server.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}

	before := map[string][]string{}
	for _, thread := range []string{"finished", "open", "refused", "cancelled", "failed"} {
		before[thread] = entries(t, log, thread)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 5 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		response, err := os.ReadFile(filepath.Join(name, capture.SSE.FileName()))
		if err == nil && strings.Contains(string(response), "p20export") {
			t.Errorf("%s has a closing", name)
		}
		row := transfer.Import(t.Context(), log, inputs.File(name), transfer.ImportSettings{})
		if row.Verdict != project.Written && !row.Nothing() {
			t.Errorf("%s: %+v", name, row)
		}
		for _, part := range row.Parts {
			if part.Appended != 0 {
				t.Errorf("%s: %+v", name, part)
			}
		}
	}
	for thread, want := range before {
		same(t, entries(t, log, thread), want)
	}
	for s, err := range log.Streams(t.Context(), store.StreamQuery{}) {
		if err != nil || !s.Ended {
			t.Error(s, err)
		}
	}
}
