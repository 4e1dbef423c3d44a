package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
)

const presenceHead = `# Field presence

This page counts the runs of each integration whose events in the bounded envelope have a key, in the committed captures. %s generates the page, and %s fails if it is out of date.

A cell *n of m* means that n runs have the key, out of m runs with such an event. For a key of messages, m counts the runs with a snapshot that has a message of that role. A cell is empty if no run has the key. *Surfaced* counts the runs that have the key in the bounded envelope, the file for reviewers that is written with the artifact; if a run has several snapshots, the last one is chosen. *Reduced* counts the runs whose artifact has the key, and names the key of the artifact. All other artifacts omit the key. Null and blank values count as present; their number is in parentheses. %s is listed only for events whose type is in the artifact.

`

// fieldPresence returns the text of FIELD_PRESENCE.md.
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
