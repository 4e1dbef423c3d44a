package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
)

// StreamSettings describe a stream.
type StreamSettings struct {
	Tenant string
	// ID is the id of the stream. The same id in the same thread is the same stream.
	ID string
	// Thread is the thread of the stream if neither a RUN_STARTED nor the request names
	// one. It may be empty.
	Thread string
	// Pinned makes all entries belong to Thread, whatever a RUN_STARTED or the request names.
	Pinned bool
}

// Stream appends the entries of one stream to a log. It is not safe for concurrent use.
//
// The entries belong to the thread that the first RUN_STARTED names. Until then they wait
// in memory. A later RUN_STARTED that names another thread moves the stream there; what
// was appended before it, also the request, is not copied. If no RUN_STARTED names a
// thread, that of the request is used, and otherwise StreamSettings.Thread. A thread id
// that a log cannot have names no thread.
//
// If the log already has entries of the stream, they are compared with the first entries
// of the Stream, and only the rest is appended. A Closing that only the log has is passed
// over: the program added it, and no capture has it. Nothing is appended to a stream that
// has ended: see ErrEnded.
type Stream struct {
	log      store.Log
	settings StreamSettings

	request string // the thread that the request names, or ""
	current *part  // nil until the thread is known
	parts   []*part
	queue   []queued
	bytes   int
	err     error // final

	// recovered allows the log to have more than the Stream: the last event may go on in
	// the log, more events may follow it, and the stream may have ended in another way.
	recovered bool
	// ours reports that the program which appends the stream to the log can end it before
	// the agent does. Then the log may say otherwise how the stream ended.
	ours bool
}

// queued is an entry that was not appended yet. Its part is nil if its thread is not known.
type queued struct {
	part  *part
	entry store.Entry
}

// Errors of a Stream.
var (
	// ErrThread means that nothing names the thread of a stream.
	ErrThread = fmt.Errorf("neither a RUN_STARTED nor the request names a thread with an id of 1 to %d bytes of valid UTF-8 without U+0000", store.MaxIDBytes)
	// ErrWaiting means that more entries wait to be appended than a Stream keeps.
	ErrWaiting = fmt.Errorf("more than %d bytes or %d entries wait to be appended", maxWaitingBytes, maxWaitingEntries)
	// ErrThreads means that the events of a stream name more threads than a Stream follows.
	ErrThreads = fmt.Errorf("the events of the stream name more than %d threads", maxThreads)
	// ErrEnded means that the log has an end of the stream where the Stream has something
	// else: somebody else has ended the stream. Such an error is a *DifferenceError.
	ErrEnded = errors.New("the stream has ended")
)

// DifferenceError reports that the log has another entry than was to be appended.
type DifferenceError struct {
	store.Key
	Position int64
	// Ended reports that the entry of the log is the end of the stream.
	Ended bool
}

func (e *DifferenceError) Error() string {
	if e.Ended {
		return fmt.Sprintf("thread %q: the stream ended at position %d in another way", e.Thread, e.Position)
	}
	return fmt.Sprintf("thread %q has another entry at position %d", e.Thread, e.Position)
}

// Is reports whether target is ErrEnded and the stream has ended.
func (e *DifferenceError) Is(target error) bool { return e.Ended && target == ErrEnded }

// NewStream returns a Stream that appends to a log.
func NewStream(log store.Log, settings StreamSettings) *Stream {
	s := &Stream{log: log, settings: settings}
	if settings.Pinned {
		s.current = newPart(store.Key{Tenant: settings.Tenant, Thread: settings.Thread}, settings.ID)
		s.parts = []*part{s.current}
	}
	return s
}

// Input adds the request to the stream. It must be called before Event. The errors are
// those of Event.
func (s *Stream) Input(ctx context.Context, data []byte, at time.Time) error {
	s.request = threadOfInput(data)
	return s.add(ctx, store.Input, data, at)
}

// Closing adds an event of the program itself to the stream, which is never evidence. The
// errors are those of Event.
func (s *Stream) Closing(ctx context.Context, data []byte, at time.Time) error {
	return s.add(ctx, store.Closing, data, at)
}

