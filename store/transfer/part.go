package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/p20export/p20export/store"
)

// Part is what a log has of a file or a stream in one thread.
type Part struct {
	Thread string `json:"thread_id"`
	// Appended is the number of entries that were appended.
	Appended int64 `json:"appended"`
	// Found is the number of entries that the log had before.
	Found int64 `json:"found"`
	// Surplus is the number of entries of the stream that only the log has. A machine that
	// crashed may have lost the end of a capture whose events the log has.
	Surplus int64 `json:"surplus"`
	// Last is the position of the last of the entries.
	Last int64 `json:"last"`
	// Seals is the number of seals of the file that the log has now. Only the portable form has
	// seals.
	Seals int64 `json:"seals"`
}

// logError is an error of the log, as opposed to one of a file.
type logError struct{ error }

func (e *logError) Unwrap() error { return e.error }

// part writes the entries of a stream to one thread.
type part struct {
	Part
	key    store.Key
	stream string

	known bool         // the fields below are those of the log
	last  int64        // the last position of the thread
	have  store.Stream // what the thread has of the stream
	done  int64        // the number of entries that were compared or appended
	ended bool         // end has returned nil
	cut   int64        // the position of an event that goes on in the log, or 0
}

func newPart(key store.Key, stream string) *part {
	return &part{Part: Part{Thread: key.Thread}, key: key, stream: stream}
}

// write compares entries with those that the log has, and appends the rest. After an error
// it can be called again with the same entries.
func (p *part) write(ctx context.Context, log store.Log, recovered bool, entries []store.Entry) error {
	before := *p
	fail := func(err error) error {
		*p = before
		p.known = false
		return err
	}
	for len(entries) > 0 {
		if err := p.look(ctx, log); err != nil {
			return fail(err)
		}
		if p.done < p.have.Entries {
			n, err := p.compare(ctx, log, recovered, entries)
			if err != nil {
				return fail(err)
			}
			entries = entries[n:]
			continue
		}
		if p.have.Ended {
			return fail(&DifferenceError{Key: p.key, Position: p.have.Last, Ended: true})
		}
		if p.cut > 0 && entries[0].Kind != store.End {
			return fail(&DifferenceError{Key: p.key, Position: p.cut})
		}
		last, err := log.Append(ctx, p.key, p.last, entries)
		if err != nil {
			if errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
				p.known = false
				continue
			}
			return fail(&logError{err})
		}
		n := int64(len(entries))
		p.done += n
		p.Appended += n
		if p.have.First == 0 {
			p.have.First = p.last + 1
		}
		p.have.Entries, p.have.Last = p.done, last
		p.last, p.Last = last, last
		p.have.Ended = entries[n-1].Kind == store.End
		entries = nil
	}
	return nil
}

// look reads what the log has of the thread and the stream, unless that is known. The
// position is read first: if an append after it succeeds, nothing was added in between.
func (p *part) look(ctx context.Context, log store.Log) error {
	if p.known {
		return nil
	}
	last, err := lastPosition(ctx, log, p.key)
	if err != nil {
		return err
	}
	have, err := log.Stream(ctx, p.key, p.stream)
	if err != nil {
		return &logError{err}
	}
	if have.Entries < p.done || p.done > 0 && have.First != p.have.First {
		return &logError{fmt.Errorf("thread %q: %w", p.Thread, store.ErrRewound)}
	}
	p.last, p.have, p.known = last, have, true
	return nil
}

// lastPosition returns the last position of a thread, which is 0 if it does not exist.
func lastPosition(ctx context.Context, log store.Log, key store.Key) (int64, error) {
	t, err := log.Thread(ctx, key)
	switch {
	case errors.Is(err, store.ErrNoThread):
		return 0, nil
	case err != nil:
		return 0, &logError{err}
	case !t.DeletedAt.IsZero():
		return 0, fmt.Errorf("thread %q: %w", key.Thread, store.ErrDeleted)
	}
	return t.Last, nil
}

// compare compares entries with those that the log has of the stream after the first
// p.done, and returns the number of entries that it has. It passes over each Closing that
// only the log has.
func (p *part) compare(ctx context.Context, log store.Log, recovered bool, entries []store.Entry) (n int, err error) {
	// p.Last is the position of the last entry that was compared, or 0.
	for e, err := range log.Read(ctx, p.key, max(p.Last, p.have.First-1)) {
		if err != nil {
			return 0, &logError{err}
		}
		if e.Stream != p.stream {
			continue
		}
		want := entries[n]
		same := e.Kind == want.Kind && bytes.Equal(e.Data, want.Data)
		closing := !same && e.Kind == store.Closing
		switch {
		case closing:
		case p.cut > 0 && want.Kind != store.End:
			return 0, &DifferenceError{Key: p.key, Position: p.cut}
		case !same && recovered && e.Kind == store.Event && want.Kind == store.Event && bytes.HasPrefix(e.Data, want.Data):
			p.cut = e.Position
		case !same:
			return 0, &DifferenceError{Key: p.key, Position: e.Position, Ended: e.Kind == store.End}
		}
		if !closing {
			n++
			p.Found++
		}
		p.done++
		p.Last = e.Position
		if n == len(entries) || p.done == p.have.Entries {
			return n, nil
		}
	}
	return 0, fmt.Errorf("thread %q has %d entries of the stream, but only %d could be read", p.Thread, p.have.Entries, p.done)
}

// end ends the stream, unless it has ended. If surplus is set, the log may have entries of
// the stream before its end that the Stream lacks. They are counted. If ours is set, the log may
// say otherwise how the stream ended.
func (p *part) end(ctx context.Context, log store.Log, surplus, ours bool, end store.Entry) error {
	if err := p.look(ctx, log); err != nil {
		return err
	}
	if p.ended {
		return nil
	}
	if surplus && p.done < p.have.Entries {
		if err := p.pass(ctx, log); err != nil {
			return err
		}
	}
	if surplus && p.have.Ended && p.done == p.have.Entries-1 {
		// The end of the capture says how the capture ended, not the response.
		p.done, p.Last, p.ended = p.have.Entries, p.have.Last, true
		p.Found++
		return nil
	}
	err := p.write(ctx, log, surplus, []store.Entry{end})
	if ours && errors.Is(err, ErrEnded) {
		p.done, p.Last, err = p.have.Entries, p.have.Last, nil
		p.Found++
	}
	p.ended = err == nil
	return err
}

// pass passes over the entries before the end that only the log has, and counts those that
// the program did not add itself. After an error it can be called again.
func (p *part) pass(ctx context.Context, log store.Log) error {
	last := p.have.Last
	if p.have.Ended {
		last--
	}
	for e, err := range log.Read(ctx, p.key, max(p.Last, p.have.First-1)) {
		if err != nil {
			return &logError{err}
		}
		if e.Position > last {
			break
		}
		if e.Stream != p.stream {
			continue
		}
		p.done++
		p.Last = e.Position
		if e.Kind != store.Closing {
			p.Surplus++
		}
	}
	return nil
}
