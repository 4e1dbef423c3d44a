package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
)

// endless is a body that never ends. Each read returns an event.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }
func (e endless) Close() error               { return nil }

// BenchmarkRead measures what recording adds to a read: copying the event to the queue,
// reading the clock and waking the writer.
func BenchmarkRead(b *testing.B) {
	p := start(b, "http://localhost", func(s *Settings) { s.QueueBytes = 1 << 40 }).proxy
	g := &Recording{recorder: p.recorder, wake: make(chan struct{}, 1), full: make(chan struct{}, 1), ended: make(chan struct{})}
	x := &passing{proxy: p, recording: g, began: time.Now()}
	t := &tap{ReadCloser: endless("data: " + strings.Repeat("x", 140) + "\n\n"), x: x}
	buf := make([]byte, 64<<10)
	b.ReportAllocs()
	var q queue
	for i := 0; b.Loop(); i++ {
		t.Read(buf)
		if i%100 == 0 {
			q = g.take(q)
			g.discard(q)
		}
	}
}

// BenchmarkStream measures the passing of events over sockets, as fast as possible, by
// httputil.ReverseProxy alone and by a Proxy.
func BenchmarkStream(b *testing.B) {
	event := "data: " + strings.Repeat("x", 140) + "\n\n"
	for _, each := range []int{1, 200} {
		part := strings.Repeat(event, each)
		name := "events"
		if each > 1 {
			name = "blocks"
		}
		ask := func(b *testing.B, handler func(upstream string) http.Handler) {
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				for range b.N {
					io.WriteString(w, part)
					w.(http.Flusher).Flush()
				}
			}))
			defer upstream.Close()
			front := httptest.NewServer(handler(upstream.URL))
			defer front.Close()
			b.SetBytes(int64(len(part)))
			b.ReportAllocs()
			b.ResetTimer()
			response, err := http.Post(front.URL, "application/json", strings.NewReader("{}"))
			if err != nil {
				b.Fatal(err)
			}
			defer response.Body.Close()
			if n, err := io.Copy(io.Discard, response.Body); err != nil || n != int64(b.N)*int64(len(part)) {
				b.Fatal(n, err)
			}
		}
		b.Run(name+"/bare", func(b *testing.B) {
			ask(b, func(upstream string) http.Handler {
				to, _ := url.Parse(upstream)
				return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1, Transport: newTransport(), BufferPool: newBuffers()}
			})
		})
		for policy, sync := range map[string]SyncPolicy{"end": SyncAtEnd, "interval": SyncPolicy(50 * time.Millisecond)} {
			b.Run(name+"/"+policy, func(b *testing.B) {
				var f *fixture
				ask(b, func(upstream string) http.Handler {
					f = start(b, upstream, func(s *Settings) { s.Sync = sync })
					return f.proxy
				})
				if x := <-f.ended; x.End != capture.EndEOF {
					b.Logf("%+v", x)
				}
			})
		}
	}
}
