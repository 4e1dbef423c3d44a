// Package finding is the one shape in which the program reports what it found
// wrong, left out or worth knowing.
//
// It knows the closed set of codes (codes.go) and the order of findings. It
// must not know how a finding came about.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/p20export/p20export/internal/strictjson"
)

// Severity says what a finding does to the verdict.
type Severity string

// An error makes the verdict negative; a warning and an information never do.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Code names a kind of finding: lower_snake, from the closed set in codes.go.
type Code string

// Finding is one observation about an input.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// Message is one sentence for people. It quotes input only through Quote.
	Message string `json:"message"`
	// Hint is the next step, where there is one.
	Hint string `json:"hint,omitzero"`
	// Rule is the numbered rule of a contract, where there is one.
	Rule string `json:"rule,omitzero"`
	// Spec is where the rule comes from, such as "P20 §8.1".
	Spec string `json:"spec,omitzero"`
	// Pointer is an RFC 6901 pointer relative to the event or file the finding
	// names; nil or empty is the whole of it.
	Pointer Pointer `json:"pointer,omitzero"`
	// Offset counts bytes from the start of the file the finding names.
	Offset *int64 `json:"offset,omitzero"`
	// Line counts lines of that file from 1.
	Line int `json:"line,omitzero"`
	// Column counts code points of that line from 1.
	Column int `json:"column,omitzero"`
	// Excerpt shows that line to people.
	Excerpt Excerpt `json:"-"`
	// ResponseLine is the line of a capture's response that Offset is on, counted
	// from 1; 0 where it is not known. Lines end with LF.
	ResponseLine int `json:"-"`
	// EventIndex counts the capture's events from 0.
	EventIndex *int `json:"event_index,omitzero"`
}

// New makes a finding of the given code with what the code's table entry says
// of severity, origin and next step.
func New(code Code, format string, args ...any) Finding {
	about, _ := Describe(code)
	return Finding{
		Code:     code,
		Severity: about.Severity,
		Message:  shortened(fmt.Sprintf(format, args...)),
		Hint:     about.Hint,
		Spec:     about.Spec,
	}
}

// WithOffset returns f with a byte offset.
func (f Finding) WithOffset(offset int64) Finding { f.Offset = &offset; return f }

// OnResponseLine returns f with a line of the response.
func (f Finding) OnResponseLine(line int) Finding { f.ResponseLine = line; return f }

// WithEvent returns f with the index of the event it is about.
func (f Finding) WithEvent(event int) Finding { f.EventIndex = &event; return f }

// WithPointer returns f with a pointer; one that is too long becomes that of a value
// around it.
func (f Finding) WithPointer(p Pointer) Finding { f.Pointer = p.Bounded(); return f }

// WithLine returns f with a line number.
func (f Finding) WithLine(line int) Finding { f.Line = line; return f }

// WithHint returns f with another next step than its code's.
func (f Finding) WithHint(format string, args ...any) Finding {
	f.Hint = fmt.Sprintf(format, args...)
	return f
}

// WithSeverity returns f with another severity than its code's.
func (f Finding) WithSeverity(s Severity) Finding { f.Severity = s; return f }

// Error makes a Finding usable as an error.
func (f Finding) Error() string { return string(f.Code) + ": " + f.Message }

// Sort orders findings by offset, then pointer, then code. Findings without an
// offset come first, but for the count of those that are not listed, which is
// last.
func Sort(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(offset(a), offset(b)),
			cmp.Compare(a.Pointer, b.Pointer),
			cmp.Compare(a.Code, b.Code),
		)
	})
}

// Failed reports whether any finding is an error.
func Failed(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Severity == Error })
}

// AsWarnings returns the findings with every error as a warning: where what they
// refuse was not asked for.
func AsWarnings(list []Finding) []Finding {
	eased := slices.Clone(list)
	for i, f := range eased {
		if f.Severity == Error {
			eased[i] = f.WithSeverity(Warning)
		}
	}
	return eased
}

// Has reports whether any finding has the code.
func Has(list []Finding, code Code) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Code == code })
}

func rank(f Finding) int {
	if f.Code == FindingsUnlisted {
		return 1
	}
	return 0
}

func offset(f Finding) int64 {
	if f.Offset == nil {
		return -1
	}
	return *f.Offset
}

// Pointer is an RFC 6901 JSON Pointer.
type Pointer string

// Name returns the pointer to the named member of what p points to. RFC 6901
// has no spelling for what is not Unicode, such as half a surrogate pair: it
// becomes U+FFFD.
func (p Pointer) Name(name string) Pointer {
	return p + "/" + Pointer(strictjson.EscapePointer(name))
}

// Index returns the pointer to the i-th element of what p points to.
func (p Pointer) Index(i int) Pointer { return p + "/" + Pointer(strconv.Itoa(i)) }

// quoteLimit is how much of an input a message quotes, in code points.
const quoteLimit = 60

// Quote renders a piece of input for a message: short, in double quotes, and
// with everything escaped that a terminal could act on.
func Quote(s string) string {
	count := 0
	for i := range s {
		if count++; count > quoteLimit {
			s = s[:i] + "…"
			break
		}
	}
	return `"` + strings.ReplaceAll(Escape(s), `"`, `\"`) + `"`
}

// Escape renders s so that a terminal shows it and does not obey it, and so
// that it can be told from what it escapes: control and format characters, line
// separators, invalid bytes and backslashes become escapes.
func Escape(s string) string { return escape(s, true) }

// Printable is Escape for text that may hold escapes already: it leaves
// backslashes alone.
func Printable(s string) string { return escape(s, false) }

func escape(s string, backslash bool) string {
	var b strings.Builder
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\' && backslash:
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff && NeedsEscape(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case NeedsEscape(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// NeedsEscape reports whether a terminal could act on r, or show nothing for it.
func NeedsEscape(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp)
}

// The lengths in bytes that pointers and messages of findings keep to: findings
// are held while a capture is read, and a name in it can be as long as an event.
const (
	MaxPointer = 1 << 10
	maxMessage = 4 << 10
)

// Bounded returns p, or where p is too long the pointer to a value around it.
func (p Pointer) Bounded() Pointer {
	if len(p) > MaxPointer {
		p = p[:max(0, strings.LastIndexByte(string(p[:MaxPointer+1]), '/'))]
	}
	return p
}

func shortened(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
