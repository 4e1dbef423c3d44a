package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/index"
)

// Append implements store.Log. The state of a thread at a position never changes, unless the
// database is rewound. So it is loaded without a lock, or kept since the last append, and
// Dialect.Write compares the thread with it.
func (l *Log) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	last, err := l.append(ctx, key, after, entries)
	if errors.Is(err, store.ErrConflict) {
		return 0, err // which names the thread
	}
	if err != nil {
		return 0, fmt.Errorf("append to thread %q: %w", key.Thread, err)
	}
	return last, nil
}

func (l *Log) append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	if err := l.ready(key); err != nil {
		return 0, err
	}
	b, err := index.New(entries)
	if err != nil {
		return 0, err
	}
	for rewound := false; ; {
		w := &Write{Key: key, Batch: b, Entries: entries, Now: time.Now().UnixMicro()}
		var before *state
		known := false
		if b.Len() > 0 { // Write compares the position
			before, known = l.states.take(w, after)
		}
		if !known {
			if err := l.load(ctx, w); err != nil {
				return 0, l.explain(err)
			}
			if rewound && w.Before.Last <= after {
				return 0, store.ErrRewound
			}
		}
		if w.Before.Last != after {
			return 0, &store.ConflictError{Key: key, Expected: after, Last: w.Before.Last}
		}
		if b.Len() == 0 {
			return after, nil
		}
		if err := b.Place(w.Before, w.StreamsBefore); err != nil {
			// The streams can be those of a later position.
			if now := (&Write{Key: key, Batch: b}); l.load(ctx, now) == nil && now.Before.Last != after {
				err = &store.ConflictError{Key: key, Expected: after, Last: now.Before.Last}
			}
			return 0, err
		}
		id := w.Thread // which Write sets if it is 0
		written, err := l.dialect.Write(ctx, w)
		if err != nil {
			return 0, l.explain(err)
		}
		if written {
			l.states.keep(w, before)
			l.followers.appended(w, id)
			return b.Thread.Last, nil
		}
		// What this process has appended is no longer there, or more was appended since.
		rewound = known
	}
}

// load loads the state of the thread and of the streams of a batch. They can be of
// different transactions. Then the thread has another last position by now.
func (l *Log) load(ctx context.Context, w *Write) error {
	var deleted sql.NullInt64
	t := &w.Before
	w.StreamsBefore = make([]index.Stream, len(w.Batch.StreamIDs()))
	err := l.db.QueryRowContext(ctx, `SELECT id, last, streams, runs, bytes, updated_at, deleted_at FROM threads WHERE tenant = $1 AND thread = $2`,
		w.Key.Tenant, w.Key.Thread).Scan(&w.Thread, &t.Last, &t.Streams, &t.Runs, &t.Bytes, &w.UpdatedBefore, &deleted)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err == nil && deleted.Valid:
		return store.ErrDeleted
	}
	for i, id := range w.Batch.StreamIDs() {
		if err == nil {
			err = l.loadStream(ctx, w.Thread, id, &w.StreamsBefore[i])
		}
	}
	return err
}

// loadStream loads the state of a stream. It stays zero if the stream has no entries.
func (l *Log) loadStream(ctx context.Context, thread int64, id string, s *index.Stream) error {
	r := &s.Run
	var ended, run int64
	var runID, parent, outcome sql.NullString
	var runInput, last, entries, bytes sql.NullInt64
	var started, lastAt *int64
	err := l.db.QueryRowContext(ctx, `SELECT s.number, s.entries, s.first, s.last, s.ended, s.input, s.input_parent, s.run,
			r.run_id, r.parent_id, r.input, r.last, r.entries, r.bytes, r.started_at, r.last_at, r.outcome
		FROM streams s LEFT JOIN runs r ON r.thread_id = s.thread_id AND r.start = s.run
		WHERE s.thread_id = $1 AND s.stream = $2`, thread, id).
		Scan(&s.Number, &s.Entries, &s.First, &s.Last, &ended, &s.Input, &s.InputParent, &run,
			&runID, &parent, &runInput, &last, &entries, &bytes, &started, &lastAt, &outcome)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	s.ID, s.Ended = id, ended != 0
	if run == 0 {
		return err
	}
	r.ID, r.Parent, r.Stream, r.Number = runID.String, parent.String, id, s.Number
	r.Input, r.Start, r.Last = runInput.Int64, run, last.Int64
	r.Entries, r.Bytes = entries.Int64, bytes.Int64
	r.StartedAt, r.LastAt = ofMicros(started), ofMicros(lastAt)
	r.End = store.RunEnd(outcome.String)
	return err
}
