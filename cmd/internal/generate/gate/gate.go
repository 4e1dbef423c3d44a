package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
)

const gateHead = `# The discovery gate

[P20 §14](../docs/p20.md#s14) says what must be known before anything stronger is claimed. This page answers it from the committed captures of %d real integrations, each run unchanged with only its model scripted ([harnesses](harness/README.md)). %s makes it anew, and %s fails when it is out of date; %s records every capture again and compares the structure.

It is about these captures: %d runs in %d captures, recorded %s. Their texts are scripted, so their lengths are ours; what is an integration's own is the events around them. An integration that is not listed was not tried. Nothing here says more than *portable compacted message-history evidence for a bounded run envelope*.

Verdicts: **exact**, the one emitted snapshot's messages are within the text subset as they are; **reduced**, the artifact leaves something of those messages out, and its record says what; **chosen**, there are several snapshots, and the last gives an artifact; **incomplete**, the snapshot that would give the artifact lacks text that the run streamed; **built**, there is none, and one can be built from request and stream; **refused**, no projection takes the run.

`

// gateDocument writes GATE.md.
func gateDocument(lanes []lane, needed []string) []byte {
	var b bytes.Buffer
	var runs []analysis.Run
	first, last := lanes[0].first, lanes[0].last
	for _, l := range lanes {
		runs = append(runs, l.runs...)
		first, last = min(first, l.first), max(last, l.last)
	}
	when := "on " + first
	if last != first {
		when = "from " + first + " to " + last
	}
	g := gate.Evaluate(runs, needed, artifact.V1)
	fmt.Fprintf(&b, gateHead, len(lanes), "`make gate`", "`make test`", "`make discovery`", total(g), captures(lanes), when)
	result := "**These captures do not meet the gate:** " + g.Why + "."
	if g.Met {
		result = "**These captures meet the gate.** An integration meets it when every run of the needed scenarios emits exactly one snapshot, no streamed text was found lacking in it, and its artifact is smaller than the run: " + met(g) + " do. The tables say in how many of their runs that is so, and what the others lack."
	}
	fmt.Fprintf(&b, "%s\n\n## The questions\n\n", result)
	for i, a := range g.Answers {
		fmt.Fprintf(&b, "### %d. %s\n\n**%s.** %s\n\n", i+1, a.Question, strings.ToUpper(a.Word[:1])+a.Word[1:], a.Text)
		evidence(&b, a.Evidence)
	}
	standings(&b, lanes, g)
	needs(&b, g)
	contract(&b, lanes, g)
	notes(&b, lanes)
	return b.Bytes()
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

// met names the integrations for which the gate is met.
func met(g gate.Gate) string {
	var names []string
	for _, s := range g.Summaries {
		if s.Met {
			names = append(names, s.Integration.Name)
		}
	}
	return join(names)
}

// join spells a list with "and" before its last.
func join(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// evidence lists pieces of captures, those of one file together.
func evidence(b *bytes.Buffer, list []gate.Evidence) {
	if len(list) == 0 {
		return
	}
	b.WriteString("| evidence | bytes, from 0, the first and the last |\n|---|---|\n")
	for i := 0; i < len(list); {
		file := list[i].File
		var parts []string
		for ; i < len(list) && list[i].File == file; i++ {
			parts = append(parts, fmt.Sprintf("%d–%d (%s)", list[i].Offset, list[i].Offset+list[i].Bytes-1, list[i].Part))
		}
		fmt.Fprintf(b, "| [%s](%s) | %s |\n", short(file), short(file), strings.Join(parts, ", "))
	}
	b.WriteString("\n")
}

// short is a path as seen from the documents.
func short(file string) string { return strings.TrimPrefix(file, "discovery/") }

func standings(b *bytes.Buffer, lanes []lane, g gate.Gate) {
	b.WriteString("## The integrations\n\n### What became of their runs\n\n| integration | version | runs | exact | reduced | chosen | incomplete | built | refused | meets the gate |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range g.Summaries {
		answer := "no"
		if s.Met {
			answer = "yes"
		}
		fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %s |\n", s.Integration.Name, s.Integration.Version, s.Runs,
			s.Count(analysis.Exact), s.Count(analysis.Reduced), s.Count(analysis.Chosen), s.Count(analysis.Incomplete), s.Count(analysis.Built), s.Count(analysis.Refused), answer)
	}
	b.WriteString("\nA request that is refused with an HTTP error has no run and is not among them. \n\n### What they emit\n\n| integration | snapshots in finished runs: none / one / several | in failed runs | streamed ids in the snapshot | the request's | parent in RUN_STARTED (in its `input`) | times from | artifact below its run | below its envelope (without white space) |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range g.Summaries {
		f, e, z := s.Snapshots.Finished, s.Snapshots.Failed, s.Sizes
		fmt.Fprintf(b, "| %s | %d / %d / %d | %d / %d / %d | %s | %s | %d (%d) | %s | %d of %d | %d (%d) |\n", s.Integration.Name, f.None, f.One, f.Several, e.None, e.One, e.Several,
			share(s.IDs.StreamedKept, s.IDs.Streamed), share(s.IDs.RequestedKept, s.IDs.Requested), s.Parent.RunStarted, s.Parent.Input, times(s), z.BelowRun, z.Artifacts, z.BelowEnvelope, z.CompactBelowEnvelope)
	}
	b.WriteString("\n### What they are\n\n| integration | harness | packages chosen | captured |\n|---|---|---|---|\n")
	for _, l := range lanes {
		day := l.first
		if l.last != l.first {
			day += " to " + l.last
		}
		fmt.Fprintf(b, "| %s | [%s](harness/%s/README.md) | %s | %s |\n", l.Integration, l.Name, l.Name, strings.Join(l.pins, ", "), day)
	}
	b.WriteString("\n")
}

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", n, of)
}

func times(s gate.Summary) string {
	var parts []string
	for _, c := range s.Times {
		source := string(c.Source)
		if source == "" {
			source = "none"
		}
		parts = append(parts, fmt.Sprintf("%s %d", source, c.Runs))
	}
	if s.Implausible > 0 {
		parts = append(parts, fmt.Sprintf("own timestamp implausible %d", s.Implausible))
	}
	return strings.Join(parts, ", ")
}

func notes(b *bytes.Buffer, lanes []lane) {
	b.WriteString("## What could not be asked\n\nScenarios that an integration cannot express.\n\n| integration | scenario | why |\n|---|---|---|\n")
	for _, l := range lanes {
		for _, n := range l.notes {
			fmt.Fprintf(b, "| %s | %s | %s |\n", l.Integration.Name, n.Name, n.Note)
		}
	}
}
