package sequence

// A Checker remembers the ids of a run until its end, because the rules on owners do.
// If a run exceeds a limit, the rest of it is checked only by the rules on the order of
// runs and on the form of events. As many ids of runs and interrupts of the stream are
// remembered beyond their runs. All limits together bound the memory of a Checker
// to a few tens of mebibytes. The longest real runs have a few thousand ids. Package chunk
// has limits of its own; past them a run is checked as after Skip.
const (
	// MaxIDs is the maximum number of ids of messages, tool calls, reasoning,
	// activities, steps and subagents that are remembered of one run.
	MaxIDs = 100_000
	// MaxIDBytes is the maximum length of all those ids, in bytes.
	MaxIDBytes = 16 << 20
)

// maxNamed is the maximum number of ids that one finding names.
const maxNamed = 3
