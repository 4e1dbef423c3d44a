package service

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/transfer"
)

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
