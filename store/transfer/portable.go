package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

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

// contents is what the first reading of a file in the portable form has found.
type contents struct {
	head
	tail
	seals []store.Seal
}

// readPortable reads a file in the portable form to its end, and checks it. It returns nil if
// the file is something else.
func (s *source) readPortable(ctx context.Context) (*contents, error) {
	return s.eachEntry(ctx, func(*store.Entry) error { return nil })
}

// eachEntry calls each for every entry of a file in the portable form, and reads it to its end.
// It returns nil if the file is something else.
func (s *source) eachEntry(ctx context.Context, each func(*store.Entry) error) (*contents, error) {
	r, err := s.openPortable(ctx)
	if r == nil || err != nil {
		return nil, err
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
	return &contents{d.head, d.tail, d.seals}, nil
}

// entries returns the entries of a file in the portable form that was read before. The last
// pair is the finding digest_mismatch if the file was changed since.
func (s *source) entries(ctx context.Context, was *contents) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		errStopped := errors.New("stopped")
		c, err := s.eachEntry(ctx, func(e *store.Entry) error {
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		})
		if err == nil && (c == nil || c.head != was.head || c.tail != was.tail) {
			err = s.changed()
		}
		if err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

// changed returns the finding for a file that was changed after the first reading.
func (s *source) changed() error {
	return finding.New(finding.DigestMismatch, "%s was changed while it was read", finding.Escape(s.in.Path))
}

// importThread appends the rest of a thread in the portable form, and then adds its seals. Before
// that, it has read the whole file, and has checked its digest and its seals.
func (row *Row) importThread(ctx context.Context, log store.Log, src *source, s ImportSettings) error {
	file, err := src.readPortable(ctx)
	if err == nil && file == nil {
		err = src.changed()
	}
	if err != nil {
		return err
	}
	to := &copier{log: log, key: store.Key{Tenant: s.Tenant, Thread: file.Thread}, Part: Part{Thread: file.Thread}}
	err = to.require(ctx, file.After)
	if err == nil && len(file.seals) > 0 {
		err = row.checkSeals(ctx, to, src, file, s.Policy)
	}
	if err == nil {
		err = to.copy(ctx, src.entries(ctx, file))
	}
	if err == nil && len(file.seals) > 0 {
		err = row.addSeals(ctx, to, file.seals)
	}
	row.Parts = append(row.Parts, to.Part)
	if errors.Is(err, store.ErrEntry) {
		err = finding.New(finding.LogFileMalformed, "the log refuses an entry of the file: %s", finding.Escape(err.Error()))
	}
	return err
}

// copier writes entries at their positions to a thread.
type copier struct {
	Part
	log   store.Log
	key   store.Key
	known bool
	last  int64 // the last position of the thread
}

// copy writes entries in batches.
func (c *copier) copy(ctx context.Context, entries iter.Seq2[*store.Entry, error]) error {
	var batch []store.Entry
	size := 0
	for e, err := range entries {
		if err != nil {
			return err
		}
		batch = append(batch, *e)
		if size += len(e.Data); full(len(batch), size) {
			if err := c.write(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
	}
	return c.write(ctx, batch)
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
