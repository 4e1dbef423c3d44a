package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"sync"

	"github.com/p20export/p20export/store"
)

// Follow implements store.Log.
func (l *Log) Follow(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		if err := l.follow(ctx, key, after, func(e *store.Entry) bool { return yield(e, nil) }); err != nil {
			yield(nil, fmt.Errorf("follow thread %q: %w", key.Thread, err))
		}
	}
}

func (l *Log) follow(ctx context.Context, key store.Key, after int64, yield func(*store.Entry) bool) error {
	if err := l.ready(key); err != nil {
		return err
	}
	f := l.followers.add(key)
	defer l.followers.remove(f)
	r := reader{log: l, key: key}
	defer r.close()
	var seen found // the thread as it was at the last entry
	var last mark  // that of the entry at after, or 0 if it is not known
	var other bool // the entry at after is another one now
	pass := func(e *store.Entry) bool {
		if e.Position < after {
			return true
		}
		m := markOf(e)
		if e.Position == after {
			other = last != 0 && m != last
			last = m
			return !other
		}
		after, last = e.Position, m
		return yield(e)
	}
	for {
		batches, look := l.followers.take(f)
		for _, b := range batches {
			switch more := b.each(pass); {
			case other:
				return store.ErrRewound
			case !more:
				return nil
			}
			seen = b.after
		}
		if look {
			t, err := l.find(ctx, key)
			l.followers.saw(f, t, err)
			if rewound(seen, t, err) || seen.id == 0 && (err == nil || errors.Is(err, store.ErrNoThread)) && t.last < after {
				return store.ErrRewound
			}
			if err == nil && t != seen {
				r.found = t
				more := false
				// The entry at after is read again, to see that it is still the same.
				more, err = r.read(ctx, after-1, t.last, pass)
				switch {
				case other:
					return store.ErrRewound
				case err != nil:
					l.followers.saw(f, found{}, err)
				case !more:
					return nil
				default:
					seen = t
				}
			}
			if err != nil && !errors.Is(err, store.ErrNoThread) && !l.gone(ctx, err) {
				return err
			}
		}
		select {
		case <-f.woken:
		case <-ctx.Done():
			return ctx.Err()
		case <-f.ended:
			return l.explain(l.followers.reason(f))
		}
	}
}

// rewound reports whether the database no longer has what it had of a thread. err is that of
// find.
func rewound(had, has found, err error) bool {
	switch {
	case had.id == 0:
		return false
	case err != nil:
		return errors.Is(err, store.ErrNoThread)
	}
	return has.id != had.id || has.last < had.last || has.last == had.last && has != had
}

// mark identifies an entry in the memory of this process. It is not 0.
type mark uint64

// seed returns the seed of all marks.
var seed = sync.OnceValue(maphash.MakeSeed)

func markOf(e *store.Entry) mark {
	var h maphash.Hash
	h.SetSeed(seed())
	maphash.WriteComparable(&h, e.Position)
	maphash.WriteComparable(&h, e.Arrived.UnixMicro())
	maphash.WriteComparable(&h, len(e.Stream))
	h.WriteString(e.Stream)
	h.WriteString(string(e.Kind))
	h.Write(e.Data)
	return mark(h.Sum64() | 1)
}

// gone reports that an error means that the database is away for now.
func (l *Log) gone(ctx context.Context, err error) bool {
	return l.dialect.Gone != nil && ctx.Err() == nil && !l.closed.Load() && l.dialect.Gone(err)
}
