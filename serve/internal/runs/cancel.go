package runs

import (
	"context"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
)

// Cancel ends a run that this or another process runs. It returns when the log has the end.
// The process that runs it finds out from the log. A run that was cancelled before counts as
// cancelled. The error is ErrNoRun if no request with the run id was sent, ErrRunEnded if its
// run has ended, that of ctx, or that of the log.
func Cancel(ctx context.Context, log store.Log, key store.Key, runID string) error {
	for {
		last, err := find(ctx, log, key, runID, nil)
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
