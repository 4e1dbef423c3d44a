package main

import (
	"bytes"
	"fmt"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery"
)

// contract writes what the results say about the contract itself.
func contract(b *bytes.Buffer, lanes []lane, g discovery.Gate) {
	var texts discovery.Texts
	var ids discovery.IDs
	stable, replaced, mixed := 0, 0, 0
	var sizes discovery.SizeCounts
	assay, frozen := 0, 0
	for _, s := range g.Standings {
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
	for _, l := range lanes {
		for _, run := range l.runs {
			if run.Sizes == nil {
				continue
			}
			frozen++
			for _, p := range run.Projections {
				if len(p.Roles) > 0 {
					if p.Assay {
						assay++
					}
					break
				}
			}
		}
	}
	limits := artifact.Assay.Limits()
	fmt.Fprintf(b, "## What this says about the contract\n")
	fmt.Fprintf(b, "- **Length.** %d of %d messages in artifacts exceed the %d characters that today's Assay mapping takes; the longest has %d. They are those of `long-stream`, which is there to exceed them. How long messages are in use, scripted texts cannot say. Assay could take %d of %d artifacts.\n", texts.PastAssay, texts.Messages, limits.Content, texts.Longest, assay, frozen)
	fmt.Fprintf(b, "- **Message ids.** Where there is a snapshot to look into, %d of %d streamed ids are in it. %d integrations keep them all, %d replace them all, %d keep some. An id in an artifact names a message in that artifact, and need not be one a client saw.\n", ids.StreamedKept, ids.Streamed, stable, replaced, mixed)
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
