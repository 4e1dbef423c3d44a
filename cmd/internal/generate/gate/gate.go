package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/finding"
)

const (
	sampleLane = "../examples/ag-ui-compacted-message-snapshot-evidence/README.md"
	claim      = "*portable compacted message-history evidence for a bounded run envelope*"
)

// gateDocument writes GATE.md.
func gateDocument(lanes []lane, needed []string) []byte {
	var b bytes.Buffer
	var runs []analysis.Run
	for _, l := range lanes {
		runs = append(runs, l.runs...)
	}
	g := gate.Evaluate(runs, needed, artifact.V1)
	t := trialsOf(lanes)
	answers := append(g.Answers[:len(g.Answers):len(g.Answers)], t.smallest())
	fmt.Fprintf(&b, "# The discovery gate\n\n%s\n\n", status(g, answers))
	fmt.Fprintf(&b, "This page answers [P20 §14](../docs/p20.md#s14) from %d runs in %d captures of %d real integrations, each unchanged, with only its model scripted ([harnesses](harness/README.md)). It is about these captures: an integration that is not listed was not tried. `make gate` makes the page from them, and `make test` fails if it is out of date; `make discovery` records every capture again and compares the structure.\n\n", total(g), captures(lanes), len(lanes))
	verdicts(&b, g, needed)
	questions(&b, answers, t)
	standings(&b, lanes, g)
	needs(&b, g, needed)
	contract(&b, lanes, g)
	notes(&b, lanes)
	evidence(&b, g)
	b.WriteString(definitions)
	return b.Bytes()
}

// status says whether the mark is lifted: P20 §15 has two conditions, and the second
// is that of §14, whose questions all have to be answered well.
func status(g gate.Gate, answers []gate.Answer) string {
	lane := fmt.Sprintf("a bounded sample lane is in the repository ([sample lane](%s))", sampleLane)
	var open, names []string
	for _, a := range answers {
		if !a.Good {
			open = append(open, fmt.Sprintf("%s %s.", a.Question, strings.ToUpper(a.Word[:1])+a.Word[1:]))
		}
	}
	for _, s := range g.Summaries {
		if s.Met {
			names = append(names, s.Integration.Name)
		}
	}
	switch {
	case !g.Met:
		return fmt.Sprintf("**Status: pre-proof draft.** Of the two conditions of [P20 §15](../docs/p20.md#s15) one holds: %s. The other does not: captures of real integrations were compared with the contract, and %s.", lane, g.Why)
	case len(open) > 0:
		return fmt.Sprintf("**Status: pre-proof draft.** Both conditions of [P20 §15](../docs/p20.md#s15) are there, %s and captures of real integrations that were compared with the contract, but not every question of §14 has an answer that carries them: %s", lane, strings.Join(open, " "))
	}
	return fmt.Sprintf("**Status.** The lane is closed for exactly one claim, %s, and the mark *pre-proof draft* is lifted. Both conditions of [P20 §15](../docs/p20.md#s15) hold: %s; captures of real integrations that emit snapshots were compared with the contract, and %s qualify.", claim, lane, join(names))
}

// verdicts is the table that says which integrations qualify.
func verdicts(b *bytes.Buffer, g gate.Gate, needed []string) {
	fmt.Fprintf(b, "## Which integrations qualify\n\nAn integration qualifies if each of its runs of the needed scenarios qualifies. These are the plain text conversations: %s. A run qualifies if it emits exactly one MESSAGES_SNAPSHOT in which no text that the run streamed was found lacking, and the artifact made from it is smaller than the run.\n\n| integration | version | qualifies | why not | what it would have to change |\n|---|---|---|---|---|\n", join(needed))
	for _, s := range g.Summaries {
		q := s.Qualification
		answer := string(q.Qualifies)
		if len(q.NotAsked) > 0 {
			answer += " (not asked: " + strings.Join(q.NotAsked, ", ") + ")"
		}
		var why, changes []string
		for _, n := range q.Changes {
			why = append(why, fmt.Sprintf("%s: %d of %d", reason(n), len(n.Runs), q.Needed))
			change := n.Advice()
			if len(q.Changes) > 1 || len(n.Runs) < q.Needed {
				change += " (" + strings.Join(n.Runs, ", ") + ")"
			}
			changes = append(changes, change)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", s.Integration.Name, s.Integration.Version, answer, strings.Join(why, "; "), strings.Join(changes, "; "))
	}
	b.WriteString("\nThe other scenarios are about tools, state, errors, settings and ids. They decide nothing, and their runs are counted in the tables below.\n\n")
}

// reason says what keeps a run from qualifying.
func reason(n gate.Need) string {
	if n.Larger {
		return n.Advice()
	}
	if n.HTTPStatus != 0 {
		return fmt.Sprintf("the endpoint answered with HTTP status %d", n.HTTPStatus)
	}
	about, _ := finding.Describe(n.Code)
	meaning, _, _ := strings.Cut(about.Meaning, ";")
	return meaning
}

func captures(lanes []lane) (n int) {
	for _, l := range lanes {
		n += l.captures
	}
	return n
}

func total(g gate.Gate) (n int) {
	for _, s := range g.Summaries {
		n += s.Runs
	}
	return n
}

// join spells a list with "and" before its last.
func join(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// short is a path as seen from the documents.
func short(file string) string { return strings.TrimPrefix(file, "discovery/") }

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", n, of)
}

func notes(b *bytes.Buffer, lanes []lane) {
	b.WriteString("## What could not be asked\n\nScenarios that an integration cannot express.\n\n| integration | scenario | why |\n|---|---|---|\n")
	for _, l := range lanes {
		for _, n := range l.notes {
			fmt.Fprintf(b, "| %s | %s | %s |\n", l.Integration.Name, n.Name, n.Note)
		}
	}
	b.WriteString("\n")
}
