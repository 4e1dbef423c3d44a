//go:build programs || postgres || signatures || browser

package main

import (
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// A block is a fenced block of a document, with what follows the language.
type block struct{ name, text string }

// blocks returns the blocks of a document that begin with the fence.
func blocks(t *testing.T, doc, fence string) (list []block) {
	t.Helper()
	for rest := string(testkit.Read(t, doc)); ; {
		_, after, ok := strings.Cut(rest, "\n"+fence)
		if !ok {
			return list
		}
		name, after, _ := strings.Cut(after, "\n")
		text, after, closed := strings.Cut(after, "\n```\n")
		if !closed {
			t.Fatalf("%s: a block is not closed", doc)
		}
		list, rest = append(list, block{strings.TrimSpace(name), text + "\n"}), after
	}
}
