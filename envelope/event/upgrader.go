package event

import (
	"fmt"

	"github.com/p20export/p20export/internal/saving"
)

// Upgrader makes REASONING events of the THINKING events of a stream, as the reference
// client does, but with ids that depend only on the stream: thinking-R-N for the Nth
// message of run R, and thinking-span-R-N for the Nth span, counted from 1. The zero
// value is ready for use.
type Upgrader struct {
	run           int
	spans, texts  int
	span, message string // the open ones, or empty
}

// Upgrade returns e, or the REASONING event for a THINKING event. It has to be called with
// every event of the stream, in order: RunStarted begins run R, and the events before the
// first one belong to run 0. The title of a ThinkingStart is lost, because no REASONING
// event has one. Content and ends that nothing began get an id of their own.
func (u *Upgrader) Upgrade(e Event) Event {
	base := *e.Common()
	switch e := e.(type) {
	case *RunStarted:
		*u = Upgrader{run: u.run + 1}
	case *ThinkingStart:
		u.span = ""
		return &ReasoningStart{Base: own(base), SubagentRunID: e.SubagentRunID, MessageID: u.spanID()}
	case *ThinkingTextMessageStart:
		u.message = ""
		return &ReasoningMessageStart{Base: own(base), SubagentRunID: e.SubagentRunID, MessageID: u.messageID()}
	case *ThinkingTextMessageContent:
		return &ReasoningMessageContent{Base: own(base), SubagentRunID: e.SubagentRunID, MessageID: u.messageID(), Delta: e.Delta}
	case *ThinkingTextMessageEnd:
		up := &ReasoningMessageEnd{Base: own(base), SubagentRunID: e.SubagentRunID, MessageID: u.messageID()}
		u.message = ""
		return up
	case *ThinkingEnd:
		up := &ReasoningEnd{Base: own(base), SubagentRunID: e.SubagentRunID, MessageID: u.spanID()}
		u.span = ""
		return up
	}
	return e
}

// Message returns the id of the message that THINKING events have open, or "".
func (u *Upgrader) Message() string { return u.message }

// Save returns the state of u as bytes. An Upgrader that loads them continues in the same way.
func (u *Upgrader) Save() []byte {
	var c saving.Coder
	u.code(&c)
	return c.Bytes
}

// Load makes u the Upgrader that was saved, and reports whether the bytes can be those of one.
func (u *Upgrader) Load(saved []byte) bool {
	c := saving.Read(saved)
	u.code(c)
	return c.Done()
}

func (u *Upgrader) code(c *saving.Coder) {
	c.Int(&u.run)
	c.Int(&u.spans)
	c.Int(&u.texts)
	c.String(&u.span)
	c.String(&u.message)
}

// own returns the fields of a THINKING event for a REASONING event. Members of Extra with
// names of fields that Upgrade sets are left out.
func own(b Base) Base {
	extra := JSON{'{'}
	for name, v := range b.Extra.Members {
		if name == "messageId" || name == "role" {
			continue
		}
		if len(extra) > 1 {
			extra = append(extra, ',')
		}
		extra = append(append(append(extra, quote(name)...), ':'), v...)
	}
	if b.Extra = nil; len(extra) > 1 {
		b.Extra = append(extra, '}')
	}
	return b
}

// spanID returns the id of the open span, or of a new one.
func (u *Upgrader) spanID() string {
	if u.span == "" {
		u.spans++
		u.span = fmt.Sprintf("thinking-span-%d-%d", u.run, u.spans)
	}
	return u.span
}

// messageID returns the id of the open message, or of a new one.
func (u *Upgrader) messageID() string {
	if u.message == "" {
		u.texts++
		u.message = fmt.Sprintf("thinking-%d-%d", u.run, u.texts)
	}
	return u.message
}
