package gate

import (
	"fmt"
	"net/http"
	"slices"
	"sort"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Decision is the answer to whether an integration qualifies.
type Decision string

// The decisions. It is Unknown if there is no run of a needed scenario, or if all such
// runs qualify but some needed scenarios were not run or have no complete response.
const (
	Yes     Decision = "yes"
	No      Decision = "no"
	Unknown Decision = "unknown"
)

// Decisions returns all decisions.
func Decisions() []Decision { return []Decision{Yes, No, Unknown} }

// Qualification says whether an integration qualifies, and what it would have to change.
type Qualification struct {
	Qualifies Decision `json:"qualifies"`
	// Needed counts the needed scenarios that were run. Qualified counts those that
	// have a run and whose runs all qualify.
	Needed    int `json:"needed"`
	Qualified int `json:"good"`
	// NotAsked lists the needed scenarios without a capture.
	NotAsked []string `json:"not_asked,omitzero"`
	// CutOff lists the needed scenarios whose responses are truncated, missing or
	// unreadable. They are no evidence for or against the integration.
	CutOff []string `json:"cut_off,omitzero"`
	// Changes lists what the integration would have to change, sorted by the number
	// of needed scenarios that require the change.
	Changes []Problem `json:"changes"`
}

// Qualify decides whether one integration qualifies, from its runs of the needed
// scenarios. A run belongs to the scenario that its Scenario field names, even if it only
// describes an error. The names in notRun are needed scenarios that were not run although
// the integration can express them. If there are any, the integration does not qualify;
// the decision is No or Unknown.
func Qualify(runs []analysis.Run, needed []string, notRun ...string) Qualification {
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
	case q.Qualified == q.Needed && len(notRun) == 0:
		q.Qualifies = Yes
	case q.Qualified+len(q.CutOff) == q.Needed:
		q.Qualifies = Unknown
	}
	sort.SliceStable(q.Changes, func(i, j int) bool { return len(q.Changes[i].Runs) > len(q.Changes[j].Runs) })
	return q
}

// change adds a problem of a scenario. Problems with the same advice are merged.
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

// Rule says when a run qualifies. In addition, its response must be complete, have HTTP
// status 200 and the content type of an event stream, and contain no other run.
const Rule = "A run qualifies if it finishes with a reply, emits exactly one MESSAGES_SNAPSHOT in which no streamed text is found to be missing, and produces an artifact smaller than the run."

// RunQualifies reports whether a run qualifies by the Rule.
func RunQualifies(run analysis.Run) bool { return !cutOff(run) && len(Problems(run)) == 0 }

// Problems returns why a run does not qualify. For a run that ended with RUN_ERROR, it
// omits problems that a finished run might not have. Problems does not check whether the
// response was cut off.
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

// endsWithReply reports whether the last message of a run's artifact is from the
// assistant.
func endsWithReply(run analysis.Run) bool {
	for _, made := range run.Projections {
		if made.Verdict == project.Frozen {
			return len(made.Roles) > 0 && made.Roles[len(made.Roles)-1] == "assistant"
		}
	}
	return false
}

// cutOff reports whether a response is truncated or could not be read.
func cutOff(run analysis.Run) bool { return run.End != "" || run.Verdict == analysis.Failed }

// badStatus reports whether the HTTP status of a response is known and not 200.
func badStatus(run analysis.Run) bool { return run.HTTPStatus != 0 && run.HTTPStatus != http.StatusOK }

// Shortfall returns what is missing or omitted, in a few words.
func (n Problem) Shortfall() string {
	switch {
	case n.NotSmaller:
		return n.Advice()
	case n.HTTPStatus != 0:
		return fmt.Sprintf("HTTP status %03d", n.HTTPStatus)
	case n.Requirement != "":
		return n.Requirement.shortfall()
	}
	prefix, rest := phrase(analysis.Reason{Code: n.Code, Event: n.Event, Pointer: n.Pointer})
	return prefix + rest
}
