package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/p20export/p20export/store"
)

// Delete implements store.Log. The thread is deleted in one transaction. What its rows
// occupied is overwritten or given back afterwards, again if the thread was deleted before.
func (l *Log) Delete(ctx context.Context, key store.Key) (store.Thread, error) {
	t, err := l.delete(ctx, key)
	if err == nil {
		err = l.explain(l.dialect.Reclaim(ctx))
	}
	if err != nil {
		return store.Thread{}, fmt.Errorf("delete thread %q: %w", key.Thread, err)
	}
	return t, nil
}

func (l *Log) delete(ctx context.Context, key store.Key) (store.Thread, error) {
	var t store.Thread
	var id int64
	err := l.change(ctx, key, func(tx *sql.Tx, thread int64, found store.Thread) error {
		t, id = found, thread
		if !t.DeletedAt.IsZero() {
			return nil
		}
		t.DeletedAt = time.UnixMicro(time.Now().UnixMicro()).UTC()
		if _, err := tx.ExecContext(ctx, `UPDATE threads SET deleted_at = $1 WHERE id = $2`, t.DeletedAt.UnixMicro(), id); err != nil {
			return err
		}
		for _, table := range []string{"entries", "packs", "runs", "streams", "blocks"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE thread_id = $1`, id); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM seals WHERE thread_id = $1 AND size < (SELECT max(size) FROM seals WHERE thread_id = $1)`, id)
		return err
	})
	if err == nil {
		l.followers.wake(key)
	}
	return t, err
}

// change runs a transaction that changes an existing thread, which may be deleted.
func (l *Log) change(ctx context.Context, key store.Key, do func(tx *sql.Tx, id int64, t store.Thread) error) error {
	if err := l.ready(key); err != nil {
		return err
	}
	tx, err := l.dialect.Begin(ctx)
	if err != nil {
		return l.explain(err)
	}
	defer tx.Rollback() // does nothing after Commit
	var id int64
	t, err := scanThread(func(fields ...any) error {
		return tx.QueryRowContext(ctx, `SELECT `+threadColumns+`, t.id FROM threads t WHERE tenant = $1 AND thread = $2`+l.dialect.LockRow,
			key.Tenant, key.Thread).Scan(append(fields, &id)...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNoThread
	}
	if err == nil {
		err = do(tx, id, t)
	}
	if err == nil {
		err = l.dialect.Notify(ctx, tx, key)
	}
	if err == nil {
		err = tx.Commit()
	}
	return l.explain(err)
}
