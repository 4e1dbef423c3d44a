package project

import (
	"strings"
	"testing"
)

// contains agrees with strings.Contains on every pair of short texts of two letters,
// which have all kinds of periods, and on longer ones made of those.
func TestContains(t *testing.T) {
	words := []string{""}
	for i := 0; len(words[i]) < 9; i++ {
		words = append(words, words[i]+"a", words[i]+"b")
	}
	found := 0
	check := func(text, part string) {
		got := contains(text, part)
		if got != strings.Contains(text, part) {
			t.Fatalf("%q in %q: %t", part, text, got)
		}
		if got {
			found++
		}
	}
	for _, part := range words[1:256] {
		for _, text := range words {
			check(text, part)
		}
		for _, text := range words[len(words)-64:] {
			long := strings.Repeat(text, 3) + part + text
			check(long, part)
			check(long, part+part)
			check(long, strings.Repeat(part, 5)+"b")
			check(long[1:], part+text)
		}
	}
	if found < 10_000 {
		t.Errorf("only %d parts were within their texts", found)
	}
}
