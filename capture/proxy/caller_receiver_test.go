package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
)

// A receiver that waits makes the upstream wait. Then it receives everything.
func TestCallerBackpressure(t *testing.T) {
	t.Parallel()
	event := "data: " + strings.Repeat("x", 4090) + "\n\n"
	const most = 64 << 20
	blocked, written := make(chan int, 1), 0
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n", most)
		for written < most {
			conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
			n, err := io.WriteString(conn, event[written%len(event):])
			if written += n; err != nil {
				break
			}
		}
		blocked <- written
		conn.SetWriteDeadline(time.Time{})
		for written < most {
			n, err := io.WriteString(conn, event[written%len(event):])
			if written += n; err != nil {
				return
			}
		}
	})
	f, n := newCalls(t, nil), 0
	r := receiver(func([]byte) error {
		if n++; n == 1 {
			if before := <-blocked; before >= most {
				t.Error("the upstream could write everything")
			}
		}
		return nil
	})
	end, err := f.do(t, t.Context(), upstream, r)
	if x := <-f.ended; end != capture.EndEOF || err != nil || n != most/len(event) || x.Bytes != most || x.Events >= 0 && !x.Stored {
		t.Errorf("%s, %v, %d events, %+v", end, err, n, x)
	}
}

// receiver is a Receiver of events alone.
type receiver func(data []byte) error

func (r receiver) Accepted(int, http.Header) error            { return nil }
func (r receiver) Event(data []byte, arrived time.Time) error { return r(data) }
func (r receiver) Flush() error                               { return nil }

// queueing is an Observer that waits for the first bytes of a response in the queue.
type queueing struct {
	*watcher
	response chan struct{}
	added    int
}

func (q *queueing) Queued(delta int) {
	q.watcher.Queued(delta)
	q.mu.Lock()
	defer q.mu.Unlock()
	if delta > 0 {
		if q.added++; q.added == 2 { // after the request
			close(q.response)
		}
	}
}

// An error of the receiver ends the exchange. Nothing is passed on after it.
func TestCallerReceiverFails(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for at, want := range map[string]string{
		"accepted": "[accepted]",
		"a":        "[accepted a]",
		"b":        "[accepted a b]",
		"flush":    "[accepted a b flush]",
	} {
		gone := make(chan struct{})
		upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
			answered("text/event-stream", twoEvents)(w, r)
			<-r.Context().Done()
			close(gone)
		})
		f := newCalls(t, nil)
		r := &received{do: func(call string) error {
			if call == at {
				return enough
			}
			return nil
		}}
		end, err := f.do(t, t.Context(), upstream, r)
		<-gone
		if x := <-f.ended; end != capture.EndCancelled || err != enough || fmt.Sprint(r.calls) != want || x.End != end || !x.Stored {
			t.Errorf("%s: %s, %v, %q, %+v", at, end, err, r.calls, x)
		}
	}
}

// An event that does not fit into memory ends the exchange.
func TestCallerLargeEvent(t *testing.T) {
	part := strings.Repeat("x", 1<<20)
	f, r := newCalls(t, func(s *Settings) { s.Captures = nil }), &received{}
	ended := make(chan struct{})
	large := serve(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		answered("text/event-stream", twoEvents+"data: ")(w, r)
		for range capture.MaxEventBytes>>20 + 1 {
			io.WriteString(w, part)
		}
		io.WriteString(w, "\n\ndata: c\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	end, err := f.do(t, t.Context(), large, r)
	<-ended
	if _, ok := errors.AsType[*UpstreamError](err); !ok || end != capture.EndError || err.Error() != errEventBytes.Error() || strings.Join(r.data(), " ") != "a b" {
		t.Errorf("%s, %v, %.100q", end, err, r.data())
	}
}

// After a panic of the receiver, the capture is closed and nothing is open.
func TestCallerReceiverPanics(t *testing.T) {
	t.Parallel()
	f := newCalls(t, nil)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		f.do(t, t.Context(), serve(t, answered("text/event-stream", twoEvents)), receiver(func([]byte) error { panic("bug") }))
	}()
	if x := <-f.ended; x.End != capture.EndCancelled || !x.Stored {
		t.Errorf("%+v", x)
	}
	if err := f.caller.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}
