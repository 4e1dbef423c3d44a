package render

import (
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/prune"
)

// Pruned prints the outcome for one directory of a store. As text, it prints nothing about
// a capture that is kept without a reason.
func (p *Printer) Pruned(row prune.Row) {
	switch {
	case p.format == JSON:
		p.json(row)
	case row.Verdict != prune.Kept || len(row.Findings) > 0:
		p.line("%s \t%s", p.verdict(row.Verdict), row.Capture)
		for _, record := range row.Records {
			p.line("  record    \t%s", record)
		}
		p.findings(row.Findings)
	}
}

// PruneSummary prints the number of directories by verdict, and the size of what was
// removed.
func (p *Printer) PruneSummary(dir string, t *Tally, freed int64) {
	first := prune.Removed
	if t.counts[prune.Removable] > 0 {
		first = prune.Removable
	}
	p.Note("%s: %s; %s", dir, verdictCounts(t.counts, first, prune.Kept, project.Failed), humanize.Bytes(freed))
}
