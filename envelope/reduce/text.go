package reduce

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
)

// Text is a text that is streamed in deltas. The zero value is empty.
type Text struct {
	bytes []byte
}

// halfBytes is the length of half of a surrogate pair, which is encoded as in WTF-8.
const halfBytes = 3

// Append appends a delta, which must be a string. If the text ends with half of a
// surrogate pair and the delta begins with the other half, they become one character.
func (t *Text) Append(delta envelope.Value) {
	n := len(t.bytes)
	t.bytes, _ = strictjson.AppendUnquoted(t.bytes, delta.Raw)
	if n < halfBytes || len(t.bytes) < n+halfBytes || t.bytes[n-halfBytes] != 0xed || t.bytes[n] != 0xed {
		return
	}
	if pair, joined := strictjson.JoinSurrogates(string(t.bytes[n-halfBytes : n+halfBytes])); joined {
		rest := t.bytes[n+halfBytes:]
		t.bytes = append(append(t.bytes[:n-halfBytes], pair...), rest...)
	}
}

// Len returns the length of the text in bytes.
func (t *Text) Len() int { return len(t.bytes) }

// String returns the text. It is valid UTF-8 unless it contains half of a surrogate
// pair, which is encoded as three bytes as in WTF-8.
func (t *Text) String() string { return string(t.bytes) }

// Role returns the role of the message that a TEXT_MESSAGE_START or TEXT_MESSAGE_CHUNK
// begins. If the event has none, the role is assistant (AG-UI 1.0). If the role is not
// a string, it is empty.
func Role(e *envelope.Event) string {
	v, _ := e.Get("role")
	if v.Kind == 0 || v.Kind == envelope.NullValue {
		return "assistant"
	}
	role, _ := v.Text()
	return role
}
