package render

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
)

// qualificationRow says whether an integration qualifies.
type qualificationRow struct {
	Integration analysis.Integration `json:"integration,omitzero"`
	gate.Qualification
	// Causes are why needed scenarios have no whole run, each once.
	Causes []scenario.Cause `json:"causes,omitzero"`
}

// Runs returns the runs of the scenarios so far, as the gate judges them.
func (d *Discovery) Runs() (runs []analysis.Run) {
	for _, row := range d.rows {
		runs = append(runs, row.GateRuns()...)
	}
	return runs
}

// Captures returns what the captures so far show, for the gate's questions.
func (d *Discovery) Captures() (runs []analysis.Run) {
	for _, row := range d.rows {
		runs = append(runs, row.Runs...)
	}
	return runs
}

// Rows returns what became of the scenarios so far.
func (d *Discovery) Rows() []scenario.Row { return d.rows }

// Captured returns how the capturing of the scenarios ends the program, and what
// is expected of them with it.
func (d *Discovery) Captured() Status { return d.tally.Status }

// Status returns how the discovery ends the program.
func (d *Discovery) Status(q gate.Qualification) Status {
	negative := false
	switch {
	case d.FailOn == Never:
		if d.tally.Status == Negative {
			return Done
		}
	case d.FailOn != "":
		negative = slices.ContainsFunc(d.Runs(), func(run analysis.Run) bool {
			return d.needed(run.Scenario) && run.Verdict.NoBetterThan(analysis.Verdict(d.FailOn))
		})
	case d.Plan.Suite == nil:
		if q.Qualifies == gate.Unknown && q.Qualified < q.Needed {
			return d.tally.Status.Worse(Failed)
		}
		negative = q.Qualifies == gate.No
	}
	if negative {
		return d.tally.Status.Worse(Negative)
	}
	return d.tally.Status
}

// Qualification prints whether the integration qualifies, what would have to change, and
// what to do next.
func (p *Printer) Qualification(d *Discovery, q gate.Qualification) {
	causes := d.causes()
	if p.format == JSON {
		p.json(qualificationRow{d.integration(), q, causes})
		return
	}
	answer, colour := d.verdictOf(q), green
	switch q.Qualifies {
	case gate.No:
		colour = red
	case gate.Unknown:
		colour = yellow
	}
	if d.Quiet {
		p.single(p.paint(colour, answer+d.short(q)))
		return
	}
	p.line("%s", p.paint(colour, answer))
	if q.Qualifies != gate.Unknown || q.Qualified > 0 {
		if len(q.NotAsked) > 0 {
			p.line("  not run: \t%s", strings.Join(q.NotAsked, ", "))
		}
		p.line("  \t%s", painted(gate.Rule))
	}
	p.changesOf(q)
	p.causes(d, causes)
	if !slices.ContainsFunc(d.Captures(), func(run analysis.Run) bool { return run.Run != nil }) {
		return // there is nothing to look at
	}
	next := hint.KeepCaptures
	if d.Dir != "" {
		next = fmt.Sprintf(hint.ShowCaptures, finding.Escape(d.Dir), finding.Escape(d.Dir))
	}
	p.line("")
	p.line("%s", painted(next))
}

// verdictOf says whether the integration qualifies.
func (d *Discovery) verdictOf(q gate.Qualification) string {
	of, that := Plural(q.Needed, "needed scenario", "needed scenarios"), "that were run do"
	if q.Needed == 1 {
		that = "that was run does"
	}
	switch {
	case q.Qualifies == gate.Yes && d.failed() > 0:
		return fmt.Sprintf("qualifies: %d of %s; %s not captured completely", q.Qualified, of, Plural(d.failed(), "other scenario was", "other scenarios were"))
	case q.Qualifies == gate.Yes:
		return fmt.Sprintf("qualifies: %d of %s", q.Qualified, of)
	case q.Qualifies == gate.No:
		return fmt.Sprintf("does not qualify: %d of %s", q.Qualified, of)
	case q.Needed == 0:
		return "not known whether it qualifies: no needed scenario was run"
	case q.Qualified == q.Needed:
		left := len(d.Plan.NotCaptured(d.rows))
		return fmt.Sprintf("not known whether it qualifies: %d of %s %s; %d %s not run", q.Qualified, of, that, left, were(left))
	}
	if why := d.cutOff(q); why != "" {
		return "not known whether it qualifies: " + why
	}
	if q.Qualified > 0 {
		of = fmt.Sprintf("%d of %s", q.Needed-q.Qualified, of)
	}
	return "not known whether it qualifies: no run in the responses to " + of
}

