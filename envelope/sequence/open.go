package sequence

import (
	"sort"

	"github.com/p20export/p20export/internal/eventnames"
)

// Open is something that is open in the current run.
type Open struct {
	// Type is the type of the event that opens it: TEXT_MESSAGE_START, TOOL_CALL_START,
	// REASONING_START, REASONING_MESSAGE_START, STEP_STARTED or SUBAGENT_STARTED.
	Type string
	// ID is its id, or the name of the step. It is empty if Thinking is set.
	ID string
	// Thinking means that THINKING events opened it, and go on with it without an id.
	Thinking bool
	// Subagent is the subagent that owns it, if Tagged is set. Otherwise the run's own
	// agent does.
	Subagent string
	Tagged   bool
	// Chunk is a chunk without delta that begins the same stream, if chunks opened it.
	Chunk []byte

	since int
}

// Open returns what is open in the current run, in the order in which it was opened. It
// omits what THINKING events opened and can no longer name, and what no event opened.
func (c *Checker) Open() (list []Open) {
	for _, k := range []*kind{textMessage, toolCall, reasoningSpan, reasoningMessage} {
		for id, it := range *k.of(&c.run) {
			p := k.part(it)
			if !p.open || p.assumed || isMade(id) && id != c.thinking.span && id != c.thinking.message {
				continue
			}
			o := Open{Type: k.start, ID: id, Subagent: it.owner.name, Tagged: it.owner.subagent, since: p.since}
			if isMade(id) {
				o.ID, o.Thinking = "", true
			} else if k != reasoningSpan {
				o.Chunk = c.expander.Opener(k.start, id)
			}
			list = append(list, o)
		}
	}
	for _, s := range c.openSteps() {
		list = append(list, Open{Type: eventnames.StepStarted, ID: s.id, Subagent: s.owner.name, Tagged: s.owner.subagent, since: s.since})
	}
	for _, s := range c.openSubagents() {
		list = append(list, Open{Type: eventnames.SubagentStarted, ID: s.id, Subagent: s.id, Tagged: true, since: s.since})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].since < list[j].since })
	return list
}

// Full reports whether the current run exceeds a limit, so that Open may omit something.
func (c *Checker) Full() bool { return c.run.full }
