package producer

import (
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// streamed has the text messages and tool calls that a run streamed, without those of
// subagents. Of a text it keeps a hash and the length.
type streamed struct {
	messages map[string]*message
	order    []string // the ids of the messages and calls in the order of their start
	calls    map[string]bool
	chunked  string // the id of the last chunk of text
	buf      []byte
}

// message is a streamed text message.
type message struct {
	sum   sum
	ended bool
	// high is the first half of a surrogate pair at the end of the text, which is not in
	// the sum yet, or 0.
	high rune
}

// add adds a delta, as AppendUnquoted returns it.
func (m *message) add(text []byte) {
	if m.high != 0 && len(text) > 0 {
		if low := surrogate(text); low >= 0xdc00 {
			m.sum.add(utf8.AppendRune(nil, utf16.DecodeRune(m.high, low)))
			m.high, text = 0, text[3:]
		}
	}
	m.flush(len(text) > 0)
	if n := len(text) - 3; n >= 0 {
		if high := surrogate(text[n:]); high != 0 && high < 0xdc00 {
			m.high, text = high, text[:n]
		}
	}
	m.sum.add(text)
}

// flush adds half of a surrogate pair that stays alone.
func (m *message) flush(more bool) {
	if m.high != 0 && more {
		m.sum.add([]byte{0xed, 0x80 | byte(m.high>>6)&0x3f, 0x80 | byte(m.high)&0x3f})
		m.high = 0
	}
}

// surrogate returns the half of a surrogate pair that a text begins with, as three bytes, or
// 0.
func surrogate(text []byte) rune {
	if len(text) < 3 || text[0] != 0xed || text[1] < 0xa0 {
		return 0
	}
	return 0xd000 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f)
}

// sum is a hash (FNV-1a) and the length of a text.
type sum struct {
	hash   uint64
	length int
}

func (s *sum) add(text []byte) {
	if s.length == 0 {
		s.hash = 14695981039346656037
	}
	for _, b := range text {
		s.hash = (s.hash ^ uint64(b)) * 1099511628211
	}
	s.length += len(text)
}

func (s *streamed) clear() { *s = streamed{buf: s.buf[:0]} }

// isTagged reports whether an event belongs to a subagent.
func isTagged(e *envelope.Event) bool {
	v, ok := e.Get("subagentRunId")
	return ok && v.Kind != envelope.NullValue
}

// start handles TEXT_MESSAGE_START.
func (s *streamed) start(c *Checker, e *envelope.Event) {
	id, ok := text(e, "messageId")
	if !ok || isTagged(e) || !c.known.ids[c.key(textMessage, id)] {
		return
	}
	s.message(id).ended = false
}

// message returns the message with an id, and creates it if it is new.
func (s *streamed) message(id string) *message {
	m := s.messages[id]
	if m == nil {
		if s.messages == nil {
			s.messages = make(map[string]*message)
		}
		m = new(message)
		s.messages[id] = m
		s.order = append(s.order, id)
	}
	return m
}

// add handles the delta of TEXT_MESSAGE_CONTENT.
func (s *streamed) add(e *envelope.Event) {
	id, _ := text(e, "messageId")
	if m := s.messages[id]; m != nil {
		s.addDelta(m, e)
	}
}

func (s *streamed) addDelta(m *message, e *envelope.Event) {
	if v, _ := e.Get("delta"); v.Kind == envelope.StringValue {
		s.buf, _ = strictjson.AppendUnquoted(s.buf[:0], v.Raw)
		m.add(s.buf)
	}
}

// end handles TEXT_MESSAGE_END.
func (s *streamed) end(e *envelope.Event) {
	id, _ := text(e, "messageId")
	if m := s.messages[id]; m != nil {
		m.ended = true
	}
}

// chunk handles TEXT_MESSAGE_CHUNK. A message of chunks counts as ended, because no event
// ends it: a snapshot closes all chunks.
func (s *streamed) chunk(c *Checker, e *envelope.Event) {
	if isTagged(e) {
		return
	}
	id, ok := text(e, "messageId")
	if !ok {
		id = s.chunked
	}
	if !c.known.ids[c.key(textMessage, id)] {
		return
	}
	s.chunked = id
	m := s.message(id)
	m.ended = true
	s.addDelta(m, e)
}

