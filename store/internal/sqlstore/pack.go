package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/index"
)

// Pack implements store.Log. Each chunk is packed in a transaction of its own, so others
// can append in between.
func (l *Log) Pack(ctx context.Context, key store.Key) (store.Packed, error) {
	p := packer{log: l, packed: -1}
	err := p.open()
	for more := err == nil; more && err == nil; {
		more = false
		err = l.change(ctx, key, func(tx *sql.Tx, id int64, t store.Thread) error {
			if !t.DeletedAt.IsZero() {
				return store.ErrDeleted
			}
			p.tx, p.thread = tx, id
			more, err = p.pack(ctx)
			return err
		})
	}
	p.close()
	if err == nil && p.total.Entries > 0 {
		// Readers may keep what was packed in use.
		if err = l.dialect.Reclaim(ctx); errors.Is(err, ErrInUse) {
			err = nil
		}
		err = l.explain(err)
	}
	if err != nil {
		return p.total, fmt.Errorf("pack thread %q: %w", key.Thread, err)
	}
	return p.total, nil
}

// packer packs the entries of a thread.
type packer struct {
	log    *Log
	tx     *sql.Tx
	thread int64
	enc    *zstd.Encoder
	dec    *zstd.Decoder
	// after is the position up to which everything that is worth packing is packed.
	after int64
	total store.Packed
	// packed is the size of what is packed of the thread, as index.WorthPacking counts it, or -1
	// if it was not needed yet. Another process can have packed more since.
	packed int64

	chunk []byte // before compression
	// first and last are the positions of the entries of chunk, and bytes the size of
	// their data.
	first, last, bytes int64
	full               chunkEnd // where the chunk became full, or zero
}

// chunkEnd is a place in a chunk.
type chunkEnd struct {
	size        int // of the chunk up to there
	last, bytes int64
}

func (p *packer) open() (err error) {
	if p.enc, err = compressor(); err != nil {
		return err
	}
	p.dec, err = decompressor()
	return err
}

func (p *packer) close() {
	if p.enc != nil {
		p.enc.Close()
	}
	if p.dec != nil {
		p.dec.Close()
	}
}

// pack packs the next chunk that is large enough, and reports whether there was one.
func (p *packer) pack(ctx context.Context) (bool, error) {
	runs, err := p.numbers(ctx, `SELECT start FROM runs WHERE thread_id = $1 AND outcome = 'open'`)
	if err != nil {
		return false, err
	}
	streams, err := p.numbers(ctx, `SELECT number FROM streams WHERE thread_id = $1 AND ended = 0`)
	if err != nil {
		return false, err
	}
	for {
		if err := p.collect(ctx, runs, streams); err != nil || p.first == 0 {
			return false, err
		}
		if worth, err := p.isWorth(ctx); err != nil {
			return false, err
		} else if worth {
			return true, p.replace(ctx)
		}
	}
}

// isWorth reports whether the chunk is large enough to be packed.
func (p *packer) isWorth(ctx context.Context) (bool, error) {
	if index.WorthPacking(p.size(), math.MaxInt64) {
		return true, nil // however much is packed, which need not be counted
	}
	if p.packed < 0 {
		if err := p.tx.QueryRowContext(ctx, `SELECT CAST(coalesce(sum(entries + bytes), 0) AS bigint) FROM packs WHERE thread_id = $1`, p.thread).Scan(&p.packed); err != nil {
			return false, err
		}
	}
	return index.WorthPacking(p.size(), p.packed), nil
}

// size returns the size of the chunk, as index.WorthPacking counts it.
func (p *packer) size() int64 { return p.bytes + p.last - p.first + 1 }

// collect collects the next successive entries that can be packed, until the chunk is full. It
// passes over those that are known not to be worth it, because a thread can have as many of them
// as entries. There are none if p.first is 0 afterwards.
func (p *packer) collect(ctx context.Context, runs, streams map[int64]bool) error {
	p.drop()
	for full := false; !full; {
		seen := p.after
		err := p.log.scanRows(ctx, p.tx, rowQuery{thread: p.thread, after: p.after, limit: pageEntries}, func(r *Row) bool {
			ready := r.Run != 0 && !runs[r.Run] || r.Run == 0 && !streams[r.Stream]
			switch follows := ready && r.Position == p.last+1; {
			case p.first == 0:
			case follows:
				full = p.cut(r)
			default:
				if full = index.WorthPacking(p.size(), p.packed); !full {
					p.drop()
				}
			}
			if full {
				return false
			}
			p.after = r.Position
			if ready {
				if p.first == 0 {
					p.first = r.Position
				}
				p.last = r.Position
				p.bytes += int64(len(r.Data))
				p.chunk = appendRow(p.chunk, r)
			}
			return true
		})
		if err != nil {
			return err
		}
		full = full || p.after == seen
	}
	return nil
}

