package markup

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// key returns a key of AG-UI unchanged, and the length of any other key.
func key(name string) string {
	if vocabulary().keys[name] || name == "" {
		return name
	}
	shown := "⟨key, "
	if !utf8.ValidString(name) {
		return shown + many(len(name), "byte") + "⟩"
	}
	return shown + many(utf8.RuneCountInString(name), "character") + "⟩"
}

// redactor redacts the tokens of JSON text, in order. It keeps the keys of AG-UI, the type
// of the event and the roles of messages.
type redactor struct {
	dec  *strictjson.Decoder
	open []container
	name string // key of the next value
}

// container is an open object or array.
type container struct {
	name string // key of the container in its parent
	list bool
}

// redact returns the next token, redacted.
func (r *redactor) redact(token strictjson.Token) string {
	switch token.Kind {
	case strictjson.Name:
		r.name, _ = r.dec.Text(token)
		if shown := key(r.name); shown != r.name {
			return shown
		}
		return `"` + r.name + `"`
	case strictjson.ObjectEnd, strictjson.ArrayEnd:
		r.open = r.open[:len(r.open)-1]
		return string(rune(token.Kind))
	}
	name := r.name
	r.name = ""
	switch token.Kind {
	case strictjson.ObjectStart, strictjson.ArrayStart:
		r.open = append(r.open, container{name, token.Kind == strictjson.ArrayStart})
		return string(rune(token.Kind))
	case strictjson.String:
		text, _ := r.dec.Text(token)
		if r.known(name, text) {
			return `"` + text + `"`
		}
		return length(text)
	case strictjson.Number:
		return "⟨number⟩"
	case strictjson.Null:
		return "null"
	}
	return "⟨boolean⟩"
}

// known reports whether a string is a type or role of AG-UI, and is the type of the event
// or the role of a message.
func (r *redactor) known(name, text string) bool {
	root := len(r.open) == 1
	switch name {
	case "type", "terminal_event":
		return root && eventnames.IsReleased(text)
	case "schema":
		return root && text == artifact.Schema
	case "framework":
		return root && text == artifact.Framework
	case "surface":
		return root && text == artifact.Surface
	case "role":
		message := len(r.open) > 1 && r.open[len(r.open)-2] == container{"messages", true}
		return (root || message) && vocabulary().roles[text]
	}
	return false
}

// redacted redacts JSON text on one line and returns the number of bytes of the text that
// it redacted. It stops when the result has limit bytes or more. For text that is not JSON,
// the result is the length.
func redacted(text []byte, limit int) ([]byte, int) {
	r := &redactor{dec: strictjson.NewDecoder(text)}
	r.dec.AllowDuplicates()
	var b strings.Builder
	comma := false
	for {
		token, err := r.dec.Next()
		if err != nil {
			if err == io.EOF {
				return []byte(b.String()), len(text)
			}
			return []byte(length(string(text))), len(text)
		}
		if b.Len() >= limit {
			return []byte(b.String()), token.Start
		}
		if comma && token.Kind != strictjson.ObjectEnd && token.Kind != strictjson.ArrayEnd {
			b.WriteByte(',')
		}
		b.WriteString(r.redact(token))
		switch token.Kind {
		case strictjson.Name:
			b.WriteByte(':')
			comma = false
		case strictjson.ObjectStart, strictjson.ArrayStart:
			comma = false
		default:
			comma = true
		}
	}
}
