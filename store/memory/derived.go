package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/p20export/p20export/store"
)

// Keep implements store.Log.
func (l *Log) Keep(ctx context.Context, key store.Key, kind string, list []store.Derived) error {
	if err := key.Check(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx); err != nil {
		return err
	}
	t := l.threads[key]
	switch {
	case t == nil:
		return store.ErrNoThread
	case !t.DeletedAt.IsZero():
		return store.ErrDeleted
	}
	if err := store.CheckDerived(kind, list, t.Last); err != nil {
		return err
	}
	if t.derived == nil {
		t.derived = make(map[string][]store.Derived)
	}
	kept := slices.Clone(t.derived[kind]) // readers use the present ones without a lock
	for _, d := range list {
		d.Head, d.Data = bytes.Clone(d.Head), bytes.Clone(d.Data)
		if at, found := find(kept, d.Position); found {
			kept[at] = d
		} else {
			kept = slices.Insert(kept, at, d)
		}
	}
	t.derived[kind] = kept
	return nil
}

// find returns the index of what is kept at a position, or where it would be.
func find(kept []store.Derived, position int64) (int, bool) {
	return slices.BinarySearchFunc(kept, position, func(d store.Derived, position int64) int { return cmp.Compare(d.Position, position) })
}

// Kept implements store.Log.
func (l *Log) Kept(ctx context.Context, key store.Key, kind string, from, to int64, data bool) (list []store.Derived, err error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.check(ctx); err != nil || l.threads[key] == nil {
		return nil, err
	}
	kept := l.threads[key].derived[kind]
	first, _ := find(kept, from)
	for _, d := range kept[first:] {
		if d.Position > to {
			break
		}
		if d.Head = bytes.Clone(d.Head); data {
			d.Data = bytes.Clone(d.Data)
		} else {
			d.Data = nil
		}
		list = append(list, d)
	}
	return list, nil
}

// Forget implements store.Log.
func (l *Log) Forget(ctx context.Context, key store.Key, kind string) error {
	if err := key.Check(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.threads[key]; t != nil {
		delete(t.derived, kind)
	}
	return l.check(ctx)
}
