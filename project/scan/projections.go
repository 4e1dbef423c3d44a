package scan

import (
	"iter"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
)

// Projector is the consumer that projects runs, in memory. All projections of
// a run share one folding of its text and one copy of each snapshot.
type Projector struct {
	// Request is the capture's request.json; nil when there is none.
	Request []byte
	// Settings returns those under which a run is projected; the run is not
	// looked at when there are none. project.Settings.Normalize was called on
	// each.
	Settings func(run *envelope.Run) []project.Settings
	// Handle is called at the end of each projected run, with what each of the
	// settings makes of it, in their order. Each is made when it is asked for, so
	// only those that are kept take memory. An error ends the reading. Neither
	// function may be nil.
	Handle func(run *envelope.Run, made iter.Seq[*Projection]) error
}

// Projection is what a projection made of a run.
type Projection struct {
	project.Settings
	// Output is nil when the run is refused. Problems of the capture as a whole are
	// known only in Finish.
	Output *project.Output
	// Findings are why, or what is worth knowing of the output, in their order.
	Findings []finding.Finding

	run       *envelope.Run
	request   []byte
	collector *project.Collector
}

// Fold returns what the request and the stream say of the run's messages. The
// projection must be FoldedStream.
func (p *Projection) Fold() project.FoldResult { return p.collector.Fold(p.run, p.request) }

// Begin implements Consumer.
func (p *Projector) Begin(run *envelope.Run) Observer {
	settings := p.Settings(run)
	if len(settings) == 0 {
		return nil
	}
	return &projecting{of: p, settings: settings, collector: project.NewCollector(settings...)}
}

// Finish implements Consumer.
func (p *Projector) Finish(Result) error { return nil }

// projecting projects one run.
type projecting struct {
	of        *Projector
	settings  []project.Settings
	collector *project.Collector
}

// Event implements Observer.
func (o *projecting) Event(e *envelope.Event) { o.collector.Observe(e) }

// End implements Observer.
func (o *projecting) End(run *envelope.Run) error {
	return o.of.Handle(run, func(yield func(*Projection) bool) {
		for _, s := range o.settings {
			p := &Projection{Settings: s, run: run, request: o.of.Request, collector: o.collector}
			p.Output, p.Findings = o.collector.Project(run, o.of.Request, s)
			if !yield(p) {
				return
			}
		}
	})
}

// WithOmissions returns the findings and what was left out of the output.
func (p *Projection) WithOmissions() []finding.Finding {
	if p.Output != nil {
		if omitted, ok := p.Output.OmissionsFinding(); ok {
			return append(slices.Clip(p.Findings), omitted)
		}
	}
	return p.Findings
}

// Advise gives the finding that a run emitted no snapshot its next step, by what
// FoldedStream made of the same run: the projection is advised only if it froze
// the run.
func Advise(findings []finding.Finding, folded *Projection) []finding.Finding {
	at := slices.IndexFunc(findings, func(f finding.Finding) bool { return f.Code == finding.SnapshotMissing })
	if at < 0 {
		return findings
	}
	findings = slices.Clone(findings)
	if folded.Output != nil {
		findings[at] = findings[at].WithHint(hint.BuildSnapshot)
		return findings
	}
	why := finding.FindingsUnlisted
	for _, f := range folded.Findings {
		if f.Severity == finding.Error {
			why = f.Code
			break
		}
	}
	findings[at] = findings[at].WithHint(hint.NoProjection, why)
	return findings
}

// MergeFindings adds to the findings about a projected run those about the capture, in
// their order, and reports whether what was made of the run counts: it does not
// where the capture as a whole is refused. What was left out of an artifact, and
// who gave its times, is not listed then, and no projection is advised.
func (r Result) MergeFindings(of []finding.Finding) (list []finding.Finding, counts bool) {
	counts = !finding.Failed(r.Findings)
	list = append(make([]finding.Finding, 0, len(r.Findings)+len(of)), r.Findings...)
	for _, f := range of {
		if !counts && f.Code == finding.SnapshotMissing {
			about, _ := finding.Describe(f.Code)
			f = f.WithHint("%s", about.Hint)
		}
		if counts || f.Code != finding.OmissionsRecorded && f.Code != finding.OperatorAsserted {
			list = append(list, f)
		}
	}
	finding.Sort(list)
	return list, counts
}
