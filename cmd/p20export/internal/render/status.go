package render

import (
	"fmt"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/difference"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/verify"
)

// Status is how a command that did its work ends the program. Of several the
// highest counts.
type Status int

// The exit statuses.
const (
	Done     Status = 0
	Negative Status = 1
	Usage    Status = 2
	Failed   Status = 3
)

// Error makes a Status an error that ends the program with it.
func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Worse returns the status that counts.
func (s Status) Worse(other Status) Status { return max(s, other) }

// Err returns s as a command's error: none for Done.
func (s Status) Err() error {
	if s == Done {
		return nil
	}
	return s
}

// StatusOf is the exit status of one verdict.
func StatusOf(v project.Verdict) Status {
	switch v {
	case project.Frozen, project.Accepted, project.Verified, Written, difference.Equal, scenario.Captured, scenario.Skipped:
		return Done
	case project.Failed, project.Unverifiable:
		return Failed
	}
	return Negative
}

// Verdicts lists the verdicts of rows but for those on runs that were compared.
func Verdicts() []project.Verdict {
	return append([]project.Verdict{
		project.Frozen, project.Refused, project.Accepted, project.Malformed, project.Verified, project.Differs, project.Unverifiable, project.Failed,
		verify.Whole, verify.Unexplained, difference.Equal, Written,
	}, scenario.Verdicts()[:3]...)
}

// Tally counts verdicts.
type Tally struct {
	// Status is the one that counts of those added.
	Status Status
	counts map[project.Verdict]int
	// incomplete counts the frozen or verified runs whose snapshots lack streamed
	// text, and runless the captures without a run by their verdicts.
	incomplete int
	runless    map[project.Verdict]int
}

// Add counts a verdict, with its exit status.
func (t *Tally) Add(v project.Verdict) { t.add(v, StatusOf(v)) }

// AddRun counts what became of a run, or of a capture without one.
func (t *Tally) AddRun(row freeze.Row) {
	if row.Run != nil {
		t.Add(row.Verdict)
		t.complete(row.Verdict, row.Findings)
		return
	}
	if t.runless == nil {
		t.runless = make(map[project.Verdict]int)
	}
	t.runless[row.Verdict]++
	t.Status = t.Status.Worse(StatusOf(row.Verdict))
}

// AddTreeEntry counts the verdict of a row of a directory, with its exit status.
func (t *Tally) AddTreeEntry(row verify.TreeRow) {
	t.add(row.Verdict, statusOfRow(row))
	t.complete(row.Verdict, row.Findings)
}

// complete counts a frozen or verified run whose snapshot lacks streamed text.
func (t *Tally) complete(v project.Verdict, about []finding.Finding) {
	if (v == project.Frozen || v == project.Verified) && finding.Has(about, finding.SnapshotLacksText) {
		t.incomplete++
	}
}

// incompleteShown says how many of n runs lack streamed text; empty when none does.
func (t *Tally) incompleteShown(n int) string {
	switch t.incomplete {
	case 0:
		return ""
	case 1:
		if n == 1 {
			return " (its snapshot lacks streamed text)"
		}
		return " (1 whose snapshot lacks streamed text)"
	}
	return fmt.Sprintf(" (%d whose snapshots lack streamed text)", t.incomplete)
}

func (t *Tally) add(v project.Verdict, s Status) {
	if t.counts == nil {
		t.counts = make(map[project.Verdict]int)
	}
	t.counts[v]++
	t.Status = t.Status.Worse(s)
}

// Total is how many were counted.
func (t *Tally) Total() (n int) {
	for _, count := range t.counts {
		n += count
	}
	return n
}

// FailOn says which verdicts on runs are negative: the one it names and those that
// are worse. Empty asks the default question.
type FailOn string

// Never makes no verdict negative.
const Never FailOn = "none"

// FailOns lists the values of FailOn that have a name.
func FailOns() []string {
	list := []string{string(Never)}
	for _, v := range analysis.Verdicts() {
		if v != analysis.Exact {
			list = append(list, string(v))
		}
	}
	return list
}

// StatusOfRuns is the exit status of a comparison.
func StatusOfRuns(runs []analysis.Run, on FailOn) Status {
	worst := Done
	for _, run := range runs {
		worst = worst.Worse(statusOfRun(run, on))
	}
	return worst
}

// statusOfRun is that of one run. With a baseline what changed counts, otherwise
// whether an artifact came of its one emitted snapshot, in which no streamed text
// was found lacking; and in either case what on says.
func statusOfRun(run analysis.Run, on FailOn) Status {
	negative := false
	switch {
	case run.Verdict == analysis.Failed:
		return Failed
	case on == Never:
		return Done
	case on != "":
		negative = run.Verdict.NoBetterThan(analysis.Verdict(on))
	case run.Changes == nil:
		negative = !run.Verdict.Emitted()
	}
	if negative || finding.Failed(run.Changes) {
		return Negative
	}
	return Done
}

// StatusOfInspection is the exit status of what is said of a capture.
func StatusOfInspection(rows []scan.Inspection) Status {
	worst := Done
	for _, row := range rows {
		switch {
		case row.Failed:
			worst = worst.Worse(Failed)
		case row.Negative:
			worst = worst.Worse(Negative)
		}
	}
	return worst
}
