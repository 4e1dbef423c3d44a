package discovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/project"
)

// Gate is the answer to the discovery gate (P20 §14.3) that some captures give.
type Gate struct {
	Contract artifact.Profile `json:"contract"`
	// Met says that for one integration at least every question has a good
	// answer. It is about these captures, and claims nothing of others.
	Met       bool       `json:"met"`
	Answers   []Answer   `json:"answers"`
	Standings []Standing `json:"standings"`
}

// Answer is that to one question.
type Answer struct {
	Question string `json:"question"`
	Good     bool   `json:"good"`
	Text     string `json:"text"`
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

// The questions of P20 §14.3, and of §14 about the identity anchors.
const (
	askSnapshot = "Does a capture of an emitted MESSAGES_SNAPSHOT exist from which an artifact is made?"
	askRaw      = "Is the raw captured run envelope preserved?"
	askOne      = "Does a bounded run emit exactly one usable snapshot?"
	askParent   = "Is parentRunId absent, incidental or common?"
	askSmaller  = "Is the artifact smaller than the upstream envelope?"
	askAnchors  = "Is a required identity anchor too rich?"
)

// Answered answers the gate from examinations of captures.
func Answered(runs []Examination, contract artifact.Profile) Gate {
	g := Gate{Contract: contract, Standings: standings(runs)}
	all := newStanding(Integration{}, runs)
	g.Answers = []Answer{
		g.snapshot(runs, all), raw(runs), one(runs, all), parent(runs, all), smaller(runs, all), anchors(runs, all),
	}
	for _, s := range g.Standings {
		g.Met = g.Met || s.Met
	}
	return g
}

// evidence names the parts of a run's envelope; those of one event alone where
// part is not empty.
func evidence(run Examination, part string) (list []Evidence) {
	for _, p := range run.Events {
		if part == "" || part == p.Part {
			list = append(list, Evidence{run.Response, p.Part, p.Offset, p.Bytes})
		}
	}
	return list
}

// firstOf returns the first run of each integration for which holds.
func firstOf(runs []Examination, holds func(Examination) bool) (list []Examination) {
	seen := make(map[Integration]bool)
	for _, run := range runs {
		if !seen[run.Integration] && holds(run) {
			seen[run.Integration] = true
			list = append(list, run)
		}
	}
	return list
}

func (g *Gate) snapshot(runs []Examination, all Standing) Answer {
	a := Answer{Question: askSnapshot, Good: all.Emitted() > 0}
	from := 0
	for _, s := range g.Standings {
		if s.Emitted() > 0 {
			from++
		}
	}
	a.Text = fmt.Sprintf("%s: of %[3]s %[2]d give an artifact of the one snapshot they emitted, %[4]d of them as it is; they are of %[5]d of %[6]s.", yes(a.Good),
		all.Emitted(), counted(all.Runs, "run"), all.Count(Exact), from, counted(len(g.Standings), "integration"))
	for _, run := range firstOf(runs, func(e Examination) bool { return e.Verdict == Exact }) {
		a.Evidence = append(a.Evidence, evidence(run, project.SnapshotPart)...)
	}
	return a
}

func raw(runs []Examination) Answer {
	a := Answer{Question: askRaw}
	captures, kept, damaged := map[string]bool{}, 0, 0
	for _, run := range runs {
		if captures[run.Capture] {
			continue
		}
		captures[run.Capture] = true
		switch {
		case run.Digest == "":
			damaged++
		case run.Response != run.Capture:
			kept++
		}
	}
	a.Good = kept > 0 && damaged == 0
	a.Text = fmt.Sprintf("%s: of %s %d keep every byte of the response as it arrived, in a directory whose manifest states its size and digest, which this reading found to be right.",
		yes(a.Good), counted(len(captures), "capture"), kept)
	if damaged > 0 {
		a.Text += fmt.Sprintf(" %d could not be read.", damaged)
	}
	for _, run := range firstOf(runs, func(e Examination) bool { return len(e.Events) == 3 }) {
		a.Evidence = append(a.Evidence, evidence(run, "")...)
	}
	return a
}

func one(runs []Examination, all Standing) Answer {
	if all.Runs == 0 {
		return Answer{Question: askOne, Text: noRun}
	}
	s := all.Snapshots
	a := Answer{Question: askOne, Good: all.Emitted() > 0}
	word := "Not every one"
	switch {
	case s.Finished.One == 0:
		word = "None"
	case s.Finished.One == s.Finished.Total():
		word = "Yes, where it finished"
	}
	a.Text = fmt.Sprintf("%s: of %s that ended in RUN_FINISHED %d emit one, %d none, %d several; of %s that ended in RUN_ERROR %d emit one, %d none, %d several. %d of the %d with one give an artifact.",
		word, counted(s.Finished.Total(), "run"), s.Finished.One, s.Finished.None, s.Finished.Several,
		counted(s.Failed.Total(), "run"), s.Failed.One, s.Failed.None, s.Failed.Several, all.Emitted(), s.Finished.One+s.Failed.One)
	for _, run := range firstOf(runs, func(e Examination) bool { return len(e.Snapshots) > 1 }) {
		for _, s := range run.Snapshots {
			a.Evidence = append(a.Evidence, Evidence{run.Response, project.SnapshotPart, s.Offset, s.Bytes})
		}
	}
	return a
}

func parent(runs []Examination, all Standing) Answer {
	p := all.Parent
	word := "absent"
	switch {
	case all.Runs == 0:
		return Answer{Question: askParent, Text: noRun}
	case p.RunStarted*2 > all.Runs:
		word = "common"
	case p.RunStarted > 0:
		word = "incidental"
	}
	a := Answer{Question: askParent, Good: true}
	a.Text = fmt.Sprintf("%s: %d of %s name a parent in RUN_STARTED, %d in the copy of the request that RUN_STARTED may carry. %s named one.",
		strings.ToUpper(word[:1])+word[1:], p.RunStarted, counted(all.Runs, "run"), p.Input, counted(p.Request, "request"))
	for _, run := range firstOf(runs, func(e Examination) bool { return e.Parent.Request || e.Parent.RunStarted || e.Parent.Input }) {
		a.Evidence = append(a.Evidence, evidence(run, project.RunStartedPart)...)
	}
	return a
}

func smaller(runs []Examination, all Standing) Answer {
	s := all.Sizes
	if s.Artifacts == 0 {
		return Answer{Question: askSmaller, Text: "There is no artifact to measure."}
	}
	a := Answer{Question: askSmaller, Good: s.BelowRun > 0}
	a.Text = fmt.Sprintf("Of %s with an artifact, the canonical artifact is smaller than the run as it was captured in %d. It is smaller than the run's three events, as the bounded envelope has them, in %d; without white space in %d.",
		counted(s.Artifacts, "run"), s.BelowRun, s.BelowEnvelope, s.CompactBelowEnvelope)
	runs = slices.DeleteFunc(slices.Clone(runs), func(e Examination) bool { return e.Sizes == nil })
	bySize := func(a, b Examination) int { return cmp.Compare(a.Sizes.Run, b.Sizes.Run) }
	least, most := slices.MinFunc(runs, bySize), slices.MaxFunc(runs, bySize)
	a.Text += " The smallest run: " + sizes(least) + "."
	a.Evidence = evidence(least, "")
	if bySize(least, most) < 0 {
		a.Text += " The largest: " + sizes(most) + "."
		a.Evidence = append(a.Evidence, evidence(most, "")...)
	}
	return a
}

func sizes(run Examination) string {
	s := run.Sizes
	return fmt.Sprintf("%s, run %d bytes, envelope %d, artifact %d canonical and %d without white space", run.Capture, s.Run, s.Envelope, s.Artifact, s.Compact)
}

func anchors(runs []Examination, all Standing) Answer {
	if all.Runs == 0 {
		return Answer{Question: askAnchors, Text: noRun}
	}
	a := Answer{Question: askAnchors}
	refused := 0
	for _, run := range runs {
		for _, p := range run.Projections {
			if p.Name != project.EmittedSnapshotText || p.Snapshot != "" {
				continue
			}
			for _, r := range p.Reasons {
				if r.Code == finding.RefNotOpaque || r.Pointer == "/threadId" || r.Pointer == "/runId" {
					refused++
					break
				}
			}
		}
	}
	a.Good = refused == 0
	a.Text = fmt.Sprintf("No: threadId and runId, the two that are required, are opaque strings within the limits in each of %s.", counted(all.Runs, "run"))
	if refused > 0 {
		a.Text = fmt.Sprintf("Yes: %d of %s are refused for their threadId or runId.", refused, counted(all.Runs, "run"))
	}
	return a
}

// noRun answers what only runs could.
const noRun = "Unknown: no capture holds a run."

func yes(good bool) string {
	if good {
		return "Yes"
	}
	return "No"
}

// counted puts a number before a noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
