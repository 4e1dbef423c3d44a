package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/cmd/p20export/internal/render/document"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
)

// CompareOptions are the options for printing a comparison.
type CompareOptions struct {
	// Base is the baseline, or nil.
	Base   *baseline.Baseline
	FailOn FailOn
	// Details adds everything about each run to the text. Quiet reduces it to one line.
	Details, Quiet bool
}

// Comparison prints the results of a comparison. The text has the verdict on each run
// or, with a baseline, the changes.
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
			p.baselineChanges(c.Base, runs)
		default:
			p.verdictTable(runs)
		}
		if c.Base != nil {
			p.Line("%s: %s", Plural(len(runs), "run", "runs"), changeCounts(runs))
		} else {
			p.Line("%s: %s", Plural(len(runs), "run", "runs"), runCounts(runs))
		}
		if c.Details {
			for _, run := range runs {
				p.runDetails(run)
			}
			p.fields(runs)
		}
	default:
		for _, run := range runs {
			r := resultOfRun(run, c.FailOn)
			if run.Verdict == analysis.Missing {
				r.File = c.Base.Path
			}
			r.Response = !run.ContentEncoded
			p.add("compare", r)
		}
		p.document("compare")
	}
}

// verdictTable prints the verdict on each run, by integration, and the findings about
// captures without a run.
func (p *Printer) verdictTable(runs []analysis.Run) {
	several := map[string]int{}
	for _, run := range runs {
		several[run.Capture]++
	}
	named := integrationsOf(runs)
	indent := ""
	if named != nil {
		indent = "  "
	}
	rows := [][]cell{{{Text: "run"}, {Text: "verdict"}, {Text: "missing or left out"}}}
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
				rows = append(rows, []cell{{Text: heading}})
			}
			name := run.Capture
			if run.Run != nil && several[run.Capture] > 1 {
				name += fmt.Sprintf(" run %d", *run.Run)
			}
			rows = append(rows, []cell{{Text: indent + name}, {Text: string(run.Verdict), Colour: runColour(run.Verdict)}, {Text: shortfall(run)}})
		}
	}
	p.Table(rows)
	for _, run := range runs {
		if run.Run == nil && run.Verdict != analysis.Missing && !finding.Has(run.Findings, finding.HTTPStatus) {
			p.Line("%s \t%s", p.runVerdict(run.Verdict), run.Capture)
			p.Findings(run.Findings)
		}
	}
}

// shortfall describes what a run lacks, or returns "nothing".
func shortfall(run analysis.Run) string {
	return cmp.Or(gate.FormatShortfalls(gate.Shortfalls(run)), "nothing")
}

func resultOfRun(run analysis.Run, on FailOn) document.Result {
	r := document.Result{
		Name: run.Capture, File: run.Response, Outcome: outcomeOf(statusOfRun(run, on)), Verdict: string(run.Verdict),
		Digest: run.Digest, Bytes: run.Bytes, Profile: run.Contract,
		Findings: run.Findings,
	}
	if run.Changes != nil && run.Verdict != analysis.Failed { // the findings were accepted with the baseline
		r.Findings = append(slices.Clone(run.Changes), finding.AsWarnings(run.Findings)...)
	}
	if run.Run != nil {
		r.Name += fmt.Sprintf(" run %d", *run.Run)
	}
	return r
}

