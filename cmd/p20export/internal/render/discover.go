package render

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
)

// Discovery has the options for printing a run of scenarios and the rows printed so far,
// from which it determines the exit status.
type Discovery struct {
	// Plan is the plan that runs.
	Plan *scenario.Plan
	// Dir is the directory of the captures. It is empty if they are not kept.
	Dir    string
	FailOn FailOn
	// Details adds everything about each scenario to the text. Quiet reduces it to one
	// line.
	Details, Quiet bool

	tally Tally
	rows  []scenario.Row
}

// scenarioRow is the row of a scenario, with the verdict on its run.
type scenarioRow struct {
	scenario.Row
	// RunVerdict is the verdict on the run, or the worst one if there are several runs. It
	// is null if the response was not analyzed.
	RunVerdict *analysis.Verdict `json:"run_verdict"`
	// Missing lists what the run lacks or its artifact leaves out.
	Missing []gate.Shortfall `json:"missing"`
	// NotApplicable lists the projections that do not apply to this run. That they refuse
	// it is not a fault of the run.
	NotApplicable []project.Name `json:"not_applicable"`
	// OtherIDs reports whether the threadId or runId in RUN_STARTED differs from the
	// request.
	OtherIDs bool `json:"other_ids"`
}

// hasOtherIDs reports whether an id in a run's RUN_STARTED differs from the request.
func hasOtherIDs(run analysis.Run) bool {
	return !run.OmitsID && slices.ContainsFunc(run.Minted, func(a analysis.Anchor) bool { return a.Event == envelope.RunStarted })
}

// idMismatchNote prints a note about runs that may belong to other requests.
func (p *Printer) idMismatchNote(d *Discovery) {
	var names []string
	for _, row := range d.rows {
		if slices.ContainsFunc(row.Runs, hasOtherIDs) {
			names = append(names, row.Scenario)
		}
	}
	if names != nil {
		p.Line("note: \tRUN_STARTED has different ids than the request (%s): check that each response belongs to its request", strings.Join(names, ", "))
		p.Line("")
	}
}

func newScenarioRow(row scenario.Row) scenarioRow {
	all := scenarioRow{Row: row, Missing: []gate.Shortfall{}, NotApplicable: []project.Name{}}
	for _, run := range row.GateRuns() {
		if all.RunVerdict == nil || run.Verdict == analysis.Failed || run.Verdict.NoBetterThan(*all.RunVerdict) {
			all.RunVerdict = &run.Verdict
		}
		all.OtherIDs = all.OtherIDs || hasOtherIDs(run)
		for _, s := range missing(row, run) {
			if !slices.Contains(all.Missing, s) {
				all.Missing = append(all.Missing, s)
			}
		}
	}
	if row.Freeze != nil {
		for _, name := range project.Names() {
			if notForOutcome(*row.Freeze.Outcome(name)) != "" {
				all.NotApplicable = append(all.NotApplicable, name)
			}
		}
	}
	return all
}

// DiscoveryHeader prints which scenarios will run against which endpoint.
func (p *Printer) DiscoveryHeader(d *Discovery) {
	if p.format != Text || d.Quiet {
		return
	}
	needed := 0
	for _, s := range d.Plan.Scenarios {
		if d.needed(s.Name) {
			needed++
		}
	}
	where := redactedURL(d.Plan.Request.URL)
	if name := d.integration().String(); name != "" {
		where = name + " at " + where
	}
	p.Line("running %s against %s, one at a time; needed to qualify: %d", Plural(len(d.Plan.Scenarios), "scenario", "scenarios"), where, needed)
}

// integration returns the integration that the captures are labelled with.
func (d *Discovery) integration() analysis.Integration {
	labels := d.Plan.Request.Labels
	return analysis.Integration{Name: labels[analysis.LabelIntegration], Version: labels[analysis.LabelVersion]}
}

// redactedURL returns a URL without the parts that may contain secrets.
func redactedURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "the endpoint"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (d *Discovery) needed(name string) bool {
	return len(d.Plan.Needed) == 0 || slices.Contains(d.Plan.Needed, name)
}

