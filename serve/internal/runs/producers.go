package runs

import (
	"context"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
)

// A producer is one that this process heard of less than Settings.AppendTimeout ago. It counts
// as a client of its run, so that no other process closes the run either.
type producer struct {
	until time.Time
	timer *time.Timer
	leave func()
}

// hear notes that the producer of a stream is alive, and reports whether that was not known. The
// error is ErrDraining, ErrRuns, or that of ctx.
func (r *Runs) hear(ctx context.Context, key store.Key, stream string) (first bool, err error) {
	name, most := presenceName(key, stream), r.settings.AppendTimeout
	r.mu.Lock()
	p := r.producers[name]
	if p == nil {
		if err := r.room(key.Tenant); err != nil {
			r.mu.Unlock()
			return false, err
		}
		p = &producer{timer: time.AfterFunc(most, func() { r.silence(key, stream) })}
		r.producers[name] = p
	}
	p.until = time.Now().Add(most)
	delete(r.silent, name)
	present, leave := r.arrival(name)
	if first = p.leave == nil; first {
		p.leave = leave
	} else {
		defer leave()
	}
	r.mu.Unlock()
	select {
	case <-present.tried:
		return first, nil
	case <-ctx.Done():
		return first, context.Cause(ctx)
	}
}

// silence forgets a producer if it was not heard of for long enough.
func (r *Runs) silence(key store.Key, stream string) {
	name := presenceName(key, stream)
	r.mu.Lock()
	p := r.producers[name]
	if p == nil {
		r.mu.Unlock()
		return
	}
	if rest := time.Until(p.until); rest > 0 {
		p.timer.Reset(rest)
		r.mu.Unlock()
		return
	}
	r.silent[name] = p.until.Add(-r.settings.AppendTimeout)
	r.drop(name, key.Tenant)
	r.mu.Unlock()
	p.leave()
}

// forget notes that a run is not appended any more.
func (r *Runs) forget(key store.Key, stream string) {
	r.mu.Lock()
	p := r.drop(presenceName(key, stream), key.Tenant)
	r.mu.Unlock()
	if p != nil {
		p.leave()
	}
}

// drop removes a producer, if it is known. The caller holds r.mu, and lets the producer leave
// without it.
func (r *Runs) drop(name, tenant string) *producer {
	p := r.producers[name]
	if p != nil {
		p.timer.Stop()
		delete(r.producers, name)
		r.unroom(tenant)
	}
	return p
}

// closeSilent closes a stream that is appended if nobody has heard of its producer for
// Settings.AppendTimeout. The process that heard of it may have been killed a moment ago, so the
// time begins when this process finds that nobody does. The caller has the lease of the thread.
func (r *Runs) closeSilent(ctx context.Context, key store.Key, s store.Stream) error {
	name := presenceName(key, s.ID)
	absent, err := r.takeAbsent(ctx, name)
	if err != nil {
		return err
	}
	if !absent {
		r.mu.Lock()
		delete(r.silent, name)
		r.mu.Unlock()
		return nil
	}
	defer r.leases.Release(name)
	now := time.Now()
	r.mu.Lock()
	since, known := r.silent[name]
	if !known {
		r.silent[name] = now
	}
	r.mu.Unlock()
	if !known || now.Sub(since) < r.settings.AppendTimeout {
		return nil
	}
	ended, _, err := finish(ctx, r.log, key, s.ID, producerSilent, true, capture.EndError)
	if ended {
		r.settings.Observer.OrphansClosed(1)
		r.logger(key).Warn("closed a run whose producer is silent", "stream", s.ID)
	}
	return err
}
