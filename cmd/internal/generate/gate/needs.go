package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/gate"
)

// needs writes what keeps the runs of other scenarios from qualifying, and what
// artifacts leave out.
func needs(b *bytes.Buffer, g gate.Gate, needed []string) {
	b.WriteString("## What the other scenarios show\n\nThe middle column has what runs of scenarios that are not needed lack for an artifact of one usable snapshot. The last has, for the runs of all scenarios that give an artifact, what the text subset leaves out of the one snapshot, or of the last of several. Nothing has to change for that: the artifact leaves it out, and its record says so.\n\n| integration | for an artifact of one usable snapshot | for a snapshot of which nothing is left out |\n|---|---|---|\n")
	for _, s := range g.Summaries {
		rich := sentences(s.ExtraContent, nil)
		if n := s.Snapshots; n.Finished.One+n.Finished.Several+n.Failed.One+n.Failed.Several == 0 {
			rich = "not known: no snapshot was seen"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.Integration.Name, sentences(s.Blocks, needed), rich)
	}
	b.WriteString("\n")
}

// sentences spells needs with their runs, but for those of some scenarios.
func sentences(list []gate.Need, without []string) string {
	var parts []string
	for _, n := range list {
		runs := slices.DeleteFunc(slices.Clone(n.Runs), func(name string) bool { return slices.Contains(without, name) })
		if len(runs) > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", n.Advice(), strings.Join(runs, ", ")))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}
