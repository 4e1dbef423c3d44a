package render

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/validate"
)

// A format that is one document does not keep its findings in memory, neither before nor
// while it is written.
func TestDocumentMemory(t *testing.T) {
	const files, each, limit = 300, finding.MaxListed, 4 << 20
	for _, f := range []Format{SARIF, JUnit} {
		out := &heapWatcher{}
		p := New(out, f, record.Tool{Name: "p20export", Version: "1.0.0"})
		var tally Tally
		out.watch()
		for i := range files {
			row := validate.Row{File: fmt.Sprintf("%d.json", i), Profile: artifact.V1, Verdict: project.Malformed, Bytes: 1}
			sum := digest.Of([]byte(row.File))
			row.Digest = &sum
			for k := range each {
				row.Findings = append(row.Findings, finding.New(finding.KeyUnknown, "finding %d of file %d", k, i).WithOffset(int64(k)))
			}
			tally.Add(row.Verdict)
			p.Validation(row)
			if i%50 == 0 {
				out.watch()
			}
		}
		p.ValidationSummary(&tally)
		if err := p.Close(nil); err != nil {
			t.Fatal(err)
		}
		if out.written < files*each*50 || out.most-out.first > limit {
			t.Errorf("%s: %d bytes are written, and up to %d were held", f, out.written, out.most-out.first)
		}
	}
}

// heapWatcher is a writer that records the memory in use.
type heapWatcher struct {
	written, next int
	first, most   uint64
}

func (w *heapWatcher) watch() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if w.first == 0 {
		w.first = m.HeapAlloc
	}
	w.most = max(w.most, m.HeapAlloc)
}

func (w *heapWatcher) Write(b []byte) (int, error) {
	if w.written += len(b); w.written >= w.next {
		w.next += 2 << 20
		w.watch()
	}
	return len(b), nil
}

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

// If the temporary file cannot be created, the result cannot be written.
func TestPiecesWithoutDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	p := New(io.Discard, JUnit, record.Tool{})
	row := validate.Row{Verdict: project.Malformed, Findings: []finding.Finding{finding.New(finding.KeyUnknown, "m")}}
	for range 2 * maxHeld / 200 {
		p.Validation(row)
	}
	p.ValidationSummary(&Tally{})
	if err := p.Close(nil); err == nil {
		t.Error("the result was written")
	}
}

// A document is encoded row by row. Writing it at the end only copies the rows.
func TestDocumentEncodedOnce(t *testing.T) {
	for name, doc := range map[string]func() document{
		"sarif": func() document { return &sarifLog{} },
		"junit": func() document { return &junitSuite{command: "validate"} },
	} {
		allocations := func(rows int) float64 {
			d := doc()
			row := result{name: "a", file: "a", status: Negative, findings: []finding.Finding{finding.New(finding.KeyUnknown, "m")}}
			for range rows {
				if err := d.add(row); err != nil {
					t.Fatal(err)
				}
			}
			return testing.AllocsPerRun(10, func() {
				if err := d.write(bufio.NewWriter(io.Discard)); err != nil {
					t.Error(err)
				}
			})
		}
		if few, many := allocations(10), allocations(1000); many > few+20 {
			t.Errorf("%s: %.0f allocations for 10 rows, %.0f for 1000", name, few, many)
		}
	}
}
