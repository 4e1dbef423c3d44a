package discovery

import (
	"context"
	"path/filepath"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// Examine reads a capture once and describes each of its runs under a profile.
// It judges nothing else and writes nothing.
func Examine(ctx context.Context, path string, contract artifact.Profile, progress freeze.Progress) []Examination {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return []Examination{unexamined(path, contract, err)}
	}
	defer c.Close()
	fail := func(err error) []Examination {
		e := unexamined(path, contract, err)
		e.label(c.Manifest())
		return []Examination{e}
	}
	request, err := c.Request()
	if err != nil {
		return fail(err)
	}
	x := &examiner{contract: contract, request: readRequest(request)}
	totals, err := freeze.Look(c, request, settings(contract), x, progress)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fail(err)
	}
	if totals.Runs == 0 {
		x.list = []Examination{x.empty(Refused)}
	}
	damaged := finding.Failed(totals.Findings)
	for i := range x.list {
		e := &x.list[i]
		e.Capture, e.Digest, e.Bytes = path, c.Digest(), c.Bytes()
		e.Response = path
		if m := c.Manifest(); m != nil {
			e.Response = filepath.Join(path, c.Framing().FileName())
			e.Coded = m.Source.Headers["content-encoding"] != ""
			e.HTTPStatus = m.Source.Status
			if m.End != capture.EndEOF {
				e.End = m.End
			}
			e.label(m)
		}
		if damaged {
			e.refuse(totals.Findings, &x.types)
		}
		e.Findings = append(totals.Findings[:len(totals.Findings):len(totals.Findings)], e.Findings...)
		finding.Sort(e.Findings)
	}
	return x.list
}

// label takes in the labels of a capture; there is no manifest of a plain file.
func (e *Examination) label(m *capture.Manifest) {
	if m != nil {
		e.Integration = Integration{m.Labels[LabelIntegration], m.Labels[LabelVersion]}
		e.Scenario = m.Labels[LabelScenario]
	}
}

// settings are those of every projection; the last one is no projection of the
// contract but what a folding is compared with.
func settings(contract artifact.Profile) []project.Settings {
	var all []project.Settings
	for _, name := range project.Names() {
		all = append(all, project.Settings{Projection: name, Profile: contract})
	}
	return append(all, project.Settings{Projection: project.EmittedSnapshotText, Snapshot: project.Last})
}

func unexamined(path string, contract artifact.Profile, err error) Examination {
	f, isVerdict := freeze.Explain(err)
	x := &examiner{contract: contract}
	e := x.empty(Failed)
	if isVerdict {
		e.Verdict = Refused
	}
	e.Capture, e.Response, e.Findings = path, path, []finding.Finding{f}
	return e
}

// refuse takes back what was made of a run: the capture as a whole is no
// evidence.
func (e *Examination) refuse(why []finding.Finding, of *types) {
	e.Verdict, e.Events, e.Sizes, e.Texts = Refused, []project.Part{}, nil, nil
	for i := range e.Projections {
		p := &e.Projections[i]
		*p = Projection{Name: p.Name, Snapshot: p.Snapshot, Verdict: freeze.Refused, Reasons: append(reasons(why, of), p.Reasons...)}
	}
	for i := range e.Fields {
		e.Fields[i].Surfaced, e.Fields[i].Reduced = false, ""
	}
}

// examiner implements freeze.Looker.
type examiner struct {
	contract artifact.Profile
	request  request
	list     []Examination
	held     int // bytes of the list, as JSON

	types      types
	fields     fields
	ids        []string // of the last snapshot's messages
	events     int      // of the run so far
	snapshots  []Snapshot
	after      *Snapshot // whose next event is to come
	last       string    // the type of the run's last event so far
	timestamps int
}

func (x *examiner) empty(v Verdict) Examination {
	e := Examination{
		Contract: x.contract, Verdict: v, Parent: Parent{Request: x.request.parent},
		Projections: []Projection{}, Snapshots: []Snapshot{}, Fields: []Field{}, Events: []project.Part{},
		Findings: []finding.Finding{},
	}
	for _, name := range project.Names() {
		e.Projections = append(e.Projections, Projection{Name: name, Verdict: freeze.Refused})
	}
	return e
}

