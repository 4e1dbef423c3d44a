package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
)

// arrivals is an Observer that counts in a channel what was passed on.
type arrivals struct {
	*watcher
	bytes chan int
}

func (p *arrivals) Passed(n int, held time.Duration) { p.bytes <- n }

// waitFor waits until n bytes were passed on.
func (p *arrivals) waitFor(n int) {
	for n > 0 {
		n -= <-p.bytes
	}
}

// The unfinished events of all exchanges of a Caller share one limit. The exchange that asks for
// more ends and says why; others, and those with events of a usual size, go on. What an event
// took is free again when it was received, or when its exchange has ended.
func TestCallerEventBytes(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]bool{"recorded": true, "not recorded": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 3 << 20
			part := "data: " + strings.Repeat("x", 2<<20)
			rest := make(chan string)
			upstream := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				switch r.URL.Path {
				case "/first":
					io.WriteString(w, part)
					w.(http.Flusher).Flush()
					io.WriteString(w, <-rest)
					w.(http.Flusher).Flush()
					io.WriteString(w, <-rest)
				case "/large":
					io.WriteString(w, twoEvents+part+"\n\n")
				case "/usual":
					io.WriteString(w, strings.Repeat("data: "+strings.Repeat("x", 10_000)+"\n\n", 100))
				}
			}))
			seen := &arrivals{&watcher{ended: make(chan Exchange, 1000)}, make(chan int, 10_000)}
			f := newCalls(t, func(s *Settings) {
				s.EventBytes, s.Observer = most, seen
				if !recorded {
					s.Captures = nil
				}
			})
			first := make(chan error)
			r := &received{}
			got := make(chan bool, 10)
			r.do = func(call string) error {
				got <- call == "flush"
				return nil
			}
			go func() {
				_, err := f.do(t, t.Context(), upstream+"/first", r)
				first <- err
			}()
			seen.waitFor(len(part))
			for range 2 {
				second := &received{}
				end, err := f.do(t, t.Context(), upstream+"/large", second)
				if want := "an event is not finished, and the unfinished events of all responses would take more than 3145728 bytes"; err == nil || err.Error() != want || end != capture.EndError {
					t.Errorf("large: %s, %v", end, err)
				}
				if got := strings.Join(second.calls, " "); got != "accepted a b flush" {
					t.Errorf("large: %.200s", got)
				}
			}
			usual := &received{}
			if end, err := f.do(t, t.Context(), upstream+"/usual", usual); end != capture.EndEOF || err != nil || len(usual.events) != 100 {
				t.Errorf("usual: %s, %v, %d events", end, err, len(usual.events))
			}
			rest <- "\n\n"
			for !<-got {
			}
			if end, err := f.do(t, t.Context(), upstream+"/large", &received{}); end != capture.EndEOF || err != nil {
				t.Errorf("after the first event: %s, %v", end, err)
			}
			rest <- "data: y\n\n"
			if err := <-first; err != nil || len(r.events) != 2 {
				t.Errorf("first: %v, %d events", err, len(r.events))
			}
			if err := f.caller.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if n := f.caller.events.taken.Load(); n != 0 {
				t.Errorf("%d bytes are taken", n)
			}
		})
	}
}

// A recording finds no further events if there is no room for one, and counts none.
func TestCounterEventBytes(t *testing.T) {
	t.Parallel()
	events := &memory{most: 1 << 20}
	feed := func(c *counter, text string) {
		for rest := text; rest != ""; {
			n := min(len(rest), 100_000)
			c.feed(&block{[]byte(rest[:n]), []capture.Arrival{{Bytes: n, At: time.Now()}}})
			rest = rest[n:]
		}
	}
	open := func() *counter { return newCounter(capture.Settings{Framing: capture.SSE}, events) }
	part := "data: " + strings.Repeat("x", 800_000)
	a, b, c := open(), open(), open()
	feed(a, twoEvents+part)
	feed(b, twoEvents+part+"\n\n")
	feed(c, twoEvents)
	feed(a, "\n\n")
	d := open()
	feed(d, part+"\n\n")
	if a, b, c, d := a.end(), b.end(), c.end(), d.end(); a != 3 || b != -1 || c != 2 || d != 1 {
		t.Errorf("%d, %d, %d and %d events", a, b, c, d)
	}
	if n := events.taken.Load(); n != 0 {
		t.Errorf("%d bytes are taken", n)
	}
}
