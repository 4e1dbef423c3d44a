package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
)

// CompareOptions says how a comparison is shown.
type CompareOptions struct {
	// Base is the baseline; nil without one.
	Base   *baseline.Baseline
	FailOn FailOn
	// Details adds all that is known of each run to the text; Quiet leaves one line.
	Details, Quiet bool
}

// Comparison prints what a comparison found: as text the verdict on each run, or with
// a baseline what changed.
func (p *Printer) Comparison(c CompareOptions, runs []analysis.Run) {
	switch p.format {
	case JSON:
		for _, run := range runs {
			p.json(run)
		}
	case Text:
		switch {
		case c.Quiet:
		case c.Base != nil:
			p.changed(c.Base, runs)
		default:
			p.verdicts(runs)
		}
		if c.Base != nil {
			p.line("%s: %s", Plural(len(runs), "run", "runs"), changeCounts(runs))
		} else {
			p.line("%s: %s", Plural(len(runs), "run", "runs"), runCounts(runs))
		}
		if c.Details {
			for _, run := range runs {
				p.examined(run)
			}
			p.fields(runs)
		}
	default:
		for _, run := range runs {
			r := resultOfRun(run, c.FailOn)
			if run.Verdict == analysis.Missing {
				r.file = c.Base.Path
			}
			r.response = !run.ContentEncoded
			p.add("compare", r)
		}
		p.document("compare")
	}
}

// verdicts prints the verdict on each run, by integration, and what is wrong with
// captures in which no run is found.
func (p *Printer) verdicts(runs []analysis.Run) {
	several := map[string]int{}
	for _, run := range runs {
		several[run.Capture]++
	}
	named := present(runs)
	indent := ""
	if named != nil {
		indent = "  "
	}
	rows := [][]cell{{{text: "run"}, {text: "verdict"}, {text: "missing or left out"}}}
	for _, of := range append(named, analysis.Integration{}) {
		first := len(rows)
		for _, run := range runs {
			if run.Integration != of {
				continue
			}
			if first == len(rows) && named != nil {
				heading := of.String()
				if heading == "" {
					heading = "no integration label"
				}
				rows = append(rows, []cell{{text: heading}})
			}
			name := run.Capture
			if run.Run != nil && several[run.Capture] > 1 {
				name += fmt.Sprintf(" run %d", *run.Run)
			}
			rows = append(rows, []cell{{text: indent + name}, {string(run.Verdict), runColour(run.Verdict)}, {text: shortfall(run)}})
		}
	}
	p.table(rows)
	for _, run := range runs {
		if run.Run == nil && run.Verdict != analysis.Missing && !finding.Has(run.Findings, finding.HTTPStatus) {
			p.line("%s \t%s", p.runVerdict(run.Verdict), run.Capture)
			p.findings(run.Findings)
		}
	}
}

// shortfall says what a run lacks, or that it lacks nothing.
func shortfall(run analysis.Run) string {
	return cmp.Or(gate.FormatShortfalls(gate.Shortfalls(run)), "nothing")
}

func resultOfRun(run analysis.Run, on FailOn) result {
	r := result{
		name: run.Capture, file: run.Response, status: statusOfRun(run, on), verdict: string(run.Verdict),
		digest: run.Digest, bytes: run.Bytes, profile: run.Contract,
		findings: run.Findings,
	}
	if run.Changes != nil && run.Verdict != analysis.Failed { // what the run is was accepted with the baseline
		r.findings = append(slices.Clone(run.Changes), finding.AsWarnings(run.Findings)...)
	}
	if run.Run != nil {
		r.name += fmt.Sprintf(" run %d", *run.Run)
	}
	return r
}

// runVerdict returns a run's verdict in its colour, padded to a column.
func (p *Printer) runVerdict(v analysis.Verdict) painted {
	return p.paint(runColour(v), fmt.Sprintf("%-10s", v))
}

func runColour(v analysis.Verdict) string {
	switch v {
	case analysis.Exact, analysis.Reduced:
		return green
	case analysis.Chosen, analysis.Incomplete, analysis.Built:
		return yellow
	}
	return red
}

func (p *Printer) examined(e analysis.Run) {
	var more string
	if e.Run != nil {
		more = fmt.Sprintf("  run %d", *e.Run)
	}
	if e.Integration != (analysis.Integration{}) {
		more += "  (" + e.Integration.String() + ")"
	}
	p.line("%s \t%s%s", p.runVerdict(e.Verdict), e.Capture, more)
	if e.Verdict != analysis.Failed {
		for _, made := range e.Projections {
			p.projection(made)
		}
	}
	if e.Run != nil {
		p.shown(e)
	}
	p.findings(e.Findings)
}

func (p *Printer) projection(made analysis.Projection) {
	name := string(made.Name)
	if made.Snapshot != "" {
		name = "  --snapshot " + string(made.Snapshot)
	}
	if why := inapplicable(made.Reasons); why != "" {
		p.line("  %-21s not applicable: \t%s", name, why)
		return
	}
	if made.Verdict != project.Frozen {
		p.line("  %-21s refuses  \t%s", name, reasonList(made.Reasons))
		return
	}
	text := sequence(made.Roles, len(made.Roles))
	var left []analysis.Reason
	lacking := 0
	for _, r := range made.Omissions {
		if r.Code == finding.SnapshotLacksText {
			lacking += r.Count
		} else {
			left = append(left, r)
		}
	}
	if left != nil {
		text += "; leaves out " + reasonList(left)
	}
	if lacking > 0 {
		text += "; the snapshot lacks " + project.FormatStreamedCount(lacking)
	}
	p.line("  %-21s freezes  \t%s", name, text)
}

