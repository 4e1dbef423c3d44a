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

// hear notes that the producer of a stream is alive. The error is ErrDraining, ErrRuns, or that
// of ctx.
func (r *Runs) hear(ctx context.Context, key store.Key, stream string) error {
	name, most := presenceName(key, stream), r.settings.AppendTimeout
	r.mu.Lock()
	p := r.producers[name]
	if p == nil {
		if err := r.room(key.Tenant); err != nil {
			r.mu.Unlock()
			return err
		}
		p = &producer{timer: time.AfterFunc(most, func() { r.silence(key, stream) })}
		r.producers[name] = p
	}
	p.until = time.Now().Add(most)
	present, leave := r.arrival(name)
	if p.leave == nil {
		p.leave = leave
	} else {
		defer leave()
	}
	r.mu.Unlock()
	select {
	case <-present.tried:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// silence forgets a producer if it was not heard of for long enough.
func (r *Runs) silence(key store.Key, stream string) {
	r.mu.Lock()
	p := r.producers[presenceName(key, stream)]
	if p != nil {
		if rest := time.Until(p.until); rest > 0 {
			p.timer.Reset(rest)
			p = nil
		}
	}
	r.mu.Unlock()
	if p != nil {
		r.forget(key, stream)
	}
}

// forget notes that a run is not appended any more.
func (r *Runs) forget(key store.Key, stream string) {
	name := presenceName(key, stream)
	r.mu.Lock()
	p := r.producers[name]
	if p != nil {
		delete(r.producers, name)
		r.unroom(key.Tenant)
	}
	r.mu.Unlock()
	if p != nil {
		p.timer.Stop()
		p.leave()
	}
}

// closeSilent closes a stream that is appended if nothing came from its producer for
// Settings.AppendTimeout, at any process. The caller has the lease of the thread.
func (r *Runs) closeSilent(ctx context.Context, key store.Key, s store.Stream) error {
	for e, err := range r.log.Read(ctx, key, s.Last-1) {
		if err != nil || time.Since(e.Arrived) < r.settings.AppendTimeout {
			return err
		}
		break
	}
	name := presenceName(key, s.ID)
	if r.isPresent(name) {
		return nil
	}
	if taken, err := r.leases.Take(ctx, name); err != nil || !taken {
		return err
	}
	defer r.leases.Release(name)
	ended, _, err := finish(ctx, r.log, key, s.ID, producerSilent, true, capture.EndError)
	if ended {
		r.settings.Observer.OrphansClosed(1)
		r.logger(key).Warn("closed a run whose producer is silent", "stream", s.ID)
	}
	return err
}
