package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
)

// longReply is the scenario whose replies have realistic lengths.
const longReply = "long-reply"

// contract writes what the results mean for the contract.
func contract(b *bytes.Buffer, harnesses []harness, g gate.Gate) {
	var ids analysis.IDCounts
	stable, replaced, mixed := 0, 0, 0
	for _, s := range g.Summaries {
		ids.Add(s.IDs)
		switch {
		case s.IDs.Streamed == 0:
		case s.IDs.StreamedKept == s.IDs.Streamed:
			stable++
		case s.IDs.StreamedKept == 0:
			replaced++
		default:
			mixed++
		}
	}
	all := measure(harnesses, func(analysis.Run) bool { return true })
	long := measure(harnesses, func(run analysis.Run) bool { return run.Scenario == longReply })
	fmt.Fprintf(b, "## Implications for the contract\n\n- **Length.** Assay's mapper 5.4.0 accepts at most %d characters per message. ", artifact.Assay.Limits().Content)
	if long.artifacts > 0 {
		fmt.Fprintf(b, "Only `%s` has replies of realistic length ([how the lengths were computed](harness/README.md)): %s. ", longReply, long.lengths())
	}
	fmt.Fprintf(b, "In all scenarios, most of which have lengths that we chose: %s. The scenarios with longer messages are %s.\n", all.lengths(), join(all.longScenarios))
	fmt.Fprintf(b, "- **Message ids.** In runs with a snapshot, %d of %d streamed ids are in the snapshot. Integrations that keep all of them: %d; that replace all of them: %d; that keep some: %d. An id in an artifact identifies a message within that artifact. The client may never have seen that id.\n", ids.StreamedKept, ids.Streamed, stable, replaced, mixed)
	b.WriteString("- **Stream and snapshot.** The text messages of request and stream were compared with those of the last snapshot, in runs where both are known. ")
	if long.differences.runs > 0 {
		fmt.Fprintf(b, "In `%s`, whose texts have line breaks, tabs and indentation like Markdown: %s. ", longReply, long.differences)
	}
	fmt.Fprintf(b, "In all scenarios: %s.\n", all.differences)
	b.WriteString("- **Size.** The indentation and the additional keys of an artifact cost more bytes than a short history saves. Artifacts are smaller than their runs because they omit the other events.\n\n")
	b.WriteString("Sizes in bytes for `one-turn`, one question and one answer:\n\n| integration | captured run | envelope | artifact | without white space |\n|---|---|---|---|---|\n")
	for _, h := range harnesses {
		for _, run := range h.runs {
			if s := run.Sizes; s != nil && capture.BaseName(run.Capture) == "one-turn" {
				fmt.Fprintf(b, "| %s (%s) | %d | %d | %d | %d |\n", h.Integration.Name, run.Verdict, s.Run, s.Envelope, s.Artifact, s.Compact)
			}
		}
	}
	b.WriteString("\n")
}

// textMeasures describes the texts in the artifacts of some runs.
type textMeasures struct {
	artifacts, assayArtifacts int
	texts                     analysis.Texts
	longScenarios             []string // scenarios with texts that are too long for Assay
	differences               differenceCounts
}

func measure(harnesses []harness, of func(analysis.Run) bool) (m textMeasures) {
	for _, h := range harnesses {
		for _, run := range h.runs {
			if !of(run) {
				continue
			}
			m.differences.add(run.Difference)
			if run.Sizes == nil {
				continue
			}
			m.artifacts++
			m.texts.Add(*run.Texts)
			if name := "`" + run.Scenario + "`"; run.Texts.OverAssayLimit > 0 && !slices.Contains(m.longScenarios, name) {
				m.longScenarios = append(m.longScenarios, name)
			}
			if slices.ContainsFunc(run.Projections, func(p analysis.Projection) bool { return p.Assay }) {
				m.assayArtifacts++
			}
		}
	}
	return m
}

func (m textMeasures) lengths() string {
	return fmt.Sprintf("%d of %d messages in artifacts are longer, the longest has %d characters, and the mapper accepts %d of %d artifacts",
		m.texts.OverAssayLimit, m.texts.Messages, m.texts.Longest, m.assayArtifacts, m.artifacts)
}

// differenceCounts counts how folded and emitted messages differ. The counts otherID
// and otherName are of messages with the same text.
type differenceCounts struct {
	runs, same, otherID, otherName, whiteSpace, escapes, content, onlyEmitted, onlyFolded int
}

// String returns the counts as text.
func (a differenceCounts) String() string {
	return fmt.Sprintf("%d runs with %d messages that have the same text in both, %d of them with another id and %d with another name; %d messages differ in white space, %d in HTML escapes, %d in other text; only in the snapshot: %d, only in the stream: %d",
		a.runs, a.same, a.otherID, a.otherName, a.whiteSpace, a.escapes, a.content, a.onlyEmitted, a.onlyFolded)
}

func (a *differenceCounts) add(d *analysis.Difference) {
	if d == nil {
		return
	}
	a.runs++
	a.same += d.Same
	for _, one := range d.Mismatches {
		has := func(aspect analysis.Aspect) bool { return slices.Contains(one.Aspects, aspect) }
		switch {
		case one.Emitted == nil:
			a.onlyFolded++
		case one.Folded == nil:
			a.onlyEmitted++
		case has(analysis.AspectWhiteSpace):
			a.whiteSpace++
		case has(analysis.AspectEscapes):
			a.escapes++
		case has(analysis.AspectContent):
			a.content++
		default:
			a.same++
			if has(analysis.AspectID) {
				a.otherID++
			}
			if has(analysis.AspectName) {
				a.otherName++
			}
		}
	}
}
