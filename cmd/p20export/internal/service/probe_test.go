package service

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/p20export/p20export/cmd/p20export/internal/monitor"
)

// /readyz writes to the store at most once in ten seconds. That the store cannot be written,
// or can be written again, shows at the next write. That it is gone shows at once.
func TestProbeInterval(t *testing.T) {
	s := newStore(t)
	now := time.Now()
	s.now = func() time.Time { return now }
	m := monitor.NewProxy(s.Probe, slog.New(slog.DiscardHandler), func() int64 { return 0 })
	m.Serving()
	writes, broken := 0, error(nil)
	s.write = func(string) error { writes++; return broken }
	begin := now
	check := func(at time.Duration, err error, status, want int) {
		t.Helper()
		now, broken = begin.Add(at), err
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != status || writes != want {
			t.Errorf("after %v: status %d after %d writes, want %d after %d", at, w.Code, writes, status, want)
		}
	}
	full := errors.New("no space")
	check(0, nil, 200, 1)
	check(1, full, 200, 1)
	check(10*time.Second-1, full, 200, 1)
	check(10*time.Second, full, 503, 2)
	check(20*time.Second-1, nil, 503, 2)
	check(20*time.Second, nil, 200, 3)
	check(time.Hour, nil, 200, 4)
	if err := os.Rename(s.Path, filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	check(time.Hour+time.Second, nil, 503, 4)
}

// Requests for /readyz that come while the store is written share the result.
func TestProbeShared(t *testing.T) {
	s := newStore(t)
	writes := 0 // by one goroutine at a time
	begun, answer := make(chan struct{}), make(chan error)
	s.write = func(string) error { writes++; close(begun); return <-answer }
	m := monitor.NewProxy(s.Probe, slog.New(slog.DiscardHandler), func() int64 { return 0 })
	m.Serving()
	results := make(chan error)
	for range 20 {
		go func() { results <- m.Check() }()
	}
	<-begun
	full := errors.New("no space")
	answer <- full
	for range 20 {
		if err := <-results; err == nil { // or that it took too long, on a slow machine
			t.Error("the store can be written")
		}
	}
	if err := m.Check(); !errors.Is(err, full) || writes != 1 {
		t.Errorf("%v after %d writes", err, writes)
	}
}
