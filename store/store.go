package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/p20export/p20export/capture"
)

// A Log is an append-only log of event streams. It is safe for concurrent use, and several
// processes can use the same database.
//
// Every method fails with ErrKey if an id is not valid, with ErrClosed after Close, and with
// the error of ctx if ctx is done. Times have microseconds: parts of them are cut off.
//
// An iterator begins each time it is ranged over. It yields at most one error, as the last
// pair, with a nil entry. An entry is valid until the next one is yielded, and the caller
// must not change its Data.
type Log interface {
	// Append appends entries to a thread whose last position is after, which is 0 if the
	// thread does not exist, and returns the new last position. All entries are appended
	// or none. When Append returns, they survive a crash of the machine. The error is
	// ErrEntry if an entry is not valid, a *ConflictError if the thread has another last
	// position, ErrDeleted if it was deleted, and ErrRewound if this Log knows the entry at
	// after and the thread has another one. After any other error, such as that of
	// ctx or of a lost connection, the entries may or may not have been appended:
	// Thread.Last and Stream show which. Position, Run and Type of the entries are
	// ignored, and Append keeps no reference to them. Without entries, Append only checks
	// the position, and creates no thread.
	Append(ctx context.Context, key Key, after int64, entries []Entry) (last int64, err error)
	// Read returns the entries of a thread after a position, up to the last that exists
	// when the iteration begins. A thread that does not exist has none. The error is
	// ErrDeleted if the thread was deleted. If it is deleted during the iteration, the
	// iteration yields all entries or ends with ErrDeleted. If the database loses some of
	// them, it ends with ErrRewound.
	Read(ctx context.Context, key Key, after int64) iter.Seq2[*Entry, error]
	// Select returns the entries of a thread that a selection selects. It does not read other
	// entries, nor data that the selection leaves out, unless they are packed. Otherwise it is
	// like Read.
	Select(ctx context.Context, key Key, s Selection) iter.Seq2[*Entry, error]
	// Follow returns the entries of a thread after a position, and then each further one
	// when it was appended by any process. The thread need not exist yet. The iteration
	// ends when ctx is done, the thread is deleted or the log is closed, with the error of
	// ctx, ErrDeleted or ErrClosed. If after is positive and there is no entry at it, or if
	// that or the last one that was yielded is replaced by another or lost, the error is
	// ErrRewound, and the caller has to read the thread again from the beginning. After any
	// other error it can follow again after the position of the last entry.
	Follow(ctx context.Context, key Key, after int64) iter.Seq2[*Entry, error]
	// Thread returns what is known of a thread. The error is ErrNoThread if it does not
	// exist. A deleted thread exists.
	Thread(ctx context.Context, key Key) (Thread, error)
	// Stream returns what is known of a stream. It is zero if the thread has no entries of
	// the stream, does not exist or was deleted.
	Stream(ctx context.Context, key Key, id string) (Stream, error)
	// Threads returns the threads that a query selects, ordered by the bytes of tenant and
	// thread, or the newest first. A thread to which something is appended during the iteration
	// can be left out if the newest come first, because it is then before the place that the
	// iteration has reached.
	Threads(ctx context.Context, q ThreadQuery) iter.Seq2[Thread, error]
	// Streams returns the streams that a query selects, ordered by the bytes of tenant and
	// thread, and by first position. Deleted threads have none.
	Streams(ctx context.Context, q StreamQuery) iter.Seq2[Stream, error]
	// Runs returns the runs that a query selects, ordered by the bytes of tenant and
	// thread, and by start. Deleted threads have none.
	Runs(ctx context.Context, q RunQuery) iter.Seq2[Run, error]
	// Pack compresses the entries of ended runs of a thread, and the entries of ended
	// streams that belong to no run, unless they are packed already. Successive entries that
	// are smaller than MinPackBytes, and smaller than all that is packed of the thread, wait
	// until others follow. It returns what it packed. Readers see no difference. The error is
	// ErrNoThread if the thread does not exist, and ErrDeleted if it was deleted.
	Pack(ctx context.Context, key Key) (Packed, error)
	// Delete deletes the entries of a thread and leaves a mark that it was deleted, so that
	// nothing can be appended to it any more. It returns what was deleted, also if the
	// thread was deleted before. The error is ErrNoThread if it never existed.
	Delete(ctx context.Context, key Key) (Thread, error)
	// Seal adds a seal to a thread, and keeps blocks, if there are any. The error is ErrSeal
	// if they are not valid, ErrSealed if the thread has a seal of the same size,
	// ErrNoThread if it does not exist, and ErrDeleted if it was deleted.
	Seal(ctx context.Context, key Key, s Seal, b Blocks) error
	// Seals returns the seals of a thread whose size is larger than after, ordered by size.
	// A thread that does not exist has none. A deleted thread has the last one that it had.
	Seals(ctx context.Context, key Key, after int64) iter.Seq2[*Seal, error]
	// Blocks returns the hashes of the first blocks of a thread, as far as they are kept.
	Blocks(ctx context.Context, key Key) ([]byte, error)
	// Keep keeps data of a kind that was computed from the entries of a thread, in place of what
	// it has of the kind at the same positions. All is kept or nothing. The error is ErrDerived
	// if it is not valid, ErrNoThread if the thread does not exist, and ErrDeleted if it was
	// deleted.
	Keep(ctx context.Context, key Key, kind string, list []Derived) error
	// Kept returns what is kept of a kind at positions from <= p <= to, ordered by position:
	// with Data, or only what is in Head. A thread that does not exist or was deleted has
	// nothing.
	Kept(ctx context.Context, key Key, kind string, from, to int64, data bool) ([]Derived, error)
	// Forget drops what is kept of a kind.
	Forget(ctx context.Context, key Key, kind string) error
	// CheckThread returns a *DamagedError if an entry of a thread is stored more than once, so that
	// readers may see different ones.
	CheckThread(ctx context.Context, key Key) error
	// Stat returns the size of the log.
	Stat(ctx context.Context) (Stat, error)
	// Close closes the log and ends its followers. A second call does nothing.
	Close() error
}

