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

// qualificationRow is the row that states whether an integration qualifies.
type qualificationRow struct {
	Integration analysis.Integration `json:"integration,omitzero"`
	gate.Qualification
	// Causes lists, once each, why needed scenarios have no complete run.
	Causes []scenario.Cause `json:"causes,omitzero"`
}

// Runs returns the runs of the scenarios so far, as the gate evaluates them.
func (d *Discovery) Runs() (runs []analysis.Run) {
	for _, row := range d.rows {
		runs = append(runs, row.GateRuns()...)
	}
	return runs
}

// Captures returns the runs in the captures so far, for the questions of the gate.
func (d *Discovery) Captures() (runs []analysis.Run) {
	for _, row := range d.rows {
		runs = append(runs, row.Runs...)
	}
	return runs
}

// Rows returns the rows of the scenarios so far.
func (d *Discovery) Rows() []scenario.Row { return d.rows }

// Captured returns the exit status for capturing the scenarios and comparing them with
// what is expected.
func (d *Discovery) Captured() Status { return d.tally.Status }

// Status returns the exit status of the discovery.
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

// Qualification prints whether the integration qualifies, what it has to change, and
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
		p.OneLine(p.Paint(colour, answer+d.firstReason(q)))
		return
	}
	p.Line("%s", p.Paint(colour, answer))
	if q.Qualifies != gate.Unknown || q.Qualified > 0 {
		if len(q.NotAsked) > 0 {
			p.Line("  not run: \t%s", strings.Join(q.NotAsked, ", "))
		}
		p.Line("  \t%s", painted(gate.Rule))
	}
	p.requiredChanges(q)
	p.causes(d, causes)
	if !slices.ContainsFunc(d.Captures(), func(run analysis.Run) bool { return run.Run != nil }) {
		return // there is nothing to show
	}
	next := hint.KeepCaptures
	if d.Dir != "" {
		next = fmt.Sprintf(hint.ShowCaptures, finding.Escape(d.Dir), finding.Escape(d.Dir))
	}
	p.Line("")
	p.Line("%s", painted(next))
}

// verdictOf returns a sentence that says whether the integration qualifies.
func (d *Discovery) verdictOf(q gate.Qualification) string {
	needed, verb := Plural(q.Needed, "needed scenario", "needed scenarios"), "that were run do"
	if q.Needed == 1 {
		verb = "that was run does"
	}
	switch {
	case q.Qualifies == gate.Yes && d.failed() > 0:
		return fmt.Sprintf("qualifies: %d of %s; %s not captured completely", q.Qualified, needed, Plural(d.failed(), "other scenario was", "other scenarios were"))
	case q.Qualifies == gate.Yes:
		return fmt.Sprintf("qualifies: %d of %s", q.Qualified, needed)
	case q.Qualifies == gate.No:
		return fmt.Sprintf("does not qualify: %d of %s do", q.Qualified, needed)
	case q.Needed == 0:
		return "not known whether it qualifies: no needed scenario was run"
	case q.Qualified == q.Needed:
		left := len(d.Plan.NotCaptured(d.rows))
		return fmt.Sprintf("not known whether it qualifies: %d of %s %s; %d %s not run", q.Qualified, needed, verb, left, were(left))
	}
	if why := d.truncated(q); why != "" {
		return "not known whether it qualifies: " + why
	}
	if q.Qualified > 0 {
		needed = fmt.Sprintf("%d of %s", q.Needed-q.Qualified, needed)
	}
	return "not known whether it qualifies: no run in the responses to " + needed
}

// failed returns the number of scenarios that were not captured completely.
func (d *Discovery) failed() int { return d.tally.counts[project.Failed] }

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// truncated describes how many needed responses cannot be used, and why. It returns "" if
// no response began.
func (d *Discovery) truncated(q gate.Qualification) string {
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

// firstReason returns the first cause or change, for the one line of Quiet.
func (d *Discovery) firstReason(q gate.Qualification) string {
	if q.Qualifies == gate.Unknown {
		if d.truncated(q) != "" {
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

// cause describes in a few words why a scenario has no complete run.
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

// requiredChanges lists the changes with which the integration would qualify.
func (p *Printer) requiredChanges(q gate.Qualification) {
	if q.Qualifies != gate.No {
		return
	}
	p.Line("")
	p.Line("what to change:")
	for _, n := range q.Changes {
		p.Line("  %s (%s)", n.Advice(), strings.Join(n.Runs, ", "))
		if how, ok := hint.ByChange()[string(n.Code)]; ok {
			p.Line("      \t%s", painted(how))
		} else if n.Code != "" {
			p.Line("      \t"+hint.Explain, painted(n.Code))
		}
	}
}

// unreadable explains why the response to a scenario cannot be read. It returns "" for
// other causes.
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

// causes lists, once each, why needed scenarios have no complete run.
func (d *Discovery) causes() (list []scenario.Cause) {
	for _, row := range d.rows {
		if row.Needed && row.Cause != "" && !slices.Contains(list, row.Cause) {
			list = append(list, row.Cause)
		}
	}
	return list
}

// causes prints each likely cause of a missing or incomplete run, with the first response
// that shows it.
func (p *Printer) causes(d *Discovery, list []scenario.Cause) {
	for _, cause := range list {
		var names []string
		needed, response := 0, ""
		for _, row := range d.rows {
			if !row.Needed {
				continue
			}
			if needed++; row.Cause == cause {
				names = append(names, row.Scenario)
				response = cmp.Or(response, unreadable(row), responseSummary(row))
			}
		}
		where := strings.Join(names, ", ")
		if len(names) == needed {
			where = "every needed scenario"
		}
		p.Line("")
		p.Line("likely cause (%s)", where)
		p.Line("  %s", painted(hint.ByCause()[string(cause)]))
		p.Line("  response: \t%s", painted(response))
	}
}