// Event implements freeze.Looker.
func (x *examiner) Event(_ *envelope.Run, e *envelope.Event) {
	if e.Type == envelope.RunStarted {
		x.fields, x.ids, x.events, x.snapshots, x.after, x.last, x.timestamps = fields{}, nil, 0, nil, nil, "", 0
	}
	x.types.set(e.Index, e.Type)
	if _, ok := e.Get("timestamp"); ok {
		x.timestamps++
	}
	x.around(e)
	switch e.Type {
	case envelope.RunStarted, envelope.RunFinished, envelope.RunError:
		x.fields.event(e)
	case envelope.MessagesSnapshot:
		x.fields.snapshot(e)
		x.ids = messageIDs(&e.Object)
	}
}

// End implements freeze.Looker.
func (x *examiner) End(run *envelope.Run, made []freeze.Projected) error {
	e := x.empty(Refused)
	number, id, families := run.Number, run.RunID, run.Families // the examination outlives the run
	e.Run, e.RunID, e.Families = &number, &id, families
	if run.Terminal != nil {
		e.Terminal = run.Terminal.Type
	}
	times, findings := project.ResolveTimes(run, project.OperatorTimes{})
	e.Times = Times{Source: times.Source, Timestamps: x.timestamps, Implausible: finding.Has(findings, finding.TimestampImplausible)}
	e.Parent.RunStarted, e.Parent.Input = parents(run.Started)
	for _, s := range x.snapshots {
		s.Remaining = x.events - s.ordinal
		e.Snapshots = append(e.Snapshots, s)
	}
	e.MoreSnapshots = run.SnapshotCount - len(e.Snapshots)

	last := made[len(made)-1]
	var frozen *project.Output
	for i, p := range made[:len(made)-1] {
		e.Projections[i] = x.projection(p)
		if p.Output != nil && frozen == nil {
			e.Verdict, frozen = verdicts[p.Settings.Projection], p.Output
		}
		switch p.Settings.Projection {
		case project.EmittedSnapshot:
			e.Findings = append(e.Findings, p.Findings...)
		case project.FoldedStream:
			e.compareFolding(p.Folding, last.Output, x.ids, x.request)
		}
	}
	if run.SnapshotCount > 1 {
		if x.contract == artifact.Assay && last.Output != nil && finding.Failed(last.Output.Assay) {
			last.Output, last.Findings = nil, last.Output.Assay
		}
		chosen := x.projection(last)
		chosen.Snapshot = project.Last
		e.Projections = append(e.Projections, chosen)
		if last.Output != nil && frozen == nil {
			e.Verdict, frozen = Chosen, last.Output
		}
	}
	if frozen != nil {
		e.freeze(run, frozen)
		x.fields.frozen(frozen)
		if e.Verdict == Reduced {
			e.Findings = finding.Eased(e.Findings) // they refuse one projection, not the run
		}
	}
	e.Fields = x.fields.result()
	return x.keep(run, e)
}

// maxHeld bounds the examinations of one capture together, in bytes of JSON:
// they are held until its end.
const maxHeld = 64 << 20

// keep adds an examination to the list while there is room.
func (x *examiner) keep(run *envelope.Run, e Examination) error {
	data, err := json.Marshal(e, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if x.held += len(data); x.held > maxHeld {
		return run.Started.Finding(finding.RunsTooMany, "there is more to say of the capture's runs than %d bytes", maxHeld).WithHint("divide the capture")
	}
	x.list = append(x.list, e)
	return nil
}

func (e *Examination) freeze(run *envelope.Run, out *project.Output) {
	e.Events = out.Parts
	e.Texts = &Texts{Messages: len(out.Artifact.Messages)}
	for _, m := range out.Artifact.Messages {
		n := utf8.RuneCountInString(artifact.Trim(m.Content))
		e.Texts.Longest = max(e.Texts.Longest, n)
		if n > artifact.Assay.Limits().Content {
			e.Texts.PastAssay++
		}
	}
	e.Sizes = &Sizes{Run: run.Bytes, Envelope: len(out.Envelope), Artifact: len(out.Bytes), Compact: strictjson.CompactSize(out.Bytes)}
}

func (x *examiner) projection(p freeze.Projected) Projection {
	made := Projection{Name: p.Settings.Projection, Verdict: freeze.Refused}
	if p.Output == nil {
		made.Reasons = reasons(p.Findings, &x.types)
		return made
	}
	made.Verdict = freeze.Frozen
	for _, m := range p.Output.Artifact.Messages {
		made.Roles = append(made.Roles, m.Role)
	}
	made.Omissions = omitted(p.Output.Omissions, &x.types)
	made.Assay = !finding.Failed(p.Output.Assay)
	return made
}
