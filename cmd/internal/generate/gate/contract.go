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

// contract writes what the results say about the contract itself.
func contract(b *bytes.Buffer, lanes []lane, g gate.Gate) {
	var texts analysis.Texts
	var ids analysis.IDs
	stable, replaced, mixed := 0, 0, 0
	var sizes gate.SizeCounts
	assay, frozen := 0, 0
	for _, s := range g.Summaries {
		texts.Messages += s.Texts.Messages
		texts.PastAssay += s.Texts.PastAssay
		texts.Longest = max(texts.Longest, s.Texts.Longest)
		ids.Streamed += s.IDs.Streamed
		ids.StreamedKept += s.IDs.StreamedKept
		switch {
		case s.IDs.Streamed == 0:
		case s.IDs.StreamedKept == s.IDs.Streamed:
			stable++
		case s.IDs.StreamedKept == 0:
			replaced++
		default:
			mixed++
		}
		sizes.Artifacts += s.Sizes.Artifacts
		sizes.BelowEnvelope += s.Sizes.BelowEnvelope
		sizes.CompactBelowEnvelope += s.Sizes.CompactBelowEnvelope
	}
	var long []string
	var both agreement
	for _, l := range lanes {
		for _, run := range l.runs {
			both.add(run.Difference)
			if run.Sizes == nil {
				continue
			}
			frozen++
			if name := capture.BaseName(run.Capture); run.Texts.PastAssay > 0 && !slices.Contains(long, "`"+name+"`") {
				long = append(long, "`"+name+"`")
			}
			if slices.ContainsFunc(run.Projections, func(p analysis.Projection) bool { return p.Assay }) {
				assay++
			}
		}
	}
	limits := artifact.Assay.Limits()
	fmt.Fprintf(b, "## What this says about the contract\n\n")
	fmt.Fprintf(b, "- **Length.** %d of %d messages in artifacts exceed the %d characters that Assay's mapper 5.4.0 takes; the longest has %d. They are of %s. The texts are scripts, one of them there to be long, and what integrations add of their own; how long messages are in use they cannot say. Assay could take %d of %d artifacts.\n", texts.PastAssay, texts.Messages, limits.Content, texts.Longest, join(long), assay, frozen)
	fmt.Fprintf(b, "- **Message ids.** Where there is a snapshot to look into, %d of %d streamed ids are in it. %d integrations keep them all, %d replace them all, %d keep some. An id in an artifact names a message in that artifact, and need not be one a client saw.\n", ids.StreamedKept, ids.Streamed, stable, replaced, mixed)
	fmt.Fprintf(b, "- **Stream and snapshot.** In %d runs both can be told: the text messages of request and stream, and those of the last snapshot. %d messages are in both with the same text, %d of these under another id and %d under another name; %d differ in white space, %d in HTML escapes, %d in other text; %d are in the snapshot alone and %d in the stream alone.\n", both.runs, both.same, both.id, both.name, both.white, both.escapes, both.content, both.emitted, both.folded)
	fmt.Fprintf(b, "- **Size.** The canonical artifact is smaller than the three events behind it in %d of %d runs, and without white space in %d. It has two-space indent and names of its own, which a short history does not make up for; what makes it small is that the rest of the run is not in it.\n\n", sizes.BelowEnvelope, sizes.Artifacts, sizes.CompactBelowEnvelope)
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

// agreement counts how folded and emitted messages differ; id and name are of
// those with the same text.
type agreement struct {
	runs, same, id, name, white, escapes, content, emitted, folded int
}

func (a *agreement) add(d *analysis.Difference) {
	if d == nil {
		return
	}
	a.runs++
	a.same += d.Same
	for _, one := range d.Mismatches {
		has := func(aspect analysis.Aspect) bool { return slices.Contains(one.In, aspect) }
		switch {
		case one.Emitted == nil:
			a.folded++
		case one.Folded == nil:
			a.emitted++
		case has(analysis.InWhiteSpace):
			a.white++
		case has(analysis.InEscapes):
			a.escapes++
		case has(analysis.InContent):
			a.content++
		default:
			a.same++
			if has(analysis.InID) {
				a.id++
			}
			if has(analysis.InName) {
				a.name++
			}
		}
	}
}
