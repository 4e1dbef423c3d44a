package render

import (
	"slices"
	"strings"

	"github.com/p20export/p20export/finding"
)

// cell is one field of a table.
type cell struct{ text, colour string }

// widestCell is the maximum width of a cell after which a line continues.
const widestCell = 56

// leastLast is how much of a line the last column has, if its cells need it.
const leastLast = 28

// table prints rows of cells in columns. The last cell of a row is wrapped if it is too
// long. After another cell that is too wide for its column, the row continues on a new line.
// A row with one cell is a heading. Texts are escaped for the terminal.
func (p *Printer) table(rows [][]cell) {
	for _, row := range rows {
		for i := range row {
			row[i].text = finding.Escape(row[i].text)
		}
	}
	widths := tableWidths(rows)
	last := len(widths)
	for _, row := range rows {
		if len(row) == 1 {
			p.line("%s", p.paint(row[0].colour, row[0].text))
			continue
		}
		line, at := "", 0
		for i, width := range widths {
			c := row[i]
			n := columns(c.text)
			if n > width {
				p.line("%s\t%s", painted(line), p.paint(c.colour, c.text))
				line, c.text, n = strings.Repeat(" ", at), "", 0
			}
			line += string(p.paint(c.colour, c.text)) + strings.Repeat(" ", width-n+2)
			at += width + 2
		}
		for i, text := range fold(row[last].text, lineColumns-at) {
			if i > 0 {
				line += "\n" + strings.Repeat(" ", at)
			}
			line += string(p.paint(row[last].colour, text))
		}
		p.Raw([]byte(strings.TrimRight(line, " ") + "\n"))
	}
}

// tableWidths returns the widths of the columns except for the last, such that a line has
// room for it. If there is not enough, the widest cells are left out.
func tableWidths(rows [][]cell) []int {
	last := 0
	for _, row := range rows {
		last = max(last, len(row)-1)
	}
	sizes := make([][]int, len(rows))
	room := 0
	for i, row := range rows {
		for _, c := range row {
			sizes[i] = append(sizes[i], columns(c.text))
		}
		if len(row) > 1 {
			room = max(room, min(sizes[i][last], leastLast))
		}
	}
	most := slices.Repeat([]int{widestCell}, last)
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
		if total <= lineColumns || widths[widest] == 0 {
			return widths
		}
		most[widest] = widths[widest] - 1
	}
}

// blockRows is the number of rows of a list that are aligned with each other. The list can
// be longer than what fits into memory.
const blockRows = 1000

// listed adds a row to a list that is printed in columns. The first row is printed below the
// head.
func (p *Printer) listed(head, row []cell) {
	if p.block == nil {
		p.block = append(p.block, head)
	}
	if p.block = append(p.block, row); len(p.block) >= blockRows {
		p.printBlock()
	}
}

// printBlock prints the rows of a list that were not printed yet.
func (p *Printer) printBlock() {
	if len(p.block) > 0 {
		p.table(p.block)
		p.block = p.block[:0]
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
