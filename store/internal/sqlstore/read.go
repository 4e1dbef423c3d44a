package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/store"
)

// A reader reads pages of entries into memory and then yields them, so no transaction is
// open while the caller works. A page has at most pageEntries rows, and ends with the row
// that makes it larger than PageBytes. A pack is a page, too.
//
// The first page has at most firstEntries rows, because many callers need only a few, and each
// further one at most twice as many as the one before, or fewRows. A page is shorter if the next
// entry is in a pack: PostgreSQL sends all rows that a query selects.
const (
	pageEntries  = 1000
	firstEntries = store.BlockEntries
	PageBytes    = 1 << 20
	fewRows      = 16
)

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		t, err := l.find(ctx, key)
		if err == nil {
			r := reader{log: l, key: key, found: t}
			defer r.close()
			_, err = r.read(ctx, after, t.last, func(e *store.Entry) bool { return yield(e, nil) })
		}
		if err != nil && !errors.Is(err, store.ErrNoThread) {
			yield(nil, fmt.Errorf("read thread %q: %w", key.Thread, err))
		}
	}
}

// found is what a reader needs to know of a thread. A thread with the same last position has the
// same bytes and time of the last append, unless the database was rewound.
type found struct {
	id, last, bytes, updated int64
}

// find finds a thread. The error is store.ErrNoThread if it does not exist, and
// store.ErrDeleted if it was deleted.
func (l *Log) find(ctx context.Context, key store.Key) (found, error) {
	if err := l.ready(key); err != nil {
		return found{}, err
	}
	var f found
	var deleted sql.NullInt64
	err := l.still(l.db.QueryRowContext(ctx, `SELECT id, last, bytes, updated_at, deleted_at FROM threads WHERE tenant = $1 AND thread = $2`,
		key.Tenant, key.Thread).Scan(&f.id, &f.last, &f.bytes, &f.updated, &deleted))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return f, store.ErrNoThread
	case err == nil && deleted.Valid:
		return f, store.ErrDeleted
	}
	return f, l.explain(err)
}

// reader reads the entries of a thread.
type reader struct {
	log     *Log
	key     store.Key
	found   found            // the thread, as it was when reading began
	streams map[int64]string // ids by number, as far as they were needed
	dec     *zstd.Decoder    // nil until it is needed
	bare    []store.Kind     // those whose data is left out
	limit   int64            // of rows of the next page, or 0
	full    bool             // there can be more rows than those of page
	page    []store.Entry
	data    []byte // of the entries of page
}

func (r *reader) close() {
	if r.dec != nil {
		r.dec.Close()
	}
}

// read yields the entries after a position up to last, and reports whether yield always
// returned true. Positions have no gaps, so an entry that is not a row is in a pack.
func (r *reader) read(ctx context.Context, after, last int64, yield func(*store.Entry) bool) (bool, error) {
	for after = max(after, 0); after < last; {
		err := r.loadRows(ctx, after, last)
		if err == nil && len(r.page) == 0 {
			err = r.loadPack(ctx, after, last)
		}
		if err == nil && len(r.page) == 0 {
			err = missing(after + 1)
		}
		if err = r.check(ctx, err); err != nil {
			return false, err
		}
		after += int64(len(r.page))
		for i := range r.page {
			if !yield(&r.page[i]) {
				return false, nil
			}
		}
	}
	return true, nil
}

// missing returns the error for an entry that is neither a row nor in a pack.
func missing(position int64) error {
	return &store.DamagedError{Position: position, Reason: fmt.Sprintf("entry %d is missing", position)}
}

// loadRows loads the entries after a position that are rows, up to the next that is not.
func (r *reader) loadRows(ctx context.Context, after, last int64) error {
	q := rowQuery{thread: r.found.id, after: after, limit: min(r.rows(), last-after), bare: r.bare}
	return r.load(ctx, q, func(row *Row) bool { return row.Position == after+int64(len(r.page))+1 })
}

// loadPack loads the entries after a position that are in one pack.
func (r *reader) loadPack(ctx context.Context, after, last int64) error {
	var first int64
	var data sql.RawBytes
	rows, err := r.log.db.QueryContext(ctx, `SELECT first, data FROM packs WHERE thread_id = $1 AND last > $2 ORDER BY last LIMIT 1`, r.found.id, after)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return rows.Err()
	}
	if err := rows.Scan(&first, &data); err != nil || first > after+1 {
		return err
	}
	if r.dec == nil {
		if r.dec, err = decompressor(); err != nil {
			return err
		}
	}
	r.data, err = decompress(r.dec, data, r.data[:0])
	if err = errors.Join(err, rows.Close()); err != nil {
		return err
	}
	for position, rest := first, r.data; len(rest) > 0 && position <= last; position++ {
		var row Row
		if row, rest, err = cutRow(rest); err != nil {
			return err
		}
		if position <= after {
			continue
		}
		row.Position = position
		e := entryOf(&row)
		if e.Data = row.Data; slices.Contains(r.bare, e.Kind) {
			e.Data, e.Size = nil, int64(len(row.Data))
		}
		if e.Stream, err = r.stream(ctx, row.Stream); err != nil {
			return err
		}
		r.page = append(r.page, e)
	}
	return nil
}

// stream returns the id of the stream with a number. It loads many at a time, but none that begins
// after what is read: if the database loses it unnoticed, another one can get its number.
func (r *reader) stream(ctx context.Context, number int64) (string, error) {
	if id, ok := r.streams[number]; ok {
		return id, nil
	}
	rows, err := r.log.db.QueryContext(ctx, `SELECT number, stream FROM streams WHERE thread_id = $1 AND number >= $2 AND first <= $3 ORDER BY number LIMIT $4`,
		r.found.id, number, r.found.last, int64(pageEntries))
	if err != nil {
		return "", err
	}
	defer rows.Close()
	r.streams = make(map[int64]string)
	for rows.Next() {
		var n int64
		var id string
		if err := rows.Scan(&n, &id); err != nil {
			return "", err
		}
		r.streams[n] = id
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return "", err
	}
	id, ok := r.streams[number]
	if !ok {
		return "", fmt.Errorf("the database is damaged: stream %d is missing", number)
	}
	return id, nil
}

// check returns an error if a page that was loaded, with an error or without, is not one of the
// thread: store.ErrDeleted if the thread was deleted since reading began, store.ErrRewound if the
// database no longer has what it had of it, and its number may be that of another thread.
func (r *reader) check(ctx context.Context, loaded error) error {
	loaded = r.log.still(loaded)
	t, err := r.log.find(ctx, r.key)
	switch {
	case rewound(r.found, t, err):
		return store.ErrRewound
	case errors.Is(err, store.ErrDeleted), loaded == nil:
		return err
	}
	return r.log.explain(loaded)
}
