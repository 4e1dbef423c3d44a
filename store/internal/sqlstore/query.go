package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/p20export/p20export/store"
)

// Thread implements store.Log.
func (l *Log) Thread(ctx context.Context, key store.Key) (store.Thread, error) {
	if err := l.ready(key); err != nil {
		return store.Thread{}, err
	}
	t, err := scanThread(l.db.QueryRowContext(ctx, `SELECT `+threadColumns+` FROM threads t WHERE tenant = $1 AND thread = $2`, key.Tenant, key.Thread).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNoThread
	}
	err = l.still(err)
	if err != nil {
		return store.Thread{}, fmt.Errorf("thread %q: %w", key.Thread, l.explain(err))
	}
	return t, nil
}

// threadColumns are the columns that scanThread scans.
const threadColumns = `t.tenant, t.thread, t.last, t.runs, t.bytes, t.packed, (SELECT coalesce(max(size), 0) FROM seals s WHERE s.thread_id = t.id), t.created_at, t.updated_at, t.deleted_at`

func scanThread(scan func(...any) error) (store.Thread, error) {
	var t store.Thread
	var created, updated int64
	var deleted *int64
	err := scan(&t.Tenant, &t.Key.Thread, &t.Last, &t.Runs, &t.Bytes, &t.Packed, &t.Sealed, &created, &updated, &deleted)
	t.CreatedAt, t.UpdatedAt, t.DeletedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC(), ofMicros(deleted)
	return t, err
}

// Stream implements store.Log.
func (l *Log) Stream(ctx context.Context, key store.Key, id string) (store.Stream, error) {
	if err := store.CheckID(id); err != nil {
		return store.Stream{}, err
	}
	if err := l.ready(key); err != nil {
		return store.Stream{}, err
	}
	var s store.Stream
	var ended int64
	err := l.db.QueryRowContext(ctx, `SELECT s.entries, s.first, s.last, s.ended FROM streams s JOIN threads t ON t.id = s.thread_id
		WHERE t.tenant = $1 AND t.thread = $2 AND s.stream = $3`, key.Tenant, key.Thread, id).Scan(&s.Entries, &s.First, &s.Last, &ended)
	err = l.still(err)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return store.Stream{}, fmt.Errorf("stream %q of thread %q: %w", id, key.Thread, l.explain(err))
	}
	if err == nil {
		s.Key, s.ID, s.Ended = key, id, ended != 0
	}
	return s, nil
}

// condition is a WHERE clause in parts.
type condition struct {
	parts []string
	args  []any
}

// add adds a part in which ? is the next argument.
func (c *condition) add(part string, args ...any) {
	for _, arg := range args {
		c.args = append(c.args, arg)
		part = strings.Replace(part, "?", fmt.Sprintf("$%d", len(c.args)), 1)
	}
	c.parts = append(c.parts, part)
}

func (c *condition) String() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
}

// pageRows is the number of rows that a query loads at a time, so that no transaction is
// open while the caller works.
const pageRows = 500

// Threads implements store.Log.
func (l *Log) Threads(ctx context.Context, q store.ThreadQuery) iter.Seq2[store.Thread, error] {
	base := condition{}
	if q.Tenant != nil {
		base.add("t.tenant = ?", *q.Tenant)
	}
	if !q.From.IsZero() {
		base.add("t.updated_at >= ?", ceilMicros(q.From))
	}
	if !q.To.IsZero() {
		base.add("t.updated_at < ?", ceilMicros(q.To))
	}
	if !q.Deleted {
		base.add("t.deleted_at IS NULL")
	}
	table, order := "threads t", " ORDER BY t.tenant, t.thread"
	if q.Newest {
		table, order = table+l.dialect.ByTime, " ORDER BY t.updated_at DESC, t.tenant, t.thread"
	}
	columns, latest, scan := threadColumns, "", scanThread
	if q.Latest {
		columns, scan = columns+", "+runColumns, scanLatest
		latest = " LEFT JOIN runs r ON r.thread_id = t.id AND r.start = (SELECT max(start) FROM runs WHERE thread_id = t.id)"
	}
	return pages(l, ctx, "list threads", false, q.Check(), func(last *store.Thread, _ bool) (string, []any) {
		c, after, at := base.clone(), q.After, q.AfterAt
		if last != nil {
			after, at = last.Key, last.UpdatedAt
		}
		switch {
		case after == store.Key{}:
		case q.Newest:
			// The first condition lets the database begin there.
			c.add("t.updated_at <= ?", at.UnixMicro())
			c.add("(t.updated_at < ? OR (t.tenant, t.thread) > (?, ?))", at.UnixMicro(), after.Tenant, after.Thread)
		case q.Tenant != nil && after.Tenant == *q.Tenant:
			c.add("t.thread > ?", after.Thread) // the database begins there
		default:
			c.add("(t.tenant, t.thread) > (?, ?)", after.Tenant, after.Thread)
		}
		// The threads are selected first, so that a database that sorts many looks only for what
		// else is needed of those of the page.
		page := fmt.Sprintf(`SELECT * FROM %s%s%s LIMIT %d`, table, c.String(), order, pageRows)
		return `SELECT ` + columns + ` FROM (` + page + `) AS t` + latest + order, c.args
	}, scan)
}

