package service

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/transfer"
)

// seen is a LogObserver and a log that keep what they receive.
type seen struct {
	mu      sync.Mutex
	counts  map[string]int
	results chan string
	text    strings.Builder
}

func (s *seen) count(what string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what] += n
}

func (s *seen) LogAppended(n int, live bool) { s.count(fmt.Sprint("appended live=", live), n) }
func (s *seen) LogFailed()                   { s.count("errors", 1) }
func (s *seen) NotLive()                     { s.count("not live", 1) }
func (s *seen) LogQueued(delta int)          { s.count("queued", delta) }
func (s *seen) Logged(result string) {
	s.count(result, 1)
	s.results <- result
}

func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// of returns a count.
func (s *seen) of(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

// said returns how often the log has a message.
func (s *seen) said(message string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), message)
}

// newLogger returns a Logger that is not started.
func newLogger(t *testing.T, s *Store, events store.Log) (*Logger, *seen) {
	t.Helper()
	o := &seen{counts: map[string]int{}, results: make(chan string, 10*maxWaiting)}
	l := NewLogger(s, kept{events}, "tenant", slog.New(slog.NewTextHandler(o, &slog.HandlerOptions{Level: slog.LevelDebug})), o)
	l.pause = time.Millisecond
	t.Cleanup(l.stop)
	return l, o
}

// kept is a log that is used after a Logger has closed it.
type kept struct{ store.Log }

func (kept) Close() error { return nil }

// entries returns the entries of a thread. Each has its stream, kind, data and time.
func entries(t *testing.T, log store.Log, thread string) (list []string) {
	t.Helper()
	for e, err := range log.Read(t.Context(), store.Key{Tenant: "tenant", Thread: thread}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %s %s", e.Stream, e.Kind, e.Data, e.Arrived.Format("05.000000")))
	}
	return list
}

// imported returns the entries of the thread t in a log to which all captures of a store are
// imported.
func imported(t *testing.T, s *Store, names ...string) []string {
	t.Helper()
	log := memory.New()
	for _, name := range names {
		transfer.Import(t.Context(), log, inputs.File(filepath.Join(s.Path, name)), transfer.ImportSettings{Tenant: "tenant"})
	}
	return entries(t, log, "t")
}

// recorder is a proxy whose captures are appended to a log.
type recorder struct {
	*Store
	logger *Logger
	seen   *seen
	front  *httptest.Server
	proxy  *proxy.Proxy
	ended  chan proxy.Exchange
}

// Of proxy.Observer.
func (r *recorder) Begun()                    {}
func (r *recorder) Passed(int, time.Duration) {}
func (r *recorder) Queued(int)                {}
func (r *recorder) StoreFailed(error)         {}
func (r *recorder) Refused(int)               {}
func (r *recorder) Ended(e proxy.Exchange) {
	if e.Digest != "" {
		r.logger.Add(e.Name)
	}
	r.ended <- e
}

// record starts a proxy before an agent.
func record(t *testing.T, events store.Log, agent http.HandlerFunc, change func(*proxy.Settings)) *recorder {
	t.Helper()
	upstream := httptest.NewServer(agent)
	t.Cleanup(upstream.Close)
	to, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Store: newStore(t), ended: make(chan proxy.Exchange, 1000)}
	r.logger, r.seen = newLogger(t, r.Store, events)
	s := proxy.Settings{Upstream: to, Captures: r.Root, Tool: capture.Tool{Name: "test", Version: "1"}, Observer: r, Follow: r.logger.Follow}
	if change != nil {
		change(&s)
	}
	if r.proxy, err = proxy.New(s); err != nil {
		t.Fatal(err)
	}
	r.front = httptest.NewServer(r.proxy)
	t.Cleanup(r.front.Close)
	return r
}

