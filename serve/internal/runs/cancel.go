package runs

import (
	"context"
	"errors"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
)

// Cancel ends a run that this or another process runs. It returns when the log has the end.
// The process that runs it finds out from the log. A run that was cancelled before counts as
// cancelled. The run id is that of the request, or else the one that the agent gave the run.
// The error is ErrNoRun if there is no such run, ErrRunEnded if its
// run has ended, that of ctx, or that of the log.
func Cancel(ctx context.Context, log store.Log, key store.Key, runID string) error {
	for {
		last, err := find(ctx, log, key, runID, nil)
		if err == nil && last.number == 0 {
			last, err = named(ctx, log, key, runID)
		}
		switch {
		case err != nil:
			return err
		case last.number == 0:
			// A deleted thread has no streams.
			if t, err := log.Thread(ctx, key); err == nil && !t.DeletedAt.IsZero() {
				return store.ErrDeleted
			}
			return ErrNoRun
		case last.Ended && last.cancelled:
			return nil
		case last.Ended:
			return ErrRunEnded
		}
		if ended, _, err := finish(ctx, log, key, last.ID, cancelled, true, capture.EndCancelled); ended || err != nil {
			return err
		}
	}
}

// Cancel is like the function, but also ends an exchange of this process at once, and the
// requests of the run that wait for their thread in this process. They leave nothing in the
// log.
func (r *Runs) Cancel(ctx context.Context, key store.Key, runID string) error {
	waited, err := r.cancelWaiting(ctx, key, runID)
	if err != nil {
		return err
	}
	// The log may be failing: then the run ends although its end is not in the log yet.
	if x := r.current(key); x != nil && strings.HasPrefix(x.stream, streamPrefix(runID)) {
		x.cancel(ErrCancelled)
	}
	err = Cancel(ctx, r.log, key, runID)
	r.wake(key) // who waits for a run that is appended
	if waited && (errors.Is(err, ErrNoRun) || errors.Is(err, ErrRunEnded)) {
		return nil // an earlier attempt may have ended
	}
	return err
}
