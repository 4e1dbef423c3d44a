package runs

import "context"

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