// Scenario prints the result of a scenario: one line, and each difference from what is
// expected.
func (p *Printer) Scenario(d *Discovery, row scenario.Row) {
	d.tally.Add(row.Verdict)
	if row.Verdict == scenario.Captured && finding.Failed(row.Findings) { // an HTTP error of a needed scenario
		d.tally.Status = d.tally.Status.Worse(Failed)
	}
	same := d.sameResponse(row)
	d.rows = append(d.rows, row)
	switch {
	case p.format == JSON:
		p.json(newScenarioRow(row))
		return
	case d.Quiet:
		return
	}
	width := 0
	for _, s := range d.Plan.Scenarios {
		width = max(width, len(s.Name))
	}
	summary := finding.Printable(responseSummary(row))
	if same != "" {
		summary = "same response as " + same
	}
	verdict := p.verdict(row.Verdict)
	if row.Verdict == scenario.Captured && httpError(row) != "" {
		verdict = p.Paint(yellow, fmt.Sprintf("%-9s", string(row.Verdict)))
	}
	p.OneLine(painted(fmt.Sprintf("%s %-*s  %s", verdict, min(width, text.WidestCell), row.Scenario, summary)))
	if d.Details {
		p.scenario(row)
		return
	}
	var unexpected []finding.Finding
	for _, f := range row.Findings {
		if f.Code == finding.ScenarioUnexpected || row.LocalFailure() {
			unexpected = append(unexpected, f)
		}
	}
	p.Findings(unexpected)
}

// sameResponse returns the name of the first scenario with the same HTTP error, or "".
func (d *Discovery) sameResponse(row scenario.Row) string {
	message := httpError(row)
	for _, before := range d.rows {
		if message != "" && message == httpError(before) {
			return before.Scenario
		}
	}
	return ""
}

// httpError returns the message about the HTTP error of a scenario, or "".
func httpError(row scenario.Row) string {
	for _, f := range row.Findings {
		if f.Code == finding.HTTPStatus {
			return f.Message
		}
	}
	return ""
}

// responseSummary describes the response to a scenario in one line, escaped.
func responseSummary(row scenario.Row) string {
	if row.Note != "" {
		return "cannot be expressed: " + finding.Escape(row.Note)
	}
	for _, f := range row.Findings {
		if f.Severity == finding.Error && f.Code != finding.ScenarioUnexpected || f.Code == finding.HTTPStatus {
			return f.Message
		}
	}
	if row.HTTPStatus == nil {
		return ""
	}
	text := fmt.Sprintf("HTTP %03d, %s", *row.HTTPStatus, events(row.Events))
	if row.Bytes != nil {
		text += humanize.Bytes(*row.Bytes)
	}
	if row.End != nil && *row.End != "eof" {
		text += ", end " + string(*row.End)
	}
	return text
}

// scenario prints everything about a scenario.
func (p *Printer) scenario(row scenario.Row) {
	if row.Capture != nil {
		p.Line("  capture   \t%s", *row.Capture)
	}
	if row.HTTPStatus != nil && row.Bytes != nil && row.End != nil {
		p.Line("  response  \tHTTP status %03d, %s%s, end %s", *row.HTTPStatus, events(row.Events), humanize.Bytes(*row.Bytes), string(*row.End))
	}
	if row.Freeze != nil {
		p.Line("  terminal  \t%s", orNone(row.Terminal))
		p.Line("  snapshots \t%s", snapshots(row.Snapshots))
		for _, name := range project.Names() {
			p.Line("  %-21s \t%s", string(name), outcome(*row.Freeze.Outcome(name)))
		}
	}
	p.Findings(row.Findings)
}

// Conflicts prints the scenarios whose capture directories already exist.
func (p *Printer) Conflicts(rows []scenario.Row) {
	for _, row := range rows {
		if p.format == JSON {
			p.json(newScenarioRow(row))
			continue
		}
		p.Line("%s \t%s", p.verdict(row.Verdict), row.Scenario)
		p.Findings(row.Findings)
	}
}

// DiscoverySummary prints a table of the scenarios. With expectations or details it also
// prints the number of scenarios by result.
func (p *Printer) DiscoverySummary(d *Discovery) {
	if p.format != Text || d.Quiet {
		return
	}
	p.scenarioTable(d)
	p.idMismatchNote(d)
	t := &d.tally
	if d.Details || d.Plan.Suite != nil {
		p.Line("%s: %d captured, %d unexpected, %d failed, %d not expressible", Plural(len(d.Plan.Scenarios), "scenario", "scenarios"),
			t.counts[scenario.Captured], t.counts[scenario.Unexpected], t.counts[project.Failed], t.counts[scenario.Skipped])
	}
	if rest := len(d.Plan.Scenarios) - t.Total(); rest > 0 {
		p.Line("%s not run", Plural(rest, "scenario was", "scenarios were"))
	}
}

