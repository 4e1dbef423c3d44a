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

// longReply is the scenario whose replies are as long as real ones.
const longReply = "long-reply"

// contract writes what the results say about the contract itself.
func contract(b *bytes.Buffer, lanes []lane, g gate.Gate) {
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
	all := measure(lanes, func(analysis.Run) bool { return true })
	long := measure(lanes, func(run analysis.Run) bool { return run.Scenario == longReply })
	fmt.Fprintf(b, "## What this says about the contract\n\n- **Length.** Assay's mapper 5.4.0 takes %d characters a message. ", artifact.Assay.Limits().Content)
	if long.artifacts > 0 {
		fmt.Fprintf(b, "Only `%s` has replies of realistic lengths ([how they were computed](harness/README.md)): %s. ", longReply, long.lengths())
	}
	fmt.Fprintf(b, "In all scenarios, whose lengths are otherwise ours: %s. The longer messages are of %s.\n", all.lengths(), join(all.long))
	fmt.Fprintf(b, "- **Message ids.** Where there is a snapshot to look into, %d of %d streamed ids are in it. Integrations that keep them all: %d, that replace them all: %d, that keep some: %d. An id in an artifact names a message in that artifact, and need not be one a client saw.\n", ids.StreamedKept, ids.Streamed, stable, replaced, mixed)
	b.WriteString("- **Stream and snapshot.** The text messages of request and stream, and those of the last snapshot, where both can be told. ")
	if long.both.runs > 0 {
		fmt.Fprintf(b, "In `%s`, whose texts have the lines, tabs and spaces of Markdown: %s. ", longReply, long.both)
	}
	fmt.Fprintf(b, "In all scenarios: %s.\n", all.both)
	b.WriteString("- **Size.** An artifact has two-space indent and names of its own, which a short history does not make up for. What makes it small is that the rest of the run is not in it.\n\n")
	b.WriteString("The sizes of `one-turn`, a question and an answer, in bytes:\n\n| integration | run as captured | envelope | artifact | without white space |\n|---|---|---|---|---|\n")
	for _, l := range lanes {
		for _, run := range l.runs {
			if s := run.Sizes; s != nil && capture.BaseName(run.Capture) == "one-turn" {
				fmt.Fprintf(b, "| %s (%s) | %d | %d | %d | %d |\n", l.Integration.Name, run.Verdict, s.Run, s.Envelope, s.Artifact, s.Compact)
			}
		}
	}
	b.WriteString("\n")
}

// measures are about the texts in the artifacts of some runs.
type measures struct {
	artifacts, assay int
	texts            analysis.Texts
	long             []string // the scenarios of texts that are too long for Assay
	both             agreement
}

func measure(lanes []lane, of func(analysis.Run) bool) (m measures) {
	for _, l := range lanes {
		for _, run := range l.runs {
			if !of(run) {
				continue
			}
			m.both.add(run.Difference)
			if run.Sizes == nil {
				continue
			}
			m.artifacts++
			m.texts.Add(*run.Texts)
			if name := "`" + run.Scenario + "`"; run.Texts.OverAssayLimit > 0 && !slices.Contains(m.long, name) {
				m.long = append(m.long, name)
			}
			if slices.ContainsFunc(run.Projections, func(p analysis.Projection) bool { return p.Assay }) {
				m.assay++
			}
		}
	}
	return m
}

func (m measures) lengths() string {
	return fmt.Sprintf("%d of %d messages in artifacts are longer, the longest has %d, and the mapper could take %d of %d artifacts",
		m.texts.OverAssayLimit, m.texts.Messages, m.texts.Longest, m.assay, m.artifacts)
}

// agreement counts how folded and emitted messages differ; id and name are of
// those with the same text.
type agreement struct {
	runs, same, id, name, white, escapes, content, emitted, folded int
}

// String says it in words.
func (a agreement) String() string {
	return fmt.Sprintf("%d runs, %d messages in both with the same text, %d of these under another id and %d under another name; with a difference in white space %d, in HTML escapes %d, in other text %d; in the snapshot alone %d, in the stream alone %d",
		a.runs, a.same, a.id, a.name, a.white, a.escapes, a.content, a.emitted, a.folded)
}

func (a *agreement) add(d *analysis.Difference) {
	if d == nil {
		return
	}
	a.runs++
	a.same += d.Same
	for _, one := range d.Mismatches {
		has := func(aspect analysis.Aspect) bool { return slices.Contains(one.Aspects, aspect) }
		switch {
		case one.Emitted == nil:
			a.folded++
		case one.Folded == nil:
			a.emitted++
		case has(analysis.AspectWhiteSpace):
			a.white++
		case has(analysis.AspectEscapes):
			a.escapes++
		case has(analysis.AspectContent):
			a.content++
		default:
			a.same++
			if has(analysis.AspectID) {
				a.id++
			}
			if has(analysis.AspectName) {
				a.name++
			}
		}
	}
}
