package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery/gate"
)

// needs writes what each integration would have to change.
func needs(b *bytes.Buffer, g gate.Gate) {
	b.WriteString("## What each would have to change\n\nThe middle column is about runs that give no artifact of one usable snapshot. The last is what the text subset leaves out of a run's one snapshot, or of the last of several: nothing has to change for that, as the artifact leaves it out and its record says so.\n\n| integration | for an artifact of one usable snapshot | for a snapshot of which nothing is left out |\n|---|---|---|\n")
	for _, s := range g.Summaries {
		rich := sentences(s, s.ExtraContent)
		if n := s.Snapshots; n.Finished.One+n.Finished.Several+n.Failed.One+n.Failed.Several == 0 {
			rich = "not known: no snapshot was seen"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.Integration.Name, sentences(s, s.Blocks), rich)
	}
	b.WriteString("\n")
}

func sentences(s gate.Summary, list []gate.Need) string {
	if len(list) == 0 {
		return "nothing"
	}
	var parts []string
	for _, n := range list {
		in := strings.Join(n.Runs, ", ")
		if len(n.Runs) == s.Runs {
			in = "every run"
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", n.Advice(), in))
	}
	return strings.Join(parts, "; ")
}