// scanLatest scans threadColumns and the runColumns of the run that began last.
func scanLatest(scan func(...any) error) (store.Thread, error) {
	var latest *store.Run
	t, err := scanThread(func(ofThread ...any) error {
		r, err := scanRun(func(ofRun ...any) error { return scan(append(ofThread, ofRun...)...) })
		if r.Start > 0 {
			latest = &r
		}
		return err
	})
	t.Latest = latest
	return t, err
}

// Streams implements store.Log.
func (l *Log) Streams(ctx context.Context, q store.StreamQuery) iter.Seq2[store.Stream, error] {
	base := condition{}
	base.add("s.thread_id = t.id AND t.deleted_at IS NULL")
	if q.Tenant != nil {
		base.add("t.tenant = ?", *q.Tenant)
	}
	if q.Thread != nil {
		base.add("t.thread = ?", *q.Thread)
	}
	if q.Prefix != "" {
		base.add("s.stream >= ?", q.Prefix)
		if end := endOfPrefix(q.Prefix); end != "" {
			base.add("s.stream < ?", end)
		}
	}
	// SQLite reads the first table of a CROSS JOIN first. Few streams are open, and they have
	// an index.
	tables := "threads t CROSS JOIN streams s"
	if q.Open {
		base.add("s.ended = 0")
		if q.Thread == nil {
			tables = "streams s CROSS JOIN threads t"
		}
	}
	return pages(l, ctx, "list streams", true, q.Check(), func(last *store.Stream, rest bool) (string, []any) {
		c := base.clone()
		switch {
		case rest:
			c.add("t.tenant = ? AND t.thread = ? AND s.first > ?", last.Tenant, last.Thread, last.First)
		case last != nil:
			c.add("(t.tenant, t.thread) > (?, ?)", last.Tenant, last.Thread)
		}
		return `SELECT t.tenant, t.thread, s.stream, s.entries, s.first, s.last, s.ended FROM ` + tables + c.String() +
			` ORDER BY t.tenant, t.thread, s.first`, c.args
	}, scanStream)
}

// endOfPrefix returns the first text, in the order of bytes, that follows all texts with a
// prefix, or "" if there is none. It is valid UTF-8 if the prefix is.
func endOfPrefix(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == '\uD7FF': // surrogates follow, which UTF-8 does not have
			return prefix + "\uE000"
		case last < utf8.MaxRune:
			return prefix + string(last+1)
		}
	}
	return ""
}

func scanStream(scan func(...any) error) (store.Stream, error) {
	var s store.Stream
	var ended int64
	err := scan(&s.Tenant, &s.Thread, &s.ID, &s.Entries, &s.First, &s.Last, &ended)
	s.Ended = ended != 0
	return s, err
}

// Runs implements store.Log.
func (l *Log) Runs(ctx context.Context, q store.RunQuery) iter.Seq2[store.Run, error] {
	base := condition{}
	base.add("t.deleted_at IS NULL")
	for _, id := range []struct {
		column string
		id     *string
	}{{"t.tenant", q.Tenant}, {"t.thread", q.Thread}, {"r.run_id", q.ID}, {"r.parent_id", q.Parent}} {
		if id.id != nil {
			base.add(id.column+" = ?", *id.id)
		}
	}
	if !q.From.IsZero() {
		base.add("r.started_at >= ?", ceilMicros(q.From))
	}
	if !q.To.IsZero() {
		base.add("r.started_at < ?", ceilMicros(q.To))
	}
	if len(q.Ends) > 0 {
		ends := make([]any, len(q.Ends))
		for i, end := range q.Ends {
			ends[i] = string(end)
		}
		base.add("r.outcome IN (?"+strings.Repeat(", ?", len(ends)-1)+")", ends...)
	}
	return pages(l, ctx, "list runs", true, q.Check(), func(last *store.Run, rest bool) (string, []any) {
		c := base.clone()
		switch {
		case rest:
			// The id of the thread makes the database begin at the run, and not at the thread.
			c.add("t.tenant = ? AND t.thread = ?", last.Tenant, last.Thread)
			c.add("r.thread_id = (SELECT id FROM threads WHERE tenant = ? AND thread = ?) AND r.start > ?", last.Tenant, last.Thread, last.Start)
		case last != nil:
			c.add("(t.tenant, t.thread) > (?, ?)", last.Tenant, last.Thread)
		}
		return `SELECT ` + runColumns + ` FROM runs r JOIN threads t ON t.id = r.thread_id` + c.String() + ` ORDER BY t.tenant, t.thread, r.start`, c.args
	}, scanRun)
}

