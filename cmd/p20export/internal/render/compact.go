package render

import (
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
		p.line("%s \t%s", p.verdict(row.Verdict), row.Capture)
		p.findings(row.Findings)
		return
	}
	p.line("%s \t%s", p.verdict(row.Verdict), row.File)
	p.line("  mode      \t%s", string(row.Mode))
	p.line("  capture   \t%s events, %s", humanize.Grouped(int64(*row.CaptureEvents)), humanize.Bytes(*row.CaptureBytes))
	p.line("  copy      \t%s events, %s", humanize.Grouped(int64(*row.Events)), humanize.Bytes(*row.Bytes))
	p.findings(row.Findings)
}
