package reduce

// A Reducer limits its memory. An event that would exceed a limit is ignored, with a
// finding, and Full reports true from then on. The state and the content of an activity
// are limited to 64 MiB each; the content that a patch makes of an activity may exceed
// MaxBytes, and then no message can grow.
const (
	// MaxBytes is the default maximum size of all messages: their text and JSON text,
	// and the overhead of messages, tool calls and members. AG-UI sends a whole
	// conversation in one event, and an event is limited to the same size.
	MaxBytes = 64 << 20
	// entryBytes is the overhead of a message, a tool call or an id, and memberBytes
	// that of a member of its metadata. They bound the number of messages and tool
	// calls to about 500,000, and so the memory for their administration.
	entryBytes  = 128
	memberBytes = 32
	// freeMerges and bytesPerMerge limit the work of short snapshots that remove messages
	// and leave many activities or much reasoning: merging snapshots may look at freeMerges messages,
	// and one more for each bytesPerMerge bytes of the snapshots, which is less than
	// the shortest message. Merging with a message takes half a microsecond.
	freeMerges    = 10_000_000
	bytesPerMerge = 4
)
