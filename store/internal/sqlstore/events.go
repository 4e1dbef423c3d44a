package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/p20export/p20export/store"
)

// typedEntries is how many rows a page of Events has at most. It is small, because PostgreSQL
// sends all rows of a page, also those past PageBytes.
const typedEntries = 250

// Events implements store.Log. The database selects the rows, so it does not read the data of
// other entries. Packs are read as a whole.
func (l *Log) Events(ctx context.Context, key store.Key, after, to int64, types []string) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		t, err := l.find(ctx, key)
		if err == nil {
			r := reader{log: l, thread: t.id}
			defer r.close()
			err = r.events(ctx, max(after, 0), min(to, t.last), types, func(e *store.Entry) bool { return yield(e, nil) })
		}
		if err != nil && !errors.Is(err, store.ErrNoThread) {
			yield(nil, fmt.Errorf("read events of thread %q: %w", key.Thread, err))
		}
	}
}

// events yields the events of some types after a position up to another.
func (r *reader) events(ctx context.Context, after, to int64, types []string, yield func(*store.Entry) bool) error {
	for after < to {
		r.page, r.data = r.page[:0], r.data[:0]
		first, err := r.nextPack(ctx, after)
		if err != nil {
			return r.reason(ctx, err)
		}
		end := to
		if first > after+1 {
			end, err = r.loadTyped(ctx, after, min(first-1, to), types)
			if err == nil {
				// What was packed meanwhile was not among the rows.
				first, err = r.nextPack(ctx, after)
			}
			if err == nil && first <= end {
				continue
			}
		} else if err = r.loadPack(ctx, after, to); err == nil {
			if len(r.page) == 0 {
				err = missing(after + 1)
			}
			end = after + int64(len(r.page))
		}
		if err = r.log.still(err); err != nil {
			return r.reason(ctx, err)
		}
		after = end
		for i := range r.page {
			e := &r.page[i]
			selected := (e.Kind == store.Event || e.Kind == store.Closing) && (len(types) == 0 || slices.Contains(types, e.Type))
			if selected && !yield(e) {
				return nil
			}
		}
	}
	// The rows of a thread that was deleted meanwhile are gone.
	var deleted sql.NullInt64
	err := r.log.db.QueryRowContext(ctx, `SELECT deleted_at FROM threads WHERE id = $1`, r.thread).Scan(&deleted)
	if err == nil && deleted.Valid {
		err = store.ErrDeleted
	}
	return r.log.explain(err)
}

// nextPack returns the position of the first entry of the first pack that has entries after a
// position, or the last of all positions.
func (r *reader) nextPack(ctx context.Context, after int64) (first int64, err error) {
	err = r.log.db.QueryRowContext(ctx, `SELECT first FROM packs WHERE thread_id = $1 AND last > $2 ORDER BY last LIMIT 1`, r.thread, after).Scan(&first)
	if errors.Is(err, sql.ErrNoRows) {
		return math.MaxInt64, nil
	}
	return first, err
}

// loadTyped loads a page of the rows of some types after a position up to another, and
// returns the position up to which it has all of them.
func (r *reader) loadTyped(ctx context.Context, after, to int64, types []string) (int64, error) {
	args := []any{r.thread, after, to}
	ofTypes := ""
	if len(types) > 0 {
		var list []string
		for _, name := range types {
			args = append(args, name)
			list = append(list, fmt.Sprintf("$%d", len(args)))
		}
		ofTypes = " AND type IN (" + strings.Join(list, ", ") + ")"
	}
	rows, err := r.log.db.QueryContext(ctx, fmt.Sprintf(`SELECT position, run, stream_number, kind, type, arrived_at, data FROM entries
		WHERE thread_id = $1 AND position > $2 AND position <= $3 AND kind IN (%d, %d)%s ORDER BY position LIMIT %d`,
		kindEvent, kindClosing, ofTypes, typedEntries), args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var numbers []int64
	size := 0
	for size < PageBytes && rows.Next() {
		var row Row
		if err := rows.Scan(&row.Position, &row.Run, &row.Stream, &row.Kind, &row.Type, &row.Arrived, &row.Data); err != nil {
			return 0, err
		}
		size += len(row.Data)
		numbers = append(numbers, row.Stream)
		r.page = append(r.page, store.Entry{
			Position: row.Position, Run: row.Run, Kind: kindOf(row.Kind), Type: row.Type, Arrived: ofMicros(row.Arrived), Data: row.Data,
		})
	}
	if n := len(r.page); n == typedEntries || size >= PageBytes {
		to = r.page[n-1].Position
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, err
	}
	for i := range r.page {
		if r.page[i].Stream, err = r.stream(ctx, numbers[i]); err != nil {
			return 0, err
		}
	}
	return to, nil
}
