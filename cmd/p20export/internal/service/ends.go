package service

import (
	"bytes"
	"context"
	"errors"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/store"
)

// Watch returns a log that adds the threads to the Sealer in which a run or a stream ends,
// whoever appends the end. Close closes the log.
func (s *Sealer) Watch(log store.Log) store.Log { return ends{log, s} }

// ends is a log whose appends are watched.
type ends struct {
	store.Log
	sealer *Sealer
}

// Append implements store.Log. After most errors, the entries may have been appended.
func (l ends) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	last, err := l.Log.Append(ctx, key, after, entries)
	if !errors.Is(err, store.ErrConflict) && endRun(entries) {
		l.sealer.Add(key)
	}
	return last, err
}

// Leases implements store.Leaser.
func (l ends) Leases(ctx context.Context, lost func(name string)) (store.Leases, error) {
	leaser, ok := l.Log.(store.Leaser)
	if !ok {
		return nil, errors.New("the log has no leases")
	}
	return leaser.Leases(ctx, lost)
}

// endRun reports whether entries have the end of a run or of a stream. If the type of an event
// is written with escapes, only the end of its stream counts.
func endRun(entries []store.Entry) bool {
	for i := range entries {
		e := &entries[i]
		if e.Kind == store.End {
			return true
		}
		if e.Kind == store.Input || !bytes.Contains(e.Data, []byte(envelope.RunFinished)) && !bytes.Contains(e.Data, []byte(envelope.RunError)) {
			continue
		}
		if event, err := envelope.ReadEvent(e.Data); err == nil && (event.Type == envelope.RunFinished || event.Type == envelope.RunError) {
			return true
		}
	}
	return false
}
