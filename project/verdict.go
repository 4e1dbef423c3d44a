package project

// Verdict is the outcome of work on a run or a file.
type Verdict string

// The verdicts. Other packages add those that only they give.
const (
	// Frozen and Refused are those of projections.
	Frozen  Verdict = "frozen"
	Refused Verdict = "refused"
	// Accepted and Malformed are those on a file and its format.
	Accepted  Verdict = "accepted"
	Malformed Verdict = "malformed"
	// Verified says that every byte is what it should be, Differs that one is
	// not, and Unverifiable that it cannot be told.
	Verified     Verdict = "verified"
	Differs      Verdict = "differs"
	Unverifiable Verdict = "unverifiable"
	// Failed says that the work could not be done.
	Failed Verdict = "error"
)
