package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
)

// raw starts an upstream that reads a request, sends bytes and closes the connection.
func raw(t *testing.T, response string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096))
			io.WriteString(conn, response)
			conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// zip returns what gzip makes of a text.
func zip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// Whatever the upstream answers, the receiver gets all events that arrived, Do says how the
// response ended, and the capture says the same.
func TestCallerEnds(t *testing.T) {
	t.Parallel()
	const (
		sse    = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		lines  = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
		closes = "\r\n" // the end of the connection is that of the response
	)
	sized := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n", n) }
	long := strings.Repeat("x", RefusedBytes+1)
	for _, test := range []struct {
		name, response string
		events         string
		end            capture.End
		err            string // "" for none
		recorded       bool
	}{
		{"ends", sse + sized(len(twoEvents)) + twoEvents, "a b", capture.EndEOF, "", true},
		{"ends by closing", sse + closes + twoEvents, "a b", capture.EndEOF, "", true},
		{"ends within an event", sse + closes + twoEvents + "data: c\n", "a b", capture.EndEOF, "", true},
		{"has no events", sse + sized(0), "", capture.EndEOF, "", true},
		{"has status 206", "HTTP/1.1 206 Partial\r\nContent-Type: text/event-stream\r\n" + closes + twoEvents, "a b", capture.EndEOF, "", true},
		{"has only CR", sse + closes + "data: a\r\rdata: b\r\r", "a b", capture.EndEOF, "", true},
		{"announces more", sse + sized(100) + twoEvents, "a b", capture.EndError, "the response of the upstream broke off", true},
		{"breaks off in a chunk", sse + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + twoEvents, "a b", capture.EndError, "the response of the upstream broke off", true},
		{"breaks off before the last chunk", sse + "Transfer-Encoding: chunked\r\n\r\n12\r\n" + twoEvents + "\r\n", "a b", capture.EndError, "the response of the upstream broke off", true},
		{"has a malformed chunk", sse + "Transfer-Encoding: chunked\r\n\r\nx\r\n", "", capture.EndError, "the response of the upstream broke off", true},
		{"is NDJSON", lines + closes + "1\n2\n3", "1 2 3", capture.EndEOF, "", true},
		{"is NDJSON that breaks off", lines + sized(100) + "1\n2\n3", "1 2", capture.EndError, "the response of the upstream broke off", true},
		{"is compressed", sse + "Content-Encoding: gzip\r\n" + sized(len(zip(twoEvents))) + zip(twoEvents), "a b", capture.EndEOF, "", true},
		{"is compressed twice over", sse + "Content-Encoding: x-gzip\r\n" + closes + zip("data: a\n\n") + zip("data: b\n\n"), "a b", capture.EndEOF, "", true},
		{"is compressed and damaged", sse + "Content-Encoding: gzip\r\n" + closes + zip(twoEvents)[:20] + "xxxxxxxxxxxx", "a", capture.EndError, "the response of the upstream cannot be decompressed", true},
		{"is not compressed as it says", sse + "Content-Encoding: gzip\r\n" + closes + twoEvents, "", capture.EndError, "the response of the upstream cannot be decompressed", true},
		{"is compressed in another way", sse + "Content-Encoding: br\r\n" + closes + twoEvents, "", capture.EndCancelled, "refused 200, 0 bytes: the upstream compressed its response although it was not asked to, and not with gzip", false},
		{"is compressed with zstd", sse + "Content-Encoding: zstd\r\n" + closes + twoEvents, "", capture.EndCancelled, "refused 200, 0 bytes: the upstream compressed its response although it was not asked to, and not with gzip", false},

		{"is JSON", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + closes + "[]", "", capture.EndCancelled, `refused 200, 0 bytes: the upstream answered with media type "application/json"; a stream of events has text/event-stream or application/x-ndjson`, false},
		{"is protobuf", "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.ag-ui.event+proto\r\n" + closes + "\x00", "", capture.EndCancelled, `refused 200, 0 bytes: the upstream answered with media type "application/vnd.ag-ui.event+proto"; a stream of events has text/event-stream or application/x-ndjson`, false},
		{"has no type", "HTTP/1.1 200 OK\r\n" + closes + twoEvents, "", capture.EndCancelled, `refused 200, 0 bytes: the upstream answered with media type ""; a stream of events has text/event-stream or application/x-ndjson`, false},
		{"has no content", "HTTP/1.1 204 No Content\r\n\r\n", "", capture.EndCancelled, `refused 204, 0 bytes: the upstream answered with media type ""; a stream of events has text/event-stream or application/x-ndjson`, false},
		{"redirects", "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\n" + sized(2) + "go", "", capture.EndEOF, "refused 307, 2 bytes: the upstream answered with status 307", false},
		{"refuses", "HTTP/1.1 422 Unprocessable\r\nContent-Type: application/json\r\n" + sized(2) + "{}", "", capture.EndEOF, "refused 422, 2 bytes: the upstream answered with status 422", true},
		{"refuses with events", "HTTP/1.1 500 Oh\r\nContent-Type: text/event-stream\r\n" + closes + twoEvents, "", capture.EndEOF, "refused 500, 18 bytes: the upstream answered with status 500", true},
		{"refuses with much", "HTTP/1.1 500 Oh\r\n" + closes + long, "", capture.EndLimit, "refused 500, 65536 bytes: the upstream answered with status 500", true},
		{"refuses and compresses", "HTTP/1.1 401 No\r\nContent-Encoding: gzip\r\n" + closes + zip(long), "", capture.EndLimit, "refused 401, 65536 bytes: the upstream answered with status 401", true},
		{"refuses and compresses in another way", "HTTP/1.1 401 No\r\nContent-Encoding: br\r\n" + closes + "x", "", capture.EndEOF, "refused 401, 0 bytes: the upstream answered with status 401", true},
		{"refuses and breaks off", "HTTP/1.1 401 No\r\n" + sized(5) + "xx", "", capture.EndError, "refused 401, 2 bytes: the upstream answered with status 401", true},

		{"closes at once", "", "", capture.EndError, "the upstream closed the connection without a response", false},
		{"breaks off in the head", "HTTP/1.1 200 OK\r\nConte", "", capture.EndError, "the response of the upstream is malformed", false},
		{"is not HTTP", "220 mail\r\n", "", capture.EndError, "the response of the upstream is malformed", false},
		{"switches", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "", capture.EndError, "the upstream answered with an invalid status", false},
		{"has an odd status", "HTTP/1.1 042 What\r\n\r\n", "", capture.EndError, "the upstream answered with an invalid status", false},
		{"has a long header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", "", capture.EndError, "the response of the upstream has too many bytes of headers", false},
		{"has many headers", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: x\r\n", 100_000) + "\r\n", "", capture.EndError, "the response of the upstream has too many bytes of headers", false},
		{"informs without end", strings.Repeat("HTTP/1.1 103 Early\r\nX: "+strings.Repeat("x", 1000)+"\r\n\r\n", 1000), "", capture.EndError, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, r := newCalls(t, nil), &received{}
			end, err := f.do(t, t.Context(), raw(t, test.response), r)
			x := <-f.ended
			got := fmt.Sprint(err)
			var refused *Refused
			var upstream *UpstreamError
			switch {
			case err == nil:
				got = ""
			case errors.As(err, &refused):
				if len(refused.Body) > 0 && refused.Header.Get("Content-Encoding") != "" {
					t.Error("the body is decoded, and its header says that it is not")
				}
				got = fmt.Sprintf("refused %d, %d bytes: %s", refused.Status, len(refused.Body), refused.Reason)
			case !errors.As(err, &upstream):
				t.Errorf("%v is not about the upstream", err)
			}
			if events := strings.Join(r.data(), " "); events != test.events || end != test.end || got != test.err && test.name != "informs without end" {
				t.Errorf("events %q, end %s, %s", events, end, got)
			}
			if (err == nil || len(r.calls) > 0) != (len(r.calls) > 0 && r.calls[0] == "accepted") {
				t.Errorf("%v, calls %q", err, r.calls)
			}
			if x.End != end || x.Recorded != test.recorded || x.Stored != test.recorded {
				t.Errorf("end %s, %+v", end, x)
			}
			if n := f.queued; n != 0 {
				t.Errorf("%d bytes remain in the queue", n)
			}
			if !test.recorded || len(r.calls) == 0 || strings.Contains(test.name, "breaks off") && strings.Contains(test.name, "NDJSON") || strings.Contains(got, "decompressed") {
				return
			}
			var data []string
			for _, event := range events(t, filepath.Join(f.captures, x.Name)) {
				data = append(data, event[:1])
			}
			if diff := cmp.Diff(data, r.data()); diff != "" {
				t.Errorf("the capture has other events\n%s", diff)
			}
		})
	}
}

