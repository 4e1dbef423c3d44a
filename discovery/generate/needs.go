package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery"
	"github.com/p20export/p20export/internal/finding"
)

// needs writes what each integration would have to change.
func needs(b *bytes.Buffer, g discovery.Gate) {
	b.WriteString("## What each would have to change\nTo qualify, a run emits exactly one MESSAGES_SNAPSHOT from which an artifact is made. Where the last column alone has something, nothing has to change: the artifact leaves that out and its record says so.\n\n| integration | for an artifact of an emitted snapshot | to need no reduction |\n|---|---|---|\n")
	for _, s := range g.Standings {
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.Integration.Name, sentences(s.Blocks), sentences(s.Richer))
	}
	b.WriteString("\n")
}

func sentences(list []discovery.Need) string {
	if len(list) == 0 {
		return "nothing"
	}
	var parts []string
	for _, n := range list {
		parts = append(parts, fmt.Sprintf("%s (%s)", advice(n), strings.Join(n.Runs, ", ")))
	}
	return strings.Join(parts, "; ")
}

// advice says what a change would be.
func advice(n discovery.Need) string {
	key := string(n.Pointer[strings.LastIndexByte(string(n.Pointer), '/')+1:])
	switch n.Code {
	case finding.SnapshotMissing:
		return "emit a MESSAGES_SNAPSHOT"
	case finding.SnapshotSeveral:
		return "emit one MESSAGES_SNAPSHOT, not several"
	case finding.TerminalSeveral:
		return "end the run with one terminal event"
	case finding.EventsAfterTerminal:
		return "send nothing after the terminal event"
	case finding.RunNotTerminated:
		return "end the run with a terminal event"
	case finding.KeyOutsideSubset:
		return "no `" + key + "` on messages"
	case finding.RoleOutsideSubset:
		return "no messages of other roles"
	case finding.ContentMissing:
		return "`content` on every message"
	case finding.ContentBlank:
		return "no blank `content`"
	case finding.ContentNotText:
		return "`content` as text"
	case finding.ValueNull, finding.ValueBlank:
		return "no `" + key + "` that is null or blank"
	}
	about, _ := finding.Describe(n.Code)
	return "mend: " + about.Meaning
}
