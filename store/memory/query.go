package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/p20export/p20export/store"
)

// setRun adds a run or replaces the one with the same start.
func (t *thread) setRun(r store.Run) {
	r.Key = t.Key
	r.StartedAt, r.LastAt = precise(r.StartedAt), precise(r.LastAt)
	i, ok := slices.BinarySearchFunc(t.runs, r.Start, func(r store.Run, start int64) int { return cmp.Compare(r.Start, start) })
	if ok {
		t.runs[i] = r
	} else {
		t.runs = slices.Insert(t.runs, i, r)
	}
}

// Threads implements store.Log.
func (l *Log) Threads(ctx context.Context, q store.ThreadQuery) iter.Seq2[store.Thread, error] {
	return func(yield func(store.Thread, error) bool) {
		if err := q.Check(); err != nil {
			yield(store.Thread{}, err)
			return
		}
		compare := func(a, b *store.Thread) int { return compareKeys(a.Key, b.Key) }
		if q.Newest {
			compare = func(a, b *store.Thread) int {
				return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), compareKeys(a.Key, b.Key))
			}
		}
		after := store.Thread{Key: q.After, UpdatedAt: precise(q.AfterAt)}
		var found []store.Thread
		err := l.each(ctx, func(t *thread) {
			if (q.Tenant == nil || *q.Tenant == t.Tenant) && (q.After == store.Key{} || compare(&t.Thread, &after) > 0) && (q.Deleted || t.DeletedAt.IsZero()) && within(t.UpdatedAt, q.From, q.To) {
				found = append(found, t.Thread)
				if q.Latest && len(t.runs) > 0 {
					found[len(found)-1].Latest = new(t.runs[len(t.runs)-1])
				}
			}
		})
		slices.SortFunc(found, func(a, b store.Thread) int { return compare(&a, &b) })
		list(ctx, found, err, yield)
	}
}

// Streams implements store.Log.
func (l *Log) Streams(ctx context.Context, q store.StreamQuery) iter.Seq2[store.Stream, error] {
	return func(yield func(store.Stream, error) bool) {
		if err := q.Check(); err != nil {
			yield(store.Stream{}, err)
			return
		}
		var found []store.Stream
		err := l.each(ctx, func(t *thread) {
			if q.Tenant != nil && *q.Tenant != t.Tenant || q.Thread != nil && *q.Thread != t.Key.Thread {
				return
			}
			for id, s := range t.streams {
				if strings.HasPrefix(id, q.Prefix) && !(q.Open && s.Ended) {
					found = append(found, t.stream(id))
				}
			}
		})
		slices.SortFunc(found, func(a, b store.Stream) int {
			return cmp.Or(compareKeys(a.Key, b.Key), cmp.Compare(a.First, b.First))
		})
		list(ctx, found, err, yield)
	}
}

// Runs implements store.Log.
func (l *Log) Runs(ctx context.Context, q store.RunQuery) iter.Seq2[store.Run, error] {
	return func(yield func(store.Run, error) bool) {
		if err := q.Check(); err != nil {
			yield(store.Run{}, err)
			return
		}
		var found []store.Run
		err := l.each(ctx, func(t *thread) {
			if q.Tenant != nil && *q.Tenant != t.Tenant || q.Thread != nil && *q.Thread != t.Key.Thread {
				return
			}
			for _, r := range t.runs {
				if (q.ID == nil || *q.ID == r.ID) && (q.Parent == nil || *q.Parent == r.Parent) &&
					(len(q.Ends) == 0 || slices.Contains(q.Ends, r.End)) && within(r.StartedAt, q.From, q.To) {
					found = append(found, r)
				}
			}
		})
		slices.SortFunc(found, func(a, b store.Run) int {
			return cmp.Or(compareKeys(a.Key, b.Key), cmp.Compare(a.Start, b.Start))
		})
		list(ctx, found, err, yield)
	}
}

// each calls f for each thread.
func (l *Log) each(ctx context.Context, f func(*thread)) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.check(ctx); err != nil {
		return err
	}
	for _, t := range l.threads {
		f(t)
	}
	return nil
}

// list yields the elements of a list, and then an error if there is one.
func list[T any](ctx context.Context, found []T, err error, yield func(T, error) bool) {
	for _, v := range found {
		if err = ctx.Err(); err != nil {
			break
		}
		if !yield(v, nil) {
			return
		}
	}
	if err != nil {
		var none T
		yield(none, err)
	}
}

// within reports whether from <= t < to. A limit that is zero does not apply. A time that
// is not known is within no limits.
func within(t, from, to time.Time) bool {
	if t.IsZero() {
		return from.IsZero() && to.IsZero()
	}
	return (from.IsZero() || !t.Before(from)) && (to.IsZero() || t.Before(to))
}

func compareKeys(a, b store.Key) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Thread, b.Thread))
}

// Stat implements store.Log. Size is an estimate.
func (l *Log) Stat(ctx context.Context) (store.Stat, error) {
	var s store.Stat
	err := l.each(ctx, func(t *thread) {
		if !t.DeletedAt.IsZero() {
			s.Deleted++
			return
		}
		s.Threads++
		s.Runs += t.Runs
		s.Entries += t.Last
		s.Bytes += t.Bytes
		s.Packed += t.Packed
		for _, c := range t.chunks {
			s.PackedBytes += c.size
			s.StoredBytes += int64(len(c.data))
		}
		s.Seals += int64(len(t.seals))
		s.Sealed += t.Sealed
		s.SealBytes += int64(len(t.blocks))
		for i := range t.seals {
			s.SealBytes += int64(len(t.seals[i].Checkpoint) + len(t.seals[i].Token))
		}
	})
	s.Size = s.Bytes - s.PackedBytes + s.StoredBytes + s.SealBytes + s.Entries*int64(unsafe.Sizeof(entry{}))
	return s, err
}
