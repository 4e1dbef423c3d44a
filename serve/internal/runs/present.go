package runs

import (
	"context"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// A presence means that clients of this process which sent the request of a run are connected.
// Other processes see it by a lease, which the processes share that have such clients.
type presence struct {
	clients int
	tried   chan struct{} // closed when sharing the lease was tried for the first time
	left    chan struct{} // closed when all clients have left
}

// presenceTime is the time between tries to share the lease of a presence, which fail while
// the log is away, or while another process supersedes the run.
const presenceTime = 200 * time.Millisecond

// presenceName returns the name of the lease of a presence. It is not that of a thread.
func presenceName(key store.Key, stream string) string {
	return "present:" + stream + ":" + leaseName(key)
}

// arrive counts a client of a run until leave is called. When it returns, other processes see
// the client, unless the log is away or the run is being superseded.
func (r *Runs) arrive(ctx context.Context, key store.Key, stream string) (leave func(), err error) {
	r.mu.Lock()
	p, leave := r.arrival(presenceName(key, stream))
	r.mu.Unlock()
	select {
	case <-p.tried:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// arrival counts a client of a presence. The caller holds r.mu, and calls leave without it.
func (r *Runs) arrival(name string) (p *presence, leave func()) {
	p = r.present[name]
	if p == nil {
		p = &presence{tried: make(chan struct{}), left: make(chan struct{})}
		r.present[name] = p
		if r.closed {
			close(p.tried)
		} else {
			r.attending.Go(func() { r.hold(name, p) })
		}
	}
	p.clients++
	return p, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if p.clients--; p.clients == 0 {
			close(p.left)
			delete(r.present, name)
		}
	}
}

// hold shares the lease of a presence until its clients have left.
func (r *Runs) hold(name string, p *presence) {
	for first := true; ; first = false {
		shared, _ := r.leases.Share(r.ctx, name) // after an error it is tried again
		if first {
			close(p.tried)
		}
		if shared {
			select {
			case <-p.left:
			case <-r.ctx.Done():
			}
			r.leases.Release(name)
			return
		}
		select {
		case <-p.left:
			return
		case <-r.ctx.Done():
			return
		case <-time.After(presenceTime):
		}
	}
}

// isPresent reports whether this process has clients of a run.
func (r *Runs) isPresent(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.present[name] != nil
}

// takeAbsent takes the lease of a presence if no process has such clients, and reports whether
// it did. The caller releases it.
func (r *Runs) takeAbsent(ctx context.Context, name string) (bool, error) {
	if r.isPresent(name) {
		return false, nil
	}
	return r.leases.Take(ctx, name)
}

// supersede closes the open run of a stream whose clients have left, or its request if the
// agent has not begun a run, and reports whether it did.
func (r *Runs) supersede(ctx context.Context, key store.Key, stream string) (bool, error) {
	if isAppended(stream) { // a silent producer has been found before
		return false, nil
	}
	name := presenceName(key, stream)
	if absent, err := r.takeAbsent(ctx, name); err != nil || !absent {
		return false, err
	}
	defer r.leases.Release(name)
	ended, closed, err := finish(ctx, r.log, key, stream, superseded, true, capture.EndCancelled)
	// The process that runs it finds out from the log. If it is this one, it need not wait.
	if x := r.current(key); ended && x != nil && x.stream == stream {
		x.cancel(transfer.ErrEnded)
	}
	return closed, err
}
