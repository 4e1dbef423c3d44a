package analysis

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// Analyze reads a capture once and describes each of its runs under a contract. If the
// capture cannot be read, Analyze returns one Run with the error as a finding.
func Analyze(ctx context.Context, path string, contract artifact.Profile, progress scan.Progress) []Run {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return []Run{Unreadable(path, contract, nil, err)}
	}
	defer c.Close()
	a, err := New(c, contract)
	if err == nil {
		_, err = scan.Run(ctx, c, progress, a)
	}
	if err != nil {
		return []Run{Unreadable(path, contract, c.Manifest(), err)}
	}
	return a.Runs()
}

// Analyzer is a scan.Consumer that describes the runs of one capture.
type Analyzer struct {
	// OnRun, if not nil, is called at the end of each run with the results of the
	// projections of project.Names, and one more result for the last snapshot.
	OnRun func(run *envelope.Run, made []*scan.Projection)

	path      string
	manifest  *capture.Manifest
	contract  artifact.Profile
	request   request
	project   scan.Projector
	settings  []project.Settings
	list      []Run
	listBytes int // size of the list as JSON
	types     EventTypes
}

// New returns an Analyzer for an open capture. It reads the request of the capture.
func New(c *capture.Capture, contract artifact.Profile) (*Analyzer, error) {
	a := &Analyzer{path: c.Path(), manifest: c.Manifest(), contract: contract, settings: Settings(contract)}
	for i := range a.settings {
		if err := a.settings[i].Normalize(); err != nil {
			return nil, err
		}
	}
	data, err := c.Request()
	if err != nil {
		return nil, err
	}
	a.request = readRequest(data)
	a.project.Request, a.project.KeepTexts = data, true
	a.project.Settings = func(*envelope.Run) []project.Settings { return a.settings }
	return a, nil
}

// Runs returns the runs of the capture, or one Run that describes a capture without
// runs. It must be called after Finish.
func (a *Analyzer) Runs() []Run { return a.list }

// EventTypes returns the types of the events read so far.
func (a *Analyzer) EventTypes() *EventTypes { return &a.types }

// Begin implements scan.Consumer.
func (a *Analyzer) Begin(run *envelope.Run) scan.Observer {
	o := &observer{analyzer: a}
	projections := a.project
	projections.Handle = o.describe
	o.projecting = projections.Begin(run)
	return o
}

// Finish implements scan.Consumer.
func (a *Analyzer) Finish(result scan.Result) error {
	if result.Runs == 0 {
		a.list = []Run{a.emptyRun(Refused)}
	}
	damaged := finding.Failed(result.Findings)
	for i := range a.list {
		e := &a.list[i]
		e.Capture, e.Digest, e.Bytes = a.path, result.Digest, result.Bytes
		e.Response = a.path
		if m := a.manifest; m != nil {
			e.Response = filepath.Join(a.path, result.Framing.FileName())
			e.ContentEncoded = m.Source.Headers["content-encoding"] != ""
			if m.Source.Status != nil {
				e.HTTPStatus = *m.Source.Status
			}
			if m.End != capture.EndEOF {
				e.End = m.End
			}
			e.label(m)
		}
		if damaged {
			e.refuse(result.Findings, &a.types)
		}
		e.Findings, _ = result.MergeFindings(e.Findings)
		e.Findings = scan.ConfirmAdvice(e.Findings, e.froze)
	}
	return nil
}

// froze reports whether a projection froze the run; if choose is true, with a chosen
// snapshot.
func (e *Run) froze(name project.Name, choose bool) bool {
	return slices.ContainsFunc(e.Projections, func(p Projection) bool {
		return p.Name == name && p.Verdict == project.Frozen && (p.Snapshot != "") == choose
	})
}

// label copies the labels from the manifest of a capture; m is nil for a plain file.
func (e *Run) label(m *capture.Manifest) {
	if m != nil {
		e.Integration = Integration{m.Labels[LabelIntegration], m.Labels[LabelVersion]}
		e.Scenario = m.Labels[LabelScenario]
	}
}

