package scan

import (
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// RunDetector looks for a run in a response while it is recorded or imported: its Frame
// is given to what counts the frames.
type RunDetector struct {
	found bool
	begin beginning
}

// Frame takes the next frame of the response.
func (w *RunDetector) Frame(f capture.Frame) {
	w.begin.frame(f.Data)
	if !w.found {
		e, err := envelope.ReadEvent(f.Data)
		w.found = err == nil && e.Type == envelope.RunStarted
	}
}

// Report adds a warning to what is known of a closed capture when its events hold
// no run. An HTTP error is the reason already, and a response without events, or
// with events that were not all counted, has a finding of its own.
func (w *RunDetector) Report(r *capture.Result) {
	if w.found || r.Events == nil || *r.Events == 0 || finding.Has(r.Findings, finding.HTTPStatus) {
		return
	}
	f := finding.New(finding.NoRun, "the response holds no RUN_STARTED").WithSeverity(finding.Warning)
	r.Findings = append(r.Findings, w.begin.explain(f, ""))
}
