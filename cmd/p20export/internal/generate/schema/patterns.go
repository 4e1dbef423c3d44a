package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/artifact"
)

// Patterns have the same meaning in RE2, in ECMA-262 (with and without the u flag) and in
// Python's re. Characters of a class are literal, digits are [0-9], and there is no
// lookahead. (Only $ differs: in Python it also matches before a final newline, so more is
// accepted there.) No class contains a character outside the Basic Multilingual Plane, so
// half of a surrogate pair is neither white space nor a control character in any engine.

const hexDigits = "[0-9a-f]{64}"

// pointer matches a JSON Pointer (RFC 6901 §3).
const pointer = "^(/([^/~]|~[01])*)*$"

// The parts of a timestamp (RFC 3339 §5.6). The year 0000 is excluded, and months have
// the days of a leap year.
const (
	date  = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))"
	clock = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)

// The formats of a time: anyTime is what the contract accepts, ownTime what this program
// writes in artifacts, and manifestTime that of manifests.
const (
	anyTime      = "^" + date + "T" + clock + `(\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	ownTime      = "^" + date + "T" + clock + `(\.[0-9]{6})?Z$`
	manifestTime = "^" + date + "T" + clock + `\.[0-9]{6}Z$`
)

// class returns the inside of a character class with the characters for which in is true.
func class(in func(rune) bool) string {
	var b strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !in(r) {
			continue
		}
		last := r
		for in(last + 1) {
			last++
		}
		b.WriteRune(r)
		if last > r+1 {
			b.WriteByte('-')
		}
		if last > r {
			b.WriteRune(last)
		}
		r = last
	}
	return b.String()
}

var (
	space          = class(artifact.IsSpace)
	control        = class(unicode.IsControl)
	spaceOrControl = class(func(r rune) bool { return artifact.IsSpace(r) || unicode.IsControl(r) })
)

// matching restricts a value to strings of a pattern.
func matching(pattern string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Type, s.Format, s.Pattern = "string", "", pattern }
}

// limits restricts strings to the limits of a profile.
type limits struct{ profile artifact.Profile }

// Parts of a host (rule A29). A label is a negated class of the characters that a
// reference can contain but a label cannot, so that it matches code points outside the
// Basic Multilingual Plane in every engine.
const (
	number255 = "(25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})"
	address   = `([Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]\.?|` + number255 + `(\.` + number255 + `){3}\.?|\[[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\])`
	notLabel  = "!-$&-,./:-@\\[-^`{-~"
	domain    = `([^` + notLabel + `]+\.)+[^0-9` + notLabel + `][^` + notLabel + `]*\.?`
)

// resolvingPatterns returns schemas that match the references that A12 to A14 and A27 to
// A29 refuse.
func resolvingPatterns() []*jsonschema.Schema {
	var schemes []string
	for _, s := range artifact.ForbiddenSchemes() {
		schemes = append(schemes, anyCase(s))
	}
	return []*jsonschema.Schema{
		{Description: "A link, white space or a control character.", Pattern: "://|[" + spaceOrControl + "]"},
		{Description: "A link without its scheme.", Pattern: `^([/\\]{2}|[Ww]{3}\.)`},
		{Description: "A scheme that programs open.", Pattern: "^(" + strings.Join(schemes, "|") + "):"},
		{Description: "A host, as in a link.", Pattern: `^([^/\\?#]*@)?((` + address + `|` + domain + `)(:[0-9]+)?[/\\?#]|` + address + `:[0-9]+$)`},
	}
}

// anyCase returns a pattern of an ASCII word in any case.
func anyCase(word string) string {
	var b strings.Builder
	for _, r := range word {
		if upper := unicode.ToUpper(r); upper != r {
			b.WriteString("[" + string(upper) + string(r) + "]")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// reference restricts a string to an opaque reference. It has no white space, so it needs
// no trimming.
func (l limits) reference(s *jsonschema.Schema) {
	lengths(s, 1, l.profile.Limits().Ref)
	s.Not = &jsonschema.Schema{AnyOf: resolvingPatterns()}
}

// text returns a restriction to text that is not blank.
func (l limits) text(pick func(artifact.Limits) int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		lengths(s, 1, pick(artifact.V1.Limits()))
		s.Pattern = "[^" + space + "]"
		if l.profile == artifact.Assay {
			s.AnyOf = trimmed(pick(artifact.Assay.Limits()))
		}
	}
}

// label returns a restriction to text without control characters.
func (l limits) label(pick func(artifact.Limits) int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		l.text(pick)(s)
		s.Not = &jsonschema.Schema{Pattern: "[" + control + "]"}
	}
}

// trimmed limits the length of a trimmed string, in code points. A longer string must
// begin or end with white space. The rest of such a string is limited only to twice the
// limit, because an engine may count UTF-16 code units, and a character has up to two.
func trimmed(limit int) []*jsonschema.Schema {
	rest := fmt.Sprintf(`[^%s]([\s\S]{0,%d}[^%s])?`, space, 2*limit-2, space)
	short := &jsonschema.Schema{Description: fmt.Sprintf("At most %d code points, untrimmed.", limit)}
	short.MaxLength = uintPtr(limit)
	return []*jsonschema.Schema{short, {
		Description: fmt.Sprintf("Longer, with white space at an end, which is not counted. The decoder checks the limit of %d; this pattern allows twice as much.", limit),
		Pattern:     fmt.Sprintf("^([%s]+%s[%s]*|%s[%s]+)$", space, rest, space, rest, space),
	}}
}

func lengths(s *jsonschema.Schema, least, most int) {
	s.MinLength, s.MaxLength = uintPtr(least), uintPtr(most)
}

func uintPtr(n int) *uint64 { return new(uint64(n)) }
