// Package finding defines findings: the errors, omissions and observations that
// the program reports about its inputs.
//
// It defines the closed set of codes (codes.go) and the order of findings. It
// must not know how findings are made.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/p20export/p20export/internal/strictjson"
)

// Severity is the effect of a finding on the verdict.
type Severity string

// An Error makes the verdict negative. A Warning or Info does not affect it.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Grade returns a number that is greater for a graver severity.
func (s Severity) Grade() int { return slices.Index([]Severity{Info, Warning, Error}, s) }

// Code identifies a kind of finding. It is lower_snake and declared in codes.go.
type Code string

// Finding is one observation about an input.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// Message is one sentence for people. It quotes input only through Quote.
	Message string `json:"message"`
	// Hint is the next step, if there is one.
	Hint string `json:"hint,omitzero"`
	// Rule is the numbered rule of docs/contract.md, docs/sequence.md or docs/lint.md, if
	// there is one.
	Rule string `json:"rule,omitzero"`
	// Spec is the source of the rule, such as "P20 §8.1".
	Spec string `json:"spec,omitzero"`
	// Pointer is an RFC 6901 pointer relative to the event or file. It is empty if
	// the finding is about the whole event or file.
	Pointer Pointer `json:"pointer,omitzero"`
	// Offset is a byte offset in the file.
	Offset *int64 `json:"offset,omitzero"`
	// Line is a line number in the file, from 1.
	Line int `json:"line,omitzero"`
	// Column is a column of the line, in code points, from 1.
	Column int `json:"column,omitzero"`
	// Excerpt shows the line to people.
	Excerpt Excerpt `json:"-"`
	// ResponseLine is the line of the capture's response that contains Offset, from
	// 1, or 0 if it is not known. Lines end with LF.
	ResponseLine int `json:"-"`
	// EventIndex is the index of the event in the capture, from 0.
	EventIndex *int `json:"event_index,omitzero"`
}

// New returns a finding with the given code and message, and with the code's
// severity, spec and hint.
func New(code Code, format string, args ...any) Finding {
	about, _ := Describe(code)
	return Finding{
		Code:     code,
		Severity: about.Severity,
		Message:  truncate(fmt.Sprintf(format, args...)),
		Hint:     about.Hint,
		Spec:     about.Spec,
	}
}

// WithOffset returns f with a byte offset.
func (f Finding) WithOffset(offset int64) Finding { f.Offset = &offset; return f }

// WithResponseLine returns f with a line number of the response.
func (f Finding) WithResponseLine(line int) Finding { f.ResponseLine = line; return f }

// WithEvent returns f with the index of an event.
func (f Finding) WithEvent(event int) Finding { f.EventIndex = &event; return f }

// WithPointer returns f with the pointer p, shortened by Bounded.
func (f Finding) WithPointer(p Pointer) Finding { f.Pointer = p.Bounded(); return f }

// WithLine returns f with a line number.
func (f Finding) WithLine(line int) Finding { f.Line = line; return f }

// WithHint returns f with a hint that replaces its code's.
func (f Finding) WithHint(format string, args ...any) Finding {
	f.Hint = fmt.Sprintf(format, args...)
	return f
}

// WithSeverity returns f with a severity that replaces its code's.
func (f Finding) WithSeverity(s Severity) Finding { f.Severity = s; return f }

// Error returns the code and the message.
func (f Finding) Error() string { return string(f.Code) + ": " + f.Message }

// Sort sorts findings by offset, then pointer, then code. Findings without an
// offset come first, except findings_past_limit, which comes last.
func Sort(list []Finding) {
	if len(list) < 2 { // without the memory that package sort needs
		return
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(offset(a), offset(b)),
			cmp.Compare(a.Pointer, b.Pointer),
			cmp.Compare(a.Code, b.Code),
		) < 0
	})
}

// Failed reports whether any finding is an error.
func Failed(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Severity == Error })
}

// AsWarnings returns a copy of the findings in which every error is a warning. It
// is for checks whose failure does not affect the command's verdict.
func AsWarnings(list []Finding) []Finding {
	warnings := slices.Clone(list)
	for i, f := range warnings {
		if f.Severity == Error {
			warnings[i] = f.WithSeverity(Warning)
		}
	}
	return warnings
}

// Has reports whether any finding has the given code.
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

// Name returns the pointer to the named member of the object at p. Text that is
// not valid Unicode, such as half a surrogate pair, cannot appear in a pointer
// and becomes U+FFFD.
func (p Pointer) Name(name string) Pointer {
	return p + "/" + Pointer(strictjson.EscapePointer(name))
}

// Index returns the pointer to the i-th element of the array at p.
func (p Pointer) Index(i int) Pointer { return p + "/" + Pointer(strconv.Itoa(i)) }

// quoteLimit is the maximum length of a quoted input, in code points.
const quoteLimit = 60

// Quote returns s for use in a message. It truncates s, escapes every character
// that a terminal could act on, and adds double quotes.
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

// QuoteURL is like Quote, but leaves out what can be a user, a password or a query of a URL,
// also of one that is malformed. Errors of package url quote the whole URL.
func QuoteURL(s string) string {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		scheme, _, ok := strings.Cut(s[:at], "://")
		if s = "…" + s[at:]; ok && !strings.ContainsAny(scheme, "@:/") {
			s = scheme + "://" + s
		}
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i+1] + "…"
	}
	return Quote(s)
}

// Escape returns s in a form that is safe to print on a terminal. Control and
// format characters, line separators, invalid bytes and backslashes become escape
// sequences, so different strings have different results.
func Escape(s string) string { return escape(s, true) }

// Printable is like Escape but does not escape backslashes. It is for text that
// may contain escape sequences already.
func Printable(s string) string { return escape(s, false) }

func escape(s string, backslash bool) string {
	plain := 0
	for plain < len(s) && s[plain] >= ' ' && s[plain] <= '~' && s[plain] != '\\' {
		plain++
	}
	if plain == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:plain])
	for i, w := plain, 0; i < len(s); i += w {
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

// blank is U+2800 BRAILLE PATTERN BLANK, which looks like a space and is a symbol.
const blank = '\u2800'

// NeedsEscape reports whether r is a character that a terminal could act on or
// that is invisible. These are the control, format and unassigned characters, the
// separators of lines and paragraphs, those with the Unicode property
// Default_Ignorable_Code_Point, and the blank braille pattern.
func NeedsEscape(r rune) bool {
	return r == blank || unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// The maximum lengths of pointers and messages, in bytes. They bound the memory
// that findings take: a name in a capture can be as long as an event.
const (
	MaxPointer = 1 << 10
	maxMessage = 4 << 10
)

// Bounded returns p. If p is longer than MaxPointer, Bounded returns the pointer
// to an enclosing value.
func (p Pointer) Bounded() Pointer {
	if len(p) > MaxPointer {
		p = p[:max(0, strings.LastIndexByte(string(p[:MaxPointer+1]), '/'))]
	}
	return p
}

func truncate(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
