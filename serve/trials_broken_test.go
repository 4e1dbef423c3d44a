package serve_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/serve/servetest"
	"github.com/p20export/p20export/store/memory"
)

// TestTrialsFail checks that trials find a server that makes one mistake: it leaves out one
// event, sends one twice, swaps two, or changes one byte, in any view.
func TestTrialsFail(t *testing.T) {
	t.Parallel()
	for view, marks := range map[string]func(r *http.Request, id string) bool{
		"events": func(r *http.Request, _ string) bool {
			return strings.HasSuffix(r.URL.Path, "/events") && r.URL.Query().Get("view") == ""
		},
		"compact": func(r *http.Request, id string) bool {
			return r.URL.Query().Get("view") != "" && strings.Contains(id, ".")
		},
		"connect": func(r *http.Request, _ string) bool { return strings.HasSuffix(r.URL.Path, "/connect") },
		"run":     func(r *http.Request, _ string) bool { return strings.HasPrefix(r.URL.Path, "/agents/") },
	} {
		for name, change := range map[string]func(frames [3]string) string{
			"leaves out one": func(f [3]string) string { return f[0] + f[2] },
			"repeats one":    func(f [3]string) string { return f[0] + f[1] + f[1] + f[2] },
			"swaps two":      func(f [3]string) string { return f[0] + f[2] + f[1] },
			"changes one":    func(f [3]string) string { return f[0] + strings.Replace(f[1], `"type"`, `"Type"`, 1) + f[2] },
			"numbers one":    func(f [3]string) string { return f[0] + strings.Replace(f[1], "id: ", "id: 1", 1) + f[2] },
			"nothing":        func(f [3]string) string { return f[0] + f[1] + f[2] },
		} {
			t.Run(view+" "+name, func(t *testing.T) {
				t.Parallel()
				log := memory.New()
				defer log.Close()
				agent := servetest.NewAgent()
				defer agent.Close()
				b := &breaker{inner: startServe(t, log, agent.URL, false).Config.Handler, marks: marks, change: change}
				front := httptest.NewServer(b)
				defer front.Close()
				defer front.CloseClientConnections()
				ctx, cancel := context.WithTimeout(t.Context(), hang)
				defer cancel()
				_, err := servetest.Run(ctx, servetest.Settings{
					Seed: 7, Agent: agent, Log: log, Steady: true,
					URL: func(context.Context) (string, error) { return front.URL, nil },
				})
				if !b.done {
					t.Error("nothing was changed")
				}
				if failed := err != nil && ctx.Err() == nil; failed != (name != "nothing") {
					t.Errorf("the trial ends with %v", err)
				}
				t.Log(err)
			})
		}
	}
}

// A breaker passes requests to a handler, and changes three frames of one response.
type breaker struct {
	inner  http.Handler
	marks  func(r *http.Request, id string) bool
	change func(frames [3]string) string

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
	held    []string // frames that may be changed
}

func (w *broken) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write passes frames on. The first with an id are held until there are three.
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
		line, _, _ := strings.Cut(frame, "\n")
		id, numbered := strings.CutPrefix(line, "id: ")
		if !w.b.done && numbered && w.b.marks(w.r, id) {
			w.held = append(w.held, frame)
			if len(w.held) < 3 {
				continue
			}
			w.b.done = true
			frame = w.b.change([3]string(w.held))
			w.held = nil
		} else if len(w.held) > 0 {
			frame = strings.Join(w.held, "") + frame
			w.held = nil
		}
		if _, err := w.ResponseWriter.Write([]byte(frame)); err != nil {
			return 0, err
		}
	}
}
