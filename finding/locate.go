package finding

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Excerpt is the line of a finding, escaped as by Printable and shortened on both
// sides if it is long. The zero value is no excerpt.
type Excerpt struct {
	// Text is the line, with … where text was removed.
	Text string
	// At is the byte offset in Text of the finding's place, or len(Text) if the
	// place is the end of the line.
	At int
}

// Caret returns the number of terminal cells before the place. If the place is
// inside a grapheme cluster, Caret returns the number of cells before the cluster.
func (e Excerpt) Caret() int {
	cells, shown := 0, 0
	for rest, state := e.Text, -1; rest != ""; {
		cluster, after, width, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if shown += len(cluster); shown > e.At {
			break
		}
		cells += width
		rest, state = after, next
	}
	return cells
}

// Locate sets the line, column and excerpt of each finding whose offset is in
// data or at its end. Lines end with LF or CRLF, as in editors; a lone CR does not
// end a line. Columns count code points; an invalid byte counts as one.
//
// Data may be the beginning of a longer file. Findings past the end of data get no
// line, and the last excerpt ends at the end of data. If the findings are sorted,
// Locate reads data once, even if its lines are long.
func Locate(data []byte, list []Finding) {
	place := cursor{data: data, line: 1, column: 1}
	for i := range list {
		f := &list[i]
		if f.Offset == nil || *f.Offset < 0 || *f.Offset > int64(len(data)) {
			continue
		}
		place.moveTo(runeStart(data, int(*f.Offset)))
		f.Line, f.Column, f.Excerpt = place.line, place.column, place.excerpt()
	}
}

// cursor is a place in data, with its line and column.
type cursor struct {
	data         []byte
	at           int
	line, column int
	start        int     // offset of the line's first byte
	left, right  []piece // buffers for excerpts
}

func (c *cursor) moveTo(at int) {
	if at < c.at {
		c.at, c.line, c.column, c.start = 0, 1, 1, 0
	}
	between := c.data[c.at:at]
	if n := bytes.Count(between, []byte{'\n'}); n > 0 {
		c.line += n
		c.column = 1
		c.start = c.at + bytes.LastIndexByte(between, '\n') + 1
		between = c.data[c.start:at]
	}
	c.column += utf8.RuneCount(between)
	c.at = at
}

// runeStart returns the offset of the code point that contains the byte at.
func runeStart(data []byte, at int) int {
	for i := at - 1; i >= max(0, at-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(data[i]) {
			if _, size := utf8.DecodeRune(data[i:]); i+size > at {
				return i
			}
			break
		}
	}
	return at
}

const (
	// excerptCells is the maximum width of an excerpt without its two ellipses.
	excerptCells = 74
	// excerptBytes is how many bytes of the line are read on each side of the place.
	excerptBytes = 320
)

// excerpt returns the line around the place.
func (c *cursor) excerpt() Excerpt {
	from := c.start
	if c.at-from > excerptBytes {
		from = runeStart(c.data, c.at-excerptBytes)
	}
	to := min(len(c.data), c.at+excerptBytes)
	ends := to == len(c.data)
	if n := bytes.IndexByte(c.data[c.at:to], '\n'); n >= 0 {
		to, ends = c.at+n, true
	} else if !ends {
		to = runeStart(c.data, to)
	}
	// The CR of a CRLF is not part of the line. It may be on either side of the place.
	if to < len(c.data) && c.data[to] == '\n' && to > c.start && c.data[to-1] == '\r' {
		to--
	}
	c.left = pieces(c.left[:0], string(c.data[from:max(from, min(c.at, to))]), math.MaxInt)
	c.right = pieces(c.right[:0], string(c.data[c.at:max(c.at, to)]), excerptCells)
	left, right := c.left, c.right
	leftCells, rightCells := cellsOf(left), cellsOf(right)
	half := excerptCells / 2
	room := max(half, excerptCells-rightCells)
	cutLeft, cutRight := from > c.start, !ends
	for ; leftCells > room; left = left[1:] {
		leftCells, cutLeft = leftCells-left[0].cells, true
	}
	for ; rightCells > excerptCells-leftCells; right = right[:len(right)-1] {
		rightCells, cutRight = rightCells-right[len(right)-1].cells, true
	}
	var text strings.Builder
	if cutLeft {
		text.WriteString("…")
	}
	for _, p := range left {
		text.WriteString(p.text)
	}
	at := text.Len()
	for _, p := range right {
		text.WriteString(p.text)
	}
	if cutRight {
		text.WriteString("…")
	}
	return Excerpt{Text: text.String(), At: at}
}

// piece is an escaped grapheme cluster and its width in cells.
type piece struct {
	text  string
	cells int
}

// pieces appends the pieces of line to list. It stops after the first piece that
// exceeds the given number of cells.
func pieces(list []piece, line string, cells int) []piece {
	for state := -1; line != "" && cells >= 0; {
		p := piece{}
		p.text, line, p.cells, state = uniseg.FirstGraphemeClusterInString(line, state)
		if len(p.text) > 1 || p.text[0] < ' ' || p.text[0] > '~' {
			p.text = Printable(p.text)
			p.cells = uniseg.StringWidth(p.text)
		}
		list = append(list, p)
		cells -= p.cells
	}
	return list
}

func cellsOf(list []piece) int {
	n := 0
	for _, p := range list {
		n += p.cells
	}
	return n
}
