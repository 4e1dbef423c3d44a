package document

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
)

// A spool of any length returns the added parts in order, and close removes the temporary
// file.
func TestPieces(t *testing.T) {
	for _, n := range []int{0, 1, maxHeld / 100, 3 * maxHeld / 100} {
		var p spool
		var want strings.Builder
		for i := range n {
			piece := fmt.Sprintf("%099d\n", i)
			want.WriteString(piece)
			if err := p.add([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		r, err := p.reader()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != want.String() || (p.file != nil) != (n*100 >= maxHeld) {
			t.Errorf("%d pieces: %d bytes, %v, in a file: %t", n, len(got), err, p.file != nil)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
}

// A document is encoded row by row. Writing it at the end only copies the rows.
func TestDocumentEncodedOnce(t *testing.T) {
	for name, doc := range map[string]func() Document{
		"sarif": func() Document { return &sarifLog{} },
		"junit": func() Document { return &junitSuite{command: "validate"} },
	} {
		allocations := func(rows int) float64 {
			d := doc()
			row := Result{Name: "a", File: "a", Outcome: Negative, Findings: []finding.Finding{finding.New(finding.KeyUnknown, "m")}}
			for range rows {
				if err := d.Add(row); err != nil {
					t.Fatal(err)
				}
			}
			return testing.AllocsPerRun(10, func() {
				if err := d.Write(bufio.NewWriter(io.Discard)); err != nil {
					t.Error(err)
				}
			})
		}
		if few, many := allocations(10), allocations(1000); many > few+20 {
			t.Errorf("%s: %.0f allocations for 10 rows, %.0f for 1000", name, few, many)
		}
	}
}