// post sends a request of the thread t.
func (r *recorder) post(t *testing.T, path string) *http.Response {
	t.Helper()
	res, err := http.Post(r.front.URL+path, "application/json", strings.NewReader(`{"threadId":"t","runId":"r"}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// exchange sends a request and returns its exchange when it has ended.
func (r *recorder) exchange(t *testing.T, path string) proxy.Exchange {
	t.Helper()
	if _, err := io.Copy(io.Discard, r.post(t, path).Body); err != nil {
		t.Fatal(err)
	}
	return <-r.ended
}

// parts returns an agent that sends an event stream: what it receives from a channel.
func parts(c <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for part := range c {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// run is a whole response.
func run() string {
	return testkit.SSE(testkit.Started, testkit.Snapshot, testkit.Finished)
}

// agent answers every request with the whole response.
func agent(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, run())
}

// next returns the next entry of a log that is followed.
func follow(t *testing.T, log store.Log) (next func() string) {
	entries := make(chan string)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() {
		defer close(entries)
		for e, err := range log.Follow(ctx, store.Key{Tenant: "tenant", Thread: "t"}, 0) {
			if err != nil {
				return
			}
			select {
			case entries <- fmt.Sprintf("%s %s", e.Kind, e.Data):
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() string { return <-entries }
}

// A follower of the log sees each event while the exchange is open. In the end the log has
// exactly what an import of the capture appends.
func TestLoggerLive(t *testing.T) {
	t.Parallel()
	log, c := memory.New(), make(chan string)
	r := record(t, log, parts(c), nil)
	r.logger.Start()
	next := follow(t, log)
	r.post(t, "/")
	for i, part := range []string{testkit.Started, testkit.Snapshot, testkit.Finished} {
		c <- testkit.SSE(part)
		if i == 0 {
			if got := next(); got != `input {"threadId":"t","runId":"r"}` {
				t.Errorf("the first entry is %s", got)
			}
		}
		if got := next(); got != "event "+part {
			t.Errorf("followed %s, want %s", got, part)
		}
	}
	close(c)
	if got := next(); got != "end eof" {
		t.Errorf("the last entry is %s", got)
	}
	x := <-r.ended
	if result := <-r.seen.results; result != LogComplete {
		t.Errorf("the result is %s", result)
	}
	r.logger.Finish(t.Context())
	if diff := cmp.Diff(imported(t, r.Store, x.Name), entries(t, log, "t")); diff != "" {
		t.Error(diff)
	}
	for what, want := range map[string]int{"appended live=true": 4, "appended live=false": 1, "queued": 0, "not live": 0, "errors": 0} {
		if got := r.seen.of(what); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	if captures, behind := r.logger.Behind(); captures != 0 || behind != 0 {
		t.Errorf("%d captures wait, for %v", captures, behind)
	}
}

// What is in the store is appended first, then what is closed later. Captures without
// anything to append are left out. The next start appends nothing again.
func TestLoggerCompletes(t *testing.T) {
	t.Parallel()
	log := memory.New()
	r := record(t, log, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		var body bytes.Buffer
		switch q.URL.Path {
		case "/coded":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(&body)
			_, _ = io.WriteString(z, run())
			_ = z.Close()
		case "/opaque":
			w.Header().Set("Content-Type", "application/vnd.ag-ui.event+proto")
			body.WriteString("\x01\x02")
		case "/failed":
			w.WriteHeader(http.StatusBadRequest)
			body.WriteString(run())
		case "/empty":
		case "/no thread":
			body.WriteString(testkit.SSE(`{"type":"CUSTOM"}`))
		default:
			body.WriteString(run())
		}
		_, _ = w.Write(body.Bytes())
	}, func(s *proxy.Settings) { s.Follow = nil })
	var names []string
	none := 0
	for _, path := range []string{"/", "/coded", "/opaque", "/failed", "/empty"} {
		req, err := http.NewRequest("POST", r.front.URL+path, strings.NewReader(`{"threadId":"t"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		x := <-r.ended
		if path == "/" || path == "/coded" {
			names = append(names, x.Name)
		} else {
			none++
		}
	}
	if _, err := http.Post(r.front.URL+"/no%20thread", "application/json", strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	<-r.ended
	none++
	if err := os.Mkdir(filepath.Join(r.Path, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.logger, r.seen = newLogger(t, r.Store, log) // as at the next start
	r.logger.Start()
	for range 2 + none {
		<-r.seen.results
	}
	names = append(names, r.exchange(t, "/").Name)
	r.logger.Finish(t.Context())
	want := imported(t, r.Store, names...)
	got := entries(t, log, "t")
	slices.Sort(want) // the streams are appended in the order of the directory
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 3*5 {
		t.Errorf("%s\n%s", diff, r.seen.text.String())
	}
	if r.seen.of(LogComplete) != 3 || r.seen.of(LogNone) != none || r.seen.said("captures without a thread") != 1 {
		t.Errorf("%v", r.seen.counts)
	}

	again, seen := newLogger(t, r.Store, log)
	again.Start()
	again.Finish(t.Context())
	if seen.of("appended live=false") != 0 || seen.of(LogComplete) != 0 || seen.of(LogFailed) != 0 || len(entries(t, log, "t")) != len(want) {
		t.Errorf("the second time: %v", seen.counts)
	}
}

// Exchanges of one thread that are open at the same time are appended side by side. Each
// stream has what its capture has, in order.
func TestLoggerInterleaved(t *testing.T) {
	t.Parallel()
	const exchanges = 8
	log := memory.New()
	together := make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(exchanges)
	r := record(t, log, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, testkit.SSE(testkit.Started))
		_ = http.NewResponseController(w).Flush()
		ready.Done()
		<-together
		for i := range 200 {
			_, _ = io.WriteString(w, testkit.SSE(fmt.Sprintf(`{"type":"CUSTOM","name":"%s","value":%d}`, q.URL.Path, i)))
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, testkit.SSE(testkit.Finished))
	}, nil)
	r.logger.Start()
	var clients sync.WaitGroup
	for i := range exchanges {
		clients.Go(func() { _, _ = io.Copy(io.Discard, r.post(t, fmt.Sprint("/", i)).Body) })
	}
	ready.Wait()
	close(together)
	clients.Wait()
	var want []string
	for range exchanges {
		want = append(want, imported(t, r.Store, (<-r.ended).Name)...)
	}
	r.logger.Finish(t.Context())
	got := entries(t, log, "t")
	streams := func(list []string) map[string][]string {
		m := map[string][]string{}
		for _, e := range list {
			stream, rest, _ := strings.Cut(e, " ")
			m[stream] = append(m[stream], rest)
		}
		return m
	}
	if diff := cmp.Diff(streams(want), streams(got)); diff != "" {
		t.Error(diff)
	}
}

// broken is a log that fails, or hangs, on demand.
type broken struct {
	store.Log
	mu    sync.Mutex
	err   error // nil if it works
	hangs bool
}

func (b *broken) set(err error, hangs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err, b.hangs = err, hangs
}

func (b *broken) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	b.mu.Lock()
	err, hangs := b.err, b.hangs
	b.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	return b.Log.Append(ctx, key, after, entries)
}

// A log that fails or hangs does not affect the traffic. It is completed when it works
// again. That it fails, and that it works again, is said once.
func TestLoggerAway(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		t.Run(fmt.Sprint("hangs=", hangs), func(t *testing.T) {
			t.Parallel()
			log, c := &broken{Log: memory.New()}, make(chan string)
			r := record(t, log, parts(c), nil)
			r.logger.timeout = 10 * time.Millisecond
			r.logger.Start()
			next := follow(t, log)
			body := r.post(t, "/").Body
			c <- testkit.SSE(testkit.Started)
			next()
			next()
			log.set(errors.New("no space left on device"), hangs)
			for _, event := range []string{testkit.Snapshot, testkit.Finished} {
				c <- testkit.SSE(event)
			}
			close(c)
			if got, err := io.ReadAll(body); err != nil || string(got) != run() {
				t.Errorf("%v: the client got %s", err, got)
			}
			x := <-r.ended
			for r.seen.of("errors") < 3 {
				time.Sleep(time.Millisecond)
			}
			if captures, behind := r.logger.Behind(); captures < 1 || behind == 0 {
				t.Errorf("%d captures wait, for %v", captures, behind)
			}
			log.set(nil, false)
			want := imported(t, r.Store, x.Name)
			for range len(want) - 2 {
				next()
			}
			r.logger.Finish(t.Context())
			if diff := cmp.Diff(want, entries(t, log, "t")); diff != "" {
				t.Error(diff)
			}
			if r.seen.said("the event log cannot be used") != 1 || r.seen.said("the event log can be used again") != 1 || r.seen.of("not live") < 1 || r.seen.of("queued") != 0 {
				t.Errorf("%v\n%s", r.seen.counts, r.seen.text.String())
			}
		})
	}
}

// An append that began before a failure does not show that the log can be used again.
func TestLoggerLateAppend(t *testing.T) {
	t.Parallel()
	l, seen := newLogger(t, newStore(t), memory.New())
	l.unavailable(errors.New("the connection was refused"))
	l.available(l.failed)
	if seen.said("the event log can be used again") != 0 {
		t.Error(seen.text.String())
	}
	l.unavailable(errors.New("the connection was refused"))
	l.available(l.failed.Add(1))
	if seen.said("the event log cannot be used") != 1 || seen.said("the event log can be used again") != 1 {
		t.Error(seen.text.String())
	}
}

// A server that hangs while a connection is made has an error with several lines.
func TestLoggerConnectionHangs(t *testing.T) {
	t.Parallel()
	log := &broken{Log: memory.New(), err: fmt.Errorf("failed to connect:\n\tdial: %w", context.DeadlineExceeded)}
	l, seen := newLogger(t, newStore(t, "a"), log)
	l.pause = time.Hour
	l.Start()
	l.Finish(t.Context())
	if seen.said("does not answer in time: failed to connect: dial: context deadline exceeded") != 1 {
		t.Error(seen.text.String())
	}
}

// Finish does not wait for a log that fails, and says that something is missing. The next
// start appends it.
func TestLoggerFinishAway(t *testing.T) {
	t.Parallel()
	log := &broken{Log: memory.New(), err: errors.New("the connection was refused")}
	s := newStore(t, "a", "b")
	l, seen := newLogger(t, s, log)
	l.pause = time.Hour
	l.Start()
	l.Finish(t.Context())
	if seen.said("the next start appends them") != 1 || seen.said("the event log cannot be used") != 1 {
		t.Error(seen.text.String())
	}
	log.set(nil, false)
	l, seen = newLogger(t, s, log)
	l.Start()
	l.Finish(t.Context())
	if seen.of(LogComplete) != 2 || seen.said("the next start") != 0 {
		t.Errorf("%v\n%s", seen.counts, seen.text.String())
	}
}

// stuck is a log that never returns from an append.
type stuck struct {
	store.Log
	reached chan struct{}
}

func (s stuck) Append(context.Context, store.Key, int64, []store.Entry) (int64, error) {
	close(s.reached)
	select {}
}

// A log that hangs and ignores its context does not keep Finish.
func TestLoggerFinishHangs(t *testing.T) {
	t.Parallel()
	log := stuck{memory.New(), make(chan struct{})}
	l, seen := newLogger(t, newStore(t, "a"), log)
	l.grace = time.Millisecond
	l.Start()
	<-log.reached
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Finish(ctx)
	if seen.said("the next start appends them") != 1 || seen.said("the event log hangs") != 1 {
		t.Errorf("%v\n%s", seen.counts, seen.text.String())
	}
}

// Failed requests are not followed, even if the response has the events of a run.
func TestLoggerFailedRequest(t *testing.T) {
	t.Parallel()
	log := memory.New()
	r := record(t, log, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, run())
	}, nil)
	r.logger.Start()
	r.exchange(t, "/")
	r.logger.Finish(t.Context())
	if got := entries(t, log, "t"); len(got) != 0 || r.seen.of(LogNone) != 1 || r.seen.of("not live") != 0 {
		t.Errorf("%q, %v", got, r.seen.counts)
	}
}

