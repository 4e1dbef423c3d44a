package restore

import (
	"context"

	"github.com/klauspost/compress/zstd"
)

// WithSpacing returns the options with a checkpoint after each n entries, however large it is.
func (o Options) WithSpacing(n int) Options {
	o.spacing = spacing{entries: n, bytes: 1 << 30}
	return o
}

// Kinds returns the kinds of store.Derived that have checkpoints with some options.
func (o Options) Kinds() []string { return []string{o.kind(), o.messageKind()} }

// Unpacked returns what the checkpoints of a thread have, before compression.
func (t *Thread) Unpacked(ctx context.Context) (all []byte, err error) {
	z, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	for _, kind := range t.options.Kinds() {
		list, err := t.log.Kept(ctx, t.Key, kind, 1, t.Last, true)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if all, err = z.DecodeAll(list[i].Data, all); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// SetVersion makes all checkpoints of a thread, which has one branch, those of another program.
func (t *Thread) SetVersion(ctx context.Context, by int64) error {
	list, err := t.log.Kept(ctx, t.Key, t.options.kind(), 1, t.Last, true)
	if err != nil {
		return err
	}
	messages, err := t.log.Kept(ctx, t.Key, t.options.messageKind(), 1, t.Last, true)
	if err != nil {
		return err
	}
	var before digest
	for i := range list {
		m, _ := markOf(&list[i])
		m.version += by
		if m.before == 0 {
			before = digest{}
		}
		m.sum = t.sumOf(before, &m, messages[i].Data)
		before, list[i].Head = m.sum, m.head()
	}
	return t.log.Keep(ctx, t.Key, t.options.kind(), list)
}
