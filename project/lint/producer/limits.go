package producer

// The limits of a Checker, in addition to those of package reduce for the messages and the
// state. The longest real streams have a few thousand ids.
const (
	// MaxIDs is the maximum number of ids that are remembered of a stream.
	MaxIDs = 100_000
	// MaxIDBytes is the maximum length of all those ids, in bytes.
	MaxIDBytes = 16 << 20
	// maxArguments is the maximum length of the arguments of a tool call that are checked,
	// and maxAllArguments that of all open tool calls, in bytes.
	maxArguments    = 1 << 20
	maxAllArguments = 16 << 20
	// maxNamed is the maximum number of ids that one finding names.
	maxNamed = 3
)