// Key identifies a thread. Thread ids of different tenants are unrelated.
type Key struct {
	// Tenant may be empty.
	Tenant string
	Thread string
}

// MaxIDBytes is the maximum size of a tenant, of a thread id and of a stream id. Run ids and
// types that are longer, or contain U+0000 or half a surrogate pair, are not indexed:
// Run.ID, Run.Parent and Entry.Type are empty for them.
const MaxIDBytes = 1024

// MaxEntryBytes is the maximum size of the data of an entry.
const MaxEntryBytes = capture.MaxEventBytes

// MinPackBytes is the size of the data of successive entries that Log.Pack always packs. Each
// entry counts one byte more. Smaller packs double in size, so a thread that is packed after each
// run has at most 17 of them, and usually half a dozen.
const MinPackBytes = 64 << 10

// Kind is the kind of an entry.
type Kind string

const (
	// Event is an event that the agent sent: the data of one frame.
	Event Kind = "event"
	// Input is a request to the agent (RunAgentInput) as it was sent. It precedes the
	// events of its stream.
	Input Kind = "input"
	// Closing is an event that the program itself added, because a run can never end, or an
	// event that the program completed, because the agent's response ended before its blank
	// line. It is never evidence.
	Closing Kind = "closing"
	// End is the end of a stream. Its data is a capture.End, which says how it ended.
	End Kind = "end"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Event, Input, Closing, End} }

// Entry is an entry of a thread.
type Entry struct {
	// Position is the position in the thread, from 1.
	Position int64
	// Run is the position of the RUN_STARTED of the run that the entry belongs to, or 0
	// if it belongs to none. Inputs and ends belong to none.
	Run int64
	// Stream is the id of the stream. It is opaque.
	Stream string
	Kind   Kind
	// Type is the type of an Event or Closing, or empty if Data is not the text of a JSON
	// object in strict JSON.
	Type string
	// Arrived is the time of arrival in microseconds, or zero if it is not known. Its year
	// is at least 0 and at most 9999, as in RFC 3339.
	Arrived time.Time
	// Data is the text of the entry, byte for byte. An event need not be valid JSON.
	Data []byte
	// Size is the size of Data in bytes if a Selection left it out, and otherwise 0. Append
	// ignores it.
	Size int64
}

