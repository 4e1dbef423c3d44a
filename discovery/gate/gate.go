// Package gate answers the questions of the discovery gate (P20 §14.3) from the
// runs of captures, and says how each integration stands to the contract.
//
// It reads no capture, and must hold no rule of an integration.
package gate

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
)

// Gate is the answer to the discovery gate (P20 §14.3) that some captures give.
type Gate struct {
	Contract artifact.Profile `json:"contract"`
	// Met says that at least one integration qualifies; Why says why none does.
	// It is about these captures, and claims nothing of others.
	Met       bool      `json:"met"`
	Why       string    `json:"why,omitzero"`
	Answers   []Answer  `json:"answers"`
	Summaries []Summary `json:"standings"`
}

// Answer is that to one question.
type Answer struct {
	Question  string `json:"question"`
	Favorable bool   `json:"good"`
	// Word is the answer, Text the figures behind it.
	Word string `json:"answer"`
	Text string `json:"text"`
	// Evidence names events by their place in a response file.
	Evidence []Evidence `json:"evidence,omitzero"`
}

// Evidence is a piece of a capture: Bytes from Offset on in a file.
type Evidence struct {
	File   string `json:"file"`
	Part   string `json:"part"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
}

// Evaluate answers the gate from the runs of captures. The needed scenarios, given
// by name, are those that decide whether an integration qualifies; see Qualify for
// those that were left out.
func Evaluate(runs []analysis.Run, needed []string, contract artifact.Profile, leftOut ...string) Gate {
	g := Gate{Contract: contract, Summaries: summaries(runs, needed, leftOut)}
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

// evidence names the parts of a run's envelope; those of one event alone where
// part is not empty.
func evidence(run analysis.Run, part string) (list []Evidence) {
	for _, p := range run.Events {
		if part == "" || part == p.Part {
			list = append(list, Evidence{run.Response, p.Part, p.Offset, p.Bytes})
		}
	}
	return list
}

// firstOf returns the first run of each integration for which holds.
func firstOf(runs []analysis.Run, holds func(analysis.Run) bool) (list []analysis.Run) {
	seen := make(map[analysis.Integration]bool)
	for _, run := range runs {
		if !seen[run.Integration] && holds(run) {
			seen[run.Integration] = true
			list = append(list, run)
		}
	}
	return list
}