// inapplicable says why a projection is for other runs than the one it refuses:
// those with, or those without a snapshot. It is empty if the refusal has another
// reason.
func inapplicable(reasons []analysis.Reason) string {
	if len(reasons) == 1 {
		return notForRun(reasons[0].Code)
	}
	return ""
}

// notForRun is inapplicable for the code of a refusal's only reason.
func notForRun(code finding.Code) string {
	switch code {
	case finding.SnapshotPresent:
		return "the run emitted a snapshot"
	case finding.SnapshotMissing:
		return "the run emitted no snapshot"
	}
	return ""
}

// shown says what a run shows beside its projections.
func (p *Printer) shown(e analysis.Run) {
	for i, s := range e.Snapshots {
		if i == shownSnapshots {
			p.line("  snapshot  and %d more", len(e.Snapshots)-i+e.MoreSnapshots)
			break
		}
		p.line("  snapshot  \tevent %d, %s: %s", s.Index, standing(s), sequence(s.Roles, s.Messages))
	}
	if len(e.Snapshots) == 0 {
		p.line("  snapshot  none")
	} else {
		p.line("  ids       \tthe last snapshot has %d of %d streamed ids and %d of %d ids of the request", e.IDs.StreamedKept, e.IDs.Streamed, e.IDs.RequestedKept, e.IDs.Requested)
	}
	if d := e.Difference; d != nil {
		p.line("  folding   \t%s", differences(d))
	}
	p.line("  times     \t%s", runTimes(e.Times))
	p.line("  parent    \t%s", runParent(e.Parent))
	if s := e.Sizes; s != nil {
		p.line("  sizes     \trun %s, envelope %s, artifact %s (%s without white space)", humanize.Grouped(s.Run), humanize.Grouped(int64(s.Envelope)), humanize.Grouped(int64(s.Artifact)), humanize.Bytes(int64(s.Compact)))
	}
}

// shownSnapshots is how many snapshots of a run are shown one by one.
const shownSnapshots = 10

// standing says where a snapshot stands in its run.
func standing(s analysis.Snapshot) string {
	switch s.Remaining {
	case 0:
		return "last, after " + s.Before
	case 1:
		return "last but one, between " + s.Before + " and " + s.After
	}
	return Plural(s.Remaining, "event", "events") + " before the end, between " + s.Before + " and " + s.After
}

// sequence spells the roles of so many messages in their order, or counts them
// where they are many. Of very many only the first have their roles listed.
func sequence(roles []string, messages int) string {
	const shown = 8
	if len(roles) == 0 {
		return "no messages"
	}
	if messages <= shown {
		return strings.Join(roles, ", ")
	}
	return strings.Join(roles[:shown], ", ") + fmt.Sprintf(" and %d more", messages-shown)
}

func reasonList(list []analysis.Reason) string {
	const shown = 12
	var parts []string
	for i, r := range list {
		if i == shown {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, r.String())
	}
	return strings.Join(parts, ", ")
}

func differences(d *analysis.Difference) string {
	from := "the stream"
	if d.RequestTaken {
		from = "request and stream"
	}
	text := fmt.Sprintf("%s from %s, %d emitted; %d identical", Plural(d.Folded, "message", "messages"), from, d.Emitted, d.Same)
	for _, a := range []analysis.Aspect{analysis.AspectID, analysis.AspectName, analysis.AspectWhiteSpace, analysis.AspectEscapes, analysis.AspectContent} {
		if n := d.Count(a); n > 0 {
			text += fmt.Sprintf(", %s in %s", Plural(n, "differs", "differ"), a)
		}
	}
	folded, emitted := d.Unmatched()
	if folded > 0 {
		text += fmt.Sprintf(", %d not emitted", folded)
	}
	if emitted > 0 {
		text += fmt.Sprintf(", %d only in the snapshot", emitted)
	}
	return text
}

func runTimes(t analysis.Times) string {
	text := "none"
	if t.Source != "" {
		text = "source " + string(t.Source)
	}
	text += "; " + Plural(t.Timestamps, "event has", "events have") + " a timestamp"
	if t.Implausible {
		text += "; the timestamp of RUN_STARTED is implausible"
	}
	return text
}

func runParent(r analysis.Parent) string {
	var in []string
	for _, place := range []struct {
		has  bool
		name string
	}{{r.Request, "the request"}, {r.RunStarted, "RUN_STARTED"}, {r.Input, "the request's copy in RUN_STARTED"}} {
		if place.has {
			in = append(in, place.name)
		}
	}
	if in == nil {
		return "none"
	}
	return "named in " + strings.Join(in, " and ")
}

// runCounts counts runs by their verdicts.
func runCounts(runs []analysis.Run) string {
	count := map[analysis.Verdict]int{}
	for _, run := range runs {
		count[run.Verdict]++
	}
	return verdictCounts(count, append(analysis.Verdicts(), analysis.Missing, analysis.Failed)...)
}

// fields counts in how many runs each key is.
func (p *Printer) fields(runs []analysis.Run) {
	list := gate.Fields(runs)
	if len(list) == 0 {
		return
	}
	p.line("%-47s %-11s %-11s %s", "fields", "emitted", "surfaced", "reduced")
	for _, f := range list {
		place := strings.Join(strings.Fields(f.Event+" "+f.Role+" "+f.Name), " ")
		as := "no"
		if f.ArtifactKey != "" {
			as = fmt.Sprintf("%d as %s", f.Reduced, f.ArtifactKey)
		}
		p.line("  %-45s %-11s %-11d %s", place, fmt.Sprintf("%d of %d", f.Emitted, f.Runs), f.Surfaced, as)
	}
}
