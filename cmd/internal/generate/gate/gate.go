package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/internal/hint"
)

const (
	sampleLane = "../examples/ag-ui-compacted-message-snapshot-evidence/README.md"
	claim      = "*portable compacted message-history evidence for a bounded run envelope*"
)

// gateDocument writes GATE.md.
func gateDocument(lanes []lane, list *scenario.List) []byte {
	var b bytes.Buffer
	needed := list.Needed()
	var runs []analysis.Run
	for _, l := range lanes {
		runs = append(runs, l.runs...)
	}
	g := gate.Evaluate(runs, needed, artifact.V1)
	t := trialsOf(lanes)
	answers := append(g.Answers[:len(g.Answers):len(g.Answers)], t.smallest())
	fmt.Fprintf(&b, "# The discovery gate\n\n%s\n\n", status(g, answers))
	fmt.Fprintf(&b, "This page answers [P20 §14](../docs/p20.md#s14) from %d runs in %d captures of %d real integrations, each package unchanged and its model scripted; where a package has no server of its own, the harness or another package's runtime serves it ([harnesses](harness/README.md) says which). It is about these captures: an integration that is not listed was not tried. `make gate` makes the page from them, and `make test` fails if it is out of date; `make discovery` records every capture again and compares the structure.\n\n", total(g), captures(lanes), len(lanes))
	verdicts(&b, g, list)
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
		if !a.Favorable {
			open = append(open, fmt.Sprintf("%s %s.", a.Question, strings.ToUpper(a.Word[:1])+a.Word[1:]))
		}
	}
	for _, s := range g.Summaries {
		if s.Qualifies {
			names = append(names, s.Integration.String())
		}
	}
	switch {
	case !g.Met:
		return fmt.Sprintf("**Status: pre-proof draft.** Of the two conditions of [P20 §15](../docs/p20.md#s15) one holds: %s. The other does not: captures of real integrations were compared with the contract, and %s.", lane, g.Why)
	case len(open) > 0:
		return fmt.Sprintf("**Status: pre-proof draft.** Both conditions of [P20 §15](../docs/p20.md#s15) are there, %s and captures of real integrations that were compared with the contract, but not every question of §14 has an answer that carries them: %s", lane, strings.Join(open, " "))
	}
	return fmt.Sprintf("**Status.** Both conditions of [P20 §15](../docs/p20.md#s15) hold for exactly one claim, %s; the mark *pre-proof draft* is therefore lifted. The conditions: %s; captures of real integrations that emit snapshots were compared with the contract. In these captures, with scripted models, the following qualify: %s.", claim, lane, join(names))
}

// verdicts is the table that says which integrations qualify.
func verdicts(b *bytes.Buffer, g gate.Gate, list *scenario.List) {
	needed := list.Needed()
	fmt.Fprintf(b, "## Which integrations qualify\n\nAn integration qualifies if each of its runs of the needed scenarios qualifies. These are the plain text conversations: %s. %s%s\n\n| integration | version | qualifies | why not | what it would have to change |\n|---|---|---|---|---|\n", join(needed), gate.Rule, notAnywhere(list))
	for _, s := range g.Summaries {
		q := s.Qualification
		answer := string(q.Qualifies)
		if len(q.NotAsked) > 0 {
			answer += " (not asked: " + strings.Join(q.NotAsked, ", ") + ")"
		}
		var why, changes []string
		for _, n := range q.Changes {
			why = append(why, fmt.Sprintf("%s in %d of %d", n.Shortfall(), len(n.Runs), q.Needed))
			how := change(n)
			if len(q.Changes) > 1 || len(n.Runs) < q.Needed {
				how += " (" + strings.Join(n.Runs, ", ") + ")"
			}
			changes = append(changes, how)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", s.Integration.Name, s.Integration.Version, answer, strings.Join(why, "; "), strings.Join(changes, "; "))
	}
	b.WriteString("\nThe other scenarios are about tools, state, errors, settings and ids. They decide nothing, and their runs are counted in the tables below.\n\n")
}

// notAnywhere names the needed scenarios that discover does not ask by itself.
func notAnywhere(list *scenario.List) string {
	needed := list.Needed()
	for _, s := range list.ForAnyAgent() {
		needed = slices.DeleteFunc(needed, func(name string) bool { return name == s.Name })
	}
	if len(needed) == 0 {
		return ""
	}
	return fmt.Sprintf(" `discover` with its own list asks all of them but %s, for which the agent has to play along.", join(needed))
}

// change says what would have to change, in the words that discover adds to its
// advice, or in those of the advice.
func change(n gate.Problem) string {
	if how, ok := hint.ByChange()[string(n.Code)]; ok {
		return how
	}
	return n.Advice()
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
