package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture/recovery"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/difference"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/project/prune"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/tracediff"
	"github.com/p20export/p20export/project/verify"
	"github.com/p20export/p20export/store/seal"
)

// Status is the exit status of a command that did its work. The highest of several
// is the status of the program.
type Status int

// The exit statuses.
const (
	Done     Status = 0
	Negative Status = 1
	Usage    Status = 2
	Failed   Status = 3
)

// Error implements error, so that a command can return its exit status.
func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Worse returns the worse of two statuses.
func (s Status) Worse(other Status) Status { return max(s, other) }

// Err returns s as an error, or nil for Done.
func (s Status) Err() error {
	if s == Done {
		return nil
	}
	return s
}

// StatusOf returns the exit status for a verdict.
func StatusOf(v project.Verdict) Status {
	switch v {
	case project.Frozen, project.Accepted, project.Verified, project.Written, difference.Equal, scenario.Captured, scenario.Skipped,
		prune.Removed, prune.Removable, prune.Kept, seal.Unchanged, seal.Erased:
		return Done
	case project.Failed, project.Unverifiable, project.Verdict(recovery.Unrecoverable):
		return Failed
	}
	if slices.Contains(RecoveryVerdicts(), v) {
		return Done
	}
	return Negative
}

// Verdicts lists the verdicts of rows, except for the verdicts of compare on runs.
func Verdicts() []project.Verdict {
	return slices.Concat([]project.Verdict{
		project.Frozen, project.Refused, project.Accepted, project.Malformed, project.Verified, project.Differs, project.Unverifiable, project.Failed,
		verify.Whole, verify.Unexplained, verify.Broken, verify.Unsigned, difference.Equal, project.Written,
		prune.Removed, prune.Removable, prune.Kept, tracediff.Unmatched,
	}, RecoveryVerdicts(), scenario.Verdicts()[:3], slices.DeleteFunc(SealVerdicts(), func(v project.Verdict) bool { return v == verify.Broken }))
}

// Tally counts verdicts.
type Tally struct {
	// Status is the worst status of the rows added so far.
	Status Status
	counts map[project.Verdict]int
	// incomplete counts the frozen or verified runs whose snapshots lack streamed
	// text. runless counts the captures without a run by verdict.
	incomplete int
	runless    map[project.Verdict]int
}

// Add counts a verdict and its exit status.
func (t *Tally) Add(v project.Verdict) { t.add(v, StatusOf(v)) }

// AddSeal counts the result of sealing a thread.
func (t *Tally) AddSeal(v project.Verdict) {
	status := StatusOf(v)
	if v == project.Skipped {
		status = Done
	}
	t.add(v, status)
}

// AddLint counts the verdict on a capture. Its exit status depends on whether the capture
// passed.
func (t *Tally) AddLint(row lint.Row) { t.add(row.Verdict, statusOfLint(row)) }

// statusOfLint returns the exit status for a capture.
func statusOfLint(row lint.Row) Status {
	switch {
	case row.Verdict == project.Failed:
		return Failed
	case row.Passed:
		return Done
	}
	return Negative
}

// AddRun counts the result of freezing a run, or a capture without a run.
func (t *Tally) AddRun(row freeze.Row) {
	if row.Run != nil {
		t.Add(row.Verdict)
		t.countIncomplete(row.Verdict, row.Findings)
		return
	}
	if t.runless == nil {
		t.runless = make(map[project.Verdict]int)
	}
	t.runless[row.Verdict]++
	t.Status = t.Status.Worse(StatusOf(row.Verdict))
}

// AddTreeEntry counts the verdict on an entry of a directory and its exit status.
func (t *Tally) AddTreeEntry(row verify.TreeRow) {
	t.add(row.Verdict, statusOfRow(row))
	t.countIncomplete(row.Verdict, row.Findings)
}

// countIncomplete counts a frozen or verified run whose snapshot lacks streamed text.
func (t *Tally) countIncomplete(v project.Verdict, about []finding.Finding) {
	if (v == project.Frozen || v == project.Verified) && finding.Has(about, finding.SnapshotLacksText) {
		t.incomplete++
	}
}

// incompleteNote returns a note on how many of n runs lack streamed text, or "" if none
// does.
func (t *Tally) incompleteNote(n int) string {
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

// Total returns the number of verdicts counted.
func (t *Tally) Total() (n int) {
	for _, count := range t.counts {
		n += count
	}
	return n
}

// Counts formats the numbers of all rows by verdict, without those that are 0.
func (t *Tally) Counts() string {
	var parts []string
	for _, v := range Verdicts() {
		if n := t.counts[v] + t.runless[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

// FailOn is the best verdict on runs that is negative; worse verdicts are negative too.
// If it is empty, the default of the command applies.
type FailOn string

// Never makes no verdict negative.
const Never FailOn = "none"

// FailOns lists the non-empty values of FailOn.
func FailOns() []string {
	list := []string{string(Never)}
	for _, v := range analysis.Verdicts() {
		if v != analysis.Exact {
			list = append(list, string(v))
		}
	}
	return list
}

// StatusOfRuns returns the exit status of a comparison.
func StatusOfRuns(runs []analysis.Run, on FailOn) Status {
	worst := Done
	for _, run := range runs {
		worst = worst.Worse(statusOfRun(run, on))
	}
	return worst
}

// statusOfRun returns the exit status for one run. With a baseline, a run is negative if
// a change affects the contract. Without one, it is negative unless an artifact can be
// made from its one emitted snapshot and no streamed text was found to be missing from
// that. In both cases a verdict that on includes is negative.
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

// StatusOfInspection returns the exit status for the rows of a capture.
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
