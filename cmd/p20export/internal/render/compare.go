package render

import (
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

// Compared prints what a comparison found: as text with a baseline what changed,
// else what each run shows.
func (p *Printer) Compared(base *baseline.Baseline, runs []analysis.Run) {
	switch p.format {
	case JSON:
		for _, run := range runs {
			p.json(run)
		}
	case Text:
		if base != nil {
			p.changed(base, runs)
			return
		}
		for _, run := range runs {
			p.examined(run)
		}
		p.comparedAll(runs)
	default:
		for _, run := range runs {
			r := resultOfRun(run)
			if run.Verdict == analysis.Missing {
				r.file = base.Path
			}
			r.response = !run.Coded
			p.add("compare", r)
		}
		p.document("compare")
	}
}

func resultOfRun(run analysis.Run) result {
	r := result{
		name: run.Capture, file: run.Response, status: statusOfRun(run), verdict: string(run.Verdict),
		digest: run.Digest, bytes: run.Bytes, profile: run.Contract,
		findings: run.Findings,
	}
	if run.Changes != nil && run.Verdict != analysis.Failed { // what the run is was accepted with the baseline
		r.findings = append(slices.Clone(run.Changes), finding.Eased(run.Findings)...)
	}
	if run.Run != nil {
		r.name += fmt.Sprintf(" run %d", *run.Run)
	}
	return r
}

// runVerdict returns a run's verdict in its colour, padded to a column.
func (p *Printer) runVerdict(v analysis.Verdict) painted {
	colour := red
	switch v {
	case analysis.Exact, analysis.Reduced:
		colour = green
	case analysis.Chosen, analysis.Incomplete, analysis.Built:
		colour = yellow
	}
	return p.paint(colour, fmt.Sprintf("%-10s", v))
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
		text += "; the snapshot lacks " + project.StreamedMessages(lacking)
	}
	p.line("  %-21s freezes  \t%s", name, text)
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
		p.line("  ids       \tthe last snapshot has %d of %d streamed, %d of %d of the request", e.IDs.StreamedKept, e.IDs.Streamed, e.IDs.RequestedKept, e.IDs.Requested)
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
	text := fmt.Sprintf("%s from %s, %d emitted; %d the same", Plural(d.Folded, "message", "messages"), from, d.Emitted, d.Same)
	for _, a := range []analysis.Aspect{analysis.InID, analysis.InName, analysis.InWhiteSpace, analysis.InEscapes, analysis.InContent} {
		if n := d.Count(a); n > 0 {
			text += fmt.Sprintf(", %d with another %s", n, a)
		}
	}
	folded, emitted := d.Unmatched()
	if folded > 0 {
		text += fmt.Sprintf(", %d not emitted", folded)
	}
	if emitted > 0 {
		text += fmt.Sprintf(", %d in the snapshot alone", emitted)
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
		text += ", that of RUN_STARTED cannot be its time"
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
		return "none named"
	}
	return "named in " + strings.Join(in, " and ")
}

// comparedAll sums up several runs and counts their fields.
func (p *Printer) comparedAll(runs []analysis.Run) {
	count := map[analysis.Verdict]int{}
	for _, run := range runs {
		count[run.Verdict]++
	}
	if list := gate.Fields(runs); len(list) > 0 {
		p.line("%-47s %-11s %-11s %s", "fields", "emitted", "surfaced", "reduced")
		for _, f := range list {
			place := strings.Join(strings.Fields(f.Event+" "+f.Role+" "+f.Name), " ")
			as := "no"
			if f.As != "" {
				as = fmt.Sprintf("%d as %s", f.Reduced, f.As)
			}
			p.line("  %-45s %-11s %-11d %s", place, fmt.Sprintf("%d of %d", f.Emitted, f.Of), f.Surfaced, as)
		}
	}
	if len(runs) > 1 {
		p.line("%s: %s", Plural(len(runs), "run", "runs"), verdictCounts(count, analysis.Exact, analysis.Reduced, analysis.Chosen, analysis.Incomplete, analysis.Built, analysis.Refused, analysis.Missing, analysis.Failed))
	}
}
