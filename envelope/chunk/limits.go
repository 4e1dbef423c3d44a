package chunk

// An Expander remembers of each open stream the fields that its later events repeat. The
// limits together bound its memory to a few mebibytes. A chunk that would exceed a limit
// has the fault TooLarge.
const (
	// MaxStreams is the number of streams that may be open at once. There is one for
	// each subagent at most, and runs have a handful of subagents.
	MaxStreams = 4096
	// MaxBytes bounds the JSON texts of the ids, names, roles and tags of all open
	// streams.
	MaxBytes = 1 << 20
	// MaxStreamBytes bounds those of one stream. Each chunk without an id expands to an
	// event with the id of its stream, so a long id would multiply the size of the
	// events. Some integrations put signatures of a few kibibytes into ids.
	MaxStreamBytes = 64 << 10
)
