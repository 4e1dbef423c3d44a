package chunk

import (
	"fmt"

	"github.com/p20export/p20export/envelope"
)

// Reason is the reason why a chunk is invalid.
type Reason string

// The reasons why a chunk is invalid.
const (
	// Malformed means that a field is not a string.
	Malformed Reason = "malformed"
	// Incomplete means that a chunk lacks a field that the first chunk of a stream
	// must have.
	Incomplete Reason = "incomplete"
	// Ambiguous means that a chunk has neither an id nor a subagentRunId, and that
	// several streams are open that it could continue.
	Ambiguous Reason = "ambiguous"
	// Conflict means that a chunk repeats a field of its stream with another value.
	Conflict Reason = "conflict"
	// TooLarge means that a chunk exceeds a limit of this package.
	TooLarge Reason = "too-large"
)

// Fault says why a chunk is invalid.
type Fault struct {
	Reason Reason
	// Key is the key of the field that is wrong or missing.
	Key string
	// Text is a sentence for people, without the place of the chunk.
	Text string
}

// Error returns the text of the fault.
func (f *Fault) Error() string { return f.Text }

func fault(reason Reason, key, format string, args ...any) *Fault {
	return &Fault{Reason: reason, Key: key, Text: fmt.Sprintf(format, args...)}
}

// text returns a field of a chunk that must be a string. A null field is absent, as the
// writers of AG-UI 0.x meant it.
func text(e *envelope.Event, key string) (envelope.Value, *Fault) {
	v, _ := e.Get(key)
	switch v.Kind {
	case envelope.NullValue:
		return envelope.Value{}, nil
	case 0, envelope.StringValue:
		return v, nil
	}
	return v, fault(Malformed, key, "the %s of %s must be a string, not %s", key, e.Type, v.Kind)
}