// An upstream that cannot be reached is named by the reason, not by its address.
func TestCallerUnreachable(t *testing.T) {
	t.Parallel()
	f := newCalls(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	for to, want := range map[string]string{
		"http://" + address:      "the upstream refused the connection",
		"http://agent.invalid/x": "the name of the upstream cannot be resolved",
	} {
		end, err := f.do(t, t.Context(), to, &received{})
		if _, ok := errors.AsType[*UpstreamError](err); !ok || end != capture.EndError || err.Error() != want {
			t.Errorf("%s, %v, want %s", end, err, want)
		}
	}
	for _, to := range []string{"ftp://h/", "http://u:p@h/", "/x", "http://h/?k=v"} {
		if _, err := f.do(t, t.Context(), to, &received{}); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// When the exchange is ended, the upstream sees it at once, even if it is idle.
func TestCallerEnded(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for _, test := range []struct {
		name string
		stop func(f *calls, cancel context.CancelCauseFunc)
		want error
		end  capture.End
	}{
		{"cancelled", func(_ *calls, cancel context.CancelCauseFunc) { cancel(enough) }, enough, capture.EndCancelled},
		{"timeout", func(f *calls, _ context.CancelCauseFunc) {
			f.caller.open.mu.Lock()
			defer f.caller.open.mu.Unlock()
			for _, cancel := range f.caller.open.open {
				cancel(ErrTimeout)
			}
		}, ErrTimeout, capture.EndLimit},
		{"drained", func(f *calls, _ context.CancelCauseFunc) {
			done, cancel := context.WithCancel(context.Background())
			cancel()
			var cut *DrainError
			if err := f.caller.Drain(done); !errors.As(err, &cut) || cut.Ended != 1 || cut.Unsure != 0 {
				panic(err)
			}
		}, ErrDrained, capture.EndCancelled},
	} {
		for _, at := range []string{"head", "event", "refused"} {
			t.Run(test.name+" at "+at, func(t *testing.T) {
				t.Parallel()
				gone, asked := make(chan struct{}), make(chan struct{})
				o := &queueing{watcher: &watcher{ended: make(chan Exchange, 1)}, response: asked}
				upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					if at != "head" {
						w.Header().Set("Content-Type", "text/event-stream")
						if at == "refused" {
							w.WriteHeader(500)
						}
						io.WriteString(w, twoEvents)
						w.(http.Flusher).Flush()
					}
					if at == "head" {
						close(asked)
					}
					<-r.Context().Done()
					close(gone)
				})
				f, r := newCalls(t, func(s *Settings) { s.Observer = o }), &received{}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				go func() {
					<-asked
					test.stop(f, cancel)
				}()
				end, err := f.do(t, ctx, upstream, r)
				<-gone
				if _, refused := errors.AsType[*Refused](err); end != test.end || !errors.Is(err, test.want) && !(refused && at == "refused") {
					t.Errorf("%s, %v", end, err)
				}
				if x := <-o.ended; x.End != test.end || x.Recorded != (at != "head") || x.Stored != x.Recorded {
					t.Errorf("%+v", x)
				}
			})
		}
	}
}

// The time limit, and that of the body of an error, are set.
func TestCallerTimeLimits(t *testing.T) {
	t.Parallel()
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/refused" {
			w.WriteHeader(503)
			io.WriteString(w, "soon")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	f := newCalls(t, func(s *Settings) { s.Timeout = time.Millisecond })
	if end, err := f.do(t, t.Context(), upstream, &received{}); end != capture.EndLimit || err != ErrTimeout {
		t.Errorf("%s, %v", end, err)
	}
	f = newCalls(t, nil)
	f.caller.patience = 3 * time.Second // the body has to arrive
	end, err := f.do(t, t.Context(), upstream+"/refused", &received{})
	if refused, ok := errors.AsType[*Refused](err); !ok || end != capture.EndLimit || string(refused.Body) != "soon" {
		t.Errorf("%s, %v", end, err)
	}
	if x := <-f.ended; x.End != capture.EndLimit || !x.Stored {
		t.Errorf("%+v", x)
	}
}

// There is a limit of open exchanges, and after Drain there are none.
func TestCallerBusy(t *testing.T) {
	t.Parallel()
	parts := make(chan string)
	upstream := stream(t, parts)
	f := newCalls(t, func(s *Settings) { s.MaxExchanges = 1 })
	ended := make(chan error)
	accepted := make(chan struct{})
	go func() {
		_, err := f.do(t, t.Context(), upstream, &received{do: func(call string) error {
			if call == "accepted" {
				close(accepted)
			}
			return nil
		}})
		ended <- err
	}()
	<-accepted
	if _, err := f.do(t, t.Context(), upstream, &received{}); err != ErrBusy {
		t.Error(err)
	}
	close(parts)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := f.caller.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := f.do(t, t.Context(), upstream, &received{}); err != ErrDrained {
		t.Error(err)
	}
}

// If the capture cannot be written, the run goes on, unless FailOnStore is set.
func TestCallerBrokenStore(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"create", "write", "close"} {
		for _, fail := range []bool{false, true} {
			t.Run(fmt.Sprint(at, fail), func(t *testing.T) {
				t.Parallel()
				parts := make(chan string)
				f := newCalls(t, func(s *Settings) { s.FailOnStore, s.Sync = fail, SyncEach })
				g := newGate(at, errors.New("no space left on device"))
				close(g.open)
				g.install(&fixture{proxy: &Proxy{recorder: f.caller.recorder}})
				go func() {
					parts <- "data: a\n\n"
					if at != "close" {
						<-g.reach
					}
					if !fail || at == "close" { // otherwise the failure ends the response, not the agent
						parts <- "data: b\n\n"
						close(parts)
					}
				}()
				r := &received{}
				end, err := f.do(t, t.Context(), stream(t, parts), r)
				x := <-f.ended
				if fail && at != "close" {
					if end != capture.EndStorage || err != ErrStorage {
						t.Errorf("%s, %v", end, err)
					}
				} else if got := strings.Join(r.data(), ""); end != capture.EndEOF || err != nil || got != "ab" {
					t.Errorf("%s, %v, %q", end, err, got)
				}
				if stored := at == "write"; x.Stored != stored || !x.Recorded {
					t.Errorf("%+v", x)
				}
			})
		}
	}
}

// A capture stops at its limit, and the run goes on.
func TestCallerLimitedCapture(t *testing.T) {
	t.Parallel()
	f, r := newCalls(t, func(s *Settings) { s.MaxBytes = 9 }), &received{}
	end, err := f.do(t, t.Context(), serve(t, answered("text/event-stream", "data: a\n\n", "data: b\n\n")), r)
	if x := <-f.ended; end != capture.EndEOF || err != nil || strings.Join(r.data(), "") != "ab" || x.End != capture.EndLimit || x.Events != 1 || !x.Stored {
		t.Errorf("%s, %v, %q, %+v", end, err, r.calls, x)
	}
}
