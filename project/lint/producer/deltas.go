package producer

import (
	"fmt"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// checkDelta reports a delta that adds nothing.
func (c *Checker) checkDelta(e *envelope.Event) {
	name, rule := "delta", "W9"
	switch e.Type {
	case eventnames.TextMessageContent, eventnames.ToolCallArgs, eventnames.ReasoningMessageContent, eventnames.ThinkingTextMessageContent,
		eventnames.TextMessageChunk, eventnames.ToolCallChunk, eventnames.ReasoningMessageChunk:
	case eventnames.StateDelta:
		rule = "W10"
	case eventnames.ActivityDelta:
		name, rule = "patch", "W10"
	default:
		return
	}
	v, _ := e.Get(name)
	switch {
	case rule == "W9" && v.Kind == envelope.StringValue && len(v.Raw) == len(`""`):
		c.found(e, rule, name, e.Type, "the delta of %s is empty", e.Type)
	case rule == "W10" && v.Kind == envelope.ArrayValue && isEmptyArray(v):
		c.found(e, rule, name, e.Type, "the patch of %s has no operations", e.Type)
	}
}

func isEmptyArray(v envelope.Value) bool {
	for _, c := range v.Raw[1 : len(v.Raw)-1] {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// arguments has the arguments of the open tool calls, as the text between the quotes of a
// JSON string, because a delta may end with half of a surrogate pair.
type arguments struct {
	texts map[string][]byte
	bytes int
}

func (a *arguments) clear() { *a = arguments{} }

// drop forgets the arguments of a call.
func (a *arguments) drop(id string) {
	a.bytes -= max(0, len(a.texts[id])-1)
	delete(a.texts, id)
}

// startArguments handles TOOL_CALL_START.
func (c *Checker) startArguments(e *envelope.Event) {
	if id, ok := text(e, "toolCallId"); ok && c.open.has(c.key(toolCall, id)) {
		c.calls.start(id)
	}
}

// start begins the arguments of a call, unless it has some.
func (a *arguments) start(id string) {
	if _, has := a.texts[id]; has {
		return
	}
	if a.texts == nil {
		a.texts = make(map[string][]byte)
	}
	a.texts[id] = []byte{'"'}
}

// addArguments handles TOOL_CALL_ARGS.
func (c *Checker) addArguments(e *envelope.Event) {
	id, _ := text(e, "toolCallId")
	delta, _ := e.Get("delta")
	kept := c.calls.texts[id]
	switch {
	case kept == nil || delta.Kind != envelope.StringValue:
	case len(kept)+len(delta.Raw) > maxArguments, c.calls.bytes+len(delta.Raw) > maxAllArguments:
		c.calls.drop(id)
	default:
		longer := append(kept, delta.Raw[1:len(delta.Raw)-1]...)
		c.calls.bytes += len(longer) - len(kept)
		c.calls.texts[id] = longer
	}
}

// endArguments handles TOOL_CALL_END.
func (c *Checker) endArguments(e *envelope.Event) {
	id, _ := text(e, "toolCallId")
	if why := c.checkArguments(id); why != "" {
		c.found(e, "W21", "toolCallId", "", "%s", why)
	}
}

// checkArguments says why the arguments of a call are not JSON, or returns "", and forgets
// them.
func (c *Checker) checkArguments(id string) (why string) {
	kept := c.calls.texts[id]
	if len(kept) > 1 && !c.lost {
		text, _ := strictjson.AppendUnquoted(nil, append(kept, '"'))
		var o strictjson.Object
		d := new(strictjson.Decoder)
		d.AllowDuplicates()
		if _, err := strictjson.ReadText(&o, d, text); err != nil {
			why = fmt.Sprintf("the arguments of tool call %s are not JSON: %s", finding.Quote(id), finding.Escape(err.Error()))
		}
	}
	c.calls.drop(id)
	return why
}

// expandArguments handles the chunks of tool calls. The event that ends the chunks of a call
// has the finding about its arguments.
func (c *Checker) expandArguments(e *envelope.Event) {
	// The rules of docs/sequence.md are about chunks that cannot be expanded.
	_ = c.chunks.Expand(e, func(part *envelope.Event) {
		id, ok := text(part, "toolCallId")
		if part == e || !ok {
			return
		}
		switch part.Type {
		case eventnames.ToolCallStart:
			if c.known.ids[c.key(toolCall, id)] {
				c.calls.start(id)
			}
		case eventnames.ToolCallArgs:
			c.addArguments(part)
		case eventnames.ToolCallEnd:
			if why := c.checkArguments(id); why != "" {
				c.report("", e.Ref().Annotate(finding.Violation("W21", "%s", why)))
			}
		}
	})
}
