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

// gateDocument returns the text of GATE.md.
func gateDocument(harnesses []harness, list *scenario.List) []byte {
	var b bytes.Buffer
	needed := list.Needed()
	var runs []analysis.Run
	for _, h := range harnesses {
		runs = append(runs, h.runs...)
	}
	g := gate.Evaluate(runs, needed, artifact.V1)
	t := countRefreezings(harnesses)
	answers := append(g.Answers[:len(g.Answers):len(g.Answers)], t.smallest())
	fmt.Fprintf(&b, "# The discovery gate\n\n%s\n\n", status(g, answers))
	fmt.Fprintf(&b, "This page answers [P20 §14](../docs/p20.md#s14) with %d runs in %d captures of %d real integrations. Every package is unmodified, and every model is scripted. A package without a server of its own is served by the harness or by another package's runtime ([harnesses](harness/README.md) lists them). An integration that is not listed was not tested. `make gate` generates this page from the captures, `make test` fails if the page is out of date, and `make discovery` records every capture again and compares the structure.\n\n", countRuns(g), countCaptures(harnesses), len(harnesses))
	qualification(&b, g, list)
	questions(&b, answers, t)
	specification(&b, harnesses, g)
	integrations(&b, harnesses, g)
	otherScenarios(&b, g, needed)
	rebuiltMessages(&b, harnesses)
	contract(&b, harnesses, g)
	skippedScenarios(&b, harnesses)
	evidence(&b, g)
	b.WriteString(definitions)
	return b.Bytes()
}

// status returns the paragraph about the status of the lane. P20 §15 has two
// conditions: the sample lane, and the gate of §14, whose questions must all have a
// favorable answer.
func status(g gate.Gate, answers []gate.Answer) string {
	condition := fmt.Sprintf("the repository contains a bounded sample lane ([sample lane](%s))", sampleLane)
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
		return fmt.Sprintf("**Status: pre-proof draft.** One of the two conditions of [P20 §15](../docs/p20.md#s15) is met: %s. The other is not: captures of real integrations were compared with the contract, but %s.", condition, g.Why)
	case len(open) > 0:
		return fmt.Sprintf("**Status: pre-proof draft.** The materials that [P20 §15](../docs/p20.md#s15) requires exist: %s, and captures of real integrations were compared with the contract. However, these questions of §14 have unfavorable answers: %s", condition, strings.Join(open, " "))
	}
	return fmt.Sprintf("**Status.** Both conditions of [P20 §15](../docs/p20.md#s15) are met for exactly one claim: %s. The plan calls the lane *pre-proof* until they are met, so this page is no longer marked as a pre-proof draft. The conditions are: %s, and captures of real integrations that emit snapshots were compared with the contract. In these captures, with scripted models, the following integrations qualify: %s.", claim, condition, join(names))
}

// qualification writes the table of the integrations that qualify.
func qualification(b *bytes.Buffer, g gate.Gate, list *scenario.List) {
	needed := list.Needed()
	fmt.Fprintf(b, "## Which integrations qualify\n\nAn integration qualifies if all its runs of the needed scenarios qualify. The needed scenarios are plain text conversations: %s. %s%s\n\n| integration | version | qualifies | why not | required change |\n|---|---|---|---|---|\n", join(needed), gate.Rule, notForAnyAgent(list))
	for _, s := range g.Summaries {
		q := s.Qualification
		answer := string(q.Qualifies)
		if len(q.NotAsked) > 0 {
			answer += " (not run: " + strings.Join(q.NotAsked, ", ") + ")"
		}
		var why, changes []string
		for _, n := range q.Changes {
			why = append(why, fmt.Sprintf("%s in %d of %d scenarios", n.Shortfall(), len(n.Runs), q.Needed))
			how := requiredChange(n)
			if len(q.Changes) > 1 || len(n.Runs) < q.Needed {
				how += " (" + strings.Join(n.Runs, ", ") + ")"
			}
			changes = append(changes, how)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", s.Integration.Name, s.Integration.Version, answer, strings.Join(why, "; "), strings.Join(changes, "; "))
	}
	b.WriteString("\nThe other scenarios cover tools, state, errors, settings and ids. They do not affect which integrations qualify. Their runs are included in the tables below.\n\n")
}

// notForAnyAgent returns a sentence about the needed scenarios that discover does not run by
// default, or "" if there are none.
func notForAnyAgent(list *scenario.List) string {
	needed := list.Needed()
	for _, s := range list.ForAnyAgent() {
		needed = slices.DeleteFunc(needed, func(name string) bool { return name == s.Name })
	}
	if len(needed) == 0 {
		return ""
	}
	return fmt.Sprintf(" By default, `discover` runs all needed scenarios except %s, which needs an agent with a scripted model.", join(needed))
}

// requiredChange returns what an integration would have to change: the details that
// discover prints for the problem, or else its advice.
func requiredChange(n gate.Problem) string {
	if how, ok := hint.ByChange()[string(n.Code)]; ok {
		return how
	}
	return n.Advice()
}

func countCaptures(harnesses []harness) (n int) {
	for _, h := range harnesses {
		n += h.captureCount
	}
	return n
}

func countRuns(g gate.Gate) (n int) {
	for _, s := range g.Summaries {
		n += s.Runs
	}
	return n
}

// join joins a list with commas, and with "and" before the last element.
func join(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// relative returns a path relative to the directory of the documents.
func relative(file string) string { return strings.TrimPrefix(file, "discovery/") }

func ratio(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", n, of)
}

func skippedScenarios(b *bytes.Buffer, harnesses []harness) {
	b.WriteString("## Scenarios that could not be run\n\nThe integrations have no way to express these scenarios.\n\n| integration | scenario | reason |\n|---|---|---|\n")
	for _, h := range harnesses {
		for _, n := range h.skipped {
			fmt.Fprintf(b, "| %s | %s | %s |\n", h.Integration.Name, n.Name, n.Note)
		}
	}
	b.WriteString("\n")
}