// Selection selects entries of a thread.
type Selection struct {
	// After is the position after which the entries begin, and To the position of the last. If
	// To is 0, there is no limit.
	After, To int64
	// Kinds and Types, if not empty, are the kinds and the types that are selected.
	Kinds []Kind
	Types []string
	// Bare are the kinds whose data is left out: Data is nil, and Size is its size.
	Bare []Kind
}

// At returns the selection of the entry at a position, which is at least 1.
func At(position int64) Selection { return Selection{After: position - 1, To: position} }

// Events returns the selection of the events and closing events after a position and up to
// another, which is at least 1, that have one of the given types. Without types, it has all.
func Events(after, to int64, types ...string) Selection {
	return Selection{After: after, To: to, Kinds: []Kind{Event, Closing}, Types: types}
}

// Selects reports whether the kind and the type of an entry are selected.
func (s *Selection) Selects(kind Kind, name string) bool {
	return (len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind)) && (len(s.Types) == 0 || slices.Contains(s.Types, name))
}

// Thread describes a thread.
type Thread struct {
	Key
	// Last is the last position, which is also the number of entries.
	Last int64
	// Runs is the number of runs.
	Runs int64
	// Bytes is the size of the data of all entries.
	Bytes int64
	// Packed is the number of entries that are packed.
	Packed int64
	// Sealed is the size of the last seal, or 0.
	Sealed int64
	// CreatedAt and UpdatedAt are the times of the first and of the last append.
	CreatedAt, UpdatedAt time.Time
	// DeletedAt is zero unless the thread was deleted. The other fields then describe what
	// was deleted.
	DeletedAt time.Time
	// Latest is the run that began last, if ThreadQuery.Latest asks for it. It is nil if the
	// thread has no run, or was deleted.
	Latest *Run
}

// Stream describes a stream of a thread.
type Stream struct {
	Key
	ID string
	// Entries is the number of entries of the stream.
	Entries int64
	// First and Last are the positions of the first and of the last of them.
	First, Last int64
	// Ended reports that the last is an End.
	Ended bool
}

// RunEnd says how a run ended.
type RunEnd string

const (
	// Open means that neither the run nor its stream has ended.
	Open RunEnd = "open"
	// Finished means that the first terminal event of the run is a RUN_FINISHED whose
	// outcome is neither an interrupt nor that the run was cancelled.
	Finished RunEnd = "finished"
	// Interrupted means that it is a RUN_FINISHED whose outcome is an interrupt.
	Interrupted RunEnd = "interrupted"
	// Cancelled means that it is a RUN_FINISHED whose outcome is that the run was cancelled.
	Cancelled RunEnd = "cancelled"
	// Failed means that it is a RUN_ERROR.
	Failed RunEnd = "failed"
	// Cut means that the stream ended, or began another run, before the run had ended.
	Cut RunEnd = "cut"
)

// Run describes a run. A run id need not be unique in a thread.
type Run struct {
	Key
	// ID is the runId of RUN_STARTED. Parent is its parentRunId; if it has none, which is
	// common, Parent is that of the Input.
	ID, Parent string
	Stream     string
	// Input is the position of the last Input of the stream before the run that belongs to
	// no earlier run, or 0.
	Input int64
	// Start is the position of RUN_STARTED, and Last that of the last event so far, which
	// may follow the terminal event. Events of other streams can be between them.
	Start, Last int64
	// Entries and Bytes count the events of the run.
	Entries, Bytes int64
	// StartedAt and LastAt are the times of arrival of the first and of the last event, or
	// zero if they are not known.
	StartedAt, LastAt time.Time
	End               RunEnd
}

