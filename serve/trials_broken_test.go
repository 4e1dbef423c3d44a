package serve_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/serve/servetest"
	"github.com/p20export/p20export/store/memory"
)

// TestTrialsFail checks that trials find a server that makes one mistake: it leaves out one
// event, sends one twice, swaps two, changes one byte, or numbers one wrongly, in any view.
func TestTrialsFail(t *testing.T) {
	t.Parallel()
	for view, marks := range map[string]func(r *http.Request, frame string) bool{
		"events": func(r *http.Request, _ string) bool {
			return strings.HasSuffix(r.URL.Path, "/events") && r.URL.Query().Get("view") == ""
		},
		"compact": func(r *http.Request, frame string) bool {
			return r.URL.Query().Get("view") != "" && strings.Contains(firstLine(frame), ".")
		},
		"connect": func(r *http.Request, frame string) bool {
			return strings.HasSuffix(r.URL.Path, "/connect") && strings.Contains(frame, `"MESSAGES_SNAPSHOT"`) && !strings.Contains(frame, `"p20export.join"`)
		},
		"run": func(r *http.Request, _ string) bool { return strings.HasPrefix(r.URL.Path, "/agents/") },
	} {
		for name, change := range map[string]func(frames [2]string) string{
			"leaves out one": func(f [2]string) string { return f[1] },
			"repeats one":    func(f [2]string) string { return f[0] + f[0] + f[1] },
			"swaps two":      func(f [2]string) string { return f[1] + f[0] },
			"changes one":    func(f [2]string) string { return strings.Replace(f[0], `"type"`, `"Type"`, 1) + f[1] },
			"numbers one":    func(f [2]string) string { return strings.Replace(f[0], "id: ", "id: 1", 1) + f[1] },
			"nothing":        func(f [2]string) string { return f[0] + f[1] },
		} {
			if view == "connect" && !slices.Contains([]string{"leaves out one", "changes one", "nothing"}, name) {
				continue // it is the MESSAGES_SNAPSHOT of a prelude, whose place and number do not matter
			}
			t.Run(view+" "+name, func(t *testing.T) {
				t.Parallel()
				// A reader may have left before it got what was changed.
				changed := 0
				var err error
				for n := uint64(0); n < 20 && err == nil; n++ {
					var done bool
					if done, err = brokenTrial(t, n, marks, change); done {
						changed++
					}
				}
				if failed := err != nil; failed != (name != "nothing") || changed == 0 {
					t.Errorf("the trials end with %v, %d of them changed", err, changed)
				}
				t.Log(err)
			})
		}
	}
}

// brokenTrial runs a trial with a server that makes a mistake, and returns whether it made it.
func brokenTrial(t *testing.T, seed uint64, marks func(*http.Request, string) bool, change func([2]string) string) (done bool, err error) {
	t.Helper()
	log := memory.New()
	defer log.Close()
	agent := servetest.NewAgent()
	defer agent.Close()
	b := &breaker{inner: startServe(t, log, agent.URL, serve.Refuse).Config.Handler, marks: marks, change: change}
	front := httptest.NewServer(b)
	defer front.Close()
	defer front.CloseClientConnections()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	_, err = servetest.Run(ctx, servetest.Settings{
		Seed: seed, Agent: agent, Log: log, Steady: true,
		URL: func(context.Context) (string, error) { return front.URL, nil },
	})
	if ctx.Err() != nil {
		t.Error(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done, err
}

// A breaker passes requests to a handler, and changes two frames of one response.
type breaker struct {
	inner  http.Handler
	marks  func(r *http.Request, frame string) bool
	change func(frames [2]string) string

	mu   sync.Mutex
	done bool
}

func (b *breaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.inner.ServeHTTP(&broken{ResponseWriter: w, b: b, r: r}, r)
}

// broken is a response that a breaker changes.
type broken struct {
	http.ResponseWriter
	b       *breaker
	r       *http.Request
	partial []byte
	held    string // a frame that is changed
}

func (w *broken) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write passes frames on. One that may be changed is held until there is another.
func (w *broken) Write(p []byte) (int, error) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	w.partial = append(w.partial, p...)
	for {
		end := bytes.Index(w.partial, []byte("\n\n"))
		if end < 0 {
			return len(p), nil
		}
		frame := string(w.partial[:end+2])
		w.partial = w.partial[end+2:]
		ends := strings.Contains(frame, `"type":"RUN_FINISHED"`) || strings.Contains(frame, `"type":"RUN_ERROR"`)
		switch {
		case w.held != "":
			w.b.done = true
			frame = w.b.change([2]string{w.held, frame})
			w.held = ""
		case !w.b.done && !ends && w.b.marks(w.r, frame): // after the last event of a run, nothing may follow
			w.held = frame
			continue
		}
		if _, err := w.ResponseWriter.Write([]byte(frame)); err != nil {
			return 0, err
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
