package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/p20export/p20export/store"
)

// Select implements store.Log. The database selects the rows, so it does not read the data of
// other entries. Packs are read as a whole.
func (l *Log) Select(ctx context.Context, key store.Key, s store.Selection) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		t, err := l.find(ctx, key)
		if err == nil {
			r := reader{log: l, key: key, found: t, bare: s.Bare}
			defer r.close()
			to, each := t.last, func(e *store.Entry) bool { return yield(e, nil) }
			if s.To != 0 {
				to = min(s.To, to)
			}
			if len(s.Kinds) == 0 && len(s.Types) == 0 {
				_, err = r.read(ctx, s.After, to, each)
			} else {
				err = r.choose(ctx, &s, to, each)
			}
		}
		if err != nil && !errors.Is(err, store.ErrNoThread) {
			yield(nil, fmt.Errorf("read thread %q: %w", key.Thread, err))
		}
	}
}

// choose yields the entries up to a position whose kind and type are selected. They have gaps, so
// it looks for packs.
func (r *reader) choose(ctx context.Context, s *store.Selection, to int64, yield func(*store.Entry) bool) error {
	for after := max(s.After, 0); after < to; {
		r.page, r.data = r.page[:0], r.data[:0]
		first, err := r.nextPack(ctx, after)
		if err != nil {
			return r.check(ctx, err)
		}
		end := to
		if first > after+1 {
			end, err = r.loadChosen(ctx, s, after, min(first-1, to))
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
		// A missing row looks the same as one that is not selected.
		if err = r.check(ctx, err); err != nil {
			return err
		}
		after = end
		for i := range r.page {
			if e := &r.page[i]; s.Selects(e.Kind, e.Type) && !yield(e) {
				return nil
			}
		}
	}
	return nil
}

// nextPack returns the position of the first entry of the first pack that has entries after a
// position, or the last of all positions.
func (r *reader) nextPack(ctx context.Context, after int64) (first int64, err error) {
	err = r.log.db.QueryRowContext(ctx, `SELECT first FROM packs WHERE thread_id = $1 AND last > $2 ORDER BY last LIMIT 1`, r.found.id, after).Scan(&first)
	if errors.Is(err, sql.ErrNoRows) {
		return math.MaxInt64, nil
	}
	return first, err
}

// loadChosen loads a page of the rows after a position up to another that are selected, and
// returns the position up to which it has all of them.
func (r *reader) loadChosen(ctx context.Context, s *store.Selection, after, to int64) (int64, error) {
	p := rowQuery{thread: r.found.id, after: after, limit: r.rows(), bare: r.bare}
	p.where("position <= ", to)
	if len(s.Kinds) > 0 {
		p.condition += " AND kind IN (" + kindNumbers(s.Kinds) + ")"
	}
	if len(s.Types) > 0 {
		p.where("type IN (", s.Types[0])
		for _, name := range s.Types[1:] {
			p.args = append(p.args, name)
			p.condition += fmt.Sprintf(", $%d", len(p.args)+3)
		}
		p.condition += ")"
	}
	if err := r.load(ctx, p, func(*Row) bool { return true }); err != nil {
		return 0, err
	}
	if n := len(r.page); r.full {
		to = r.page[n-1].Position
	}
	return to, nil
}

// kindNumbers returns the numbers of kinds as the elements of a list.
func kindNumbers(kinds []store.Kind) string {
	numbers := make([]string, len(kinds))
	for i, kind := range kinds {
		numbers[i] = fmt.Sprint(kindNumber(kind))
	}
	return strings.Join(numbers, ", ")
}