// call handles TOOL_CALL_START and TOOL_CALL_CHUNK.
func (s *streamed) call(c *Checker, e *envelope.Event) {
	id, ok := text(e, "toolCallId")
	if !ok || isTagged(e) || !c.known.ids[c.key(toolCall, id)] || s.calls[id] {
		return
	}
	if s.calls == nil {
		s.calls = make(map[string]bool)
	}
	s.calls[id] = true
	s.order = append(s.order, id)
}

// checkSnapshot compares MESSAGES_SNAPSHOT with what was streamed. What it reports, or has,
// is not compared with later snapshots.
func (c *Checker) checkSnapshot(e *envelope.Event) {
	s := &c.streamed
	list, _ := e.Get("messages")
	if list.Kind != envelope.ArrayValue || len(s.order) == 0 {
		return
	}
	byID, texts, calls := make(map[string]sum), make(map[sum]bool), make(map[string]bool)
	// The event was read before, so there is no error.
	_ = strictjson.Elements(list, func(_ int, v strictjson.Value, o *strictjson.Object) error {
		if v.Kind != envelope.ObjectValue {
			return nil
		}
		sum := s.contentSum(o)
		texts[sum] = true
		if id, _ := o.Get("id"); id.Kind == envelope.StringValue {
			name, _ := id.Text()
			byID[name] = sum
		}
		if list, _ := o.Get("toolCalls"); list.Kind == envelope.ArrayValue {
			_ = strictjson.Elements(list, func(_ int, v strictjson.Value, o *strictjson.Object) error {
				if id, _ := o.Get("id"); v.Kind == envelope.ObjectValue && id.Kind == envelope.StringValue {
					name, _ := id.Text()
					calls[name] = true
				}
				return nil
			})
		}
		return nil
	})
	s.order = slices.DeleteFunc(s.order, func(id string) bool { return c.compare(e, id, byID, texts, calls) })
}

// compare compares a streamed message or call with a snapshot, and reports whether that is
// settled.
func (c *Checker) compare(e *envelope.Event, id string, byID map[string]sum, texts map[sum]bool, calls map[string]bool) (settled bool) {
	s := &c.streamed
	settled = true
	if s.calls[id] {
		if c.open.has(c.key(toolCall, id)) {
			settled = false
		} else {
			if !calls[id] {
				c.found(e, "W14", "messages", "call", "MESSAGES_SNAPSHOT lacks tool call %s, which the run streamed", finding.Quote(id))
			}
			delete(s.calls, id)
		}
	}
	m := s.messages[id]
	if m == nil {
		return settled
	}
	if !m.ended {
		return false
	}
	m.flush(true)
	has, known := byID[id]
	switch {
	case m.sum.length == 0, known && has == m.sum:
	case known:
		c.found(e, "W14", "messages", "text", "MESSAGES_SNAPSHOT has message %s with another text than the run streamed", finding.Quote(id))
	case texts[m.sum]:
		c.found(e, "W15", "messages", "", "MESSAGES_SNAPSHOT has the streamed message %s under another id", finding.Quote(id))
	default:
		c.found(e, "W14", "messages", "message", "MESSAGES_SNAPSHOT lacks message %s, which the run streamed", finding.Quote(id))
	}
	delete(s.messages, id)
	return settled
}

// contentSum returns the sum of the text of a message: its content, or the texts of its
// parts.
func (s *streamed) contentSum(o *strictjson.Object) (total sum) {
	content, _ := o.Get("content")
	switch content.Kind {
	case envelope.StringValue:
		s.buf, _ = strictjson.AppendUnquoted(s.buf[:0], content.Raw)
		total.add(s.buf)
	case envelope.ArrayValue:
		_ = strictjson.Elements(content, func(_ int, v strictjson.Value, o *strictjson.Object) error {
			if part, _ := o.Get("text"); v.Kind == envelope.ObjectValue && part.Kind == envelope.StringValue {
				s.buf, _ = strictjson.AppendUnquoted(s.buf[:0], part.Raw)
				total.add(s.buf)
			}
			return nil
		})
	}
	return total
}
