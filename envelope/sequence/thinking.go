package sequence

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// thinking is the state of the THINKING events of AG-UI 0.x, which have no ids. The
// client 1.0.0 turns them into REASONING events with ids of its own.
type thinking struct {
	upgraded envelope.Event // the REASONING event in place of the current one
	id       string         // its id
	// span and message are the ids in use, or "".
	span, message string
	ids           int
	// stepOpen and messageOpen are for AG-UI 0.x.
	stepOpen, messageOpen bool
}

// made marks an id that the client made. No string of an event has this byte, because
// strings are UTF-8 with halves of surrogate pairs.
const made = "\xff"

// newID returns an id of the client's own.
func (t *thinking) newID() string {
	t.ids++
	return fmt.Sprintf("%s%d", made, t.ids)
}

// idOf returns the id of an event that upgrade returned, or "".
func (t *thinking) idOf(e *envelope.Event) string {
	if e == &t.upgraded {
		return t.id
	}
	return ""
}

// upgrade returns the REASONING event that the client 1.0.0 makes of a THINKING event,
// and any other event unchanged. The ids outlive a run.
func (c *Checker) upgrade(e *envelope.Event) *envelope.Event {
	t := &c.thinking
	if c.protocol == event.V0 || !isThinking(e) {
		return e
	}
	t.upgraded = *e
	// If there is no id to continue, the client makes one that nothing has.
	if t.message == "" && (e.Type == eventnames.ThinkingTextMessageContent || e.Type == eventnames.ThinkingTextMessageEnd) {
		t.message = t.newID()
	}
	if t.span == "" && e.Type == eventnames.ThinkingEnd {
		t.span = t.newID()
	}
	switch e.Type {
	case eventnames.ThinkingStart:
		t.span = t.newID()
		t.upgraded.Type, t.id = eventnames.ReasoningStart, t.span
	case eventnames.ThinkingEnd:
		t.upgraded.Type, t.id = eventnames.ReasoningEnd, t.span
		t.span = ""
	case eventnames.ThinkingTextMessageStart:
		t.message = t.newID()
		t.upgraded.Type, t.id = eventnames.ReasoningMessageStart, t.message
	case eventnames.ThinkingTextMessageContent:
		t.upgraded.Type, t.id = eventnames.ReasoningMessageContent, t.message
	case eventnames.ThinkingTextMessageEnd:
		t.upgraded.Type, t.id = eventnames.ReasoningMessageEnd, t.message
		t.message = ""
	}
	return &t.upgraded
}

// isThinking reports whether e is a THINKING event.
func isThinking(e *envelope.Event) bool { return strings.HasPrefix(e.Type, "THINKING_") }

// endChunks ends the open stream of chunks of the event's agent, as CUSTOM does. In AG-UI
// 0.x, THINKING events do that too.
func (c *Checker) endChunks(e *envelope.Event) {
	like := *e
	like.Type = eventnames.Custom
	_ = c.expander.Expand(&like, func(end *envelope.Event) { // CUSTOM is not a chunk
		if end != &like {
			c.check(end)
		}
	})
}

// isMade reports whether the client made the id.
func isMade(id string) bool { return strings.HasPrefix(id, made) }

// quoteID returns an id for a finding.
func quoteID(id string) string {
	if isMade(id) {
		return "of THINKING events"
	}
	return finding.Quote(id)
}

// think checks a THINKING event under the rules of AG-UI 0.x.
func (c *Checker) think(e *envelope.Event) {
	t := &c.thinking
	breach := func(rule, text string) { c.breach(e, rule, noPlace(), "", "%s %s", e.Type, text) }
	switch e.Type {
	case eventnames.ThinkingStart:
		if t.stepOpen {
			breach("G28", "follows THINKING_START without THINKING_END between them")
		}
		t.stepOpen = true
	case eventnames.ThinkingEnd:
		if !t.stepOpen {
			breach("G29", "ends no thinking step; THINKING_START opens one")
		}
		t.stepOpen = false
	case eventnames.ThinkingTextMessageStart:
		switch {
		case !t.stepOpen:
			breach("G29", "is outside a thinking step; THINKING_START opens one")
			t.stepOpen = true
		case t.messageOpen:
			breach("G28", "follows THINKING_TEXT_MESSAGE_START without THINKING_TEXT_MESSAGE_END between them")
		}
		t.messageOpen = true
	case eventnames.ThinkingTextMessageContent, eventnames.ThinkingTextMessageEnd:
		if !t.messageOpen {
			breach("G29", "continues no thinking message; THINKING_TEXT_MESSAGE_START opens one")
		}
		t.messageOpen = e.Type == eventnames.ThinkingTextMessageContent
	}
}
