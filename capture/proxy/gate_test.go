package proxy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
)

// gate makes the calls of a writer wait until it is opened, or fail.
type gate struct {
	storage
	at    string // the call
	reach chan struct{}
	made  chan struct{} // a capture was created
	open  chan struct{}
	err   error
}

func newGate(at string, err error) *gate {
	return &gate{at: at, reach: make(chan struct{}, 100), made: make(chan struct{}, 1), open: make(chan struct{}), err: err}
}

func (g *gate) pass(call string) error {
	if call != g.at {
		return nil
	}
	g.reach <- struct{}{}
	<-g.open
	return g.err
}

func (g *gate) WriteArrived(p []byte, arrivals []capture.Arrival) (int, error) {
	if err := g.pass("write"); err != nil {
		return 0, err
	}
	return g.storage.WriteArrived(p, arrivals)
}

func (g *gate) Sync() error { return errors.Join(g.pass("sync"), g.storage.Sync()) }

func (g *gate) SetRequest(body []byte) error {
	return errors.Join(g.pass("request"), g.storage.SetRequest(body))
}

func (g *gate) Close(end capture.End) (*capture.Manifest, error) {
	if err := g.pass("close"); err != nil {
		return nil, err
	}
	return g.storage.Close(end)
}

// install puts the gate before the writers of the proxy's captures.
func (g *gate) install(f *fixture) {
	create := f.proxy.recorder.create
	f.proxy.recorder.create = func(root *os.Root, name string, s capture.Settings) (storage, error) {
		if err := g.pass("create"); err != nil {
			return nil, err
		}
		w, err := create(root, name, s)
		if err != nil {
			return nil, err
		}
		signal(g.made)
		return &gate{storage: w, at: g.at, reach: g.reach, open: g.open, err: g.err}, nil
	}
}

// stream starts an upstream that sends what it receives from a channel, and ends the
// response when the channel is closed.
func stream(t *testing.T, parts <-chan string) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for {
			select {
			case part, more := <-parts:
				if !more {
					return
				}
				io.WriteString(w, part)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
}

// open sends a request and returns a reader of the response, whose headers have arrived.
func (f *fixture) open(t *testing.T) *http.Response {
	t.Helper()
	response, err := http.Post(f.front.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// receive reads n bytes.
func receive(t *testing.T, r io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
