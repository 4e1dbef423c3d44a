package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project/scan"
)

// Inspection prints the rows of a capture.
func (p *Printer) Inspection(rows []scan.Inspection) {
	if p.format == Text {
		p.source(rows[0])
	}
	for _, row := range rows {
		if p.format == JSON {
			p.json(row)
		} else {
			p.inspected(row)
		}
	}
}

// InspectionSummary prints how many captures of a list or an archive have each status. If
// the captures are not all, missing says why.
func (p *Printer) InspectionSummary(count map[Status]int, missing string) {
	all := count[Done] + count[Negative] + count[Failed]
	text := Plural(all, "capture", "captures") + ": " + InspectionCounts(count)
	if missing != "" {
		text += "; " + missing
	}
	p.Note("%s", text)
}

// InspectionCounts formats the numbers of captures by status.
func InspectionCounts(count map[Status]int) string {
	return fmt.Sprintf("%d inspected, %d refused, %d failed", count[Done], count[Negative], count[Failed])
}

// source prints the source of a capture, which all its runs share.
func (p *Printer) source(row scan.Inspection) {
	p.Line("%s", row.Capture)
	if row.Source.Digest == "" {
		return
	}
	if m := row.Source.Manifest; m != nil && m.Source.URL != "" {
		source := m.Source.Method + " " + m.Source.URL
		if m.Source.Status != nil {
			source += fmt.Sprintf(", status %03d", *m.Source.Status)
		}
		p.Line("  source    \t%s, %s", source, m.Source.ContentType)
		if m.Source.Proxy != "" {
			p.Line("  proxy     \t%s", m.Source.Proxy)
		}
	}
	p.Line("  response  \t%s, framing %s, %s", humanize.Bytes(row.Source.Bytes), string(row.Source.Framing), string(row.Source.Digest))
	if m := row.Source.Manifest; m != nil {
		for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
			p.Line("  label     \t%s=%s", key, m.Labels[key])
		}
	}
}

func (p *Printer) inspected(row scan.Inspection) {
	if row.Run != nil {
		p.Line("run %d", *row.Run)
		p.Line("  thread    \t%s", orNone(row.ThreadID))
		p.Line("  run       \t%s", orNone(row.RunID))
		if row.ParentRunID != nil {
			p.Line("  parent    \t%s", *row.ParentRunID)
		}
		p.Line("  events    \t%d in %s: %s", row.Events, humanize.Bytes(row.Bytes), counts(*row.Families))
		p.Line("  streamed  \t%s", streamed(row.Streamed))
		for _, s := range row.Snapshots {
			p.Line("  snapshot  \tevent %d, %s: %s", s.Index, Plural(s.Messages, "message", "messages"), counts(s.Roles))
		}
		if len(row.Snapshots) == 0 {
			p.Line("  snapshot  none")
		}
		p.Line("  times     \t%s", times(row))
		p.Line("  terminal  \t%s", orNone(row.Terminal))
	}
	p.Findings(row.Findings)
}

// streamed formats the number of text messages that a run streamed.
func streamed(s scan.Streamed) string {
	switch {
	case s.Messages == 0 && s.Truncated:
		return "not counted: the ids are too long"
	case s.Messages == 0:
		return "none"
	}
	text := Plural(s.Messages, "text message", "text messages")
	if s.Truncated {
		text = "more than " + text
	}
	return text + ": " + counts(s.Roles)
}

func times(row scan.Inspection) string {
	if row.StartedAt == nil {
		return "none: no usable event timestamp, and no arrival times"
	}
	s := "started " + *row.StartedAt
	if row.FinishedAt != nil {
		s += ", finished " + *row.FinishedAt
	}
	return s + fmt.Sprintf(" (source: %s)", *row.TimeSource)
}

// counts formats counted names, as in "RUN_STARTED 1, TEXT_MESSAGE_CONTENT 3".
func counts(f envelope.Counts) string {
	var parts []string
	for name, n := range f.All {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// orNone returns *s, or "none" if s is nil.
func orNone(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}
