package scenario

import (
	"context"
	"fmt"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// Observation is the result of reading a capture once.
type Observation struct {
	// Expectation is the expectation that the capture satisfies. It is only set for
	// captures with at most one run.
	Expectation
	// Snapshots has the number of messages of each emitted snapshot, for at most
	// analysis.MaxSnapshots snapshots.
	Snapshots []int
	// Runs has the analyzed runs. There is at least one.
	Runs []analysis.Run
}

// Observe reads a capture once. If it returns an error, the observation still has Runs,
// and also Snapshots if the error is that there are too many runs.
func Observe(ctx context.Context, path string) (Observation, error) {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return Observation{Runs: []analysis.Run{analysis.Unreadable(path, artifact.V1, nil, err)}}, fmt.Errorf("%s: %w", path, err)
	}
	defer c.Close()
	a, err := analysis.New(c, artifact.V1)
	if err == nil {
		var o observer
		a.OnRun = func(_ *envelope.Run, made []*scan.Projection) { o.made(made, a.EventTypes()) }
		var result scan.Result
		if result, err = scan.Run(ctx, c, nil, a); err == nil {
			return o.finish(result, a)
		}
	}
	return Observation{Runs: []analysis.Run{analysis.Unreadable(path, artifact.V1, c.Manifest(), err)}}, fmt.Errorf("%s: %w", path, err)
}

// observer keeps the outcomes of the projections of the first run.
type observer struct{ outcomes []outcome }

// outcome is an Outcome without reasons, which are only known at the end of the capture.
type outcome struct {
	Outcome
	name     project.Name
	findings []finding.Finding
	parent   string
	times    project.TimeSource
}

func (o *observer) made(made []*scan.Projection, of *analysis.EventTypes) {
	if o.outcomes != nil {
		return
	}
	for _, p := range made[:len(project.Names())] {
		one := outcome{name: p.Projection, findings: p.Findings}
		one.Verdict = project.Refused
		if out := p.Output; out != nil {
			one.Verdict, one.Origin = project.Frozen, out.Origin
			for _, m := range out.Artifact.Messages {
				one.Roles = append(one.Roles, m.Role)
			}
			for _, left := range out.Omissions {
				one.Omissions = append(one.Omissions, string(left.Reason)+placeOf(left.EventIndex, left.File, left.Pointer, of))
			}
			one.parent, one.times = out.Artifact.ParentRunIDRef, out.Times.Source
		}
		o.outcomes = append(o.outcomes, one)
	}
}

// finish returns the observation at the end of the capture.
func (o *observer) finish(r scan.Result, a *analysis.Analyzer) (Observation, error) {
	seen := Observation{Snapshots: []int{}, Runs: a.Runs()}
	for _, run := range seen.Runs {
		seen.HTTPStatus, seen.End, seen.Terminal = run.HTTPStatus, run.End, run.Terminal
		for _, s := range run.Snapshots[:min(len(run.Snapshots), analysis.MaxSnapshots-len(seen.Snapshots))] {
			seen.Snapshots = append(seen.Snapshots, s.Messages)
		}
	}
	if r.Runs > 1 {
		return seen, finding.New(finding.ScenarioUnexpected, "the capture contains %d runs, but a scenario must have one", r.Runs).
			WithHint("the endpoint should respond to a request with one run")
	}
	if r.Runs == 0 {
		for _, name := range project.Names() {
			o.outcomes = append(o.outcomes, outcome{name: name, Outcome: Outcome{Verdict: project.Refused}})
		}
	}
	for _, one := range o.outcomes {
		findings, counts := r.MergeFindings(one.findings)
		if one.Verdict == project.Frozen && counts {
			seen.Parent, seen.TimeSource = one.parent, one.times
		} else {
			one.Outcome = Outcome{Verdict: project.Refused}
			for _, f := range findings {
				if f.Severity == finding.Error {
					one.Reasons = append(one.Reasons, string(f.Code)+placeOf(f.EventIndex, "", f.Pointer, a.EventTypes()))
				}
			}
		}
		*seen.Freeze.Outcome(one.name) = one.Outcome
	}
	return seen, nil
}

// placeOf formats a place. It names an event by its type, because its index may differ
// between two captures of a scenario.
func placeOf(index *int, file string, p finding.Pointer, of *analysis.EventTypes) string {
	where := file
	if index != nil {
		where = of.At(index)
	}
	if where += string(p); where == "" {
		return ""
	}
	return " " + where
}
