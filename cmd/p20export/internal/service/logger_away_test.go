package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

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
