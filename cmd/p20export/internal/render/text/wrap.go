package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// LineColumns is the maximum width of a line of text, in columns. It does not depend on
// the terminal, so that the output is the same everywhere.
const LineColumns = 120

// wrap splits a line of text that is too long at its spaces. A tab marks the end of the
// line's label: it is removed, and the following lines are indented to that column.
// Without a tab they are indented by two columns more than the line itself. A word that
// is longer than a line is split at the end of the line.
func wrap(text string) string {
	own := len(text) - len(strings.TrimLeft(text, " "))
	hang := own + 2
	label, rest, ok := strings.Cut(text, "\t")
	if ok {
		text = label + rest
		if n := columns(label); n <= LineColumns/2 {
			hang = n
		}
	}
	if len(text) <= LineColumns || columns(text) <= LineColumns {
		return text
	}
	hang = min(hang, LineColumns/2)
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
		if n := at + spaces + columns(word); n <= LineColumns || at+spaces <= hang {
			b.WriteString(strings.Repeat(" ", spaces))
			at += spaces
		} else {
			b.WriteString(indent)
			at = hang
		}
		for {
			head, n := cutColumns(word, LineColumns-at)
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

// columns returns the width of a text on a terminal. Colours have no width.
func columns(text string) int {
	_, n := cutColumns(text, len(text))
	return n
}

// cutColumns returns the longest beginning of a text that fits into most columns, and
// its width.
func cutColumns(text string, most int) (head string, n int) {
	end := 0
	for end < len(text) {
		size, cells := nextCluster(text[end:])
		if n+cells > most {
			break
		}
		end, n = end+size, n+cells
	}
	return text[:end], n
}

var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^\x1b\\[[0-9;]*m") })

// nextCluster returns the size and the width of the first colour sequence or grapheme
// cluster of a text.
func nextCluster(text string) (size, cells int) {
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
	// A letter with combining marks that have a width.
	_, size = utf8.DecodeRuneInString(cluster)
	return size, uniseg.StringWidth(cluster[:size])
}
