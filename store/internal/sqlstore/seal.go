package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/p20export/p20export/store"
)

// Seal implements store.Log.
func (l *Log) Seal(ctx context.Context, key store.Key, s store.Seal, b store.Blocks) error {
	err := l.change(ctx, key, func(tx *sql.Tx, id int64, t store.Thread) error {
		if !t.DeletedAt.IsZero() {
			return store.ErrDeleted
		}
		if err := s.Check(b, t.Last); err != nil {
			return err
		}
		var one int
		err := tx.QueryRowContext(ctx, `SELECT 1 FROM seals WHERE thread_id = $1 AND size = $2`, id, s.Size).Scan(&one)
		if err == nil {
			return store.ErrSealed
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO seals (thread_id, size, checkpoint, token) VALUES ($1, $2, $3, $4)`, id, s.Size, s.Checkpoint, s.Token); err != nil {
			return err
		}
		if len(b.Hashes) == 0 {
			return nil
		}
		// Another process may have kept the same blocks.
		_, err = tx.ExecContext(ctx, `INSERT INTO blocks (thread_id, first, hashes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, id, b.First, b.Hashes)
		return err
	})
	if err != nil {
		return fmt.Errorf("seal thread %q: %w", key.Thread, err)
	}
	return nil
}

// sealRows is the number of seals that are loaded at a time.
const sealRows = 100

// Seals implements store.Log.
func (l *Log) Seals(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Seal, error] {
	return func(yield func(*store.Seal, error) bool) {
		for {
			page, err := l.sealsAfter(ctx, key, after)
			if err != nil {
				yield(nil, fmt.Errorf("read seals of thread %q: %w", key.Thread, err))
				return
			}
			for i := range page {
				if !yield(&page[i], nil) {
					return
				}
			}
			if len(page) < sealRows {
				return
			}
			after = page[len(page)-1].Size
		}
	}
}

// sealsAfter loads the next seals of a thread.
func (l *Log) sealsAfter(ctx context.Context, key store.Key, after int64) ([]store.Seal, error) {
	if err := l.ready(key); err != nil {
		return nil, err
	}
	page, err := load(l, ctx, fmt.Sprintf(`SELECT size, checkpoint, token FROM seals
		WHERE thread_id = (SELECT id FROM threads WHERE tenant = $1 AND thread = $2) AND size > $3 ORDER BY size LIMIT %d`, sealRows),
		[]any{key.Tenant, key.Thread, after}, func(scan func(...any) error) (s store.Seal, err error) {
			return s, scan(&s.Size, &s.Checkpoint, &s.Token)
		})
	return page, l.explain(err)
}

// Blocks implements store.Log.
func (l *Log) Blocks(ctx context.Context, key store.Key) ([]byte, error) {
	if err := l.ready(key); err != nil {
		return nil, err
	}
	rows, err := load(l, ctx, `SELECT first, hashes FROM blocks
		WHERE thread_id = (SELECT id FROM threads WHERE tenant = $1 AND thread = $2) ORDER BY first`,
		[]any{key.Tenant, key.Thread}, func(scan func(...any) error) (b store.Blocks, err error) {
			return b, scan(&b.First, &b.Hashes)
		})
	if err != nil {
		return nil, fmt.Errorf("read blocks of thread %q: %w", key.Thread, l.explain(err))
	}
	var hashes []byte
	for _, b := range rows {
		hashes = store.AppendBlocks(hashes, b)
	}
	return hashes, nil
}
