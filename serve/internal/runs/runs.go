package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/p20export/p20export/store"
)

// Runs are the runs of this process. They are safe for concurrent use.
type Runs struct {
	settings Settings
	log      store.Log
	leases   store.Leases

	// ctx is that of the work for active runs. It ends after Drain and with Close.
	ctx  context.Context
	stop context.CancelFunc
	// draining is closed when Drain begins.
	draining chan struct{}
	// cut is closed when Drain ends the active runs.
	cut     chan struct{}
	working sync.WaitGroup // the runs and the search for orphans
	// attending are the presences of clients, for which Drain does not wait.
	attending sync.WaitGroup

	threads threads

	mu     sync.Mutex
	active map[store.Key]*run
	// starting counts the runs of each tenant that are active or about to be.
	starting map[string]int
	total    int
	// producers are those of the runs that are appended, by the name of their presence.
	producers map[string]*producer
	// silent has the times since when this process knows that nobody hears of a producer.
	silent  map[string]time.Time
	drained bool                 // Drain or Close was called
	closed  bool                 // Close was called
	present map[string]*presence // by the name of the lease
	lines   map[store.Key]*line
	queued  int
	waiting int64 // bytes of the requests that wait
}

// New takes the leases of the log, closes the runs that have no owner, and goes on looking
// for such runs until Close. The error is store.ErrLeased if the leases of the log belong to
// another process.
func New(ctx context.Context, s Settings) (*Runs, error) {
	if err := s.Limits.normalize(); err != nil {
		return nil, err
	}
	s.AppendTimeout = cmp.Or(s.AppendTimeout, DefaultAppendTimeout)
	leaser, ok := s.Log.(store.Leaser)
	if !ok {
		return nil, errors.New("the log has no leases")
	}
	r := &Runs{
		settings: s, log: s.Log, draining: make(chan struct{}), cut: make(chan struct{}),
		active: map[store.Key]*run{}, starting: map[string]int{}, lines: map[store.Key]*line{}, present: map[string]*presence{}, producers: map[string]*producer{}, silent: map[string]time.Time{},
	}
	r.threads.limit = s.Limits.Threads
	r.ctx, r.stop = context.WithCancel(context.Background())
	var err error
	if r.leases, err = leaser.Leases(ctx, r.lost); err != nil {
		r.stop()
		return nil, fmt.Errorf("take the leases of the log: %w", err)
	}
	if err := r.sweep(ctx); err != nil {
		r.Close()
		return nil, fmt.Errorf("close runs without an owner: %w", err)
	}
	r.working.Go(r.sweepAll)
	return r, nil
}

// logger returns the logger with what identifies a thread.
func (r *Runs) logger(key store.Key) *slog.Logger {
	l := r.settings.Logger.With("thread", key.Thread)
	if key.Tenant != "" {
		l = l.With("tenant", key.Tenant)
	}
	return l
}

// lost ends the run whose lease was lost.
func (r *Runs) lost(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.active {
		if x.lease == name {
			x.cancel(errLost)
		}
	}
}

// reserve makes room for another run of a tenant.
func (r *Runs) reserve(tenant string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.room(tenant); err != nil {
		return err
	}
	// Drain waits for runs that are about to start, too.
	r.working.Add(1)
	return nil
}

// unreserve gives back what reserve took.
func (r *Runs) unreserve(tenant string) {
	r.mu.Lock()
	r.unroom(tenant)
	r.mu.Unlock()
	r.working.Done()
}

// room counts another run of a tenant. The caller holds r.mu.
func (r *Runs) room(tenant string) error {
	switch {
	case r.drained:
		return ErrDraining
	case r.total >= r.settings.Limits.Runs || r.starting[tenant] >= r.settings.Limits.TenantRuns:
		return ErrRuns
	}
	r.total++
	r.starting[tenant]++
	return nil
}

// unroom takes back what room counted. The caller holds r.mu.
func (r *Runs) unroom(tenant string) {
	r.total--
	if r.starting[tenant]--; r.starting[tenant] == 0 {
		delete(r.starting, tenant)
	}
}

// add makes a run the active one of its thread.
func (r *Runs) add(x *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active[x.key] = x
	if isClosed(r.cut) {
		x.cancel(errShutDown)
	}
}

// remove removes a run, if it is active.
func (r *Runs) remove(x *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active[x.key] == x {
		delete(r.active, x.key)
	}
}

// current returns the active run of a thread in this process, or nil.
func (r *Runs) current(key store.Key) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active[key]
}

// checked is the name of the lease that Check takes. It is not that of a thread, and several
// processes may want it at the same time.
const checked = "check"

// Check returns an error if leases cannot be taken at the moment. It writes nothing.
func (r *Runs) Check(ctx context.Context) error {
	taken, err := r.leases.Take(ctx, checked)
	if taken {
		r.leases.Release(checked)
	}
	return err
}

// Active returns the number of active runs of this process.
func (r *Runs) Active() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.active) + len(r.producers)
}

// drainGrace is the time in which cut runs are closed in the log.
const drainGrace = 10 * time.Second

// Drain refuses new runs, also those that wait, and waits for the active ones. When ctx is
// done it closes those that are left, and returns their number. If the log fails then, they
// are not closed: their time to wait for it is over. The next process closes them.
func (r *Runs) Drain(ctx context.Context) (cut int) {
	r.mu.Lock()
	if !r.drained {
		r.drained = true
		close(r.draining)
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() { r.working.Wait(); close(done) }()
	select {
	case <-done:
		return 0
	case <-ctx.Done():
	}
	r.mu.Lock()
	cut = len(r.active)
	if !isClosed(r.cut) {
		close(r.cut)
	}
	for _, x := range r.active {
		x.cancel(errShutDown)
	}
	r.mu.Unlock()
	select {
	case <-done:
	case <-time.After(drainGrace):
		r.stop() // the log does not answer
	}
	return cut
}

// isClosed reports whether a channel on which nothing is sent is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Close ends all work at once, without closing runs, and gives back the leases. Call Drain
// first.
func (r *Runs) Close() error {
	r.mu.Lock()
	if !r.drained {
		r.drained = true
		close(r.draining)
	}
	r.closed = true
	for _, p := range r.producers {
		p.timer.Stop()
	}
	r.mu.Unlock()
	r.stop()
	r.working.Wait()
	r.attending.Wait()
	return r.leases.Close()
}
