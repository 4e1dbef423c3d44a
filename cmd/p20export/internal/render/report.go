package render

import (
	"fmt"
	"slices"

	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
)

// ReportRow prints the verdict on a run that a page shows, and what was kept or why the run
// was refused. If no page was written, it prints the reason.
func (p *Printer) ReportRow(row report.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	switch {
	case row.Report == nil && row.Capture == nil:
		p.Line("%s no page", p.verdict(row.Verdict))
		p.Findings(row.Findings)
	case row.Report == nil:
		p.Line("%s \t%s", p.verdict(row.Verdict), *row.Capture)
		p.Findings(row.Findings)
	case row.Run == nil:
		p.Line("%s \t%s", p.verdict(row.Verdict), *row.Capture)
		p.reasons(row)
	case row.Verdict == project.Frozen:
		p.Line("%s \t%s  run %d  %s  %s", p.Paint(runColour(*row.RunVerdict), fmt.Sprintf("%-9s", *row.RunVerdict)), *row.Capture, *row.Run, orNone(row.RunID), string(*row.Projection)+ended(row))
		p.Line("  %s", row.Says)
	case row.Next != "":
		p.Line("%s \t%s  run %d  %s", p.Paint(runColour(*row.RunVerdict), fmt.Sprintf("%-9s", *row.RunVerdict)), *row.Capture, *row.Run, orNone(row.RunID)+ended(row))
		p.Line("  %s", row.Says)
		p.Line("  next    \t%s", row.Next)
	default:
		p.Line("%s \t%s  run %d  %s  %s", p.verdict(row.Verdict), *row.Capture, *row.Run, orNone(row.RunID), string(*row.Projection)+ended(row))
		if row.Verdict == project.Refused {
			p.reasons(row)
		}
	}
}

// ended returns "  RUN_ERROR" if the run ended with that event, and otherwise "".
func ended(row report.Row) string {
	if row.Failed {
		return "  " + envelope.RunError
	}
	return ""
}

// shownReasons limits the findings printed for a refused run. The page lists more.
const shownReasons = 3

// reasons prints the first findings of a refused run and their next steps: errors first,
// then warnings.
func (p *Printer) reasons(row report.Row) {
	var list []finding.Finding
	for _, s := range []finding.Severity{finding.Error, finding.Warning} {
		for _, f := range row.Findings {
			if f.Severity == s {
				list = append(list, f)
			}
		}
	}
	p.Findings(list[:min(shownReasons, len(list))])
	switch more := len(list) - shownReasons; {
	case more <= 0:
	case row.Listed == len(list):
		p.Line("  %-7s %s on the page", "…", Plural(more, "more is", "more are"))
	default:
		p.Line("  %-7s %s more; the page lists %s of %s", "…", humanize.Grouped(int64(more)), humanize.Grouped(int64(row.Listed)), humanize.Grouped(int64(len(list))))
	}
}

// ReportWritten prints the file of a page.
func (p *Printer) ReportWritten(row report.Row) {
	p.Note("%s %s  %s  %s", p.verdict(project.Written), *row.Report, humanize.Bytes(*row.ReportBytes), string(*row.ReportDigest))
	if p.format == Text {
		p.Findings(slices.DeleteFunc(slices.Clone(row.Findings), func(f finding.Finding) bool { return f.Code != finding.TemporaryLeft }))
	}
}
