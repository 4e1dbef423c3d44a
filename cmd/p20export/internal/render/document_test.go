package render

import (
	"fmt"
	"io"
	"runtime"
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

// If the temporary file cannot be created, the result cannot be written.
func TestPiecesWithoutDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	p := New(io.Discard, JUnit, record.Tool{})
	row := validate.Row{Verdict: project.Malformed, Findings: []finding.Finding{finding.New(finding.KeyUnknown, "m")}}
	for range 2 << 20 / 200 {
		p.Validation(row)
	}
	p.ValidationSummary(&Tally{})
	if err := p.Close(nil); err == nil {
		t.Error("the result was written")
	}
}
