package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/p20export/p20export/store"
)

// CheckThread implements store.Log. One query sees one state of the database, so that a pack
// which is being written is no damage.
func (l *Log) CheckThread(ctx context.Context, key store.Key) error {
	if err := l.ready(key); err != nil {
		return err
	}
	var position int64
	err := l.db.QueryRowContext(ctx, `SELECT p.first FROM packs p
		WHERE p.thread_id = (SELECT id FROM threads WHERE tenant = $1 AND thread = $2)
		AND (EXISTS (SELECT 1 FROM entries e WHERE e.thread_id = p.thread_id AND e.position BETWEEN p.first AND p.last)
			OR EXISTS (SELECT 1 FROM packs q WHERE q.thread_id = p.thread_id AND q.last > p.last AND q.first <= p.last))
		ORDER BY p.first LIMIT 1`, key.Tenant, key.Thread).Scan(&position)
	switch err = l.still(err); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("check thread %q: %w", key.Thread, l.explain(err))
	}
	return &store.DamagedError{Position: position, Reason: fmt.Sprintf("entries from %d on are stored twice", position)}
}
