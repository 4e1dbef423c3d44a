package scan

import (
	"strconv"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// RunSelector chooses runs of a capture: one by its id, or by its number as "#2"; all
// of them when it is empty.
type RunSelector string

// Matches reports whether a run is chosen. Its RUN_STARTED must have been read.
func (c RunSelector) Matches(run *envelope.Run) bool {
	if number, ok := strings.CutPrefix(string(c), "#"); ok {
		return number == strconv.Itoa(run.Number)
	}
	return c == "" || string(c) == run.RunID
}

// Check says what is wrong with a choice that so many of the capture's runs
// match: run_not_found or run_ambiguous. The capture must have a run.
func (c RunSelector) Check(r Result, chosen int) error {
	switch {
	case chosen == 0:
		return finding.New(finding.RunNotFound, "no run %s among %d", finding.Quote(string(c)), r.Runs)
	case chosen > 1 && c != "":
		return finding.New(finding.RunAmbiguous, "%d runs have the id %s", chosen, finding.Quote(string(c)))
	}
	return nil
}

// CheckOperatorTimes adds to the findings about a capture that an operator's times cannot
// be those of several runs.
func (c RunSelector) CheckOperatorTimes(r *Result, times project.OperatorTimes) {
	if r.Runs > 1 && times.Given() && c == "" {
		r.Findings = append(r.Findings, finding.New(finding.OperatorTimesNeedRun, "the capture holds %d runs, and the times given can be those of one only", r.Runs))
	}
}
