package artifact

import (
	"bytes"

	"github.com/p20export/p20export/internal/strictjson"
)

// Encode returns the canonical bytes of a: the key order of the contract, two-space
// indent, minimal escapes (RFC 8785 §3.2.2.2) and one newline at the end. It does
// not validate a; Decode does.
func Encode(a *Artifact) []byte {
	n := 1024 // for the keys, and for most artifacts also for escapes and the other strings
	for i := range a.Messages {
		n += 128 + len(a.Messages[i].Content) + len(a.Messages[i].Content)/16
	}
	w := writer{make([]byte, 0, n)}
	w.string("{\n  ", "schema", a.Schema)
	w.string(",\n  ", "framework", a.Framework)
	w.string(",\n  ", "surface", a.Surface)
	w.string(",\n  ", "thread_id_ref", a.ThreadIDRef)
	w.string(",\n  ", "run_id_ref", a.RunIDRef)
	w.optional(",\n  ", "parent_run_id_ref", a.ParentRunIDRef)
	w.string(",\n  ", "started_at", a.StartedAt)
	w.optional(",\n  ", "finished_at", a.FinishedAt)
	w.write(",\n  \"messages\": [")
	for i := range a.Messages {
		m := &a.Messages[i]
		if i > 0 {
			w.write(",")
		}
		w.write("\n    ")
		w.string("{\n      ", "id", m.ID)
		w.string(",\n      ", "role", m.Role)
		w.string(",\n      ", "content", m.Content)
		w.optional(",\n      ", "name", m.Name)
		w.write("\n    }")
	}
	if len(a.Messages) > 0 {
		w.write("\n  ")
	}
	w.write("]")
	w.string(",\n  ", "terminal_event", a.TerminalEvent)
	w.optional(",\n  ", "error_code", a.ErrorCode)
	w.optional(",\n  ", "error_message", a.ErrorMessage)
	w.write("\n}\n")
	return w.buf
}

// IsCanonical reports whether data are the canonical bytes of a.
func IsCanonical(data []byte, a *Artifact) bool { return bytes.Equal(data, Encode(a)) }

type writer struct{ buf []byte }

func (w *writer) write(s string) { w.buf = append(w.buf, s...) }

func (w *writer) optional(before, key, value string) {
	if value != "" {
		w.string(before, key, value)
	}
}

func (w *writer) string(before, key, value string) {
	w.write(before)
	w.write(`"`)
	w.write(key)
	w.write(`": `)
	w.buf = AppendString(w.buf, value)
}

// AppendString appends s as a JSON string in the form of RFC 8785 §3.2.2.2. Only the
// double quote, the backslash and control characters below U+0020 are escaped. A
// control character is escaped by its short form if JSON has one, and otherwise as
// \u00xx in lower case.
// s must be valid UTF-8.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	for {
		var n int
		if b, n = strictjson.AppendASCII(b, s); n == len(s) {
			return append(b, '"')
		}
		end := n + 1
		for end < len(s) && s[end] >= 0x7f {
			end++
		}
		b, s = append(b, s[n:end]...), s[end:]
	}
}
