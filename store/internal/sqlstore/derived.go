package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/p20export/p20export/store"
)

// Keep implements store.Log.
func (l *Log) Keep(ctx context.Context, key store.Key, kind string, list []store.Derived) error {
	err := l.change(ctx, key, func(tx *sql.Tx, id int64, t store.Thread) error {
		if !t.DeletedAt.IsZero() {
			return store.ErrDeleted
		}
		if err := store.CheckDerived(kind, list, t.Last); err != nil {
			return err
		}
		for _, d := range list {
			_, err := tx.ExecContext(ctx, `INSERT INTO derived (thread_id, kind, position, head, data) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (thread_id, kind, position) DO UPDATE SET head = excluded.head, data = excluded.data`,
				id, kind, d.Position, notNil(d.Head), notNil(d.Data))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep data of thread %q: %w", key.Thread, err)
	}
	return nil
}

// notNil returns a text that is not NULL in a database.
func notNil(text []byte) []byte {
	if text == nil {
		return []byte{}
	}
	return text
}

// Kept implements store.Log.
func (l *Log) Kept(ctx context.Context, key store.Key, kind string, from, to int64, data bool) ([]store.Derived, error) {
	if err := l.ready(key); err != nil {
		return nil, err
	}
	columns := "position, head, data"
	if !data {
		columns = "position, head, NULL"
	}
	list, err := load(l, ctx, `SELECT `+columns+` FROM derived
		WHERE thread_id = (SELECT id FROM threads WHERE tenant = $1 AND thread = $2) AND kind = $3 AND position BETWEEN $4 AND $5 ORDER BY position`,
		[]any{key.Tenant, key.Thread, kind, from, to}, func(scan func(...any) error) (d store.Derived, err error) {
			return d, scan(&d.Position, &d.Head, &d.Data)
		})
	if err != nil {
		return nil, fmt.Errorf("read data of thread %q: %w", key.Thread, l.explain(err))
	}
	return list, nil
}

// Forget implements store.Log.
func (l *Log) Forget(ctx context.Context, key store.Key, kind string) error {
	err := l.change(ctx, key, func(tx *sql.Tx, id int64, _ store.Thread) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM derived WHERE thread_id = $1 AND kind = $2`, id, kind)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNoThread) {
		return fmt.Errorf("forget data of thread %q: %w", key.Thread, err)
	}
	return nil
}
