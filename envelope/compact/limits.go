package compact

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/frame"
)

// limits bound the memory of a Compactor, in bytes.
type limits struct {
	// event limits the JSON text of an event that is made from others. Longer
	// events cannot be read again.
	event int
	// held limits what waits: messages and calls that are open, the events behind
	// them, and state events of ModeClient.
	held int
	// kept limits what ModeSnapshot keeps of ended runs, because a later run may
	// continue each of them: their messages and states. What runs share counts once.
	kept int
	// repeated limits the conversations and states at the ends of runs, all together,
	// in addition to repeatFactor bytes for each byte of the events. Otherwise runs of
	// two short events could repeat a long conversation millions of times.
	repeated int64
}

const repeatFactor = 16

// defaultLimits are the limits of all streams. Four events of the maximum size can
// wait; in real streams a few megabytes do.
var defaultLimits = limits{event: frame.MaxBytes, held: 4 * frame.MaxBytes, kept: 8 * frame.MaxBytes, repeated: 4 << 30}

// memory counts the bytes that wait.
type memory struct{ held, limit int }

// hold counts n bytes that wait because of e, and adds them to bytes.
func (m *memory) hold(e *envelope.Event, bytes *int, n int) error {
	*bytes += n
	if m.held += n; m.held > m.limit {
		return e.Finding(finding.CompactionLimit, "more than %d bytes wait for the ends of messages, tool calls and runs", m.limit)
	}
	return nil
}

// blockBytes is the size of the blocks that long texts wait in. A slice that grows to
// the same length would be copied again and again.
const blockBytes = 1 << 20

// The memory that is counted for one open group, for one event that waits and for one
// key of metadata, in addition to their texts.
const (
	groupBytes = 512
	eventBytes = 16
	keyBytes   = 128
)

// The memory that is counted for the end of a run, for one of its messages, and for
// each reference to a message, in addition to the texts.
const (
	endingBytes    = 256
	messageBytes   = 128
	referenceBytes = 8
)