// runVerdict returns a run's verdict in its colour, padded to a column.
func (p *Printer) runVerdict(v analysis.Verdict) painted {
	return p.Paint(runColour(v), fmt.Sprintf("%-10s", v))
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

func (p *Printer) runDetails(e analysis.Run) {
	var more string
	if e.Run != nil {
		more = fmt.Sprintf("  run %d", *e.Run)
	}
	if e.Integration != (analysis.Integration{}) {
		more += "  (" + e.Integration.String() + ")"
	}
	p.Line("%s \t%s%s", p.runVerdict(e.Verdict), e.Capture, more)
	if e.Verdict != analysis.Failed {
		for _, projection := range e.Projections {
			p.projection(projection)
		}
	}
	if e.Run != nil {
		p.runFacts(e)
	}
	p.Findings(e.Findings)
}

func (p *Printer) projection(r analysis.Projection) {
	name := string(r.Name)
	if r.Snapshot != "" {
		name = "  --snapshot " + string(r.Snapshot)
	}
	if why := inapplicable(r.Reasons); why != "" {
		p.Line("  %-21s not applicable: \t%s", name, why)
		return
	}
	if r.Verdict != project.Frozen {
		p.Line("  %-21s refuses  \t%s", name, reasonList(r.Reasons))
		return
	}
	text := formatRoles(r.Roles, len(r.Roles))
	var omitted []analysis.Reason
	lacking := 0
	for _, o := range r.Omissions {
		if o.Code == finding.SnapshotLacksText {
			lacking += o.Count
		} else {
			omitted = append(omitted, o)
		}
	}
	if omitted != nil {
		text += "; leaves out " + reasonList(omitted)
	}
	if lacking > 0 {
		text += "; the snapshot lacks " + project.FormatStreamedCount(lacking)
	}
	p.Line("  %-21s freezes  \t%s", name, text)
}

// inapplicable explains why a projection does not apply to a run that it refuses: the
// run has, or does not have, a snapshot. It returns "" if there is another reason.
func inapplicable(reasons []analysis.Reason) string {
	if len(reasons) == 1 {
		return notForRun(reasons[0].Code)
	}
	return ""
}

// notForRun is like inapplicable, for the code of the only reason of a refusal.
func notForRun(code finding.Code) string {
	switch code {
	case finding.SnapshotPresent:
		return "the run emitted a snapshot"
	case finding.SnapshotMissing:
		return "the run emitted no snapshot"
	}
	return ""
}

// runFacts prints the snapshots, ids, times, parent and sizes of a run.
func (p *Printer) runFacts(e analysis.Run) {
	for i, s := range e.Snapshots {
		if i == shownSnapshots {
			p.Line("  snapshot  and %d more", len(e.Snapshots)-i+e.MoreSnapshots)
			break
		}
		p.Line("  snapshot  \tevent %d, %s: %s", s.Index, position(s), formatRoles(s.Roles, s.Messages))
	}
	if len(e.Snapshots) == 0 {
		p.Line("  snapshot  none")
	} else {
		p.Line("  ids       \tthe last snapshot has %d of %d streamed ids and %d of %d ids of the request", e.IDs.StreamedKept, e.IDs.Streamed, e.IDs.RequestedKept, e.IDs.Requested)
	}
	if d := e.Difference; d != nil {
		p.Line("  folding   \t%s", differences(d))
	}
	p.Line("  times     \t%s", runTimes(e.Times))
	p.Line("  parent    \t%s", runParent(e.Parent))
	if s := e.Sizes; s != nil {
		p.Line("  sizes     \trun %s, envelope %s, artifact %s (%s without white space)", humanize.Grouped(s.Run), humanize.Grouped(int64(s.Envelope)), humanize.Grouped(int64(s.Artifact)), humanize.Bytes(int64(s.Compact)))
	}
}

// shownSnapshots is the number of snapshots of a run that are printed individually.
const shownSnapshots = 10

// position describes the position of a snapshot in its run.
func position(s analysis.Snapshot) string {
	switch s.Remaining {
	case 0:
		return "last, after " + s.Before
	case 1:
		return "last but one, between " + s.Before + " and " + s.After
	}
	return Plural(s.Remaining, "event", "events") + " before the end, between " + s.Before + " and " + s.After
}

// formatRoles lists the roles of messages in order. If there are many, it lists the first
// ones and counts the rest. The list of roles may be incomplete; messages is their number.
func formatRoles(roles []string, messages int) string {
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

// runCounts formats the number of runs by verdict.
func runCounts(runs []analysis.Run) string {
	count := map[analysis.Verdict]int{}
	for _, run := range runs {
		count[run.Verdict]++
	}
	return verdictCounts(count, append(analysis.Verdicts(), analysis.Missing, analysis.Failed)...)
}

// fields prints in how many runs each key occurs.
func (p *Printer) fields(runs []analysis.Run) {
	list := gate.Fields(runs)
	if len(list) == 0 {
		return
	}
	p.Line("%-47s %-11s %-11s %s", "fields", "emitted", "surfaced", "reduced")
	for _, f := range list {
		place := strings.Join(strings.Fields(f.Event+" "+f.Role+" "+f.Name), " ")
		as := "no"
		if f.ArtifactKey != "" {
			as = fmt.Sprintf("%d as %s", f.Reduced, f.ArtifactKey)
		}
		p.Line("  %-45s %-11s %-11d %s", place, fmt.Sprintf("%d of %d", f.Emitted, f.Runs), f.Surfaced, as)
	}
}
