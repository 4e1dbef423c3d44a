package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
)

const presenceHead = `# Field presence

Which keys the events of the bounded envelope have, in how many runs of each integration, by the committed captures. %s makes this page anew, and %s fails when it is out of date.

A cell is *n of m*: n runs have the key, of m that have such an event or, for a key of messages, a snapshot with a message of that role; empty where none has. *Surfaced* counts the runs with the key in the bounded envelope that lies beside the artifact for reviewers (where there are several snapshots, with the last chosen); *reduced* those whose artifact has it, and as what. All others have it left out. Null or blank values are counted as present, with their number behind. %s is listed where the artifact takes it.

`

// fieldPresence writes FIELD_PRESENCE.md.
func fieldPresence(harnesses []harness) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, presenceHead, "`make gate`", "`make test`", "`type`")
	var all []analysis.Run
	of := make([]map[analysis.Field]gate.FieldStats, len(harnesses))
	for i, h := range harnesses {
		all = append(all, h.runs...)
		of[i] = make(map[analysis.Field]gate.FieldStats)
		for _, p := range gate.Fields(h.runs) {
			of[i][p.Key()] = p
		}
	}
	event := ""
	for _, p := range gate.Fields(all) {
		if p.Event != event {
			if event != "" {
				b.WriteString("\n")
			}
			event = p.Event
			fmt.Fprintf(&b, "## %s\n\n| key |", event)
			for _, h := range harnesses {
				fmt.Fprintf(&b, " %s |", h.Name)
			}
			fmt.Fprintf(&b, " surfaced | reduced |\n|---|%s---|---|\n", strings.Repeat("---|", len(harnesses)))
		}
		name := "`" + p.Name + "`"
		if p.Role != "" {
			name = p.Role + ": " + name
		}
		fmt.Fprintf(&b, "| %s |", name)
		for i := range harnesses {
			fmt.Fprintf(&b, " %s |", cell(of[i][p.Key()]))
		}
		as := "no"
		if p.ArtifactKey != "" {
			as = fmt.Sprintf("%d as `%s`", p.Reduced, p.ArtifactKey)
		}
		fmt.Fprintf(&b, " %d | %s |\n", p.Surfaced, as)
	}
	return b.Bytes()
}

func cell(p gate.FieldStats) string {
	if p.Emitted == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d", p.Emitted, p.Runs)
	if p.Empty > 0 {
		text += fmt.Sprintf(" (%d empty)", p.Empty)
	}
	return text
}