// Settings returns the settings of every projection. The last element is an additional
// projection of the last snapshot, which a folding is compared with.
func Settings(contract artifact.Profile) []project.Settings {
	var all []project.Settings
	for _, name := range project.Names() {
		all = append(all, project.Settings{Projection: name, Profile: contract})
	}
	return append(all, project.Settings{Projection: project.EmittedSnapshotText, Snapshot: project.Last})
}

// Unreadable describes a capture that could not be read because of err. The manifest is
// nil if it is not known.
func Unreadable(path string, contract artifact.Profile, m *capture.Manifest, err error) Run {
	f, isVerdict := finding.FromError(err)
	e := EmptyRun(contract, Failed)
	e.Capture, e.Response, e.Findings = path, path, []finding.Finding{f}
	if isVerdict {
		e.refuse(e.Findings, nil)
	}
	e.label(m)
	return e
}

// refuse makes the run refused, because the whole capture is invalid.
func (e *Run) refuse(why []finding.Finding, types *EventTypes) {
	e.Verdict, e.Events, e.Sizes, e.Texts = Refused, []project.Part{}, nil, nil
	for i := range e.Projections {
		p := &e.Projections[i]
		*p = Projection{Name: p.Name, Snapshot: p.Snapshot, Verdict: project.Refused, Reasons: append(reasons(why, types), p.Reasons...)}
	}
	for i := range e.Fields {
		e.Fields[i].Surfaced, e.Fields[i].ArtifactKey = false, ""
	}
}

// EmptyRun returns a Run that has only a contract and a verdict.
func EmptyRun(contract artifact.Profile, v Verdict) Run {
	e := Run{
		Contract: contract, Verdict: v,
		Projections: []Projection{}, Snapshots: []Snapshot{}, Fields: []Field{}, Events: []project.Part{},
		Findings: []finding.Finding{},
	}
	for _, name := range project.Names() {
		e.Projections = append(e.Projections, Projection{Name: name, Verdict: project.Refused})
	}
	return e
}

func (a *Analyzer) emptyRun(v Verdict) Run {
	e := EmptyRun(a.contract, v)
	e.Parent.Request, e.OmitsID = a.request.parent, a.request.omitsID()
	return e
}

// observer describes one run.
type observer struct {
	analyzer   *Analyzer
	projecting scan.Observer

	fields       fieldCounter
	ids          []string // ids of the last snapshot's messages
	events       int      // events so far
	snapshots    []Snapshot
	awaitingNext *Snapshot // the last snapshot, until the next event
	last         string    // type of the previous event
	timestamps   int
}

// Event implements scan.Observer.
func (x *observer) Event(e *envelope.Event) {
	x.analyzer.types.set(e.Index, e.Type)
	if _, ok := e.Get("timestamp"); ok {
		x.timestamps++
	}
	x.trackSnapshots(e)
	switch e.Type {
	case envelope.RunStarted, envelope.RunFinished, envelope.RunError:
		x.fields.event(e)
	case envelope.MessagesSnapshot:
		x.fields.snapshot(e)
		x.ids = messageIDs(&e.Object)
	}
	x.projecting.Event(e)
}

// End implements scan.Observer.
func (x *observer) End(run *envelope.Run) error { return x.projecting.End(run) }

