package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/p20export/p20export/store"
)

// rowQuery selects the first rows of entries after a position.
type rowQuery struct {
	thread, after, limit int64
	// condition is what else the rows must meet, and args are its arguments. See where.
	condition string
	args      []any
	// bare are the kinds whose data is not read.
	bare []store.Kind
}

// where adds a condition that ends with an argument.
func (q *rowQuery) where(condition string, arg any) {
	q.args = append(q.args, arg)
	q.condition += fmt.Sprintf(" AND %s$%d", condition, len(q.args)+3)
}

// text returns the query. If the database sends all rows of a query, also to a reader that stops,
// the query ends with the row that makes a page larger than PageBytes.
func (q *rowQuery) text(sendsAll bool) string {
	data, left, read := "data", "0", "length(data)"
	if len(q.bare) > 0 {
		isBare := "CASE WHEN kind IN (" + kindNumbers(q.bare) + ") "
		data, left, read = isBare+"THEN NULL ELSE data END", isBare+"THEN length(data) ELSE 0 END", isBare+"THEN 0 ELSE length(data) END"
	}
	from, end := "entries WHERE thread_id = $1 AND position > $2"+q.condition+" ORDER BY position LIMIT $3", ""
	if sendsAll {
		from = "(SELECT *, sum(" + read + ") OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - " + read + " AS before FROM " + from + ") AS page"
		end = fmt.Sprintf(" WHERE before < %d ORDER BY position", PageBytes)
	}
	return "SELECT position, run, stream_number, kind, type, arrived_at, " + data + ", " + left + " FROM " + from + end
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// scanRows calls do with the rows that a query selects, until do returns false. A row is valid
// until do returns. There can be fewer rows than the limit of the query, but not none.
func (l *Log) scanRows(ctx context.Context, db querier, q rowQuery, do func(*Row) bool) error {
	rows, err := db.QueryContext(ctx, q.text(l.dialect.SendsAll), append([]any{q.thread, q.after, q.limit}, q.args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r Row
		var data sql.RawBytes
		if err := rows.Scan(&r.Position, &r.Run, &r.Stream, &r.Kind, &r.Type, &r.Arrived, &data, &r.Size); err != nil {
			return err
		}
		r.Data = data
		if !do(&r) {
			return rows.Close()
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// rows returns how many rows the next page has at most.
func (r *reader) rows() int64 {
	if r.limit == 0 {
		r.limit = firstEntries
	}
	return r.limit
}

// load loads the page of a query, up to the first row that accept refuses.
func (r *reader) load(ctx context.Context, q rowQuery, accept func(*Row) bool) error {
	r.page, r.data = r.page[:0], r.data[:0]
	var sizes, numbers []int64
	err := r.log.scanRows(ctx, r.log.db, q, func(row *Row) bool {
		if !accept(row) {
			return false
		}
		r.page = append(r.page, entryOf(row))
		r.data = append(r.data, row.Data...)
		sizes, numbers = append(sizes, int64(len(row.Data))), append(numbers, row.Stream)
		return len(r.data) < PageBytes
	})
	n := int64(len(r.page))
	if r.full = n == q.limit || len(r.data) >= PageBytes; n > 0 {
		r.limit = min(max(2*n, fewRows), pageEntries)
	}
	rest := r.data
	for i := range r.page {
		e := &r.page[i]
		if err == nil {
			e.Stream, err = r.stream(ctx, numbers[i])
		}
		if !slices.Contains(r.bare, e.Kind) {
			e.Data = rest[:sizes[i]:sizes[i]]
		}
		rest = rest[sizes[i]:]
	}
	return err
}

// entryOf returns the entry of a row, without its stream and its data.
func entryOf(r *Row) store.Entry {
	return store.Entry{Position: r.Position, Run: r.Run, Kind: kindOf(r.Kind), Type: r.Type, Arrived: ofMicros(r.Arrived), Size: r.Size}
}