// failed counts the scenarios that were not captured whole.
func (d *Discovery) failed() int { return d.tally.counts[project.Failed] }

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// cutOff says how many needed answers are no evidence, and why. It is empty if not
// even an answer was begun.
func (d *Discovery) cutOff(q gate.Qualification) string {
	count := map[string]int{}
	var order []string
	for _, row := range d.rows {
		if !slices.Contains(q.CutOff, row.Scenario) {
			continue
		}
		how, ok := hint.ByTruncation()[string(row.Cause)]
		switch {
		case ok:
		case row.LocalFailure():
			how = "not kept"
		case row.HTTPStatus == nil:
			continue
		default:
			how = "truncated or damaged"
		}
		if count[how]++; count[how] == 1 {
			order = append(order, how)
		}
	}
	var parts []string
	for _, how := range order {
		parts = append(parts, fmt.Sprintf("%s %s %s", Plural(count[how], "needed response", "needed responses"), were(count[how]), how))
	}
	return strings.Join(parts, ", ")
}

// short names the first cause or change, for one line.
func (d *Discovery) short(q gate.Qualification) string {
	if q.Qualifies == gate.Unknown {
		if d.cutOff(q) != "" {
			return ""
		}
		for _, row := range d.rows {
			if row.Needed && row.Cause != "" {
				return "; " + cause(row)
			}
		}
		return ""
	}
	if len(q.Changes) == 0 {
		return ""
	}
	text := "; " + q.Changes[0].Advice()
	if more := len(q.Changes) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// cause says in a few words why a scenario has no whole run.
func cause(row scenario.Row) string {
	text := map[scenario.Cause]string{
		scenario.Unreachable:    "no connection",
		scenario.NoTLS:          "the server does not speak TLS",
		scenario.NoAnswer:       "no response within the time limit",
		scenario.Truncated:      "the response was truncated",
		scenario.TimeLimit:      "the response did not end in time",
		scenario.SizeLimit:      "the response is over its limit",
		scenario.Redirected:     "the endpoint redirects",
		scenario.Unauthorized:   "the endpoint requires credentials",
		scenario.NotFound:       "no AG-UI endpoint",
		scenario.TooMany:        "the endpoint limits requests",
		scenario.Rejected:       "the request was rejected",
		scenario.ServerFailed:   "the server failed",
		scenario.OtherStatus:    "the status is not 200",
		scenario.Unreadable:     "the response cannot be read",
		scenario.WebPage:        "the response is a web page",
		scenario.NotEventStream: "the response is not an event stream",
		scenario.NoRun:          "the response contains no RUN_STARTED",
	}[row.Cause]
	if row.HTTPStatus != nil && *row.HTTPStatus != http.StatusOK {
		text += fmt.Sprintf(" (HTTP %03d)", *row.HTTPStatus)
	}
	return text
}

// changesOf lists what would make the integration qualify.
func (p *Printer) changesOf(q gate.Qualification) {
	if q.Qualifies != gate.No {
		return
	}
	p.line("")
	p.line("what to change:")
	for _, n := range q.Changes {
		p.line("  %s (%s)", n.Advice(), strings.Join(n.Runs, ", "))
		if how, ok := hint.ByChange()[string(n.Code)]; ok {
			p.line("      \t%s", painted(how))
		} else if n.Code != "" {
			p.line("      \t"+hint.Explain, painted(n.Code))
		}
	}
}

// unreadable says why the answer to a scenario cannot be read; empty for other causes.
func unreadable(row scenario.Row) string {
	if row.Cause == scenario.Unreadable {
		for _, run := range row.Runs {
			for _, f := range run.Findings {
				if f.Severity == finding.Error {
					return finding.Printable(f.Message)
				}
			}
		}
	}
	return ""
}

// causes are why needed scenarios have no whole run, each once.
func (d *Discovery) causes() (list []scenario.Cause) {
	for _, row := range d.rows {
		if row.Needed && row.Cause != "" && !slices.Contains(list, row.Cause) {
			list = append(list, row.Cause)
		}
	}
	return list
}

// causes says what is likely wrong where there is no whole run, and what the first
// such answer was.
func (p *Printer) causes(d *Discovery, list []scenario.Cause) {
	for _, cause := range list {
		var of []string
		needed, said := 0, ""
		for _, row := range d.rows {
			if !row.Needed {
				continue
			}
			if needed++; row.Cause == cause {
				of = append(of, row.Scenario)
				said = cmp.Or(said, unreadable(row), answered(row))
			}
		}
		where := strings.Join(of, ", ")
		if len(of) == needed {
			where = "every needed scenario"
		}
		p.line("")
		p.line("likely cause (%s)", where)
		p.line("  %s", painted(hint.ByCause()[string(cause)]))
		p.line("  response: \t%s", painted(said))
	}
}
