// Package store is an append-only log of AG-UI event streams.
//
// A log has threads, and a thread is a list of entries with the positions 1, 2, 3 and so
// on. Entries are only appended. They keep the exact bytes of events and requests and the
// times at which these arrived:
//
//	last, err := log.Append(ctx, key, 0, []store.Entry{
//		{Stream: "s1", Kind: store.Input, Data: request, Arrived: now},
//		{Stream: "s1", Kind: store.Event, Data: started, Arrived: now},
//	})
//
// Append states the position after which it appends. If the thread has another last
// position, nothing is appended and the error is a *ConflictError. So of several writers
// exactly one gets each position.
//
// A stream is one exchange with an agent, and several can be open in a thread at the same
// time. Runs are found per stream: a run begins with a RUN_STARTED and has the events of
// its stream up to the next one.
//
// The packages store/memory, store/sqlite and store/postgres contain logs. The package
// knows which events are in a thread and where runs begin and end. It must not know what
// events mean beyond that, and it never changes or merges them: conversations, branches and
// compacted forms are computed from the log.
package store
