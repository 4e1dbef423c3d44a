package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// Keeper keeps checkpoints of long runs in their log, in the background and one run at a time, so that
// the next reader of a run does not restore it from its beginning: see restore.Options.Behind.
type Keeper struct {
	events store.Log
	log    *slog.Logger
	queue  chan keeping
	ctx    context.Context
	stop   context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	waiting map[keeping]bool // those in the queue, and the present one
	paused  time.Time        // the end of the pause after a failure
	failed  bool             // the last attempt failed
}

// keeping is a run that waits, and how it is restored.
type keeping struct {
	key      store.Key
	input    restore.Input
	dialect  reduce.Dialect
	position int64
}

const (
	// maxKeeping is how many runs wait at most. Further ones are forgotten until they are read again.
	maxKeeping = 1000
	// keepTimeout limits the time for one run: a log may hang.
	keepTimeout = 10 * time.Minute
	// maxKeepRest limits the rest after each step, which is as long as the step took, so that
	// checkpoints leave at least half of a processor and of the log to the traffic.
	maxKeepRest = 100 * time.Millisecond
	// keepPause is the pause after a failure: the log may be one that can only be read.
	keepPause = 10 * time.Minute
)

// NewKeeper returns a Keeper for runs of a log, which it does not close.
func NewKeeper(events store.Log, log *slog.Logger) *Keeper {
	k := &Keeper{
		events: events, log: log, queue: make(chan keeping, maxKeeping), ended: make(chan struct{}), waiting: make(map[keeping]bool),
	}
	k.ctx, k.stop = context.WithCancel(context.Background())
	return k
}

// Add adds a run that needs checkpoints, for readers with some options. It never blocks.
func (k *Keeper) Add(key store.Key, o restore.Options, position int64) {
	next := keeping{key, o.Input, o.Dialect, position}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting[next] || time.Now().Before(k.paused) {
		return
	}
	select {
	case k.queue <- next:
		k.waiting[next] = true
	default:
	}
}

// Start starts keeping checkpoints.
func (k *Keeper) Start() { go k.run() }

// Close ends the Keeper at once, after Start. What is missing is made when it is needed again.
func (k *Keeper) Close() {
	k.stop()
	<-k.ended
}

func (k *Keeper) run() {
	defer close(k.ended)
	for {
		select {
		case <-k.ctx.Done():
			return
		case next := <-k.queue:
			k.done(next, k.keep(next))
		}
	}
}

// keep keeps the checkpoints of a run.
func (k *Keeper) keep(next keeping) error {
	ctx, cancel := context.WithTimeout(k.ctx, keepTimeout)
	defer cancel()
	log := &resting{Log: k.events, since: time.Now()}
	t, err := restore.Open(ctx, log, next.key, restore.Options{Input: next.input, Dialect: next.dialect})
	if err == nil {
		err = t.KeepCheckpoints(ctx, next.position)
	}
	if err == nil {
		err = log.rest(ctx)
	}
	if k.ctx.Err() != nil || errors.Is(err, store.ErrNoThread) || errors.Is(err, store.ErrDeleted) || errors.Is(err, restore.ErrPosition) {
		return nil // it is of no use to anybody any more
	}
	return err
}

// done notes that the checkpoints of a run were kept, or the error.
func (k *Keeper) done(of keeping, err error) {
	k.mu.Lock()
	delete(k.waiting, of)
	first := err != nil && !k.failed
	if k.failed = err != nil; k.failed {
		k.paused = time.Now().Add(keepPause)
	}
	k.mu.Unlock()
	if first {
		k.log.Debug("no checkpoints of a long run are kept; restoring it takes longer", "tenant", of.key.Tenant, "thread", of.key.Thread, "error", err)
	}
}

// resting is a log that rests after something was kept, as long as the work since the last rest took.
type resting struct {
	store.Log
	since time.Time
}

// Keep implements store.Log.
func (l *resting) Keep(ctx context.Context, key store.Key, kind string, list []store.Derived) error {
	if err := l.Log.Keep(ctx, key, kind, list); err != nil {
		return err
	}
	return l.rest(ctx)
}

func (l *resting) rest(ctx context.Context) error {
	defer func() { l.since = time.Now() }()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(time.Since(l.since), maxKeepRest)):
		return nil
	}
}
