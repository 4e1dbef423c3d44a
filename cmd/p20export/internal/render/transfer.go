package render

import (
	"slices"
	"strings"

	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// Imported prints the result of importing a file into a log.
func (p *Printer) Imported(row transfer.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), row.File)
	for _, part := range row.Parts {
		counts := entryCount(part.Appended) + " appended"
		switch {
		case part.Appended+part.Found == 0 && row.Verdict == project.Written:
			counts = "nothing to append"
		case part.Appended+part.Found == 0:
			continue
		case part.Appended == 0:
			counts = entryCount(part.Found) + ", all there before"
		case part.Found > 0:
			counts += ", " + humanize.Grouped(part.Found) + " there before"
		}
		counts += sealCount(part.Seals)
		p.Line("  thread    \t%s  %s", shownID(part.Thread), counts)
	}
	p.Findings(row.Findings)
}

// ImportSummary prints the number of files by verdict, and what is missing of them if that
// is not empty.
func (p *Printer) ImportSummary(t *Tally, missing string) {
	if t.Total() < 2 && missing == "" {
		return
	}
	verdicts := []project.Verdict{project.Written, project.Refused, project.Failed}
	if t.counts[project.Skipped] > 0 {
		verdicts = slices.Insert(verdicts, 1, project.Skipped)
	}
	text := Plural(t.Total(), "file", "files") + ": " + verdictCounts(t.counts, verdicts...)
	if missing != "" {
		text += "; " + missing
	}
	p.Note("%s", text)
}

// Exported prints the result of writing a thread to a file.
func (p *Printer) Exported(row transfer.ExportRow) {
	if p.format == JSON {
		p.json(row)
		return
	}
	file := row.File
	if file == "-" {
		file = "to standard output"
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), file)
	if row.Entries != nil {
		p.Line("  thread    \t%s", shownKey(store.Key{Tenant: row.Tenant, Thread: row.Thread}))
		size := humanize.Bytes(*row.Bytes)
		if strings.HasSuffix(row.File, transfer.CompressedSuffix) {
			size += " before compression"
		}
		p.Line("  entries   \t%s, %s%s", humanize.Grouped(*row.Entries), size, sealCount(*row.Seals))
		p.Line("  last      \t%s", humanize.Grouped(*row.Last))
	}
	p.Findings(row.Findings)
}

// sealCount returns the number of seals after a comma, or "" if there is none.
func sealCount(n int64) string {
	if n == 0 {
		return ""
	}
	return ", " + Plural(int(n), "seal", "seals")
}

func entryCount(n int64) string { return Plural(int(n), "entry", "entries") }
