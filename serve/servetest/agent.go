package servetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// An Agent is an HTTP server that answers the requests of trials.
type Agent struct {
	*httptest.Server

	mu     sync.Mutex
	trials map[string]*trial // by thread
}

// NewAgent starts an agent. The caller must close it.
func NewAgent() *Agent {
	a := &Agent{trials: make(map[string]*trial)}
	a.Server = httptest.NewServer(http.HandlerFunc(a.answer))
	return a
}

func (a *Agent) add(t *trial) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trials[t.key.Thread] = t
}

func (a *Agent) remove(t *trial) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.trials, t.key.Thread)
}

func (a *Agent) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server was killed
	}
	var input struct{ ThreadID, RunID string }
	_ = json.Unmarshal(body, &input) // other requests are of no trial
	a.mu.Lock()
	t := a.trials[input.ThreadID]
	a.mu.Unlock()
	if t == nil {
		http.Error(w, fmt.Sprintf("no trial has the thread %q", input.ThreadID), http.StatusNotFound)
		return
	}
	for _, s := range t.scripts {
		if s.runID == input.RunID {
			t.play(w, r, s, body)
			return
		}
	}
	t.fail(fmt.Errorf("the agent is asked for the run %q", input.RunID))
}

// play answers a request as a script says.
func (t *trial) play(w http.ResponseWriter, r *http.Request, s *script, body []byte) {
	again := false
	t.change(func() {
		again = s.requests > 0
		s.requests++
		s.sent = 0
	})
	switch {
	case again && !t.Killed:
		t.fail(fmt.Errorf("the agent is asked for the run %s twice", s.runID))
	case !bytes.Equal(body, s.body):
		t.fail(fmt.Errorf("the agent gets the request %q instead of %q", body, s.body))
	}
	thread, err := t.Log.Thread(r.Context(), t.key)
	if err != nil {
		if r.Context().Err() == nil {
			t.fail(fmt.Errorf("the agent is asked for the run %s before the log has the request: %w", s.runID, err))
		}
		return
	}
	if t.Steady && !t.await(r.Context(), func() bool {
		return !slices.ContainsFunc(t.readers, func(r *reader) bool { return r.joins == 0 })
	}) {
		return
	}
	w.Header().Set("Content-Type", s.media)
	for _, part := range s.writes {
		if _, err := io.WriteString(w, part.text); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		sent := 0
		t.change(func() {
			sent = part.events - s.sent
			s.sent = part.events
		})
		if t.Observe != nil && sent > 0 {
			t.Observe(sent)
		}
		if part.gate == nil || t.Steady || part.events == 0 {
			continue
		}
		last := s.events[part.events-1]
		ended := strings.Contains(last, `"type":"RUN_FINISHED"`) || strings.Contains(last, `"type":"RUN_ERROR"`)
		if !t.pass(r, s, part.gate, thread.Last+int64(part.events), ended) {
			return
		}
	}
	if s.aborted {
		panic(http.ErrAbortHandler)
	}
}

// pass waits at a gate until a reader has the event at a position. That ended means that it is
// the last of a run.
func (t *trial) pass(r *http.Request, s *script, g *gate, position int64, ended bool) bool {
	var candidates []*reader
	for _, reader := range t.readers {
		if reader.view != connected && (reader.view != followed || !ended) { // they get nothing after the end of a run
			candidates = append(candidates, reader)
		}
	}
	candidates = append(candidates, s.readers...)
	reader := candidates[g.reader%len(candidates)]
	if !t.await(r.Context(), func() bool { return reader.position >= position || reader.over }) {
		return false
	}
	if !g.drop {
		return true
	}
	joins := 0
	t.mu.Lock()
	joins = reader.joins
	t.mu.Unlock()
	reader.drop()
	return t.await(r.Context(), func() bool { return reader.joins > joins || reader.over })
}

// errDropped ends the requests of a reader that leaves.
var errDropped = errors.New("the reader leaves")
