package attach

import (
	"context"
	"iter"
	"math"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/store"
)

// A Source is what Batches reads: all events of a thread, or those of one run.
type Source struct {
	// Stream is the stream of the run. It is empty for all events of the thread.
	Stream string
	// From is the position of the first entry of the run, which is its request or its first
	// event.
	From int64
	// Last is that of its last entry if the run has ended, and otherwise 0.
	Last int64
}

// A Batch has consecutive events of a Source.
type Batch struct {
	// Events are the data of the events as JSON values. An event that is not JSON is a string.
	// They are valid until the next iteration.
	Events [][]byte
	// Next is the last event so far.
	Next Cursor
	// UpToDate reports that the log had no further event.
	UpToDate bool
	// Closed reports that there will be none: it is the end of the run.
	Closed bool
}

// BatchOptions say where Batches begins.
type BatchOptions struct {
	Source Source
	// After is the last event that the reader has. The zero Cursor is before the first.
	After Cursor
	// Tail begins after the last entry of the log, in place of After.
	Tail bool
}

// Batches returns the events of a source in batches until it is closed. The first batch comes
// at once, with or without events, and with Tail without any. Each further one has events, or is
// the last, or comes after Settings.Idle. A run is closed after its last event; a thread never is.
func (h *Hub) Batches(ctx context.Context, key store.Key, o BatchOptions) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		b := batcher{source: o.Source, next: o.After}
		b.reader = reader{ctx: ctx, hub: h, key: key, until: math.MaxInt64, yield: func([]byte, error) bool {
			return yield(Batch{Next: b.next, UpToDate: true}, nil)
		}}
		defer b.close()
		defer b.drop()
		if err := b.read(o.Tail, yield); err != nil && err != errStopped {
			yield(Batch{}, err)
		}
	}
}

// A batcher is one iteration of Batches.
type batcher struct {
	reader
	source Source
	next   Cursor
	run    int64 // the run of the last event, or 0
	closed bool
	events [][]byte
	parts  []*part // of the pages that have the events
}

func (b *batcher) read(tail bool, yield func(Batch, error) bool) error {
	if err := b.begin(b.next); err != nil {
		return err
	}
	if b.feed == nil { // so that a client can read what it has just written
		if err := b.catchUp(); err != nil {
			return err
		}
	}
	if err := b.place(tail); err != nil {
		return err
	}
	if tail && !yield(Batch{Next: b.next, UpToDate: true, Closed: b.closed}, nil) || tail && b.closed {
		return errStopped
	}
	for first := !tail; ; first = false {
		changed, err := b.collect()
		if err != nil {
			return err
		}
		if first || b.closed || len(b.events) > 0 {
			if !yield(Batch{b.events, b.next, changed != nil || b.closed, b.closed}, nil) || b.closed {
				return errStopped
			}
			if b.idle != nil {
				b.idle.Reset(b.hub.settings.Idle)
			}
		}
		if changed != nil {
			if err := b.wait(changed); err != nil {
				return err
			}
		}
		if err := b.ctx.Err(); err != nil {
			return err
		}
	}
}

// place finds the place of the reader in the source.
func (b *batcher) place(tail bool) error {
	switch {
	case tail:
		if err := b.placeAtTail(); err != nil {
			return err
		}
	case b.source.Last > 0 && b.position >= b.source.Last:
		b.closed = true
		return nil
	case b.position < b.source.From:
		b.position = max(b.source.From-1, 0)
		return nil
	}
	// What is before the place tells whether the run has ended. At the end, that is an event, if
	// there is one near.
	for n := 0; b.position > 0; n++ {
		p, _, err := b.feed.page(b.ctx, b.position-1)
		p.part.drop() // the entry is used at once
		if err != nil || len(p.entries) == 0 {
			return err
		}
		e := &p.entries[0]
		if e.stream == b.source.Stream {
			b.run, b.closed = max(b.run, e.run), b.closed || e.kind != kindOther
		}
		b.next = Cursor{Position: b.position}
		b.next.Check, err = b.feed.checkOf(b.ctx, &p)
		if err != nil || !tail || e.end > p.start || n == nearEvents {
			return err
		}
		b.position--
	}
	return nil
}

// nearEvents is how many entries without text are passed over to find the last event.
const nearEvents = 3

// placeAtTail finds the last entry of the source.
func (b *batcher) placeAtTail() error {
	if b.source.Stream != "" && b.source.Last == 0 {
		s, err := b.hub.log.Stream(b.ctx, b.key, b.source.Stream)
		if err != nil {
			return err
		}
		if s.Ended { // since the source was looked up
			b.source.Last = s.Last
		}
	}
	if b.position = b.source.Last; b.position > 0 {
		b.closed = true
	} else {
		b.position = b.feed.tail()
	}
	return nil
}

// collect collects the events of the next pages, until it has enough, or the source is closed.
// If it has all of the log, it returns a channel that is closed when that may have changed.
func (b *batcher) collect() (changed <-chan struct{}, err error) {
	b.drop()
	b.events = b.events[:0]
	for size := 0; !b.closed && size < maxPageBytes/2; {
		var p page
		if len(b.parts) == 0 {
			p, changed, err = b.feed.page(b.ctx, b.position)
		} else if p, changed, err = b.feed.after(b.position); err == nil && changed == nil && len(p.entries) == 0 {
			break // loading waits for memory, for which others may wait, too
		}
		if err != nil || changed != nil {
			return changed, err
		}
		n := len(b.events)
		b.add(p)
		if n == len(b.events) {
			p.part.drop()
			continue
		}
		b.parts = append(b.parts, p.part)
		for _, e := range b.events[n:] {
			size += len(e)
		}
	}
	p, changed, err := b.feed.after(b.position)
	p.part.drop()
	return changed, err
}

// drop gives back the memory of the events.
func (b *batcher) drop() {
	for _, p := range b.parts {
		p.drop()
	}
	b.parts = b.parts[:0]
}

// add adds the events of a page.
func (b *batcher) add(p page) {
	from := p.start
	for i := range p.entries {
		e := &p.entries[i]
		text := p.text[from:e.end:e.end]
		from, b.position = e.end, p.after+int64(i)+1
		if b.source.Stream != "" {
			if e.stream != b.source.Stream {
				continue
			}
			if e.run == b.position && b.run != 0 { // another run begins
				b.closed = true
				return
			}
			if e.run != 0 {
				b.run = e.run
			}
			b.closed = e.kind != kindOther
		}
		if len(text) > 0 {
			b.events = append(b.events, valueOf(dataOf(text), e.json))
			b.next = Cursor{Position: b.position, Check: e.check}
		}
		if b.closed {
			return
		}
	}
}

// valueOf returns the data of an event as a JSON value. Nearly all are known to be one.
func valueOf(data []byte, known bool) []byte {
	// In JSON, an escape can be half a surrogate pair.
	if known || utf8.Valid(data) && jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return data
	}
	text, _ := jsontext.AppendQuote(nil, data) // which replaces invalid UTF-8
	return text
}
