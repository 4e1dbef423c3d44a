package scan

import (
	"strconv"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// RunSelector selects runs of a capture: by id, or by number as in "#2". The empty
// selector selects all runs.
type RunSelector string

// Matches reports whether the selector selects a run. The RUN_STARTED of the run must
// have been read.
func (c RunSelector) Matches(run *envelope.Run) bool {
	if number, ok := strings.CutPrefix(string(c), "#"); ok {
		return number == strconv.Itoa(run.Number)
	}
	return c == "" || string(c) == run.RunID
}

// Check returns the finding run_not_found if the selector matches no run, and
// run_ambiguous if an id matches several. The argument chosen is the number of runs
// that the selector matches. The capture must have at least one run.
func (c RunSelector) Check(r Result, chosen int) error {
	switch {
	case chosen == 0:
		return finding.New(finding.RunNotFound, "none of the %d runs is %s", r.Runs, finding.Quote(string(c)))
	case chosen > 1 && c != "":
		return finding.New(finding.RunAmbiguous, "%d runs have the id %s", chosen, finding.Quote(string(c)))
	}
	return nil
}

// CheckOperatorTimes adds a finding to r if the operator gave times and the selector
// selects several runs.
func (c RunSelector) CheckOperatorTimes(r *Result, times project.OperatorTimes) {
	if r.Runs > 1 && times.Given() && c == "" {
		r.Findings = append(r.Findings, finding.New(finding.OperatorTimesNeedRun, "the capture contains %d runs, but the given times can apply to only one of them", r.Runs))
	}
}
