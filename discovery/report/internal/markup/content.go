package markup

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// Content formats content of a capture: the text itself, or only its length. The zero
// value formats the text. All content passes through these methods, so that a redacted
// page contains only the vocabulary of AG-UI, lengths, sizes and times.
type Content struct {
	// Redact replaces texts with their lengths.
	Redact bool
}

// Text returns the text as [Visible] does, or its length. For an empty text, it returns
// an empty string.
func (c Content) Text(text string) string {
	if c.Redact && text != "" {
		return length(text)
	}
	return Visible(text)
}

// Short is like Text, but truncates a text of more than limit bytes. The length is that of
// the whole text.
func (c Content) Short(text string, limit int) string {
	if len(text) > limit && !c.Redact {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return c.Text(text)
}

// Append appends the text as [Append] does, or its length.
func (c Content) Append(b []byte, text string, breaks bool, limit int) ([]byte, int) {
	if c.Redact {
		return append(b, length(text)...), len(text)
	}
	return Append(b, text, breaks, limit)
}

// Type returns the type of an event. If redacted, types that are not in AG-UI are replaced
// with their lengths.
func (c Content) Type(kind string) string {
	if eventnames.IsReleased(kind) {
		return kind
	}
	return c.Text(kind)
}

// Role returns the role of a message. If redacted, roles that are not in AG-UI are replaced
// with their lengths.
func (c Content) Role(role string) string {
	if vocabulary().roles[role] {
		return role
	}
	return c.Text(role)
}

// Key returns a key of an object. If redacted, keys that are not in AG-UI are replaced with
// their lengths.
func (c Content) Key(name string) string {
	if c.Redact {
		return key(name)
	}
	return Visible(name)
}

// maxIndex is the maximum number of digits of an index in a pointer. Longer numbers may be
// keys of objects.
const maxIndex = 3

// Pointer returns a pointer into JSON text, with keys redacted as by Key.
func (c Content) Pointer(p finding.Pointer) string {
	return c.pointer(p, func(_ []string, step string) bool {
		return len(step) <= maxIndex && strings.Trim(step, "0123456789") == ""
	})
}

// Omitted is like Pointer for the pointer of an omission. Only messages and the parts of
// their contents have indexes there.
func (c Content) Omitted(p finding.Pointer) string {
	return c.pointer(p, func(above []string, _ string) bool {
		if len(above) > 1 && above[1] == "input" {
			above = above[1:]
		}
		return len(above) > 1 && above[1] == "messages" && (len(above) == 2 || len(above) == 4 && above[3] == "content")
	})
}

// pointer returns a pointer whose steps are redacted, except those that isIndex accepts.
// Its argument above has the steps before a step.
func (c Content) pointer(p finding.Pointer, isIndex func(above []string, step string) bool) string {
	if !c.Redact {
		return Visible(string(p))
	}
	steps := strings.Split(string(p), "/")
	shown := slices.Clone(steps)
	for i, step := range steps {
		if !isIndex(steps[:i], step) {
			shown[i] = key(Unescape(step))
		}
	}
	return strings.Join(shown, "/")
}

// AppendOmitted appends the pointer of an omission as a JSON string. Unlike Omitted, it
// does not make invisible characters visible.
func (c Content) AppendOmitted(b []byte, p finding.Pointer, limit int) []byte {
	text := string(p)
	if c.Redact {
		text = c.Omitted(p)
	}
	b, _ = AppendJSON(b, []byte(text), limit)
	return b
}

// Message returns the message of a finding. If redacted, it returns the general meaning of
// the code instead, because a message may quote the capture.
func (c Content) Message(f finding.Finding) string {
	if c.Redact && !isStatus(f) {
		about, _ := finding.Describe(f.Code)
		return about.Meaning
	}
	return Visible(f.Message)
}

// isStatus reports whether the message of a finding has an HTTP status and nothing else
// of a capture.
func isStatus(f finding.Finding) bool {
	status, ok := strings.CutPrefix(f.Message, "the response has status ")
	return ok && f.Code == finding.HTTPStatus && len(status) == 3 && strings.Trim(status, "0123456789") == ""
}

// ContentType shows a content type: the length of one that is not common, and of
// its parameters.
func (c Content) ContentType(text string) string {
	if !c.Redact {
		return c.Text(text)
	}
	kind, parameters, more := strings.Cut(text, ";")
	shown := kind
	if !vocabulary().contentTypes[kind] {
		shown = c.Text(kind)
	}
	switch parameters = strings.TrimSpace(parameters); {
	case !more:
		return shown
	case strings.EqualFold(parameters, "charset=utf-8"):
		return shown + "; charset=utf-8"
	}
	return shown + "; " + c.Text(parameters)
}

// Next returns the hint of a finding. If redacted, it returns the general hint of the code.
func (c Content) Next(f finding.Finding) string {
	if c.Redact && f.Hint != "" {
		about, _ := finding.Describe(f.Code)
		return about.Hint
	}
	return Visible(f.Hint)
}

// AppendEvent appends the text of an event as [AppendJSON] does. A redacted event only has
// the types, roles and keys of AG-UI; other texts are replaced with their lengths.
func (c Content) AppendEvent(b, text []byte, limit int) ([]byte, int) {
	if !c.Redact {
		return AppendJSON(b, text, limit)
	}
	if len(text) == 0 {
		return append(b, `""`...), 0
	}
	shown, n := redacted(text, limit-len(b))
	b, _ = AppendJSON(b, shown, len(b)+2*len(shown)+2)
	return b, n
}

// length returns the number of code points of a text, or the number of bytes if the text
// is not valid UTF-8.
func length(text string) string {
	if !utf8.ValidString(text) {
		return "⟨" + many(len(text), "byte") + "⟩"
	}
	return "⟨" + many(utf8.RuneCountInString(text), "character") + "⟩"
}

func many(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