// runColumns are the columns that scanRun scans. Those of the run are zero if it is missing.
const runColumns = `t.tenant, t.thread, coalesce(r.run_id, ''), coalesce(r.parent_id, ''),
	CASE WHEN r.start IS NULL THEN '' ELSE (SELECT stream FROM streams s WHERE s.thread_id = r.thread_id AND s.number = r.stream_number) END,
	coalesce(r.input, 0), coalesce(r.start, 0), coalesce(r.last, 0), coalesce(r.entries, 0), coalesce(r.bytes, 0),
	r.started_at, r.last_at, coalesce(r.outcome, '')`

func scanRun(scan func(...any) error) (store.Run, error) {
	var r store.Run
	var started, last *int64
	var outcome string
	err := scan(&r.Tenant, &r.Thread, &r.ID, &r.Parent, &r.Stream, &r.Input, &r.Start, &r.Last, &r.Entries, &r.Bytes, &started, &last, &outcome)
	r.StartedAt, r.LastAt, r.End = ofMicros(started), ofMicros(last), store.RunEnd(outcome)
	return r, err
}

func (c *condition) clone() condition {
	return condition{parts: c.parts[:len(c.parts):len(c.parts)], args: c.args[:len(c.args):len(c.args)]}
}

// ceilMicros returns the first microsecond that is not before t.
func ceilMicros(t time.Time) int64 {
	return t.Add(999 * time.Nanosecond).UnixMicro()
}

// pages yields the rows of a query. Of each page but the first, query gets the last row of
// a page before. If a thread can have several rows, the pages after it are those with the rest
// of its thread, and then those with other threads: a condition for both at once would make the
// database read all rows of the thread for each page.
func pages[T any](l *Log, ctx context.Context, what string, several bool, invalid error, query func(last *T, rest bool) (string, []any),
	scan func(func(...any) error) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		err := invalid
		if err == nil && l.closed.Load() {
			err = store.ErrClosed
		}
		if err != nil {
			yield(zero, err)
			return
		}
		last, rest := (*T)(nil), false
		for {
			text, args := query(last, rest)
			page, err := load(l, ctx, fmt.Sprintf("%s LIMIT %d", text, pageRows), args, scan)
			if err != nil {
				yield(zero, fmt.Errorf("%s: %w", what, l.explain(err)))
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
			full := len(page) == pageRows
			if !full && !rest {
				return
			}
			if full {
				last = &page[len(page)-1]
			}
			rest = full && several
		}
	}
}

// load loads the rows of a query.
func load[T any](l *Log, ctx context.Context, query string, args []any, scan func(func(...any) error) (T, error)) ([]T, error) {
	rows, err := l.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, l.still(err)
	}
	defer rows.Close()
	var page []T
	for rows.Next() {
		row, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		page = append(page, row)
	}
	return page, l.still(errors.Join(rows.Err(), rows.Close()))
}

// Stat implements store.Log.
func (l *Log) Stat(ctx context.Context) (store.Stat, error) {
	if l.closed.Load() {
		return store.Stat{}, store.ErrClosed
	}
	var s store.Stat
	err := l.db.QueryRowContext(ctx, `SELECT count(*) - count(deleted_at), count(deleted_at),
			coalesce(sum(CASE WHEN deleted_at IS NULL THEN runs END), 0), coalesce(sum(CASE WHEN deleted_at IS NULL THEN last END), 0),
			coalesce(sum(CASE WHEN deleted_at IS NULL THEN bytes END), 0), coalesce(sum(CASE WHEN deleted_at IS NULL THEN packed END), 0)
		FROM threads`).Scan(&s.Threads, &s.Deleted, &s.Runs, &s.Entries, &s.Bytes, &s.Packed)
	if err == nil {
		err = l.db.QueryRowContext(ctx, `SELECT coalesce(sum(bytes), 0), coalesce(sum(stored), 0) FROM packs`).Scan(&s.PackedBytes, &s.StoredBytes)
	}
	if err == nil {
		err = l.db.QueryRowContext(ctx, `SELECT coalesce(sum(seals), 0), coalesce(sum(sealed), 0), coalesce(sum(bytes), 0) + (SELECT coalesce(sum(length(hashes)), 0) FROM blocks)
			FROM (SELECT count(*) AS seals, max(size) AS sealed, sum(length(checkpoint) + coalesce(length(token), 0)) AS bytes
				FROM seals s JOIN threads t ON t.id = s.thread_id WHERE t.deleted_at IS NULL GROUP BY s.thread_id) AS sealed`).Scan(&s.Seals, &s.Sealed, &s.SealBytes)
	}
	if err == nil {
		s.Size, err = l.dialect.Size(ctx)
	}
	err = l.still(err)
	if err != nil {
		return store.Stat{}, fmt.Errorf("size of the log: %w", l.explain(err))
	}
	return s, nil
}
