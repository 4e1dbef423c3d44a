// Package gate answers the questions of the discovery gate (P20 §14.3) from analyzed
// runs, and summarizes the runs of each integration.
//
// It must not read captures or contain rules of an integration.
package gate

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
)

// Gate has the answers to the discovery gate (P20 §14.3) from a set of captures.
type Gate struct {
	Contract artifact.Profile `json:"contract"`
	// Met reports that at least one integration qualifies. Otherwise, Why says why
	// none does. Both refer only to the analyzed captures.
	Met       bool      `json:"met"`
	Why       string    `json:"why,omitzero"`
	Answers   []Answer  `json:"answers"`
	Summaries []Summary `json:"standings"`
}

// Answer is the answer to one question.
type Answer struct {
	Question string `json:"question"`
	// Favorable reports that the answer supports the claim of the gate.
	Favorable bool `json:"good"`
	// Word is the answer in a few words. Text has the figures.
	Word string `json:"answer"`
	Text string `json:"text"`
	// Evidence lists events that support the answer.
	Evidence []Evidence `json:"evidence,omitzero"`
}

// Evidence is a byte range of a response file that contains an event.
type Evidence struct {
	File   string `json:"file"`
	Part   string `json:"part"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
}

// Evaluate answers the gate from the runs of captures. The names in needed are the
// scenarios that decide whether an integration qualifies. The names in notRun are
// needed scenarios without a capture; see Qualify.
func Evaluate(runs []analysis.Run, needed []string, contract artifact.Profile, notRun ...string) Gate {
	g := Gate{Contract: contract, Summaries: summaries(runs, needed, notRun)}
	all := newSummary(analysis.Integration{}, runs, nil, nil)
	g.Answers = []Answer{
		g.snapshot(runs, all), preserved(runs, all), exactlyOne(runs, all), parent(runs, all), smaller(runs, all), anchors(runs, all), g.state(runs, all),
	}
	known, good := false, false
	for _, s := range g.Summaries {
		g.Met = g.Met || s.Qualifies
		known = known || s.Qualification.Qualifies != Unknown
		good = good || s.Qualification.Qualified > 0
	}
	switch {
	case g.Met:
	case all.Runs == 0:
		g.Why = "no capture contains a run"
	case all.Emitted() == 0 && all.Count(analysis.Incomplete) > 0:
		g.Why = "no run produces an artifact of the one snapshot it emitted that contains all streamed text"
	case all.Emitted() == 0:
		g.Why = "no run produces an artifact of the one snapshot it emitted"
	case all.Sizes.EmittedBelowRun == 0:
		g.Why = "no artifact of a usable snapshot is smaller than its run"
	case !known && good:
		g.Why = "needed scenarios were not run or have no complete response"
	case !known:
		g.Why = "there is no run of a needed scenario"
	default:
		g.Why = "no integration has only qualifying runs in the needed scenarios"
	}
	return g
}

// evidence returns the events of a run's envelope as evidence. If part is not empty, it
// returns only that part.
func evidence(run analysis.Run, part string) (list []Evidence) {
	for _, p := range run.Events {
		if part == "" || part == p.Part {
			list = append(list, Evidence{run.Response, p.Part, p.Offset, p.Bytes})
		}
	}
	return list
}

// firstOf returns the first run of each integration that matches.
func firstOf(runs []analysis.Run, match func(analysis.Run) bool) (list []analysis.Run) {
	seen := make(map[analysis.Integration]bool)
	for _, run := range runs {
		if !seen[run.Integration] && match(run) {
			seen[run.Integration] = true
			list = append(list, run)
		}
	}
	return list
}