// cut ends a chunk before the row that follows it, and reports whether it did. A chunk that is
// full takes what follows it as long as that would not be worth a pack of its own; if it is, the
// chunk ends where it became full.
func (p *packer) cut(next *Row) bool {
	if p.full.last == 0 {
		if len(p.chunk) < chunkBytes || p.size() < store.MinPackBytes {
			return false
		}
		p.full = chunkEnd{len(p.chunk), p.last, p.bytes}
	}
	more := p.bytes - p.full.bytes + p.last - p.full.last
	if more+int64(len(next.Data))+1 < store.MinPackBytes {
		return false
	}
	p.chunk, p.last, p.bytes = p.chunk[:p.full.size], p.full.last, p.full.bytes
	p.after = p.last
	return true
}

// drop forgets the chunk.
func (p *packer) drop() { p.chunk, p.first, p.bytes, p.full = p.chunk[:0], 0, 0, chunkEnd{} }

// numbers returns the numbers that a query of the thread selects.
func (p *packer) numbers(ctx context.Context, query string) (map[int64]bool, error) {
	rows, err := p.tx.QueryContext(ctx, query, p.thread)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	set := make(map[int64]bool)
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		set[n] = true
	}
	return set, errors.Join(rows.Err(), rows.Close())
}

// replace replaces the rows of the chunk by a row of packs. It reads the pack back and
// compares it with the rows before it deletes them.
func (p *packer) replace(ctx context.Context) error {
	entries := p.last - p.first + 1
	data := p.enc.EncodeAll(p.chunk, nil)
	if _, err := p.tx.ExecContext(ctx, `INSERT INTO packs (thread_id, first, last, entries, bytes, stored, data) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		p.thread, p.first, p.last, entries, p.bytes, int64(len(data)), data); err != nil {
		return err
	}
	var stored []byte
	if err := p.tx.QueryRowContext(ctx, `SELECT data FROM packs WHERE thread_id = $1 AND last = $2`, p.thread, p.last).Scan(&stored); err != nil {
		return err
	}
	if err := p.verify(ctx, stored); err != nil {
		return err
	}
	if _, err := p.tx.ExecContext(ctx, `DELETE FROM entries WHERE thread_id = $1 AND position >= $2 AND position <= $3`, p.thread, p.first, p.last); err != nil {
		return err
	}
	_, err := p.tx.ExecContext(ctx, `UPDATE threads SET packed = packed + $1 WHERE id = $2`, entries, p.thread)
	if p.packed >= 0 {
		p.packed += p.size()
	}
	p.total.Entries += entries
	p.total.Bytes += p.bytes
	p.total.Stored += int64(len(data))
	return err
}

// verify compares a pack with the rows of its entries.
func (p *packer) verify(ctx context.Context, stored []byte) error {
	chunk, err := decompress(p.dec, stored, nil)
	if err != nil {
		return err
	}
	next := p.first
	for next <= p.last {
		before := next
		var differs error
		err := p.log.scanRows(ctx, p.tx, rowQuery{thread: p.thread, after: next - 1, limit: min(pageEntries, p.last-next+1)}, func(r *Row) bool {
			var packed Row
			if packed, chunk, differs = cutRow(chunk); differs != nil {
				return false
			}
			packed.Position = next
			if !packed.equal(r) {
				differs = errChunk
				return false
			}
			next++
			return true
		})
		if err = errors.Join(err, differs); err != nil {
			return err
		}
		if next == before {
			return errChunk
		}
	}
	if len(chunk) > 0 {
		return errChunk
	}
	return nil
}

// equal reports whether two rows are equal.
func (r *Row) equal(s *Row) bool {
	return r.Position == s.Position && r.Run == s.Run && r.Stream == s.Stream && r.Kind == s.Kind && r.Type == s.Type &&
		(r.Arrived == nil) == (s.Arrived == nil) && (r.Arrived == nil || *r.Arrived == *s.Arrived) && bytes.Equal(r.Data, s.Data)
}
