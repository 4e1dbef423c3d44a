package memory

import (
	"context"
	"iter"
	"slices"

	"github.com/p20export/p20export/store"
)

// watch wakes the followers of a thread.
type watch struct {
	followers int
	changed   chan struct{} // closed when the thread changes
}

// notify wakes the followers of a thread. The caller holds l.mu.
func (l *Log) notify(key store.Key) {
	if w := l.watches[key]; w != nil {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// watch begins to follow a thread.
func (l *Log) watch(key store.Key) *watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watches[key]
	if w == nil {
		w = &watch{changed: make(chan struct{})}
		l.watches[key] = w
	}
	w.followers++
	return w
}

// unwatch ends what watch began.
func (l *Log) unwatch(key store.Key, w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.followers--; w.followers == 0 {
		delete(l.watches, key)
	}
}

// entries returns the entries of a thread after a position.
func (l *Log) entries(ctx context.Context, key store.Key, after int64) ([]entry, error) {
	if err := l.check(ctx); err != nil {
		return nil, err
	}
	t := l.threads[key]
	switch {
	case t == nil:
		return nil, nil
	case !t.DeletedAt.IsZero():
		return nil, store.ErrDeleted
	}
	return t.entries[min(max(after, 0), t.Last):], nil
}

// Read implements store.Log.
func (l *Log) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return l.Select(ctx, key, store.Selection{After: after})
}

// Select implements store.Log.
func (l *Log) Select(ctx context.Context, key store.Key, s store.Selection) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		if err := key.Check(); err != nil {
			yield(nil, err)
			return
		}
		after := max(s.After, 0)
		l.mu.RLock()
		entries, err := l.entries(ctx, key, after)
		l.mu.RUnlock()
		if err != nil {
			yield(nil, err)
			return
		}
		if s.To != 0 {
			entries = entries[:min(max(s.To-after, 0), int64(len(entries)))]
		}
		var r reader
		r.each(ctx, entries, after, s, yield)
	}
}

// Follow implements store.Log.
func (l *Log) Follow(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		if err := key.Check(); err != nil {
			yield(nil, err)
			return
		}
		w := l.watch(key)
		defer l.unwatch(key, w)
		var r reader
		for after := max(after, 0); ; {
			l.mu.RLock()
			entries, err := l.entries(ctx, key, after)
			if t := l.threads[key]; err == nil && after > 0 && (t == nil || t.Last < after) {
				err = store.ErrRewound
			}
			changed := w.changed
			l.mu.RUnlock()
			if err != nil {
				yield(nil, err)
				return
			}
			if !r.each(ctx, entries, after, store.Selection{}, yield) {
				return
			}
			after += int64(len(entries))
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// reader yields entries. It keeps the chunk that it read last.
type reader struct {
	chunk *chunk
	raw   []byte // the data of the entries of chunk
	entry store.Entry
}

// each yields the entries whose kind and type are selected, and reports whether all were
// yielded. The first entry has the position after+1.
func (r *reader) each(ctx context.Context, entries []entry, after int64, s store.Selection, yield func(*store.Entry, error) bool) bool {
	for i := range entries {
		e := &entries[i]
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return false
		}
		if !s.Selects(e.kind, e.typ) {
			continue
		}
		data, size := e.data, int64(0)
		switch {
		case slices.Contains(s.Bare, e.kind):
			data, size = nil, int64(e.size)
		case e.chunk != nil:
			if e.chunk != r.chunk {
				raw, err := e.chunk.unpack()
				if err != nil {
					yield(nil, err)
					return false
				}
				r.chunk, r.raw = e.chunk, raw
			}
			data = r.raw[e.offset : e.offset+e.size : e.offset+e.size]
		}
		r.entry = store.Entry{
			Position: after + int64(i) + 1, Run: e.run, Stream: e.stream, Kind: e.kind, Type: e.typ,
			Arrived: e.arrived, Data: data, Size: size,
		}
		if !yield(&r.entry, nil) {
			return false
		}
	}
	return true
}
