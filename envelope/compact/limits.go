package compact

import "github.com/p20export/p20export/capture"

// limits bound the memory of a Compactor, in bytes.
type limits struct {
	// event limits the JSON text of an event that is made from others. Longer
	// events cannot be read again.
	event int
	// held limits what waits: messages and calls that are open, the events behind
	// them, and state events.
	held int
}

// defaultLimits are the limits of all streams. Four events of the maximum size can
// wait; in real streams a few megabytes do.
var defaultLimits = limits{event: capture.MaxEventBytes, held: 4 * capture.MaxEventBytes}

// The memory that is counted for one open group, for one event that waits and for one
// key of metadata, in addition to their texts.
const (
	groupBytes = 512
	eventBytes = 16
	keyBytes   = 128
)
