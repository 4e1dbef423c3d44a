// Package index computes what a log keeps of entries in addition to their data: the type
// and the run of each, and the streams and runs of the thread. All adapters use it, so they
// agree.
//
// New reads the events of a batch. It needs no state, so an adapter calls it before it
// locks the thread. Then the adapter loads the thread and the streams of StreamIDs, and
// Place computes the rows to write:
//
//	b, err := index.New(entries)
//	// lock and load
//	err = b.Place(thread, streams)
//	// write b.Rows, b.Streams, b.Runs and b.Thread
//
// The package knows which events begin and end a run. It must not know where a log is kept.
package index

import (
	"fmt"

	"github.com/p20export/p20export/store"
)

// Thread has the totals of a thread. It is zero for a thread that does not exist.
type Thread struct {
	// Last is the last position, which is also the number of entries.
	Last int64
	// Runs and Streams count the runs and the streams, and Bytes is the size of the data.
	Runs, Streams, Bytes int64
}

// Stream is the state of a stream. Its Key is not set. It is zero for a stream that has no
// entries.
type Stream struct {
	store.Stream
	// Number is the number of the stream in the thread: 1, 2, 3 and so on in the order of
	// their first entries.
	Number int64
	// Input is the position of the last Input that belongs to no run yet, or 0, and
	// InputParent its parentRunId.
	Input       int64
	InputParent string
	// Run is the last run of the stream. Its Start is 0 if there is none.
	Run Run
}

// Run is a run. Its Key is not set.
type Run struct {
	store.Run
	// Number is the number of the stream.
	Number int64
}

// Row is what is computed of an entry.
type Row struct {
	// Run and Type are those of store.Entry, and Number is the number of the stream.
	Run, Number int64
	Type        string
}

// Batch is a list of entries to append to one thread.
type Batch struct {
	entries   []store.Entry
	events    []event // of the entries
	streamIDs []string

	// Place sets the following.

	// Thread has the totals after the batch.
	Thread Thread
	// Rows has a row for each entry. The first is at the position before Thread.Last of
	// Place plus 1.
	Rows []Row
	// Streams has the streams of StreamIDs after the batch, in the same order.
	Streams []Stream
	// Runs has the runs that the batch begins or changes, as they are after it. Each is
	// there once.
	Runs []Run
}

// The first and the last second of the years 0 to 9999 (RFC 3339 §5.6), which fit into an
// int64 with microseconds.
const (
	minArrived = -62167219200
	maxArrived = 253402300799
)

// New checks entries and reads their events. It refers to entries but does not change them.
// The error is store.ErrEntry or store.ErrKey and names the first entry that is not valid.
func New(entries []store.Entry) (*Batch, error) {
	b := &Batch{entries: entries, events: make([]event, len(entries))}
	streams := make(map[string]int)
	r := readers.Get().(*reader)
	defer r.release()
	for i := range entries {
		e := &entries[i]
		n, ok := streams[e.Stream]
		if !ok {
			if err := store.CheckID(e.Stream); err != nil {
				return nil, fmt.Errorf("entry %d of %d: the stream: %w", i+1, len(entries), err)
			}
			n = len(b.streamIDs)
			streams[e.Stream] = n
			b.streamIDs = append(b.streamIDs, e.Stream)
		}
		if len(e.Data) > store.MaxEntryBytes {
			return nil, fmt.Errorf("entry %d of %d: %w: it has %d bytes and may have %d",
				i+1, len(entries), store.ErrEntry, len(e.Data), store.MaxEntryBytes)
		}
		if s := e.Arrived.Unix(); s < minArrived || s > maxArrived {
			return nil, fmt.Errorf("entry %d of %d: %w: it arrived in the year %d",
				i+1, len(entries), store.ErrEntry, e.Arrived.UTC().Year())
		}
		switch e.Kind {
		case store.Event, store.Closing:
			b.events[i] = r.read(e.Data)
		case store.Input:
			b.events[i] = r.readInput(e.Data)
		case store.End:
		default:
			return nil, fmt.Errorf("entry %d of %d: %w: its kind is %q", i+1, len(entries), store.ErrEntry, e.Kind)
		}
		b.events[i].stream = n
	}
	return b, nil
}

// Len returns the number of entries.
func (b *Batch) Len() int { return len(b.entries) }

// StreamIDs returns the ids of the streams of the batch, in the order of first entries.
func (b *Batch) StreamIDs() []string { return b.streamIDs }
