package proxy_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/digest"
)

// The kinds of exchanges of a load.
const (
	ends      = iota // the response is complete
	leaves           // the client leaves
	breaks           // the upstream breaks off
	fails            // the upstream answers with an error
	unrelated        // a GET request, which is not recorded
	kinds
)

// wantEnds are the ends of their captures.
var wantEnds = [kinds]capture.End{ends: capture.EndEOF, leaves: capture.EndCancelled, breaks: capture.EndError, fails: capture.EndEOF}

// An agentRun is one exchange of a load, with what both sides have seen.
type agentRun struct {
	kind, events int
	sent         digest.Digest // what the upstream has sent
	received     digest.Digest // what the client has received
	answered     chan struct{} // closed when the upstream is done
	read         chan struct{} // closed when the client is done
	checked      chan struct{} // closed when its capture is checked, if it has one
}

// A load keeps streams open through a proxy, and checks and removes their captures.
type load struct {
	t      *testing.T
	front  *front
	pause  time.Duration // between events
	most   int           // events of a stream
	client *http.Client
	scheme string
	// The major versions of HTTP that the sides must use, if they are not 0.
	clientVersion, upstreamVersion int

	counts [kinds]atomic.Int64
	bytes  atomic.Int64
	checks sync.WaitGroup

	mu   sync.Mutex
	open map[string]*agentRun
}

func newLoad(t *testing.T, pause time.Duration, most int) (l *load, stop func()) {
	l = &load{t: t, pause: pause, most: most, open: make(map[string]*agentRun)}
	upstream := httptest.NewServer(l)
	l.front = start(t, upstream.Listener.Addr().String(), nil)
	return l, l.through(upstream, "http", &http.Transport{MaxIdleConnsPerHost: 1000})
}

// through sets the upstream and the client's transport. The function that it returns ends
// the load.
func (l *load) through(upstream *httptest.Server, scheme string, transport *http.Transport) (stop func()) {
	l.front.stored = func(x proxy.Exchange) { l.checks.Go(func() { l.check(x) }) }
	l.client, l.scheme = &http.Client{Transport: transport}, scheme
	return func() {
		transport.CloseIdleConnections()
		l.front.stop()
		l.checks.Wait()
		upstream.Close()
	}
}

// run opens streams one after another while more returns true. At most one stream waits until
// its capture is checked, so that what waits does not grow if the machine is busy.
func (l *load) run(worker int, more func(n int) bool) {
	random := rand.New(rand.NewPCG(1, uint64(worker)))
	var last *agentRun // with a capture
	for n := 0; more(n); n++ {
		id := fmt.Sprintf(`{"threadId":"%d","runId":"%d"}`, worker, n)
		s := &agentRun{kind: ends, events: 1 + random.IntN(l.most), answered: make(chan struct{}), read: make(chan struct{}), checked: make(chan struct{})}
		switch k := random.IntN(20); {
		case k < 3:
			s.kind = leaves
		case k < 6:
			s.kind = breaks
		case k < 7:
			s.kind = fails
		case k < 8:
			s.kind = unrelated
		}
		l.mu.Lock()
		l.open[id] = s
		l.mu.Unlock()
		ok := l.exchange(id, s)
		l.counts[s.kind].Add(1)
		if last != nil {
			<-last.checked
			last = nil
		}
		if ok && s.kind != unrelated {
			last = s
		}
	}
}

// find returns the stream with the given request, and forgets it if it is over.
func (l *load) find(id string, over bool) *agentRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.open[id]
	if over {
		delete(l.open, id)
	}
	return s
}

// event returns an event of a stream.
func event(i int) string {
	return fmt.Sprintf("data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"%d %s\"}\n\n", i, strings.Repeat("x", i*7%200))
}

// ServeHTTP is the upstream.
func (l *load) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		l.t.Errorf("upstream: %v", err)
	}
	if l.upstreamVersion != 0 && r.ProtoMajor != l.upstreamVersion {
		l.t.Errorf("upstream: %s", r.Proto)
	}
	s := l.find(string(b), false)
	h := sha256.New()
	out := io.MultiWriter(w, h)
	defer func() {
		s.sent = digest.Sum(h)
		close(s.answered)
	}()
	switch s.kind {
	case unrelated:
		io.WriteString(out, "ok\n")
		return
	case fails:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(out, `{"error":"x"}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range s.events {
		io.WriteString(out, event(i))
		http.NewResponseController(w).Flush()
		if i+1 < s.events {
			time.Sleep(l.pause)
		}
	}
	switch s.kind {
	case breaks:
		panic(http.ErrAbortHandler)
	case leaves:
		<-r.Context().Done()
	}
}

// exchange is the client of one stream. It reports whether there was a response.
func (l *load) exchange(id string, s *agentRun) bool {
	defer close(s.read)
	method := http.MethodPost
	if s.kind == unrelated {
		method = http.MethodGet
		defer l.find(id, true)
	}
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.scheme+"://"+l.front.address+"/agent", strings.NewReader(id))
	if err != nil {
		l.t.Error(err)
		return false
	}
	response, err := l.client.Do(r)
	if err != nil {
		l.t.Errorf("kind %d: %v", s.kind, err)
		return false
	}
	defer response.Body.Close()
	if l.clientVersion != 0 && response.ProtoMajor != l.clientVersion {
		l.t.Errorf("client: %s", response.Proto)
	}
	h := sha256.New()
	var n int64
	if s.kind == leaves {
		// It leaves when it has received all events, which it knows.
		size := 0
		for i := range s.events {
			size += len(event(i))
		}
		n, err = io.CopyN(h, response.Body, int64(size))
	} else {
		n, err = io.Copy(h, response.Body)
	}
	if (err != nil) != (s.kind == breaks) {
		l.t.Errorf("kind %d: the response ended after %d bytes with %v", s.kind, n, err)
	}
	l.bytes.Add(n)
	s.received = digest.Sum(h)
	return true
}

// check compares a capture with what both sides have seen, and removes it.
func (l *load) check(x proxy.Exchange) {
	dir := filepath.Join(l.front.captures, x.Name)
	request, err := os.ReadFile(filepath.Join(dir, capture.RequestName))
	if err != nil {
		l.t.Error(err)
		return
	}
	s := l.find(string(request), true)
	if s == nil {
		l.t.Errorf("%s: the request %q is not one of the clients", x.Name, request)
		return
	}
	defer close(s.checked)
	<-s.answered
	<-s.read
	if _, err := capture.Check(l.t.Context(), dir); err != nil {
		l.t.Errorf("%s: %v", x.Name, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, capture.ManifestName))
	if err != nil {
		l.t.Error(err)
		return
	}
	m, err := capture.DecodeManifest(b)
	if err != nil {
		l.t.Error(err)
		return
	}
	if !x.Stored || m.End != wantEnds[s.kind] || m.Response().Digest != s.sent || s.received != s.sent {
		l.t.Errorf("%s: kind %d, end %s, stored %t; the upstream sent %s, the client received %s, the capture has %s",
			x.Name, s.kind, m.End, x.Stored, s.sent, s.received, m.Response().Digest)
	}
	if err := os.RemoveAll(dir); err != nil {
		l.t.Error(err)
	}
}
