package trace

import (
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/jsonvalue"
)

// An order is where a client notices the place of a line (TR10).
type order struct {
	barrier      bool // everywhere
	conversation bool
	state        bool
	of           string // in the message or call with this name
}

// dependent reports whether a client can notice the order of two lines.
func dependent(a, b *Line) bool {
	x, y := &a.order, &b.order
	return x.barrier || y.barrier || x.conversation && y.conversation || x.state && y.state || x.of != "" && x.of == y.of
}

// orderOf returns the order of an event in normal form.
func orderOf(eventType string, value *jsonvalue.Object) order {
	o := order{of: nameOf(value, "messageId")}
	if call := nameOf(value, "toolCallId"); call != "" {
		o.of = call
	}
	switch eventType {
	case eventnames.TextMessageContent, eventnames.TextMessageEnd, eventnames.ReasoningMessageContent, eventnames.ReasoningMessageEnd, eventnames.ToolCallArgs, eventnames.ToolCallEnd:
		o.barrier = o.of == "" // malformed
	case eventnames.StateSnapshot, eventnames.StateDelta:
		o.state = true
	case eventnames.RunStarted, eventnames.RunFinished, eventnames.RunError, eventnames.MessagesSnapshot:
		o.barrier = true
	case eventnames.Custom, eventnames.Meta, eventnames.Raw:
		o.conversation, o.state = true, true
	default:
		o.conversation = true
		o.barrier = loose(eventType, value)
	}
	return o
}

// subjectOf returns what an event in normal form is about.
func subjectOf(value *jsonvalue.Object) string {
	for _, m := range [...]string{"messageId", "toolCallId", "entityId", "stepName", "subagentRunId"} {
		if s := nameOf(value, m); s != "" {
			return s
		}
	}
	return nameOf(value, "name")
}
