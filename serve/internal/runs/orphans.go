package runs

import (
	"context"
	"maps"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
)

// sweepTime is the time between searches for runs without an owner.
const sweepTime = 5 * time.Second

// sweepAll searches until Close.
func (r *Runs) sweepAll() {
	ticks := time.NewTicker(sweepTime)
	defer ticks.Stop()
	failing := false
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.draining:
			return
		case <-ticks.C:
		}
		err := r.sweep(r.ctx)
		if err != nil && !failing && r.ctx.Err() == nil {
			r.settings.Logger.Warn("runs without an owner cannot be searched for; this is tried again", "error", err)
		}
		failing = err != nil
	}
}

// sweep closes the streams that nobody runs.
func (r *Runs) sweep(ctx context.Context) error {
	var keys []store.Key
	open := map[string]bool{} // the presences of the streams that are appended
	for s, err := range r.log.Streams(ctx, store.StreamQuery{Prefix: prefix, Open: true}) {
		if err != nil {
			return err
		}
		if isAppended(s.ID) {
			name := presenceName(s.Key, s.ID)
			if open[name] = true; r.isPresent(name) {
				continue
			}
		}
		if n := len(keys); (n == 0 || keys[n-1] != s.Key) && r.current(s.Key) == nil {
			keys = append(keys, s.Key)
		}
	}
	r.mu.Lock()
	maps.DeleteFunc(r.silent, func(name string, _ time.Time) bool { return !open[name] }) // others have closed them
	r.mu.Unlock()
	for _, key := range keys {
		if err := r.sweepThread(ctx, key); err != nil && !deleted(err) {
			return err
		}
	}
	return nil
}

// sweepThread closes the streams of a thread if nobody has its lease.
func (r *Runs) sweepThread(ctx context.Context, key store.Key) error {
	lease := leaseName(key)
	taken, err := r.leases.Take(ctx, lease)
	if err != nil || !taken {
		return err
	}
	defer r.wake(key)
	defer r.leases.Release(lease)
	return r.closeOrphans(ctx, key)
}

// free closes the open streams of a thread that have no owner, and reports whether no other
// one is left. The caller has the lease of the thread and runs nothing in it.
func (r *Runs) free(ctx context.Context, key store.Key) (bool, error) {
	if err := r.closeOrphans(ctx, key); err != nil {
		return false, err
	}
	open, err := openStreams(ctx, r.log, key)
	return len(open) == 0, err
}

// closeOrphans closes the open streams of a thread. The caller has the lease of the thread
// and runs nothing in it.
func (r *Runs) closeOrphans(ctx context.Context, key store.Key) error {
	open, err := openStreams(ctx, r.log, key)
	if err != nil {
		return err
	}
	for _, s := range open {
		if isAppended(s.ID) {
			if err := r.closeSilent(ctx, key, s); err != nil {
				return err
			}
			continue
		}
		ended, _, err := finish(ctx, r.log, key, s.ID, ownerLost, true, capture.EndError)
		if err != nil {
			return err
		}
		if ended {
			r.settings.Observer.OrphansClosed(1)
			r.logger(key).Warn("closed a run whose process has ended", "stream", s.ID)
		}
	}
	return nil
}
