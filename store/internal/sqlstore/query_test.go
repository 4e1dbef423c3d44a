package sqlstore

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestEndOfPrefix checks that exactly the texts with a prefix are between it and its end.
func TestEndOfPrefix(t *testing.T) {
	t.Parallel()
	char := rapid.OneOf(rapid.SampledFrom([]rune{'a', 'b', '\u007f', '\u0080', '\uD7FF', '\uE000', '\uFFFF', '\U00010000', utf8.MaxRune}), rapid.Rune())
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringOfN(char, 1, 3, -1).Draw(t, "prefix")
		text := rapid.StringOfN(char, 0, 3, -1).Draw(t, "text")
		if rapid.Bool().Draw(t, "has the prefix") {
			text = prefix + text
		}
		end := endOfPrefix(prefix)
		if !utf8.ValidString(end) {
			t.Fatalf("the end %+q of %+q is not valid", end, prefix)
		}
		if got := text >= prefix && (end == "" || text < end); got != strings.HasPrefix(text, prefix) {
			t.Fatalf("%+q, %+q, %+q: %t", prefix, text, end, got)
		}
	})
}
