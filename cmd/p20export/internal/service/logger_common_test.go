package service

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/capture/inputs"
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
func (s *seen) LogRewound()                  { s.count("rewound", 1) }
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
