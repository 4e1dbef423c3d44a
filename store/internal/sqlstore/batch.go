package sqlstore

import "github.com/p20export/p20export/store"

// batchBytes limits the memory of the batches that wait for a follower. A follower that is further
// behind reads the database.
const batchBytes = PageBytes

// A batch is an append of this process, which followers of the thread need not read.
type batch struct {
	before, after found // the thread before and after the append
	entries       []store.Entry
}

// newBatch returns a batch with copies of what was written.
func newBatch(before found, w *Write) *batch {
	t := &w.Batch.Thread
	b := &batch{before: before, after: found{w.Thread, t.Last, t.Bytes, w.Now}, entries: make([]store.Entry, len(w.Entries))}
	data := make([]byte, 0, w.size())
	for i := range w.Entries {
		r, start := w.Row(i), len(data)
		data = append(data, r.Data...)
		e := entryOf(&r)
		e.Stream, e.Data = w.Entries[i].Stream, data[start:len(data):len(data)]
		b.entries[i] = e
	}
	return b
}

// size returns the size of the data.
func (b *batch) size() int64 { return b.after.bytes - b.before.bytes }

// each calls yield with the entries until it returns false, and reports whether it always returned
// true.
func (b *batch) each(yield func(*store.Entry) bool) bool {
	for i := range b.entries {
		e := b.entries[i] // other followers have the same batch
		if !yield(&e) {
			return false
		}
	}
	return true
}

// size returns the size of the data of a batch.
func (w *Write) size() int64 { return w.Batch.Thread.Bytes - w.Before.Bytes }
