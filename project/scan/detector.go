package scan

import (
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// RunDetector detects whether a response contains a run while the response is recorded
// or imported.
type RunDetector struct {
	found bool
	begin prefixDetector
}

// Frame examines the next frame of the response.
func (w *RunDetector) Frame(f *capture.Frame) {
	w.begin.frame(f.Data)
	if !w.found {
		e, err := envelope.ReadEvent(f.Data)
		w.found = err == nil && e.Type == envelope.RunStarted
	}
}

// Report adds a warning to the result of a closed capture if its events contain no
// run. It adds no warning if another finding of the result explains the missing run:
// an HTTP error, a response without events, or events that were not all counted.
func (w *RunDetector) Report(r *capture.Result) {
	if w.found || r.Events == nil || *r.Events == 0 || finding.Has(r.Findings, finding.HTTPStatus) {
		return
	}
	f := finding.New(finding.NoRun, "the response contains no RUN_STARTED").WithSeverity(finding.Warning)
	r.Findings = append(r.Findings, w.begin.explainNoRun(f, ""))
}
