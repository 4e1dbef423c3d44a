package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery"
)

// needs writes what each integration would have to change.
func needs(b *bytes.Buffer, g discovery.Gate) {
	b.WriteString("## What each would have to change\nTo qualify, a run emits exactly one MESSAGES_SNAPSHOT from which an artifact is made. Where the last column alone has something, nothing has to change: the artifact leaves that out and its record says so.\n\n| integration | for an artifact of an emitted snapshot | to need no reduction |\n|---|---|---|\n")
	for _, s := range g.Standings {
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.Integration.Name, sentences(s, s.Blocks), sentences(s, s.Richer))
	}
	b.WriteString("\n")
}

func sentences(s discovery.Standing, list []discovery.Need) string {
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
