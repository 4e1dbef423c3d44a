package discovery

import (
	"context"
	"os"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// Observe does to a capture what an expectation describes: it freezes it under
// every projection into dir, and says what came of it. Captures of scenarios
// hold one run at most.
func Observe(ctx context.Context, path, dir string) (Expectation, error) {
	l, err := readOutline(ctx, path)
	if err != nil {
		return Expectation{}, err
	}
	return l.observe(ctx, path, dir)
}

// observe is Observe of a capture whose outline was read.
func (l *outline) observe(ctx context.Context, path, dir string) (Expectation, error) {
	seen := l.seen
	for _, name := range project.Names() {
		rows, err := freeze.Freeze(ctx, path, freeze.Settings{
			Settings: project.Settings{Projection: name},
			Dir:      dir,
			Name:     string(name),
			Tool:     project.Tool{Name: "p20export", Version: "observed"},
		})
		if err != nil {
			return seen, err
		}
		if len(rows) != 1 {
			return seen, finding.New(finding.ScenarioUnexpected, "the capture holds %d runs where a scenario has one", len(rows)).
				WithHint("the endpoint should answer a request with one run")
		}
		if *seen.Freeze.Of(name), err = seen.outcome(rows[0], &l.types); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// outcome describes a row, and takes from a frozen one what all projections of
// the run share.
func (e *Expectation) outcome(row freeze.Row, of *types) (Outcome, error) {
	o := Outcome{Verdict: row.Verdict}
	if row.Verdict != freeze.Frozen {
		for _, f := range row.Findings {
			if f.Severity == finding.Error {
				o.Reasons = append(o.Reasons, string(f.Code)+place(f.EventIndex, "", f.Pointer, of))
			}
		}
		return o, nil
	}
	o.Origin = *row.Origin
	data, err := os.ReadFile(*row.Artifact)
	if err != nil {
		return o, err
	}
	a, findings := artifact.Decode(data, artifact.V1)
	if err := artifact.Err(findings); err != nil {
		return o, err
	}
	for _, m := range a.Messages {
		o.Roles = append(o.Roles, m.Role)
	}
	e.Parent = a.ParentRunIDRef
	if data, err = os.ReadFile(*row.Record); err != nil {
		return o, err
	}
	record, err := project.DecodeRecord(data)
	if err != nil {
		return o, err
	}
	e.TimeSource = record.Predicate.Times.Source
	for _, left := range record.Predicate.Omissions {
		o.Omissions = append(o.Omissions, string(left.Reason)+place(left.EventIndex, left.File, left.Pointer, of))
	}
	return o, nil
}

// place names an event by its type, which does not change between two captures
// of one scenario as its index might.
func place(index *int, file string, p finding.Pointer, of *types) string {
	where := file
	if index != nil {
		where = of.at(index)
	}
	if where += string(p); where == "" {
		return ""
	}
	return " " + where
}