// Event adds the data of a frame to the stream. It appends all entries that wait if there
// are many, and leaves the rest to Flush.
//
// The entry was added even if the error is one of appending. The caller can then go on,
// and the next call appends it. If the error is ErrWaiting or ErrThreads, the entry was
// not added, and all later calls return the same error.
func (s *Stream) Event(ctx context.Context, data []byte, at time.Time) error {
	if s.err != nil {
		return s.err
	}
	if id := threadOfEvent(data); id != "" && !s.settings.Pinned {
		if s.err = s.enter(id); s.err != nil {
			return s.err
		}
	}
	return s.add(ctx, store.Event, data, at)
}

// Flush appends the entries that wait. It does nothing while the thread of the stream is
// not known. After an error it can be called again: nothing is appended twice.
func (s *Stream) Flush(ctx context.Context) error {
	if s.err != nil || s.current == nil {
		return s.err
	}
	for len(s.queue) > 0 {
		part, n, size := s.queue[0].part, 0, 0
		var entries []store.Entry
		for n < len(s.queue) && s.queue[n].part == part && !full(n, size) {
			entries = append(entries, s.queue[n].entry)
			size += len(s.queue[n].entry.Data)
			n++
		}
		if err := part.write(ctx, s.log, s.recovered, entries); err != nil {
			return err
		}
		s.queue = slices.Delete(s.queue, 0, n)
		s.bytes -= size
	}
	return nil
}

// End appends the entries that wait, and ends the stream in each of its threads.
func (s *Stream) End(ctx context.Context, end capture.End, at time.Time) error {
	if s.err != nil {
		return s.err
	}
	if s.current == nil {
		id := cmp.Or(s.request, s.settings.Thread)
		if id == "" {
			return ErrThread
		}
		if s.err = s.enter(id); s.err != nil {
			return s.err
		}
	}
	if err := s.Flush(ctx); err != nil {
		return err
	}
	// The first thread is the last: if the stream has ended in it, it has in all.
	for _, p := range slices.Backward(s.parts) {
		if err := p.end(ctx, s.log, s.recovered, s.ours, store.Entry{Stream: p.stream, Kind: store.End, Arrived: microseconds(at), Data: []byte(end)}); err != nil {
			return err
		}
	}
	return nil
}

// Parts returns what the log has of the stream in each thread, in the order in which the
// stream entered them.
func (s *Stream) Parts() []Part {
	parts := make([]Part, len(s.parts))
	for i, p := range s.parts {
		parts[i] = p.Part
	}
	return parts
}

// enter makes a thread the one of the next entries, and of those that wait for their
// thread.
func (s *Stream) enter(id string) error {
	if s.current != nil && s.current.Thread == id {
		return nil
	}
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.Thread == id })
	if i < 0 {
		if i = len(s.parts); i == maxThreads {
			return ErrThreads
		}
		s.parts = append(s.parts, newPart(store.Key{Tenant: s.settings.Tenant, Thread: id}, s.settings.ID))
	}
	if s.current == nil {
		for j := range s.queue {
			s.queue[j].part = s.parts[i]
		}
	}
	s.current = s.parts[i]
	return nil
}

// add adds an entry of the current thread.
func (s *Stream) add(ctx context.Context, kind store.Kind, data []byte, at time.Time) error {
	if s.err == nil && s.crowded(len(data)) {
		err := s.Flush(ctx)
		switch {
		case !s.crowded(len(data)):
		case err != nil:
			s.err = fmt.Errorf("%w: %w", ErrWaiting, err)
		default:
			s.err = ErrWaiting
		}
	}
	if s.err != nil {
		return s.err
	}
	s.queue = append(s.queue, queued{s.current, store.Entry{Stream: s.settings.ID, Kind: kind, Arrived: microseconds(at), Data: slices.Clone(data)}})
	s.bytes += len(data)
	if full(len(s.queue), s.bytes) {
		return s.Flush(ctx)
	}
	return nil
}

// crowded reports whether data cannot wait together with the entries that wait.
func (s *Stream) crowded(data int) bool {
	return len(s.queue) > 0 && (s.bytes+data > maxWaitingBytes || len(s.queue) == maxWaitingEntries)
}

// microseconds returns a time in the precision of logs.
func microseconds(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC().Truncate(time.Microsecond)
}
