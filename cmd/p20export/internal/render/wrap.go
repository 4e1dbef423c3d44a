package render

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// lineColumns is how many columns a line of text has at most. It is not the
// width of the terminal, so that the output is the same everywhere.
const lineColumns = 120

// wrap breaks a line of text that is too long at its spaces. A tab ends the
// line's label: it prints nothing, and the lines that follow are indented as far.
// Without a tab they are indented by two columns more than the line itself. A
// word that is too long for a line of its own is broken where the line ends.
func wrap(text string) string {
	own := len(text) - len(strings.TrimLeft(text, " "))
	hang := own + 2
	label, rest, ok := strings.Cut(text, "\t")
	if ok {
		text = label + rest
		if n := columns(label); n <= lineColumns/2 {
			hang = n
		}
	}
	if len(text) <= lineColumns || columns(text) <= lineColumns {
		return text
	}
	hang = min(hang, lineColumns/2)
	indent := "\n" + strings.Repeat(" ", hang)
	var b strings.Builder
	for at := 0; text != ""; {
		word := strings.TrimLeft(text, " ")
		spaces := len(text) - len(word)
		if word == "" {
			break
		}
		if end := strings.IndexByte(word, ' '); end >= 0 {
			word = word[:end]
		}
		text = text[spaces+len(word):]
		if n := at + spaces + columns(word); n <= lineColumns || at+spaces <= hang {
			b.WriteString(strings.Repeat(" ", spaces))
			at += spaces
		} else {
			b.WriteString(indent)
			at = hang
		}
		for {
			head, n := cutColumns(word, lineColumns-at)
			b.WriteString(head)
			at += n
			if word = word[len(head):]; word == "" {
				break
			}
			b.WriteString(indent)
			at = hang
		}
	}
	return b.String()
}

// columns is how many columns of a terminal a text takes. Colours take none.
func columns(text string) int {
	_, n := cutColumns(text, len(text))
	return n
}

// cutColumns returns the beginning of a text that fits into so many columns, and
// how many it takes.
func cutColumns(text string, most int) (head string, n int) {
	end := 0
	for end < len(text) {
		size, cells := nextShown(text[end:])
		if n+cells > most {
			break
		}
		end, n = end+size, n+cells
	}
	return text[:end], n
}

var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^\x1b\\[[0-9;]*m") })

// nextShown returns the size of what a text begins with, and how many columns it
// takes: a colour, or the characters that are shown as one.
func nextShown(text string) (size, cells int) {
	switch {
	case text[0] == '\x1b':
		if size = len(colours().FindString(text)); size > 0 {
			return size, 0
		}
	case text[0] >= ' ' && text[0] <= '~' && (len(text) == 1 || text[1] < utf8.RuneSelf):
		return 1, 1
	}
	cluster, _, cells, _ := uniseg.FirstGraphemeClusterInString(text, -1)
	if cells <= 2 {
		return len(cluster), cells
	}
	// A letter with marks that have a width of their own.
	_, size = utf8.DecodeRuneInString(cluster)
	return size, uniseg.StringWidth(cluster[:size])
}