// If more events wait than fit in memory, the rest is appended from the capture.
func TestLoggerQueueFull(t *testing.T) {
	t.Parallel()
	log := memory.New()
	r := record(t, log, agent, nil)
	r.logger.maxLive = 300
	r.logger.Start()
	x := r.exchange(t, "/")
	r.logger.Finish(t.Context())
	if diff := cmp.Diff(imported(t, r.Store, x.Name), entries(t, log, "t")); diff != "" {
		t.Error(diff)
	}
	if r.seen.of("not live") != 1 || r.seen.of("queued") != 0 {
		t.Errorf("%v", r.seen.counts)
	}
}

// A capture that ended before its response is appended with that end.
func TestLoggerLimit(t *testing.T) {
	t.Parallel()
	log := memory.New()
	r := record(t, log, agent, func(s *proxy.Settings) { s.MaxBytes = int64(len(testkit.SSE(testkit.Started)) + 10) })
	r.logger.Start()
	r.exchange(t, "/")
	r.logger.Finish(t.Context())
	got := entries(t, log, "t")
	if len(got) != 3 || !strings.Contains(got[2], " end limit ") {
		t.Errorf("%q", got)
	}
}

// A capture that is damaged, or whose thread was deleted, does not keep the others back.
func TestLoggerFailures(t *testing.T) {
	t.Parallel()
	log := memory.New()
	s := newStore(t, "damaged", "good")
	testkit.Write(t, filepath.Join(s.Path, "damaged", "response.sse"), testkit.SSE(testkit.Started, testkit.Finished))
	l, seen := newLogger(t, s, log)
	l.Start()
	l.Finish(t.Context())
	if seen.of(LogComplete) != 1 || seen.of(LogFailed) != 1 || seen.said("code=capture_digest_mismatch") != 1 || seen.said("threadId") != 0 {
		t.Errorf("%v\n%s", seen.counts, seen.text.String())
	}
	if captures, _ := l.Behind(); captures != 0 {
		t.Errorf("%d captures wait", captures)
	}

	if _, err := log.Delete(t.Context(), store.Key{Tenant: "tenant", Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	add(t, s, "late")
	l, seen = newLogger(t, s, log)
	l.Start()
	l.Finish(t.Context())
	if seen.of(LogNone) != 2 || seen.of("errors") != 0 || seen.said("captures of deleted threads") != 1 {
		t.Errorf("%v\n%s", seen.counts, seen.text.String())
	}
	if captures, behind := l.Behind(); captures != 0 || behind != 0 {
		t.Errorf("%d captures wait, for %v", captures, behind)
	}
}

// A response with a content coding that was cut off is not damaged.
func TestLoggerCodingCutOff(t *testing.T) {
	t.Parallel()
	r := record(t, memory.New(), func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, run())
		_ = z.Flush()
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, nil)
	r.logger.backlog.missed = false // the search at the start could find the capture too
	r.logger.Start()
	_, _ = io.Copy(io.Discard, r.post(t, "/").Body)
	<-r.ended
	r.logger.Finish(t.Context())
	if r.seen.of(LogNone) != 1 || r.seen.of(LogFailed) != 0 {
		t.Errorf("%v\n%s", r.seen.counts, r.seen.text.String())
	}
}

// After a power failure, the log can have more of a stream than the capture that was
// recovered. Nothing of it is lost, and the stream ends after it.
func TestLoggerPowerFailure(t *testing.T) {
	t.Parallel()
	for _, left := range []string{testkit.SSE(testkit.Started), ""} {
		t.Run(fmt.Sprint(len(left), " bytes"), func(t *testing.T) { testPowerFailure(t, left) })
	}
}

func testPowerFailure(t *testing.T, left string) {
	request := `{"threadId":"t"}`
	log, s := memory.New(), newStore(t)
	live := transfer.NewStream(log, transfer.StreamSettings{Tenant: "tenant", ID: "one"})
	if err := live.Input(t.Context(), []byte(request), time.Time{}); err != nil {
		t.Fatal(err)
	}
	for _, e := range []string{testkit.Started, testkit.Snapshot, testkit.Finished} {
		if err := live.Event(t.Context(), []byte(e), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := live.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := capture.Create(filepath.Join(s.Path, "one-recovered"), capture.Settings{
		Framing: capture.SSE, Source: capture.Source{Kind: capture.KindProxy}, Tool: capture.Tool{Name: "test", Version: "1"},
		Labels: map[string]string{capture.RecoveredFrom: "one"}, Request: []byte(request),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(left)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(capture.EndError); err != nil {
		t.Fatal(err)
	}
	for round, want := range []int{1, 0} { // the next start finds everything
		l, seen := newLogger(t, s, log)
		l.Start()
		l.Finish(t.Context())
		if seen.of(LogComplete) != want || seen.of(LogFailed) != 0 || seen.of("appended live=false") != want {
			t.Errorf("start %d: %v\n%s", round, seen.counts, seen.text.String())
		}
	}
	got := entries(t, log, "t")
	if len(got) != 5 || !strings.HasPrefix(got[3], "one event "+testkit.Finished) || !strings.HasPrefix(got[4], "one end error") {
		t.Errorf("%q", got)
	}
}

// A backlog that is full loses nothing, and finds only captures that had no room.
func TestBacklog(t *testing.T) {
	t.Parallel()
	s := newStore(t, "a", "b", "c", "d")
	b := newBacklog(s, slog.New(slog.DiscardHandler))
	taken := func() (names []string) {
		for {
			p, later := b.next()
			if p == nil {
				if !later.IsZero() {
					t.Errorf("there is more at %v", later)
				}
				return names
			}
			names = append(names, p.name)
			b.done()
		}
	}
	all := taken()
	slices.Sort(all)
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(all, want) {
		t.Errorf("found %v, want %v", all, want)
	}
	if n, since := b.size(); n != 0 || !since.IsZero() {
		t.Errorf("%d wait since %v", n, since)
	}
	for range maxWaiting {
		b.add("a")
	}
	b.add("d")
	b.add("c")
	if n, since := b.size(); n != maxWaiting || since.IsZero() {
		t.Errorf("%d wait since %v", n, since)
	}
	all = taken()
	found := all[maxWaiting:]
	slices.Sort(found)
	if want := []string{"c", "d"}; !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	b.add("a")
	p, _ := b.next()
	b.again(p, time.Hour)
	if p, later := b.next(); p != nil || time.Until(later) < time.Minute {
		t.Errorf("%v is next, at %v", p, later)
	}
}
