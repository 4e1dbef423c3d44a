package render

import (
	"strings"

	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project/rewrite"
)

// Compaction prints the result of compacting a capture.
func (p *Printer) Compaction(row rewrite.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	if row.Digest == nil {
		p.Line("%s \t%s", p.verdict(row.Verdict), row.Capture)
		p.Findings(row.Findings)
		return
	}
	file := row.File
	if file == "-" {
		file = "to standard output"
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), file)
	p.Line("  mode      \t%s", string(row.Mode))
	p.Line("  capture   \t%s, %s", eventCount(*row.CaptureEvents), humanize.Bytes(*row.CaptureBytes))
	p.Line("  copy      \t%s, %s", eventCount(*row.Events), humanize.Bytes(*row.Bytes))
	p.merged(row)
	p.Findings(row.Findings)
}

func eventCount(n int) string {
	if n == 1 {
		return "1 event"
	}
	return humanize.Grouped(int64(n)) + " events"
}

// merged prints the types of events that a copy has more or less of than the capture.
func (p *Printer) merged(row rewrite.Row) {
	var rows [][]cell
	chunks := ""
	add := func(name string, before, after int) {
		label := "          "
		if rows == nil {
			label = "  merged  "
		}
		rows = append(rows, []cell{{Text: label}, {Text: name}, {Text: humanize.Grouped(int64(before)) + " to " + humanize.Grouped(int64(after))}})
	}
	for name, before := range row.CaptureFamilies.All {
		if after := row.Families.Count(name); after != before {
			add(name, before, after)
		} else if chunks == "" && strings.HasSuffix(name, "_CHUNK") {
			chunks = name
		}
	}
	for name, after := range row.Families.All {
		if row.CaptureFamilies.Count(name) == 0 {
			add(name, 0, after)
		}
	}
	switch {
	case rows != nil:
		p.Table(rows)
	case chunks != "":
		p.Line("  merged    \tnothing: only --mode snapshot merges chunks, such as %s", chunks)
	default:
		p.Line("  merged    nothing")
	}
}
