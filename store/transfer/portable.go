package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/store"
)

// portable is an open file in the portable form, which may be compressed.
type portable struct {
	io.ReadCloser
	file *contextReader
}

// damage returns the finding for an error of the compression. It returns errors of the
// file unchanged.
func (p *portable) damage(err error) error {
	if _, ok := errors.AsType[finding.Finding](err); ok || p.file.err != nil {
		return err
	}
	return finding.New(finding.LogFileMalformed, "the file cannot be decompressed: %s", finding.Escape(err.Error()))
}

// openPortable opens the input as a file in the portable form. It returns nil if it is
// something else.
func (s *source) openPortable(ctx context.Context) (*portable, error) {
	if s.file == nil {
		return nil, nil
	}
	var magic [8]byte
	n, err := s.file.ReadAt(magic[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	coding := strictjson.DetectCompression(magic[:n])
	open := func() (*portable, error) {
		file := s.reader(ctx)
		r, err := capture.Decode(file, coding)
		return &portable{r, file}, err
	}
	p, err := open()
	if err != nil {
		return nil, err
	}
	prefix := make([]byte, len(portablePrefix))
	_, err = io.ReadFull(p, prefix)
	p.Close()
	switch {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, p.damage(err)
	case err != nil || string(prefix) != portablePrefix:
		return nil, nil
	}
	return open()
}

// portableDamage returns the finding for a thread in the portable form that openPortable
// does not recognize.
func (s *source) portableDamage() finding.Finding {
	if s.file == nil {
		return finding.New(finding.LogFileMalformed, "%s is a thread in the portable form, which cannot be read in an archive", finding.Escape(s.in.Path)).
			WithHint("extract it from the archive, and import the file")
	}
	return finding.New(finding.LogFileMalformed, "%s is a thread in the portable form, but was changed: it must begin with %s", finding.Escape(s.in.Path), portablePrefix)
}

// importThread appends the rest of a thread in the portable form, after it has read the
// whole file and has checked its digest.
func (row *Row) importThread(ctx context.Context, log store.Log, src *source, tenant string) error {
	checked, err := eachEntry(ctx, src, func(*store.Entry) error { return nil })
	if err != nil {
		return err
	}
	thread := checked.head.Thread
	to := &copier{log: log, key: store.Key{Tenant: tenant, Thread: thread}, Part: Part{Thread: thread}}
	if err := to.require(ctx, checked.head.After); err != nil {
		row.Parts = append(row.Parts, to.Part)
		return err
	}
	var batch []store.Entry
	size := 0
	flush := func() error {
		err := to.write(ctx, batch)
		batch, size = nil, 0
		return err
	}
	again, err := eachEntry(ctx, src, func(e *store.Entry) error {
		batch = append(batch, *e)
		if size += len(e.Data); full(len(batch), size) {
			return flush()
		}
		return nil
	})
	if err == nil && (again.head != checked.head || again.tail != checked.tail) {
		err = finding.New(finding.DigestMismatch, "%s was changed while it was imported", finding.Escape(src.in.Path))
	}
	if err == nil {
		err = flush()
	}
	row.Parts = append(row.Parts, to.Part)
	if errors.Is(err, store.ErrEntry) {
		err = finding.New(finding.LogFileMalformed, "the log refuses an entry of the file: %s", finding.Escape(err.Error()))
	}
	return err
}

// eachEntry calls each for every entry of a file in the portable form, and returns the
// decoder, which has read the file to its end.
func eachEntry(ctx context.Context, src *source, each func(*store.Entry) error) (*decoder, error) {
	r, err := src.openPortable(ctx)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, finding.New(finding.DigestMismatch, "%s was changed while it was imported", finding.Escape(src.in.Path))
	}
	defer r.Close()
	d, err := newDecoder(r)
	for err == nil {
		var e *store.Entry
		if e, err = d.entry(); err == nil {
			if err := each(e); err != nil {
				return nil, err
			}
		}
	}
	if err != io.EOF {
		return nil, r.damage(err)
	}
	return d, nil
}

// copier writes entries at their positions to a thread.
type copier struct {
	Part
	log   store.Log
	key   store.Key
	known bool
	last  int64 // the last position of the thread
}

// write compares entries with those that the log has at their positions, and appends the
// rest.
func (c *copier) write(ctx context.Context, entries []store.Entry) error {
	for len(entries) > 0 {
		if err := c.look(ctx); err != nil {
			return err
		}
		if entries[0].Position <= c.last {
			n, err := c.compare(ctx, entries)
			if err != nil {
				return err
			}
			entries = entries[n:]
			continue
		}
		last, err := c.log.Append(ctx, c.key, c.last, entries)
		if err != nil {
			c.known = false
			if errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
				continue
			}
			return &logError{err}
		}
		c.Appended += int64(len(entries))
		c.last, c.Last = last, last
		return nil
	}
	return nil
}

// require returns an error if the thread does not have the entries up to a position.
func (c *copier) require(ctx context.Context, after int64) error {
	if err := c.look(ctx); err != nil {
		return err
	}
	if after > c.last {
		return finding.New(finding.LogEntryDiffers, "thread %s has %d entries, but those of the file begin after entry %d", finding.Quote(c.Thread), c.last, after).
			WithHint("first import a file with the entries before")
	}
	c.Last = after
	return nil
}

// look reads the last position of the thread, unless it is known.
func (c *copier) look(ctx context.Context) error {
	if c.known {
		return nil
	}
	last, err := lastPosition(ctx, c.log, c.key)
	if err != nil {
		return err
	}
	c.last, c.known = last, true
	return nil
}

// compare compares entries with those of the log and returns the number of entries that
// the log has.
func (c *copier) compare(ctx context.Context, entries []store.Entry) (n int, err error) {
	for e, err := range c.log.Read(ctx, c.key, entries[0].Position-1) {
		if err != nil {
			return 0, &logError{err}
		}
		want := entries[n]
		if e.Position != want.Position || e.Stream != want.Stream || e.Kind != want.Kind || !e.Arrived.Equal(want.Arrived) || !bytes.Equal(e.Data, want.Data) {
			return 0, &DifferenceError{Key: c.key, Position: e.Position}
		}
		n++
		c.Found++
		c.Last = e.Position
		if n == len(entries) {
			break
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("thread %q has no entry %d, but the last position is %d", c.Thread, entries[0].Position, c.last)
	}
	return n, nil
}
