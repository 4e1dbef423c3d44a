package runs

import (
	"context"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
)

// Source returns what readers read of a run: the run of the last request with the id, or else
// the last run to which an agent gave it. The error is ErrNoRun if there is none, or that of the
// log.
func Source(ctx context.Context, log store.Log, key store.Key, runID string) (attach.Source, error) {
	a, err := find(ctx, log, key, runID, nil)
	if err != nil {
		return attach.Source{}, err
	}
	var last store.Run
	several := false
	for run, err := range log.Runs(ctx, store.RunQuery{Tenant: &key.Tenant, Thread: &key.Thread, ID: &runID}) {
		if err != nil {
			return attach.Source{}, err
		}
		if a.number == 0 || run.Stream == a.ID {
			several = last.Stream == run.Stream
			last = run
		}
	}
	source := attach.Source{Stream: last.Stream, From: last.Start}
	switch {
	case a.number == 0 && last.Stream == "":
		return attach.Source{}, ErrNoRun
	case a.number > 0 && !several: // also what precedes RUN_STARTED
		source.Stream, source.From = a.ID, a.First
	}
	switch {
	case last.Stream == "" && a.Ended:
		source.Last = a.Last
	case last.Stream != "" && last.End != store.Open:
		source.Last = last.Last
	}
	return source, nil
}
