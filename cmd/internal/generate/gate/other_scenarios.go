package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/gate"
)

// otherScenarios writes why runs of the other scenarios do not qualify, and what
// artifacts omit.
func otherScenarios(b *bytes.Buffer, g gate.Gate, needed []string) {
	b.WriteString("## Results of the other scenarios\n\nThis table does not affect which integrations qualify. Some of these scenarios are made to have no usable snapshot: they turn snapshots off, make the model fail, or send empty ids. The last column covers the runs of all scenarios that produce an artifact. It lists what the artifact omits from the one snapshot, or from the last of several. The record of the artifact lists the same.\n\n| integration | why runs of the other scenarios have no artifact of a usable snapshot | what artifacts omit from the snapshot |\n|---|---|---|\n")
	for _, s := range g.Summaries {
		left := shortfalls(s.ExtraContent, nil)
		if n := s.Snapshots; n.Finished.One+n.Finished.Several+n.Failed.One+n.Failed.Several == 0 {
			left = "unknown: no snapshot was emitted"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.Integration.Name, shortfalls(s.Obstacles, needed), left)
	}
	b.WriteString("\n")
}

// shortfalls returns what is missing or omitted and in which runs, without the runs of
// the excluded scenarios.
func shortfalls(list []gate.Problem, excluded []string) string {
	var parts []string
	for _, n := range list {
		runs := slices.DeleteFunc(slices.Clone(n.Runs), func(name string) bool { return slices.Contains(excluded, name) })
		if len(runs) > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", n.Shortfall(), strings.Join(runs, ", ")))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}
