package producer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// open has what is open in a run, numbered in the order in which it was opened.
type open struct {
	things   map[key]int
	sequence int
}

func (o *open) clear() { o.things = nil }

func (o *open) has(k key) bool {
	_, ok := o.things[k]
	return ok
}

func (o *open) add(k key) {
	if o.has(k) {
		return
	}
	if o.things == nil {
		o.things = make(map[key]int)
	}
	o.sequence++
	o.things[k] = o.sequence
}

// unended are the rules about what is never ended.
var unended = []struct {
	rule  string
	kinds []kind
}{
	{"W1", []kind{textMessage}},
	{"W2", []kind{toolCall}},
	{"W3", []kind{step}},
	{"W4", []kind{reasoningSpan, reasoningMessage}},
	{"W5", []kind{subagent}},
}

// neverEnded reports what is open at the end of a run, or of the stream, and closes it.
func (c *Checker) neverEnded(at envelope.Ref, severity finding.Severity, when string) {
	for _, u := range unended {
		for _, k := range u.kinds {
			var all []key
			for thing := range c.open.things {
				if thing.kind == k {
					all = append(all, thing)
				}
			}
			if len(all) == 0 {
				continue
			}
			slices.SortFunc(all, func(a, b key) int { return c.open.things[a] - c.open.things[b] })
			var names []string
			for _, thing := range all[:min(len(all), maxNamed)] {
				names = append(names, finding.Quote(thing.id))
			}
			what, was := string(k), "was"
			if len(all) > 1 {
				what, was = what+"s", "were"
			}
			more := ""
			if n := len(all) - maxNamed; n > 0 {
				more = fmt.Sprintf(" and %d more", n)
			}
			f := finding.Violation(u.rule, "%s %s%s %s not ended %s", what, strings.Join(names, ", "), more, was, when)
			c.report(string(k)+when, at.Annotate(f.WithSeverity(severity)))
		}
	}
	c.open.clear()
	c.calls.clear()
}

// track notes what an event opens and ends.
func (c *Checker) track(e *envelope.Event) {
	switch e.Type {
	case eventnames.TextMessageStart:
		c.begin(e, textMessage, "messageId")
		c.opens(e, textMessage, "messageId")
		c.streamed.start(c, e)
	case eventnames.TextMessageChunk:
		c.begin(e, textMessage, "messageId")
		c.streamed.chunk(c, e)
	case eventnames.TextMessageContent:
		c.streamed.add(e)
	case eventnames.TextMessageEnd:
		c.ends(e, textMessage, "messageId")
		c.streamed.end(e)
	case eventnames.ToolCallStart:
		c.begin(e, toolCall, "toolCallId")
		c.opens(e, toolCall, "toolCallId")
		c.streamed.call(c, e)
		c.startArguments(e)
	case eventnames.ToolCallChunk:
		c.begin(e, toolCall, "toolCallId")
		c.streamed.call(c, e)
	case eventnames.ToolCallArgs:
		c.addArguments(e)
	case eventnames.ToolCallEnd:
		c.endArguments(e)
		c.ends(e, toolCall, "toolCallId")
	case eventnames.StepStarted:
		c.opens(e, step, "stepName")
	case eventnames.StepFinished:
		c.ends(e, step, "stepName")
	case eventnames.ReasoningStart:
		c.opens(e, reasoningSpan, "messageId")
	case eventnames.ReasoningEnd:
		c.ends(e, reasoningSpan, "messageId")
	case eventnames.ReasoningMessageStart:
		c.begin(e, reasoningMessage, "messageId")
		c.opens(e, reasoningMessage, "messageId")
	case eventnames.ReasoningMessageChunk:
		c.begin(e, reasoningMessage, "messageId")
	case eventnames.ReasoningMessageEnd:
		c.ends(e, reasoningMessage, "messageId")
	case eventnames.SubagentStarted:
		c.opens(e, subagent, "subagentRunId")
	case eventnames.SubagentFinished, eventnames.SubagentError:
		c.ends(e, subagent, "subagentRunId")
	}
}

// thing returns the key of what an event names.
func thing(e *envelope.Event, k kind, name string) (key, bool) {
	id, ok := text(e, name)
	owner := ""
	if k == step {
		owner, _ = text(e, "subagentRunId")
	}
	return key{kind: k, id: id, owner: owner}, ok
}

func (c *Checker) opens(e *envelope.Event, k kind, name string) {
	thing, ok := thing(e, k, name)
	if !ok {
		return
	}
	if state := c.known.add(thing); state == full {
		c.limit(e)
		return
	}
	c.open.add(thing)
}

func (c *Checker) ends(e *envelope.Event, k kind, name string) {
	if thing, ok := thing(e, k, name); ok {
		delete(c.open.things, thing)
	}
}
