package sequence

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
	"github.com/p20export/p20export/envelope/event"
)

// fault identifies a fault of a chunk, to report a stream of equal ones once.
type fault struct {
	reason chunk.Reason
	key    string
	tag    string // the beginning of the subagentRunId
}

// chunkFault reports a chunk that cannot be expanded.
func (c *Checker) chunkFault(e *envelope.Event, f *chunk.Fault) {
	// The order of runs is checked after the expansion, which stops here.
	if c.order.place == afterFinished || c.order.place == afterError {
		c.check(e)
		return
	}
	if c.order.place == beforeEvents {
		c.checkOrder(e)
	}
	rule := ""
	switch f.Reason {
	case chunk.TooLarge:
		// The stream that the chunk begins could explain later breaches.
		c.unchecked(e, f.Text)
		c.run.lost = true
		return
	case chunk.Incomplete:
		rule = "G24"
	case chunk.Ambiguous:
		rule = "G25"
	case chunk.Conflict:
		if rule = "G27"; f.Key == "subagentRunId" {
			rule = "G26"
		}
	}
	tag, _ := e.Get("subagentRunId")
	this := fault{f.Reason, f.Key, string(tag.Raw[:min(len(tag.Raw), chunk.MaxStreamBytes)])}
	if rule == "" || rule == "G27" && c.protocol == event.V0 || c.faulty[e.Type] == this {
		return
	}
	if c.faulty == nil {
		c.faulty = make(map[string]fault)
	}
	c.faulty[e.Type] = this
	v, ok := e.Get(f.Key)
	pointer := pointerTo(f.Key)
	if !ok {
		pointer = ""
	}
	c.breach(e, rule, v, pointer, "%s", f.Text)
}