// describe describes the run from the results of the projections.
func (x *observer) describe(run *envelope.Run, each iter.Seq[*scan.Projection]) error {
	if run.Number > scan.MaxRuns {
		return scan.TooManyRuns(run)
	}
	made := slices.Collect(each)
	if x.analyzer.OnRun != nil {
		x.analyzer.OnRun(run, made)
	}
	e := x.analyzer.emptyRun(Refused)
	number, id, families := run.Number, run.RunID, run.Families // copies, because run is reused
	e.Run, e.RunID, e.Families = &number, &id, families
	if run.Terminal != nil {
		e.Terminal = run.Terminal.Type
	}
	times, findings := project.ResolveTimes(run, project.OperatorTimes{})
	e.Times = Times{Source: times.Source, Timestamps: x.timestamps, Implausible: finding.Has(findings, finding.TimestampImplausible)}
	e.Parent.RunStarted, e.Parent.Input = parents(run.Started)
	e.Minted = mintedIDs(run, x.analyzer.request)
	for _, s := range x.snapshots {
		s.Remaining = x.events - s.ordinal
		e.Snapshots = append(e.Snapshots, s)
	}
	e.MoreSnapshots = run.SnapshotCount - len(e.Snapshots)

	last := made[len(made)-1]
	var frozen *scan.Projection
	for i, p := range made[:len(made)-1] {
		e.Projections[i] = x.analyzer.projection(p)
		if p.Output != nil && frozen == nil {
			frozen = p
		}
		switch p.Projection {
		case project.EmittedSnapshot:
			e.Findings = append(e.Findings, p.Findings...)
		case project.FoldedStream:
			e.Findings = scan.Advise(e.Findings, p)
			e.compareFolding(p.Fold(), last.Output, x.ids, x.analyzer.request)
		}
	}
	if run.SnapshotCount > 1 {
		if x.analyzer.contract == artifact.Assay && last.Output != nil && finding.Failed(last.Output.Assay) {
			finding.Locate(last.Output.Bytes, last.Output.Assay)
			last.Output, last.Findings = nil, last.Output.Assay
		}
		chosen := x.analyzer.projection(last)
		chosen.Snapshot = project.Last
		e.Projections = append(e.Projections, chosen)
		if last.Output != nil && frozen == nil {
			frozen = last
		}
	}
	if frozen != nil {
		e.setFrozen(run, frozen.Output)
		x.fields.markKept(frozen.Output)
		e.Verdict = VerdictOf(frozen.Projection, run.SnapshotCount, frozen.Findings)
		if frozen != last && frozen.Projection == project.EmittedSnapshotText {
			e.Findings = finding.AsWarnings(e.Findings) // only one projection refuses the run
		}
		e.addMissingText(frozen.Findings)
	}
	e.Fields = x.fields.result()
	return x.analyzer.keep(run, e)
}

// maxListBytes limits the JSON size of all runs of one capture, which are kept in
// memory until its end.
const maxListBytes = 64 << 20

// keep adds a run to the list. It fails if the list becomes too large.
func (a *Analyzer) keep(run *envelope.Run, e Run) error {
	data, err := json.Marshal(e, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if a.listBytes += len(data); a.listBytes > maxListBytes {
		return run.Started.Finding(finding.RunsTooMany, "the analysis of the capture's runs is larger than %d bytes", maxListBytes).WithHint("split the capture")
	}
	a.list = append(a.list, e)
	return nil
}

// addMissingText adds the finding that the snapshot lacks streamed text, if it is
// among the findings about the run's artifact.
func (e *Run) addMissingText(artifactFindings []finding.Finding) {
	at := slices.IndexFunc(artifactFindings, func(f finding.Finding) bool { return f.Code == finding.SnapshotLacksText })
	if at >= 0 && !finding.Has(e.Findings, finding.SnapshotLacksText) { // it is there unless emitted-snapshot refuses the run
		e.Findings = append(e.Findings, artifactFindings[at])
	}
}

func (e *Run) setFrozen(run *envelope.Run, out *project.Output) {
	e.Events = out.Parts
	e.Texts = &Texts{Messages: len(out.Artifact.Messages)}
	for _, m := range out.Artifact.Messages {
		n := utf8.RuneCountInString(artifact.Trim(m.Content))
		e.Texts.Longest = max(e.Texts.Longest, n)
		if n > artifact.Assay.Limits().Content {
			e.Texts.OverAssayLimit++
		}
	}
	e.Sizes = &Sizes{Run: run.Bytes, Envelope: len(out.Envelope), Artifact: len(out.Bytes), Compact: strictjson.CompactSize(out.Bytes)}
}

func (a *Analyzer) projection(p *scan.Projection) Projection {
	made := Projection{Name: p.Projection, Verdict: project.Refused}
	if p.Output == nil {
		made.Reasons = reasons(p.Findings, &a.types)
		return made
	}
	made.Verdict = project.Frozen
	for _, m := range p.Output.Artifact.Messages {
		made.Roles = append(made.Roles, m.Role)
	}
	made.Omissions = omissionReasons(p.Output.Omissions, &a.types)
	made.Assay = !finding.Failed(p.Output.Assay)
	return made
}
