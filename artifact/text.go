package artifact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsSpace reports whether r is white space according to the contract: white space as
// defined by package unicode, and U+001C to U+001F. This is the set that Python's
// str.strip removes.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// IsBlank reports whether s is empty after trimming white space.
func IsBlank(s string) bool { return strings.TrimFunc(s, IsSpace) == "" }

// Trim returns s without leading and trailing white space.
func Trim(s string) string { return strings.TrimFunc(s, IsSpace) }

// HasControl reports whether s contains a control character (Unicode category Cc).
func HasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// Prefix returns the first n code points of s. Half of a surrogate pair counts
// as one code point.
func Prefix(s string, n int) string {
	for i := range len(s) {
		if !utf8.RuneStart(s[i]) {
			continue
		}
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func runes(s string) int { return utf8.RuneCountInString(s) }
