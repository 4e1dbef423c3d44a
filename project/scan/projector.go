package scan

import (
	"iter"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
)

// Projector is a consumer that projects runs in memory. All projections of a run
// share its folded text and one copy of each snapshot.
type Projector struct {
	// Request is the content of the capture's request.json, or nil if there is
	// none.
	Request []byte
	// Settings returns the settings for projecting a run. The run is skipped if
	// there are none. The function must not be nil, and must have called
	// Normalize on the settings that it returns.
	Settings func(run *envelope.Run) []project.Settings
	// KeepTexts keeps all streamed texts for Projection.Fold.
	KeepTexts bool
	// Handle is called at the end of each projected run with the projections, in
	// the order of the settings. Each projection is computed when the sequence
	// reaches it. If Handle returns an error, reading stops. Handle must not be
	// nil.
	Handle func(run *envelope.Run, projections iter.Seq[*Projection]) error
}

// Projection is the result of projecting a run with one of the settings.
type Projection struct {
	project.Settings
	// Output is nil if the run is refused. Findings about the whole capture are
	// known only in Finish.
	Output *project.Output
	// Findings are the reasons for a refusal, or notes about the output. They are
	// sorted.
	Findings []finding.Finding

	run       *envelope.Run
	request   []byte
	collector *project.Collector
}

// Fold returns the messages of the run's request and stream. The projection must be
// FoldedStream, and the Projector must have kept the texts.
func (p *Projection) Fold() project.FoldResult { return p.collector.Fold(p.run, p.request) }

// Begin implements Consumer.
func (p *Projector) Begin(run *envelope.Run) Observer {
	settings := p.Settings(run)
	if len(settings) == 0 {
		return nil
	}
	collector := project.NewCollector(settings...)
	if p.KeepTexts {
		collector.KeepTexts()
	}
	return &runProjector{projector: p, settings: settings, collector: collector}
}

// Finish implements Consumer.
func (p *Projector) Finish(Result) error { return nil }

// runProjector projects one run.
type runProjector struct {
	projector *Projector
	settings  []project.Settings
	collector *project.Collector
}

// Event implements Observer.
func (o *runProjector) Event(e *envelope.Event) { o.collector.Observe(e) }

// End implements Observer.
func (o *runProjector) End(run *envelope.Run) error {
	return o.projector.Handle(run, func(yield func(*Projection) bool) {
		for _, s := range o.settings {
			p := &Projection{Settings: s, run: run, request: o.projector.Request, collector: o.collector}
			p.Output, p.Findings = o.collector.Project(run, o.projector.Request, s)
			if !yield(p) {
				return
			}
		}
	})
}

// WithOmissions returns the findings together with a summary of the omissions.
func (p *Projection) WithOmissions() []finding.Finding {
	if p.Output != nil {
		if omitted, ok := p.Output.OmissionsFinding(); ok {
			return append(slices.Clip(p.Findings), omitted)
		}
	}
	return p.Findings
}

// Advise adds a hint to the finding snapshot_missing. The hint suggests FoldedStream
// if that projection froze the same run, and otherwise says why it did not.
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

// ConfirmAdvice removes hints that suggest projections, unless one of these froze the run.
// The function frozen reports whether a projection did; if choose is true, with a chosen
// snapshot.
func ConfirmAdvice(findings []finding.Finding, frozen func(p project.Name, choose bool) bool) []finding.Finding {
	var names []string
	for _, name := range project.Names() {
		names = append(names, string(name))
	}
	confirmed := slices.Clone(findings)
	for i := range confirmed {
		suggested, choose := hint.Projections(confirmed[i].Hint, names)
		froze := func(name string) bool { return frozen(project.Name(name), choose) }
		if suggested != nil && !slices.ContainsFunc(suggested, froze) {
			confirmed[i].Hint = ""
		}
	}
	return confirmed
}

// MergeFindings returns the sorted findings about a projected run and about the
// capture. The projection is not valid if the capture is refused. In that case the
// list omits the findings about omissions and about the operator's times, and has no
// hint to use another projection.
func (r Result) MergeFindings(ofRun []finding.Finding) (list []finding.Finding, valid bool) {
	valid = !finding.Failed(r.Findings)
	list = append(make([]finding.Finding, 0, len(r.Findings)+len(ofRun)), r.Findings...)
	for _, f := range ofRun {
		if !valid && f.Code == finding.SnapshotMissing {
			about, _ := finding.Describe(f.Code)
			f = f.WithHint("%s", about.Hint)
		}
		if valid || f.Code != finding.OmissionsRecorded && f.Code != finding.OperatorAsserted {
			list = append(list, f)
		}
	}
	finding.Sort(list)
	return list, valid
}
