package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

// received is a Receiver that keeps what it receives. If do is set, it is called first.
type received struct {
	status int
	header http.Header
	events []string // data and time
	calls  []string
	do     func(call string) error
}

func (r *received) call(name string) error {
	r.calls = append(r.calls, name)
	if r.do == nil {
		return nil
	}
	return r.do(name)
}

func (r *received) Accepted(status int, header http.Header) error {
	r.status, r.header = status, header
	return r.call("accepted")
}

func (r *received) Event(data []byte, at time.Time) error {
	r.events = append(r.events, fmt.Sprint(string(data), at))
	return r.call(string(data))
}

func (r *received) Flush() error { return r.call("flush") }

// data returns the data of the events that were received.
func (r *received) data() (list []string) {
	for _, call := range r.calls {
		if call != "flush" && call != "accepted" {
			list = append(list, call)
		}
	}
	return list
}

// calls is a Caller and what it records.
type calls struct {
	*watcher
	caller   *Caller
	captures string
}

// newCalls returns a Caller that records. The settings may be changed by change.
func newCalls(t *testing.T, change func(*Settings)) *calls {
	t.Helper()
	f := &calls{watcher: &watcher{ended: make(chan Exchange, 1000)}, captures: t.TempDir()}
	root, err := os.OpenRoot(f.captures)
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{Captures: root, Tool: capture.Tool{Name: "p20export", Version: "0.1.0"}, Observer: f.watcher, Labels: map[string]string{"team": "a"}}
	if change != nil {
		change(&s)
	}
	if f.caller, err = NewCaller(s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.caller.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		root.Close()
	})
	return f
}

// do posts a request and returns what Do returns.
func (f *calls) do(t *testing.T, ctx context.Context, upstream string, r Receiver) (capture.End, error) {
	t.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	return f.caller.Do(ctx, Call{Upstream: to, Body: []byte(`{"threadId":"t"}`), Labels: map[string]string{"stream": "s1"}}, r)
}

// answered returns a handler that reads the request and answers with the given media type
// and parts, which it flushes.
func answered(mediaType string, parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", mediaType)
		for _, part := range parts {
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	}
}

// A Caller passes each event on with the time that the capture has, and the capture has the
// request, the response and the labels.
func TestCaller(t *testing.T) {
	t.Parallel()
	for name, upstream := range map[string]http.HandlerFunc{
		"sse":    answered("text/event-stream; charset=utf-8", "data: a\n\nda", "ta: b\r\n\r\n: c\n\ndata: "+strings.Repeat("x", 100_000)+"\n\n", "data: incomplete"),
		"ndjson": answered("application/x-ndjson", "{\"a\":1}\n{\"b\":", "2}\n\n", "{\"last\":1}"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, r := newCalls(t, nil), &received{}
			end, err := f.do(t, t.Context(), serve(t, upstream)+"/agent", r)
			if end != capture.EndEOF || err != nil || r.status != 200 || r.header.Get("Content-Type") == "" {
				t.Fatalf("%s, %v, status %d, %v", end, err, r.status, r.header)
			}
			x := <-f.ended
			dir := filepath.Join(f.captures, x.Name)
			if !x.Stored || x.End != capture.EndEOF || x.Status != 200 || x.Events != len(r.events) {
				t.Errorf("%+v", x)
			}
			if diff := cmp.Diff(events(t, dir), r.events); diff != "" || len(r.events) != 3 {
				t.Errorf("%d events\n%s", len(r.events), diff)
			}
			if r.calls[0] != "accepted" || r.calls[len(r.calls)-1] != "flush" {
				t.Errorf("calls %.20q", r.calls)
			}
			files := testkit.Contents(t, dir)
			if files["request.json"] != `{"threadId":"t"}` {
				t.Errorf("the request is %q", files["request.json"])
			}
			for _, want := range []string{`"stream": "s1"`, `"team": "a"`, `/agent"`, `"kind": "proxy"`} {
				if !strings.Contains(files["capture.json"], want) {
					t.Errorf("%s lacks %s", files["capture.json"], want)
				}
			}
		})
	}
}

// The upstream gets the headers of the client, except those about its connection.
func TestCallerHeader(t *testing.T) {
	t.Parallel()
	var got http.Header
	f := newCalls(t, func(s *Settings) { s.Captures = nil })
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		got.Set("Host", r.Host)
		got.Set("Length", fmt.Sprint(r.ContentLength, r.TransferEncoding))
		answered("text/event-stream")(w, r)
	})
	to, _ := url.Parse(upstream)
	_, err := f.caller.Do(t.Context(), Call{Upstream: to, Body: []byte("{}"), Header: http.Header{
		"X-Api-Key": {"k"}, "Accept-Language": {"de", "en"}, "Content-Type": {"application/json; charset=utf-8"},
		"Connection": {"close, X-Hop"}, "X-Hop": {"1"}, "Keep-Alive": {"1"}, "Te": {"trailers"}, "Upgrade": {"websocket"}, "Expect": {"100-continue"},
		"Host": {"evil.example"}, "Content-Length": {"7"}, "Transfer-Encoding": {"chunked"}, "Accept": {"application/vnd.ag-ui.event+proto"},
		"Accept-Encoding": {"br"}, "Trailer": {"X-T"}, "Proxy-Authorization": {"p"},
	}}, &received{})
	want := http.Header{
		"X-Api-Key": {"k"}, "Accept-Language": {"de", "en"}, "Content-Type": {"application/json; charset=utf-8"},
		"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}, "User-Agent": {"p20export/0.1.0"}, "Content-Length": {"2"},
		"Host": {to.Host}, "Length": {"2 []"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if x := <-f.ended; x.Recorded || x.Name != "" || x.End != capture.EndEOF || x.Bytes != 0 {
		t.Errorf("%+v", x)
	}
}

// What arrives is written while the response is open.
func TestCallerWritesAtOnce(t *testing.T) {
	t.Parallel()
	parts := make(chan string)
	f := newCalls(t, func(s *Settings) { s.Sync = SyncEach })
	g := newGate("write", nil)
	close(g.open)
	g.install(&fixture{proxy: &Proxy{recorder: f.caller.recorder}})
	go func() {
		defer close(parts)
		for range 5 {
			parts <- "data: a\n\n"
			<-g.reach
		}
	}()
	r := &received{}
	if end, err := f.do(t, t.Context(), stream(t, parts), r); end != capture.EndEOF || err != nil || len(r.data()) != 5 {
		t.Errorf("%s, %v, %q", end, err, r.calls)
	}
}
