package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
	"github.com/p20export/p20export/store/transfer"
)

// facts is what the tests look at.
type facts struct {
	Run      int64
	RunID    *string `json:"run_id"`
	Events   int64
	Duration *int64 `json:"duration_us"`
	Types    []struct {
		Type  string
		Count int
	}
	Findings []struct {
		Position *int64
		Code     string
		Severity string
		Message  string
	}
	Picture struct {
		By    string
		Lanes []struct{ Count int }
	}
	Capture *string
}

// runsOf returns the positions of the runs of a thread.
func (p *process) runsOf(thread string) (list []int64) {
	p.t.Helper()
	var doc struct {
		Runs []struct{ Position int64 }
	}
	p.get("/threads/" + url.PathEscape(thread) + "/runs").decode(&doc)
	for _, r := range doc.Runs {
		list = append(list, r.Position)
	}
	return list
}

// Committed captures that agents answer with have the same facts as in the log, also after the
// thread was packed. Nobody else has them.
func TestFacts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../discovery/captures/*/*")
	if err != nil || len(paths) < 40 {
		t.Fatal(len(paths), err)
	}
	logs(t, func(t *testing.T, log store.Log) {
		p := start(t, log, nil, serve.Settings{})
		runs := 0
		for i := 0; i < len(paths); i += 11 {
			row := transfer.Import(t.Context(), log, inputs.File(paths[i]), transfer.ImportSettings{Thread: "t", Tenant: ""})
			if row.Verdict != project.Written || len(row.Parts) == 0 {
				continue
			}
			thread := row.Parts[0].Thread
			before := map[int64]string{}
			for _, at := range p.runsOf(thread) {
				runs++
				path := fmt.Sprintf("/threads/%s/facts?run=%d", url.PathEscape(thread), at)
				before[at] = p.get(path).text()
				var f facts
				p.get(path).decode(&f)
				total, lanes := 0, 0
				for _, k := range f.Types {
					total += k.Count
				}
				for _, l := range f.Picture.Lanes {
					lanes += l.Count
				}
				if f.Run != at || f.RunID == nil && filepath.Base(paths[i]) != "empty-ids" || f.Events == 0 || int64(total) != f.Events || int64(lanes) != f.Events || f.Capture != nil {
					t.Errorf("%s: %+v", paths[i], f)
				}
			}
			if _, err := log.Pack(t.Context(), store.Key{Thread: thread}); err != nil {
				t.Fatal(err)
			}
			for at, want := range before {
				same(t, p.get(fmt.Sprintf("/threads/%s/facts?run=%d", url.PathEscape(thread), at)).text(), want)
			}
		}
		if runs < 10 {
			t.Errorf("only %d runs", runs)
		}
	})
}

// What a server adds to a run, and what a producer appends, has no findings of its own.
func TestFactsOfClosedRuns(t *testing.T) {
	t.Parallel()
	log, a := newMemory(t), newAgent(t)
	p := start(t, log, a, serve.Settings{AllowAppend: true})
	_, answer := p.begin(a, "t", "cancelled")
	p.post("/threads/t/runs/cancelled/cancel", "").want(http.StatusOK, "")
	answer.text()
	c, answer := p.begin(a, "t", "ended")
	c.send(`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}`, `{"type":"STEP_STARTED","stepName":"s"}`)
	p.post("/threads/t/runs/ended/cancel", "").want(http.StatusOK, "")
	answer.text()
	p.post("/threads/t/events", batch("t", "appended", 0, started("t", "appended"), finished("t", "appended"))).want(http.StatusOK, "finished")
	list := p.runsOf("t")
	if len(list) != 3 {
		t.Fatal(list)
	}
	for _, at := range list {
		var f facts
		p.get(fmt.Sprintf("/threads/t/facts?run=%d", at)).decode(&f)
		if len(f.Findings) != 0 || f.Events < 2 || f.Duration == nil || f.Picture.By != "time" {
			t.Errorf("%+v", f)
		}
	}
}

// A tenant sees no facts of the threads of others, and gets no request that continues them.
func TestFactsOfTenants(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	fill(t, log, store.Key{Tenant: "bob", Thread: "t"}, "r")
	p := start(t, log, nil, serve.Settings{Guard: serve.GuardSettings{TokenFile: tokens(t)}}) // of alice
	for _, path := range []string{"facts?run=2", "fork?run=2&run_id=n", "capture?run=2", "report?run=2"} {
		p.get("/threads/t/"+path).want(http.StatusUnauthorized, "unauthorized")
		p.get("/threads/t/"+path, "Authorization", "Bearer "+token).want(http.StatusNotFound, "unknown_thread")
	}
	fill(t, log, store.Key{Tenant: "alice", Thread: "t"}, "own")
	p.get("/threads/t/facts?run=2", "Authorization", "Bearer "+token).want(http.StatusOK, `"run_id":"own"`)
}

// A position or an id that is none is refused.
func TestBadRuns(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	fill(t, log, store.Key{Thread: "t"}, "r", "s")
	p := start(t, log, nil, serve.Settings{})
	for _, route := range []string{"facts?", "fork?run_id=n&", "capture?", "report?"} {
		for _, run := range []string{"", "run=", "run=0", "run=-2", "run=2.0", "run=2e0", "run=9223372036854775808", "run=r", "run=%00", "run=%FF"} {
			p.get("/threads/t/"+route+run).want(http.StatusBadRequest, "invalid_query")
		}
		for _, run := range []string{"run=1", "run=3", "run=6", "run=1000", "run=9223372036854775807"} {
			p.get("/threads/t/"+route+run).want(http.StatusNotFound, "unknown_run")
		}
		p.get("/threads/t/"+route+"run=2&run=2").want(http.StatusBadRequest, "more than once")
	}
	for _, id := range []string{"", "%00", "%FF", "%ED%A0%80", strings.Repeat("x", store.MaxIDBytes+1)} {
		p.get("/threads/t/fork?run=2&run_id="+id).want(http.StatusBadRequest, "run_id")
	}
	for _, form := range []string{"Full", "none", "0"} {
		p.get("/threads/t/fork?run=2&run_id=n&form="+form).want(http.StatusBadRequest, "form is")
	}
}

// A fork is the request that package restore makes, and an agent that gets it continues the run.
func TestFork(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		const odd = "<b>\"\u202e/../é\n"
		for _, run := range []string{"r", "s"} {
			go func() { a.answers(said("t", run, "This is "+run+".")...) }()
			p.post("/agents/a", input("t", run)).want(http.StatusOK, "RUN_FINISHED")
		}
		list := p.runsOf("t")
		for form, name := range map[lineage.Form]string{lineage.Full: "full", lineage.Normalized: "normalized"} {
			text := p.get(fmt.Sprintf("/threads/t/fork?run=%d&run_id=%s&form=%s", list[0], url.QueryEscape(odd), name)).text()
			th, err := restore.Open(t.Context(), log, store.Key{Thread: "t"}, restore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := th.Run(t.Context(), th.Graph.Nodes[0])
			if err != nil {
				t.Fatal(err)
			}
			want, err := th.Fork(result, odd, form)
			if err != nil {
				t.Fatal(err)
			}
			same(t, text, string(event.AppendRunInput(nil, want)))
			if strings.Contains(text, "This is r.") != (form == lineage.Full) || strings.Contains(text, "This is s.") {
				t.Errorf("%s: %s", name, text)
			}
		}
		fork := p.get(fmt.Sprintf("/threads/t/fork?run=%d&run_id=%s", list[0], url.QueryEscape(odd))).text()
		bodies := make(chan string, 1)
		go func() {
			c := a.next()
			bodies <- c.body
			c.accept()
			c.send(said("t", odd, "This is a branch.")...)
			c.end()
		}()
		p.post("/agents/a", fork).want(http.StatusOK, "RUN_FINISHED")
		same(t, <-bodies, fork)
		var doc struct{ Branches []json.RawMessage }
		p.get("/threads/t/runs").decode(&doc)
		if len(doc.Branches) != 2 {
			t.Errorf("branches: %s", doc.Branches)
		}
		p.get(fmt.Sprintf("/threads/t/fork?run=%d&run_id=%s", list[0], url.QueryEscape(odd))).want(http.StatusConflict, "already has a run")
	})
}

// A run that no request can name cannot be continued.
func TestCannotFork(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	fill(t, log, store.Key{Thread: "t"}, "r")
	if _, err := log.Append(t.Context(), store.Key{Thread: "t"}, 5, []store.Entry{
		{Stream: "x", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"t"}`)},
		{Stream: "y", Kind: store.Event, Data: []byte(started("t", "r"))},
	}); err != nil {
		t.Fatal(err)
	}
	p := start(t, log, nil, serve.Settings{})
	p.get("/threads/t/fork?run=2&run_id=n").want(http.StatusConflict, "a later run of the thread is also called")
	p.get("/threads/t/fork?run=6&run_id=n").want(http.StatusConflict, "it has no runId")
	p.get("/threads/t/fork?run=7&run_id=n").want(http.StatusOK, `"parentRunId":"r"`)
	p.get("/threads/t/facts?run=6").want(http.StatusOK, `"run_id":null`)
}
