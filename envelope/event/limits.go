package event

// The limits bound the memory that an event needs to about eight times its text.
const (
	// MaxInteger is the largest integer of AG-UI, 2^53-1, because JavaScript cannot
	// represent all larger ones. Token counts are between 0 and MaxInteger,
	// timestamps between -MaxInteger and MaxInteger.
	MaxInteger = 1<<53 - 1

	// MaxFaults is the maximum number of faults of one event that are listed. An event
	// with more is refused, also by a tolerant decode, because each fault can need
	// fifty times the memory of the text that has it. Unknown keys are an exception:
	// the first MaxFaults are listed, and any number is accepted.
	MaxFaults = 1000

	// MaxUsage is the maximum number of entries of a usage, which has one for each
	// provider and model. An entry can need sixty times the memory of its text.
	MaxUsage = 1000
)
