package text

import (
	"slices"
	"strings"

	"github.com/p20export/p20export/finding"
)

// Cell is one field of a table.
type Cell struct{ Text, Colour string }

// WidestCell is the maximum width of a cell after which a line continues.
const WidestCell = 56

// leastLast is how much of a line the last column has, if its cells need it.
const leastLast = 28

// Table prints rows of cells in columns. The last cell of a row is wrapped if it is too
// long. After another cell that is too wide for its column, the row continues on a new line.
// A row with one cell is a heading. Texts are escaped for the terminal.
func (w *Writer) Table(rows [][]Cell) {
	for _, row := range rows {
		for i := range row {
			row[i].Text = finding.Escape(row[i].Text)
		}
	}
	widths := tableWidths(rows)
	last := len(widths)
	for _, row := range rows {
		if len(row) == 1 {
			w.Line("%s", w.Paint(row[0].Colour, row[0].Text))
			continue
		}
		line, at := "", 0
		for i, width := range widths {
			c := row[i]
			n := columns(c.Text)
			if n > width {
				w.Line("%s\t%s", Painted(line), w.Paint(c.Colour, c.Text))
				line, c.Text, n = strings.Repeat(" ", at), "", 0
			}
			line += string(w.Paint(c.Colour, c.Text)) + strings.Repeat(" ", width-n+2)
			at += width + 2
		}
		for i, text := range fold(row[last].Text, LineColumns-at) {
			if i > 0 {
				line += "\n" + strings.Repeat(" ", at)
			}
			line += string(w.Paint(row[last].Colour, text))
		}
		w.out.Write([]byte(strings.TrimRight(line, " ") + "\n"))
	}
}

// tableWidths returns the widths of the columns except for the last, such that a line has
// room for it. If there is not enough, the widest cells are left out.
func tableWidths(rows [][]Cell) []int {
	last := 0
	for _, row := range rows {
		last = max(last, len(row)-1)
	}
	sizes := make([][]int, len(rows))
	room := 0
	for i, row := range rows {
		for _, c := range row {
			sizes[i] = append(sizes[i], columns(c.Text))
		}
		if len(row) > 1 {
			room = max(room, min(sizes[i][last], leastLast))
		}
	}
	most := slices.Repeat([]int{WidestCell}, last)
	for {
		widths, total, widest := make([]int, last), room, 0
		for i := range widths {
			for _, row := range sizes {
				if len(row) > 1 && row[i] <= most[i] {
					widths[i] = max(widths[i], row[i])
				}
			}
			if total += widths[i] + 2; widths[i] >= widths[widest] {
				widest = i
			}
		}
		if total <= LineColumns || widths[widest] == 0 {
			return widths
		}
		most[widest] = widths[widest] - 1
	}
}

// BlockRows is the number of rows of a list that are aligned with each other. The list can
// be longer than what fits into memory.
const BlockRows = 1000

// List adds a row to a list that is printed in columns. The first row is printed below the
// head.
func (w *Writer) List(head, row []Cell) {
	if w.block == nil {
		w.block = append(w.block, head)
	}
	if w.block = append(w.block, row); len(w.block) >= BlockRows {
		w.EndList()
	}
}

// Waiting returns the number of rows of a list that were not printed yet, with its head.
func (w *Writer) Waiting() int { return len(w.block) }

// EndList prints the rows of a list that were not printed yet.
func (w *Writer) EndList() {
	if len(w.block) > 0 {
		w.Table(w.block)
		w.block = w.block[:0]
	}
}

// fold splits a text at its spaces into lines of at most most columns. A word that is
// longer than a line is split at the end of the line.
func fold(text string, most int) []string {
	var lines []string
	line, at := "", 0
	for word := range strings.FieldsSeq(text) {
		for {
			space := min(at, 1)
			if n := columns(word); at+space+n <= most {
				line, at = line+" "[:space]+word, at+space+n
				break
			}
			if at == 0 {
				head, n := cutColumns(word, most)
				line, at, word = head, n, word[len(head):]
			}
			lines = append(lines, line)
			line, at = "", 0
		}
	}
	return append(lines, line)
}
