package render

import (
	"strings"

	"github.com/p20export/p20export/finding"
)

// cell is one field of a table.
type cell struct{ text, colour string }

// widestCell is the maximum width of a cell that shares a line with others. A wider cell
// gets its own line.
const widestCell = 56

// table prints rows of cells in columns. The last cell of a row is wrapped if it is too
// long. A row with one cell is a heading. Texts are escaped for the terminal.
func (p *Printer) table(rows [][]cell) {
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range row {
			row[i].text = finding.Escape(row[i].text)
			if n := columns(row[i].text); i < last && n <= widestCell && len(row) > 1 {
				widths[i] = max(widths[i], n)
			}
		}
	}
	for _, row := range rows {
		if len(row) == 1 {
			p.line("%s", p.paint(row[0].colour, row[0].text))
			continue
		}
		var line strings.Builder
		at := 0
		for i, width := range widths {
			c := row[i]
			n := columns(c.text)
			if n > width {
				p.line("%s", p.paint(c.colour, c.text))
				c.text, n = "", 0
			}
			line.WriteString(string(p.paint(c.colour, c.text)) + strings.Repeat(" ", width-n+2))
			at += width + 2
		}
		for i, text := range fold(row[last].text, lineColumns-at) {
			if i > 0 {
				line.WriteString("\n" + strings.Repeat(" ", at))
			}
			line.WriteString(string(p.paint(row[last].colour, text)))
		}
		p.Raw([]byte(strings.TrimRight(line.String(), " ") + "\n"))
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
