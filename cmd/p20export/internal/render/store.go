package render

import (
	"fmt"

	"github.com/p20export/p20export/capture/recovery"
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
		p.Line("%s \t%s", p.verdict(row.Verdict), row.Capture)
		for _, record := range row.Records {
			p.Line("  record    \t%s", record)
		}
		p.Findings(row.Findings)
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

// Recovery prints the outcome for one directory of a store, and counts it.
func (p *Printer) Recovery(row recovery.Row, t *Tally) {
	v := project.Verdict(row.Verdict)
	t.Add(v)
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s \t%s", p.Paint(recoveryColour(row.Verdict), fmt.Sprintf("%-13s", string(v))), row.Capture)
	if row.Recovered != nil {
		p.Line("  capture   \t%s", *row.Recovered)
		p.Line("  response  \t%s", humanize.Bytes(*row.Bytes))
	}
	p.Findings(row.Findings)
}

// recoveryColour returns the colour of a verdict.
func recoveryColour(v recovery.Verdict) string {
	switch v {
	case recovery.Recovered, recovery.SetAside, recovery.Cleaned:
		return green
	case recovery.Recoverable, recovery.InUse:
		return yellow
	}
	return red
}

// RecoveryVerdicts lists the verdicts of recovery, except for recovery.Failed.
func RecoveryVerdicts() []project.Verdict {
	return []project.Verdict{
		project.Verdict(recovery.Recovered), project.Verdict(recovery.SetAside), project.Verdict(recovery.Cleaned),
		project.Verdict(recovery.Recoverable), project.Verdict(recovery.InUse), project.Verdict(recovery.Unrecoverable),
	}
}

// RecoverySummary prints the number of directories by verdict.
func (p *Printer) RecoverySummary(dir string, t *Tally) {
	if t.Total() == 0 {
		p.Note("%s: nothing to recover", dir)
		return
	}
	p.Note("%s: %s", dir, t.Counts())
}
