package event

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
)
