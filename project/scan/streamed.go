package scan

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/strictjson"
)

// Streamed counts the text messages that a run streamed, without those of its
// subagents.
type Streamed struct {
	Messages int
	// Roles counts messages by role. It omits roles after the first sixteen.
	Roles envelope.Counts
	// Truncated means that the run has more messages than were counted.
	Truncated bool
}

// maxStreamedBytes bounds the memory for the ids of a run's messages. idBytes is the
// overhead of one id.
const (
	maxStreamedBytes = 4 << 20
	idBytes          = 64
)

// streamedCounter counts the text messages of one run. It distinguishes them by
// their ids.
type streamedCounter struct {
	Streamed
	seen  map[string]bool
	id    []byte // of the event
	bytes int
}

// event counts the message of the run's next event.
func (c *streamedCounter) event(e *envelope.Event) {
	if e.Type != envelope.TextMessageStart && e.Type != envelope.TextMessageChunk || c.Truncated {
		return
	}
	v, _ := e.Get("messageId")
	if v.Kind != strictjson.String {
		return
	}
	if c.id, _ = strictjson.AppendUnquoted(c.id[:0], v.Raw); c.seen[string(c.id)] {
		return
	}
	if c.bytes += len(c.id) + idBytes; c.bytes > maxStreamedBytes {
		c.Truncated = true
		return
	}
	if c.seen == nil {
		c.seen = make(map[string]bool)
	}
	c.seen[string(c.id)] = true
	if v, tagged := e.Get("subagentRunId"); tagged && v.Kind != strictjson.Null {
		return
	}
	c.Messages++
	c.Roles.AddRole(reduce.Role(e))
}
