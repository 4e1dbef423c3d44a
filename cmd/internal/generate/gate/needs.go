package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/gate"
)

// needs writes why runs of other scenarios do not qualify, and what artifacts leave
// out.
func needs(b *bytes.Buffer, g gate.Gate, needed []string) {
	b.WriteString("## What the other scenarios show\n\nNothing in this table decides whether an integration qualifies. Some of the other scenarios make the outcome themselves: they turn snapshots off, let the model fail, or send blank ids. The last column is about the runs of all scenarios that give an artifact: what the artifact leaves out of the one snapshot, or of the last of several. Its record says so.\n\n| integration | why runs of the other scenarios give no artifact of one usable snapshot | what artifacts leave out of the snapshot |\n|---|---|---|\n")
	for _, s := range g.Summaries {
		left := shortfalls(s.ExtraContent, nil)
		if n := s.Snapshots; n.Finished.One+n.Finished.Several+n.Failed.One+n.Failed.Several == 0 {
			left = "not known: no snapshot was seen"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.Integration.Name, shortfalls(s.Obstacles, needed), left)
	}
	b.WriteString("\n")
}

// shortfalls spells what is missing or left out, with the runs, but for those of some
// scenarios.
func shortfalls(list []gate.Problem, without []string) string {
	var parts []string
	for _, n := range list {
		runs := slices.DeleteFunc(slices.Clone(n.Runs), func(name string) bool { return slices.Contains(without, name) })
		if len(runs) > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", n.Shortfall(), strings.Join(runs, ", ")))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}
