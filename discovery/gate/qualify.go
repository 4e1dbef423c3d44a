package gate

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Decision says whether an integration qualifies.
type Decision string

// The answers. NotKnown: no run of a needed scenario was seen, or those that were
// seen qualify but needed scenarios were left out or have no whole answer.
const (
	Yes     Decision = "yes"
	No      Decision = "no"
	Unknown Decision = "unknown"
)

// Decisions lists them.
func Decisions() []Decision { return []Decision{Yes, No, Unknown} }

// Qualification says whether an integration's runs of the needed scenarios each
// give an artifact of the one usable snapshot, and what would have to change.
type Qualification struct {
	Qualifies Decision `json:"qualifies"`
	// Needed counts the needed scenarios that were asked, Good those of them that
	// have a run and whose runs all qualify.
	Needed    int `json:"needed"`
	Qualified int `json:"good"`
	// NotAsked are the needed scenarios without a capture.
	NotAsked []string `json:"not_asked,omitzero"`
	// CutOff are the needed scenarios whose answers ended too early, did not come or
	// could not be read. They say nothing about the integration.
	CutOff []string `json:"cut_off,omitzero"`
	// Changes are what the needed scenarios that do not qualify would have to change.
	// What most of them need comes first.
	Changes []Problem `json:"changes"`
}

// Qualify judges one integration by its runs of the needed scenarios, which are
// given by name. A run belongs to the scenario of its capture's label; a scenario
// that left nothing but an error counts as asked if there is a Run with that label.
// LeftOut names the needed scenarios that were not asked although they could have
// been: without them the others do not make the integration qualify.
func Qualify(runs []analysis.Run, needed []string, leftOut ...string) Qualification {
	q := Qualification{Qualifies: No, Changes: []Problem{}}
	seen := false
	for _, name := range needed {
		asked, good, cut := false, true, false
		for _, run := range runs {
			if run.Scenario != name {
				continue
			}
			if asked = true; cutOff(run) {
				cut = true
				continue
			}
			seen = seen || run.Run != nil || finding.Has(run.Findings, finding.RunsTooMany)
			for _, n := range Problems(run) {
				good = false
				q.change(n, name)
			}
		}
		switch {
		case !asked:
			q.NotAsked = append(q.NotAsked, name)
			continue
		case good && cut:
			q.CutOff = append(q.CutOff, name)
		case good:
			q.Qualified++
		}
		q.Needed++
	}
	switch {
	case !seen:
		q.Qualifies = Unknown
	case q.Qualified == q.Needed && len(leftOut) == 0:
		q.Qualifies = Yes
	case q.Qualified+len(q.CutOff) == q.Needed:
		q.Qualifies = Unknown
	}
	slices.SortStableFunc(q.Changes, func(a, b Problem) int { return cmp.Compare(len(b.Runs), len(a.Runs)) })
	return q
}

// change adds what a scenario needs, unless it is known. Needs that are met by the
// same change are one.
func (q *Qualification) change(n Problem, scenario string) {
	at := slices.IndexFunc(q.Changes, func(have Problem) bool { return have.Advice() == n.Advice() })
	if at < 0 {
		at = len(q.Changes)
		n.Runs = nil
		q.Changes = append(q.Changes, n)
	}
	if have := &q.Changes[at].Runs; !slices.Contains(*have, scenario) {
		*have = append(*have, scenario)
	}
}

// Rule says when a run qualifies. That its answer came whole, with HTTP status 200 and
// as an event stream, and holds no other run, goes without saying.
const Rule = "A run qualifies if it finishes with a reply, emits exactly one MESSAGES_SNAPSHOT in which no streamed text is found to be missing, and produces an artifact smaller than the run."

// RunQualifies reports whether a run qualifies by the Rule.
func RunQualifies(run analysis.Run) bool { return !cutOff(run) && len(Problems(run)) == 0 }

// Problems returns what is missing for a run to qualify. A run that failed is not said to
// lack what may come of it when it finishes. Needs does not ask whether the answer
// was cut off.
func Problems(run analysis.Run) []Problem {
	var list []Problem
	add := func(n Problem) {
		n.Runs = []string{run.Scenario}
		list = append(list, n)
	}
	switch {
	case badStatus(run):
		add(Problem{Code: finding.HTTPStatus, HTTPStatus: run.HTTPStatus})
		return list
	case run.Run == nil:
		for _, f := range run.Findings {
			if f.Severity == finding.Error {
				add(Problem{Code: f.Code})
			}
		}
		if len(list) == 0 {
			add(Problem{Code: finding.NoRun})
		}
		return list
	}
	if finding.Has(run.Findings, finding.HTTPContentType) {
		add(Problem{Code: finding.HTTPContentType})
	}
	if *run.Run > 1 {
		add(Problem{Requirement: OneRun})
	}
	failed := run.Terminal == envelope.RunError
	if failed {
		add(Problem{Requirement: Finish})
	}
	switch {
	case !run.Verdict.Emitted():
		for _, r := range run.Projections[1].Reasons {
			if !failed || r.Code != finding.SnapshotMissing {
				add(Problem{Code: r.Code, Event: r.Event, Pointer: r.Pointer})
			}
		}
		if run.Verdict == analysis.Incomplete && !failed {
			add(Problem{Code: finding.SnapshotLacksText})
		}
	case failed:
	case !endsWithReply(run):
		add(Problem{Requirement: Reply})
	case int64(run.Sizes.Artifact) >= run.Sizes.Run:
		add(Problem{NotSmaller: true})
	}
	return list
}

// endsWithReply reports whether the last message of the artifact of a run's one usable
// snapshot is the assistant's.
func endsWithReply(run analysis.Run) bool {
	for _, made := range run.Projections {
		if made.Verdict == project.Frozen {
			return len(made.Roles) > 0 && made.Roles[len(made.Roles)-1] == "assistant"
		}
	}
	return false
}

// cutOff reports whether an answer ended too early, or no whole one was kept.
func cutOff(run analysis.Run) bool { return run.End != "" || run.Verdict == analysis.Failed }

// badStatus reports whether an answer has another HTTP status than 200.
func badStatus(run analysis.Run) bool { return run.HTTPStatus != 0 && run.HTTPStatus != http.StatusOK }

// Shortfall says in a few words what is missing or left out.
func (n Problem) Shortfall() string {
	switch {
	case n.NotSmaller:
		return n.Advice()
	case n.HTTPStatus != 0:
		return fmt.Sprintf("HTTP status %03d", n.HTTPStatus)
	case n.Requirement != "":
		return n.Requirement.shortfall()
	}
	stem, rest := phrase(analysis.Reason{Code: n.Code, Event: n.Event, Pointer: n.Pointer})
	return stem + rest
}