// ThreadQuery selects threads. The zero value selects all that are not deleted.
type ThreadQuery struct {
	// Tenant, if not nil, is the tenant.
	Tenant *string
	// From and To, if not zero, limit UpdatedAt: From <= UpdatedAt < To.
	From, To time.Time
	// Deleted also selects deleted threads.
	Deleted bool
	// Newest orders the threads by UpdatedAt, the newest first, and those with the same time by
	// the bytes of tenant and thread.
	Newest bool
	// After, if not zero, selects the threads that follow it in the order. With Newest, AfterAt
	// is its UpdatedAt. No thread with this key need exist, nor have this time.
	After   Key
	AfterAt time.Time
	// Latest asks for Thread.Latest.
	Latest bool
}

// StreamQuery selects streams. The zero value selects all.
type StreamQuery struct {
	// Tenant and Thread, if not nil, are those of the stream.
	Tenant, Thread *string
	// Prefix is how the ids begin.
	Prefix string
	// Open selects only streams that have not ended.
	Open bool
}

// RunQuery selects runs. The zero value selects all.
type RunQuery struct {
	// Tenant, Thread, ID and Parent, if not nil, are those of the run. An empty Parent
	// selects the runs without one.
	Tenant, Thread, ID, Parent *string
	// From and To, if not zero, limit StartedAt: From <= StartedAt < To. Runs whose time
	// is not known are then not selected.
	From, To time.Time
	// Ends, if not empty, are the ends that are selected.
	Ends []RunEnd
}

// Packed is the result of Pack.
type Packed struct {
	// Entries is the number of entries that were packed, and Bytes the size of their data.
	Entries, Bytes int64
	// Stored is the compressed size.
	Stored int64
}

// Stat describes a log.
type Stat struct {
	// Threads counts the threads that are not deleted, and Deleted the others.
	Threads, Deleted int64
	Runs, Entries    int64
	// Bytes is the size of the data of all entries.
	Bytes int64
	// Packed is the number of packed entries, PackedBytes the size of their data, and
	// StoredBytes the compressed size.
	Packed, PackedBytes, StoredBytes int64
	// Seals is the number of seals, Sealed the number of entries that they are about, and
	// SealBytes the size of the seals and the blocks. Those of deleted threads do not count.
	Seals, Sealed, SealBytes int64
	// Size is the size of the log on disk, or in memory.
	Size int64
}

// Errors of logs. Errors of databases wrap none of them.
var (
	ErrConflict = errors.New("the thread has another last position")
	ErrDeleted  = errors.New("the thread was deleted")
	ErrNoThread = errors.New("there is no such thread")
	ErrKey      = errors.New("the id is not valid")
	ErrEntry    = errors.New("the entry is not valid")
	ErrClosed   = errors.New("the log is closed")
	ErrSeal     = errors.New("the seal is not valid")
	ErrDerived  = errors.New("the derived data is not valid")
	ErrSealed   = errors.New("the thread has a seal of this size")
	// ErrRewound means that the thread no longer has entries that it had: the database is an
	// older copy, or its server lost the last transactions.
	ErrRewound = errors.New("the log was rewound: the thread has lost entries, or has others in their places")
)

// Errors of opening a log.
var (
	ErrNoLog  = errors.New("there is no log")
	ErrNotLog = errors.New("it is not a log")
	ErrNewer  = errors.New("a newer release of the program wrote the log")
)

// ErrDamaged means that another program, or a defect of the disk, has damaged the database.
var ErrDamaged = errors.New("the database is damaged")

// DamagedError reports where entries of a thread are missing, or are stored more than once.
type DamagedError struct {
	// Position is that of the first of them.
	Position int64
	Reason   string
}

func (e *DamagedError) Error() string { return ErrDamaged.Error() + ": " + e.Reason }

// Is reports whether target is ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// ConflictError reports that a thread has another last position than Append expected.
type ConflictError struct {
	Key
	Expected, Last int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("thread %q: append after position %d: the last position is %d", e.Thread, e.Expected, e.Last)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
