package memory

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/index"
)

// fullChunk is the size of the data at which a chunk is full. A reader of one entry unpacks the
// whole chunk.
const fullChunk = 1 << 20

// chunk is the compressed data of successive entries.
type chunk struct {
	data []byte
	size int64
}

var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
	})
)

// unpack returns the data of the entries.
func (c *chunk) unpack() ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return nil, err
	}
	return d.DecodeAll(c.data, make([]byte, 0, c.size))
}

// newChunk packs entries.
func newChunk(entries []entry) (*chunk, error) {
	e, err := encoder()
	if err != nil {
		return nil, err
	}
	var raw []byte
	for i := range entries {
		raw = append(raw, entries[i].data...)
	}
	return &chunk{data: bytes.Clone(e.EncodeAll(raw, nil)), size: int64(len(raw))}, nil
}

// Pack implements store.Log.
func (l *Log) Pack(ctx context.Context, key store.Key) (store.Packed, error) {
	if err := key.Check(); err != nil {
		return store.Packed{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx); err != nil {
		return store.Packed{}, err
	}
	t := l.threads[key]
	switch {
	case t == nil:
		return store.Packed{}, store.ErrNoThread
	case !t.DeletedAt.IsZero():
		return store.Packed{}, store.ErrDeleted
	}
	open := make(map[int64]bool)
	for _, r := range t.runs {
		if r.End == store.Open {
			open[r.Start] = true
		}
	}
	// Readers use the present entries without a lock.
	entries := slices.Clone(t.entries)
	var chunks []*chunk
	var result store.Packed
	packed := int64(0) // the size of the data that is packed
	for _, c := range t.chunks {
		packed += c.size
	}
	packable := func(e *entry) bool {
		return e.chunk == nil && (e.run != 0 && !open[e.run] || e.run == 0 && t.streams[e.stream].Ended)
	}
	for first := 0; first < len(entries); {
		if !packable(&entries[first]) {
			first++
			continue
		}
		last, size := first, 0
		for last < len(entries) && packable(&entries[last]) && size < fullChunk {
			size += entries[last].size
			last++
		}
		// A full chunk takes what follows it, if that would not be worth one of its own.
		end, more := last, 0
		for end < len(entries) && packable(&entries[end]) && more < store.MinPackBytes {
			more += entries[end].size + 1
			end++
		}
		if more < store.MinPackBytes {
			last = end
		}
		if !index.WorthPacking(int64(last-first)+int64(size), t.Packed+result.Entries+packed+result.Bytes) {
			first = last
			continue
		}
		c, err := newChunk(entries[first:last])
		if err != nil {
			return store.Packed{}, err
		}
		offset := 0
		for i := first; i < last; i++ {
			e := &entries[i]
			e.data, e.chunk, e.offset = nil, c, offset
			offset += e.size
		}
		chunks = append(chunks, c)
		result.Entries += int64(last - first)
		result.Bytes += c.size
		result.Stored += int64(len(c.data))
		first = last
	}
	t.entries, t.chunks = entries, append(t.chunks, chunks...)
	t.Packed += result.Entries
	return result, nil
}

// Delete implements store.Log.
func (l *Log) Delete(ctx context.Context, key store.Key) (store.Thread, error) {
	if err := key.Check(); err != nil {
		return store.Thread{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx); err != nil {
		return store.Thread{}, err
	}
	t := l.threads[key]
	if t == nil {
		return store.Thread{}, store.ErrNoThread
	}
	if t.DeletedAt.IsZero() {
		t.DeletedAt = now()
		t.streams, t.runs, t.entries, t.chunks, t.blocks, t.derived = nil, nil, nil, nil, nil, nil
		t.seals = t.seals[max(0, len(t.seals)-1):]
		l.notify(key)
	}
	return t.Thread, nil
}
