// Package store is an append-only log of AG-UI event streams.
//
// A log has threads, and a thread is a list of entries with the positions 1, 2, 3 and so
// on. Entries are only appended. They keep the exact bytes of events and requests and the
// times at which these arrived. The packages store/memory, store/sqlite and store/postgres
// open logs:
//
//	log, err := sqlite.Open(ctx, "events.db", true) // true creates the file if there is none
//
// A writer finds out the last position of its thread and appends after it:
//
//	key := store.Key{Thread: "thread-1"}
//	thread, err := log.Thread(ctx, key) // ErrNoThread if nothing was appended; Last is then 0
//	last, err := log.Append(ctx, key, thread.Last, []store.Entry{
//		{Stream: "s1", Kind: store.Input, Data: request, Arrived: now},
//		{Stream: "s1", Kind: store.Event, Data: started, Arrived: now},
//	})
//
// If the thread has another last position by then, nothing is appended and the error is a
// *ConflictError. So of several writers exactly one gets each position. A reader ranges over
// the entries after a position:
//
//	for e, err := range log.Read(ctx, key, 0) {
//		...
//	}
//
// The example of sqlite.Open is a whole program. Package store/transfer imports captures,
// and package store/restore makes conversations.
//
// A stream is one exchange with an agent, and several can be open in a thread at the same
// time. Runs are found per stream: a run begins with a RUN_STARTED and has the events of
// its stream up to the next one.
//
// A log is also a Leaser: processes that run agents use its leases to agree who runs which.
//
// The package knows which events are in a thread and where runs begin and end. It must not
// know what events mean beyond that, and it never changes or merges them: conversations,
// branches and compacted forms are computed from the log.
package store