// scenarioTable prints a table with the verdict on each run.
func (p *Printer) scenarioTable(d *Discovery) {
	rows := [][]cell{{{Text: "scenario"}, {Text: "needed"}, {Text: "verdict"}, {Text: "missing or left out"}}}
	for _, row := range d.rows {
		needed := "no"
		if row.Needed {
			needed = "yes"
		}
		runs := row.GateRuns()
		for i, run := range runs {
			name := row.Scenario
			if len(runs) > 1 {
				name += fmt.Sprintf(" run %d", i+1)
			}
			rows = append(rows, []cell{{Text: name}, {Text: needed}, {Text: string(run.Verdict), Colour: runColour(run.Verdict)}, {Text: cmp.Or(gate.FormatShortfalls(missing(row, run)), "nothing")}})
		}
		if row.Note != "" {
			rows = append(rows, []cell{{Text: row.Scenario}, {Text: needed}, {Text: "not run"}, {Text: row.Note}})
		}
	}
	if len(rows) > 1 {
		p.Line("")
		p.Table(rows)
		p.Line("")
	}
}

// missing lists what a run of a scenario lacks, including faults of the response.
func missing(row scenario.Row, run analysis.Run) []gate.Shortfall {
	about := cause(row)
	switch status := row.HTTPStatus; {
	case row.Cause == scenario.NoRun || row.Cause == scenario.Unreadable:
		about = ""
	case status != nil && *status != http.StatusOK:
		if about = ""; run.Run != nil {
			about = fmt.Sprintf("HTTP status %03d", *status)
		}
	}
	lacks := gate.Shortfalls(run)
	if about == "" {
		return lacks
	}
	if run.Run == nil {
		lacks = nil
	}
	fault := gate.Shortfall{Text: about}
	for _, f := range row.Findings {
		if f.Severity == finding.Error && fault.Code == "" || f.Code == finding.HTTPStatus {
			fault.Code = f.Code
		}
	}
	return append(lacks, fault)
}

// snapshots formats the number of messages in each snapshot.
func snapshots(messages []int) string {
	if len(messages) == 0 {
		return "none"
	}
	const shown = 8
	var sizes []string
	for _, n := range messages[:min(shown, len(messages))] {
		sizes = append(sizes, Plural(n, "message", "messages"))
	}
	if len(messages) > shown {
		sizes = append(sizes, "…")
	}
	return fmt.Sprintf("%d, with %s", len(messages), strings.Join(sizes, ", "))
}

// notForOutcome explains why a projection does not apply to a run; see inapplicable.
func notForOutcome(o scenario.Outcome) string {
	if len(o.Reasons) != 1 {
		return ""
	}
	code, _, _ := strings.Cut(o.Reasons[0], " ")
	return notForRun(finding.Code(code))
}

// outcome describes the result of a projection of a run, with the codes of its reasons.
func outcome(o scenario.Outcome) string {
	if o.Verdict == project.Frozen {
		return fmt.Sprintf("%s, %s: %s; %s", o.Verdict, o.Origin, strings.Join(o.Roles, ", "), Plural(len(o.Omissions), "omission", "omissions"))
	}
	var codes []string
	count := make(map[string]int)
	for _, r := range o.Reasons {
		code, _, _ := strings.Cut(r, " ")
		if count[code]++; count[code] == 1 {
			codes = append(codes, code)
		}
	}
	if why := notForOutcome(o); why != "" {
		return "not applicable: " + why
	}
	for i, c := range codes {
		if n := count[c]; n > 1 {
			codes[i] = fmt.Sprintf("%s (%d)", c, n)
		}
	}
	return fmt.Sprintf("%s: %s", o.Verdict, strings.Join(codes, ", "))
}

// WriteServerLog writes the standard error of a harness's server to w, line by line.
func WriteServerLog(w io.Writer, name, log string) {
	for line := range strings.Lines(log) {
		fmt.Fprintf(w, "%s: %s\n", name, finding.Printable(strings.TrimRight(line, "\r\n")))
	}
}
