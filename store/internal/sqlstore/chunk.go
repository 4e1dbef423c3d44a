package sqlstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/store"
)

// A chunk is the data of a row of packs: a zstd frame with the entries one after another.
// Each has the fields
//
//	uvarint  run
//	uvarint  stream_number
//	byte     kind, plus hasArrived if the next field is there
//	varint   arrived_at
//	uvarint  size of type, and type
//	uvarint  size of data, and data
const (
	// chunkBytes is the size before compression at which a chunk is full. It is large
	// enough to find what events of several runs have in common.
	chunkBytes = 1 << 20
	// maxChunkBytes is the maximum size: before the entry that fills a chunk, it has less
	// than chunkBytes, or entries that are not worth a pack, as after it. Such entries have
	// less than store.MinPackBytes, and each needs at most 40 bytes more than its data and
	// its type.
	maxChunkBytes = store.MaxEntryBytes + 2*42*store.MinPackBytes
	hasArrived    = 0x80
)

// errChunk reports a chunk that is damaged.
var errChunk = errors.New("a pack is damaged")

// appendRow appends a row to a chunk before compression.
func appendRow(chunk []byte, r *Row) []byte {
	chunk = binary.AppendUvarint(chunk, uint64(r.Run))
	chunk = binary.AppendUvarint(chunk, uint64(r.Stream))
	if r.Arrived == nil {
		chunk = append(chunk, byte(r.Kind))
	} else {
		chunk = append(chunk, byte(r.Kind)|hasArrived)
		chunk = binary.AppendVarint(chunk, *r.Arrived)
	}
	chunk = binary.AppendUvarint(chunk, uint64(len(r.Type)))
	chunk = append(chunk, r.Type...)
	chunk = binary.AppendUvarint(chunk, uint64(len(r.Data)))
	return append(chunk, r.Data...)
}

// cutRow returns the first row of a chunk and the rest of the chunk. The row has no
// position, and refers to the chunk.
func cutRow(chunk []byte) (r Row, rest []byte, err error) {
	c := cutter{rest: chunk}
	r.Run, r.Stream = int64(c.uvarint()), int64(c.uvarint())
	if len(c.rest) == 0 {
		return r, nil, errChunk
	}
	kind := c.rest[0]
	c.rest = c.rest[1:]
	r.Kind = int64(kind &^ hasArrived)
	if kind&hasArrived != 0 {
		n, size := binary.Varint(c.rest)
		if size <= 0 {
			return r, nil, errChunk
		}
		c.rest = c.rest[size:]
		r.Arrived = &n
	}
	r.Type = string(c.bytes())
	r.Data = c.bytes()
	if c.bad || r.Kind < kindEvent || r.Kind > kindEnd || r.Run < 0 || r.Stream < 1 {
		return r, nil, errChunk
	}
	return r, c.rest, nil
}

// cutter cuts fields off a chunk.
type cutter struct {
	rest []byte
	bad  bool
}

func (c *cutter) uvarint() uint64 {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

func (c *cutter) bytes() []byte {
	n := c.uvarint()
	if n > uint64(len(c.rest)) {
		c.bad, c.rest = true, nil
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// decompress appends the decompressed data of a pack to chunk. The error does not wrap that of
// the decoder, which can be io.ErrUnexpectedEOF: the error of a connection that was lost.
func decompress(dec *zstd.Decoder, data, chunk []byte) ([]byte, error) {
	chunk, err := dec.DecodeAll(data, chunk)
	if err != nil {
		return chunk, fmt.Errorf("%w: %v", errChunk, err)
	}
	return chunk, nil
}

// compressor returns an encoder of chunks.
func compressor() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithWindowSize(2*chunkBytes))
}

// decompressor returns a decoder of chunks.
func decompressor() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxChunkBytes))
}
