package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/artifact"
)

// Patterns are written in what RE2, ECMA-262 (with the u flag and without) and
// Python's re read alike: characters of a class stand for themselves, digits
// are [0-9], nothing looks ahead. ($ alone differs: to Python it also stands
// before a newline at the end, so that more is accepted there.) No class names
// a character outside the Basic Multilingual Plane, so that a half of a pair is
// read as what it is: no white space and no control character.

const hexDigits = "[0-9a-f]{64}"

// pointer is RFC 6901 §3.
const pointer = "^(/([^/~]|~[01])*)*$"

// The parts of a timestamp (RFC 3339 §5.6). The year is not 0000 and a month
// has the days it has in a leap year.
const (
	date  = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))"
	clock = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)

// The spellings of a time: as the contract takes it, as artifacts of this
// program have it, as manifests have it.
const (
	anyTime      = "^" + date + "T" + clock + `(\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	ownTime      = "^" + date + "T" + clock + `(\.[0-9]{6})?Z$`
	manifestTime = "^" + date + "T" + clock + `\.[0-9]{6}Z$`
)

// class returns the inside of a character class, each character as itself.
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
	space   = class(artifact.IsSpace)
	control = class(unicode.IsControl)
	either  = class(func(r rune) bool { return artifact.IsSpace(r) || unicode.IsControl(r) })
)

// timed holds a string to one spelling of a time.
func timed(pattern string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Type, s.Format, s.Pattern = "string", "", pattern }
}

// limits narrows strings as a profile does.
type limits struct{ profile artifact.Profile }

// Parts of a host (rule A29). A label is named by what is not in it among the
// characters that a reference can hold, so that code points past the Basic
// Multilingual Plane are in it to every engine.
const (
	number255 = "(25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})"
	address   = `([Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]\.?|` + number255 + `(\.` + number255 + `){3}\.?|\[[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\])`
	notLabel  = "!-$&-,./:-@\\[-^`{-~"
	domain    = `([^` + notLabel + `]+\.)+[^0-9` + notLabel + `][^` + notLabel + `]*\.?`
)

// resolving are what the references match that A12 to A14 and A27 to A29 refuse.
func resolving() []*jsonschema.Schema {
	var schemes []string
	for _, s := range artifact.ForbiddenSchemes() {
		schemes = append(schemes, anyCase(s))
	}
	return []*jsonschema.Schema{
		{Description: "A link, white space or a control character.", Pattern: "://|[" + either + "]"},
		{Description: "A link without its scheme.", Pattern: `^([/\\]{2}|[Ww]{3}\.)`},
		{Description: "A scheme that programs open.", Pattern: "^(" + strings.Join(schemes, "|") + "):"},
		{Description: "A host, as a link has one.", Pattern: `^([^/\\?#]*@)?((` + address + `|` + domain + `)(:[0-9]+)?[/\\?#]|` + address + `:[0-9]+$)`},
	}
}

// anyCase matches an ASCII word in upper and in lower case.
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

// ref is an opaque reference. It holds no white space, so that trimming leaves
// it as it is.
func (l limits) ref(s *jsonschema.Schema) {
	between(s, 1, l.profile.Limits().Ref)
	s.Not = &jsonschema.Schema{AnyOf: resolving()}
}

// text is text that is not blank.
func (l limits) text(pick func(artifact.Limits) int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		between(s, 1, pick(artifact.V1.Limits()))
		s.Pattern = "[^" + space + "]"
		if l.profile == artifact.Assay {
			s.AnyOf = trimmed(pick(artifact.Assay.Limits()))
		}
	}
}

// label is text without control characters.
func (l limits) label(pick func(artifact.Limits) int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		l.text(pick)(s)
		s.Not = &jsonschema.Schema{Pattern: "[" + control + "]"}
	}
}

// trimmed bounds a string as it is after trimming, in code points. A string
// that is longer as it stands must begin or end with white space. Its rest is
// bounded by twice the limit only: an engine may count UTF-16 code units, of
// which a character has up to two.
func trimmed(limit int) []*jsonschema.Schema {
	rest := fmt.Sprintf(`[^%s]([\s\S]{0,%d}[^%s])?`, space, 2*limit-2, space)
	short := &jsonschema.Schema{Description: fmt.Sprintf("At most %d code points as it stands.", limit)}
	short.MaxLength = number(limit)
	return []*jsonschema.Schema{short, {
		Description: fmt.Sprintf("Longer, with white space at an end that is not counted. The limit of %d is checked by the decoder; this pattern holds for twice as much.", limit),
		Pattern:     fmt.Sprintf("^([%s]+%s[%s]*|%s[%s]+)$", space, rest, space, rest, space),
	}}
}

func between(s *jsonschema.Schema, least, most int) {
	s.MinLength, s.MaxLength = number(least), number(most)
}

func number(n int) *uint64 { return new(uint64(n)) }
