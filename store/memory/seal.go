package memory

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/p20export/p20export/store"
)

// Seal implements store.Log.
func (l *Log) Seal(ctx context.Context, key store.Key, s store.Seal, b store.Blocks) error {
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
	if err := s.Check(b, t.Last); err != nil {
		return err
	}
	at, found := slices.BinarySearchFunc(t.seals, s.Size, func(s store.Seal, size int64) int { return int(s.Size - size) })
	if found {
		return store.ErrSealed
	}
	s.Checkpoint, s.Token = bytes.Clone(s.Checkpoint), bytes.Clone(s.Token)
	t.seals = slices.Insert(slices.Clip(t.seals), at, s) // readers use the present ones without a lock
	t.blocks = store.AppendBlocks(slices.Clip(t.blocks), b)
	t.Sealed = t.seals[len(t.seals)-1].Size
	return nil
}

// Seals implements store.Log.
func (l *Log) Seals(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Seal, error] {
	return func(yield func(*store.Seal, error) bool) {
		t, err := l.sealed(ctx, key)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, s := range t.seals {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if s.Size > after && !yield(&s, nil) {
				return
			}
		}
	}
}

// Blocks implements store.Log.
func (l *Log) Blocks(ctx context.Context, key store.Key) ([]byte, error) {
	t, err := l.sealed(ctx, key)
	return bytes.Clone(t.blocks), err
}

// CheckThread implements store.Log. Nothing can be stored twice.
func (l *Log) CheckThread(ctx context.Context, key store.Key) error {
	_, err := l.sealed(ctx, key)
	return err
}

// sealed returns a thread as it is now. It is empty if it does not exist.
func (l *Log) sealed(ctx context.Context, key store.Key) (t thread, err error) {
	if err := key.Check(); err != nil {
		return t, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if found := l.threads[key]; found != nil {
		t = *found
	}
	return t, l.check(ctx)
}
