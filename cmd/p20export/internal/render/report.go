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

// Reported prints what a page shows of one run: the verdict and what was kept, or why
// nothing was; or why there is no page.
func (p *Printer) Reported(row report.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	switch {
	case row.Report == nil && row.Capture == nil:
		p.line("%s no page", p.verdict(row.Verdict))
		p.findings(row.Findings)
	case row.Report == nil:
		p.line("%s \t%s", p.verdict(row.Verdict), *row.Capture)
		p.findings(row.Findings)
	case row.Run == nil:
		p.line("%s \t%s", p.verdict(row.Verdict), *row.Capture)
		p.reasons(row.Findings)
	case row.Verdict == project.Frozen:
		p.line("%s \t%s  run %d  %s  %s", p.paint(runColour(row.Word), fmt.Sprintf("%-9s", row.Word)), *row.Capture, *row.Run, text(row.RunID), string(*row.Projection)+ended(row))
		p.line("  %s", row.Says)
	case row.Next != "":
		p.line("%s \t%s  run %d  %s", p.paint(runColour(row.Word), fmt.Sprintf("%-9s", row.Word)), *row.Capture, *row.Run, text(row.RunID)+ended(row))
		p.line("  %s", row.Says)
		p.line("  next    \t%s", row.Next)
	default:
		p.line("%s \t%s  run %d  %s  %s", p.verdict(row.Verdict), *row.Capture, *row.Run, text(row.RunID), string(*row.Projection)+ended(row))
		if row.Verdict == project.Refused {
			p.reasons(row.Findings)
		}
	}
}

// ended says that a run ended with RUN_ERROR.
func ended(row report.Row) string {
	if row.Failed {
		return "  " + envelope.RunError
	}
	return ""
}

// shownReasons is how many reasons stand below a refused run; the page has all.
const shownReasons = 3

// reasons writes the first errors of a refused run, and after them what it was
// warned of, with what to do about each.
func (p *Printer) reasons(all []finding.Finding) {
	var list []finding.Finding
	for _, s := range []finding.Severity{finding.Error, finding.Warning} {
		for _, f := range all {
			if f.Severity == s {
				list = append(list, f)
			}
		}
	}
	p.findings(list[:min(shownReasons, len(list))])
	if more := len(list) - shownReasons; more > 0 {
		p.line("  %-7s %s on the page", "…", Plural(more, "more is", "more are"))
	}
}

// ReportWritten prints the file of a page.
func (p *Printer) ReportWritten(row report.Row) {
	p.Note("%s %s  %s  %s", p.verdict(Written), *row.Report, humanize.Bytes(*row.ReportBytes), string(*row.ReportDigest))
	if p.format == Text {
		p.findings(slices.DeleteFunc(slices.Clone(row.Findings), func(f finding.Finding) bool { return f.Code != finding.TemporaryLeft }))
	}
}
