package scenario

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Verdicts of scenarios, in addition to project.Failed.
const (
	// Captured: the response was captured, even if it is an HTTP error.
	Captured project.Verdict = "captured"
	// Skipped: the integration cannot express the scenario.
	Skipped project.Verdict = "skipped"
	// Unexpected: the capture differs from its expectation.
	Unexpected project.Verdict = "unexpected"
)

// Verdicts returns the verdicts that a scenario can have.
func Verdicts() []project.Verdict {
	return []project.Verdict{Captured, Skipped, Unexpected, project.Failed}
}

// Plan has the scenarios to run, the endpoint, and the expectations.
type Plan struct {
	// Scenarios are run in order, one at a time.
	Scenarios []Scenario
	// Needed has the names of the needed scenarios of the list, including those that
	// are not in Scenarios. Only other scenarios may be answered with an HTTP error.
	// If it is empty, all scenarios are needed.
	Needed []string
	// Suite has the expectations; nil if there are none.
	Suite *Suite
	// UpdateExpected reports that the results will become the expectations, so that
	// no result is unexpected.
	UpdateExpected bool
	// Dir is the directory of the captures. The capture of a scenario is a
	// subdirectory with its name.
	Dir string
	// Request has the settings that all requests share. The path of a scenario is
	// appended to its URL, and a label with the scenario's name is added to its Labels.
	Request client.Settings
	// Progress, if not nil, is called at the start of a scenario, and repeatedly while
	// its response is received.
	Progress func(scenario string, now client.Progress)
}

// Row is the result of a scenario. Unknown values are null.
type Row struct {
	Scenario string          `json:"scenario"`
	About    string          `json:"about,omitzero"`
	Needed   bool            `json:"needed"`
	Verdict  project.Verdict `json:"verdict"`
	// Note says why a skipped scenario cannot be run.
	Note string `json:"note,omitzero"`
	// Capture is the path of the closed capture.
	Capture    *string      `json:"capture"`
	HTTPStatus *int         `json:"http_status"`
	End        *capture.End `json:"end"`
	Events     *int         `json:"events"`
	Bytes      *int64       `json:"bytes"`
	Terminal   *string      `json:"terminal"`
	// Snapshots has the number of messages of each emitted snapshot, for at most 100
	// snapshots.
	Snapshots  []int               `json:"snapshots"`
	TimeSource *project.TimeSource `json:"time_source"`
	Freeze     *Outcomes           `json:"freeze"`
	// Cause says why the response has no complete run, if that is known.
	Cause    Cause             `json:"cause,omitzero"`
	Findings []finding.Finding `json:"findings"`
	// Observed is the expectation that the capture would satisfy; nil if nothing was
	// observed.
	Observed *Expectation `json:"-"`
	// Runs has the analyzed runs of the capture; empty if there is no capture.
	Runs []analysis.Run `json:"-"`
}

// NotCaptured returns the needed scenarios that have no capture and no note. The rows are
// the results of Run.
func (p *Plan) NotCaptured(rows []Row) (names []string) {
	for _, name := range p.Needed {
		if p.Suite.caseOf(name).Note == "" && !slices.ContainsFunc(rows, func(r Row) bool { return r.Scenario == name && len(r.Runs) > 0 }) {
			names = append(names, name)
		}
	}
	return names
}

// Conflicts returns a row for each scenario whose capture directory already exists, since
// captures are never overwritten. It returns an error if no capture could be written.
func (p *Plan) Conflicts() ([]Row, error) {
	var rows []Row
	for _, s := range p.Scenarios {
		if p.Suite.caseOf(s.Name).Note != "" {
			continue
		}
		request := p.request(s)
		err := capture.CheckCreate(p.captureDir(s), capture.Settings{Labels: request.Labels, Tool: request.Tool})
		switch {
		case errors.Is(err, fs.ErrExist):
			row := p.newRow(s)
			row.fail(err)
			rows = append(rows, row)
		case err != nil:
			return nil, err
		}
	}
	return rows, nil
}

// Run captures the scenarios in order and yields a row for each. If ctx is done, Run closes
// the current capture as cancelled and stops. It also stops after the row of a scenario
// whose endpoint is unreachable or whose response cannot be written.
func (p *Plan) Run(ctx context.Context) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for _, s := range p.Scenarios {
			if ctx.Err() != nil {
				return
			}
			row, err := p.capture(ctx, s)
			if !yield(row) || errors.Is(err, client.ErrUnreachable) || row.LocalFailure() {
				return
			}
		}
	}
}

// capture runs one scenario. If there is no capture, it returns the error, which the row
// contains too.
func (p *Plan) capture(ctx context.Context, s Scenario) (Row, error) {
	row := p.newRow(s)
	expected := p.Suite.caseOf(s.Name)
	if expected.Note != "" {
		row.Verdict, row.Note = Skipped, expected.Note
		return row, nil
	}
	dir, request := p.captureDir(s), p.request(s)
	if p.Progress != nil {
		request.Progress = func(now client.Progress) { p.Progress(s.Name, now) }
		request.Progress(client.Progress{})
	}
	result, err := client.Record(ctx, dir, request)
	if err != nil {
		row.Cause = causeOfError(err)
		row.fail(err)
		return row, err
	}
	row.Cause = causeOfAnswer(result.Manifest, p.Request)
	row.recordCapture(dir, result, expected.Expect, p.UpdateExpected)
	if ctx.Err() != nil {
		return row, nil
	}
	if err := row.observe(ctx, expected.Expect); err != nil {
		row.recordReadError(err)
	}
	if row.Cause == "" {
		row.Cause = causeOfRuns(row.Runs)
	}
	return row, nil
}

// request returns the settings of the request for a scenario.
func (p *Plan) request(s Scenario) client.Settings {
	r := p.Request
	if u, err := url.Parse(r.URL); err == nil && s.Path != "" {
		r.URL = u.JoinPath(s.Path).String()
	}
	body := s.Request.Clone()
	_ = body.Compact() // the syntax was checked by decode
	r.Body = body
	r.Labels = map[string]string{analysis.LabelScenario: s.Name}
	maps.Copy(r.Labels, p.Request.Labels)
	return r
}

func (p *Plan) captureDir(s Scenario) string { return filepath.Join(p.Dir, s.Name) }

// caseOf returns the case of a scenario, or the zero Case if there is none.
func (s *Suite) caseOf(name string) Case {
	if s != nil {
		for _, e := range s.Cases {
			if e.Name == name {
				return e
			}
		}
	}
	return Case{}
}

func (p *Plan) newRow(s Scenario) Row {
	needed := len(p.Needed) == 0 || slices.Contains(p.Needed, s.Name)
	return Row{Scenario: s.Name, About: s.About, Needed: needed, Verdict: Captured, Snapshots: []int{}, Findings: []finding.Finding{}}
}

func (row *Row) fail(err error) {
	found, _ := finding.FromError(err)
	row.Verdict, row.Findings = project.Failed, append(row.Findings, found)
}

// LocalFailure reports whether the capture failed because of this machine, such as a full
// disk.
func (row *Row) LocalFailure() bool {
	return row.Capture == nil && row.Verdict == project.Failed && finding.Has(row.Findings, finding.IOFailed)
}

// recordReadError adds the error from reading a capture, unless the row already has a
// finding with its code.
func (row *Row) recordReadError(err error) {
	found, _ := finding.FromError(err)
	if !finding.Has(row.Findings, found.Code) {
		row.Findings = append(row.Findings, found)
	}
	if found.Code != finding.ScenarioUnexpected {
		row.Verdict = project.Failed
	} else if row.Verdict == Captured {
		row.Verdict = Unexpected
	}
}

// GateRuns returns the runs of a scenario for package gate. For a failed scenario without
// runs, it returns a Run with the findings. A skipped scenario has no runs.
func (row *Row) GateRuns() []analysis.Run {
	if len(row.Runs) > 0 || row.Verdict != project.Failed {
		return row.Runs
	}
	failed := analysis.EmptyRun(artifact.V1, analysis.Failed)
	failed.Scenario, failed.Findings = row.Scenario, row.Findings
	return []analysis.Run{failed}
}

// recordCapture sets the fields of the row that describe the capture. An HTTP error is
// only a warning if the scenario has an expectation or is not needed. So is a truncated
// response if it is expected.
func (row *Row) recordCapture(dir string, result client.Result, expected *Expectation, update bool) {
	mayFail := update || expected != nil || !row.Needed
	mayTruncate := update || expected != nil && expected.End == capture.EndError
	m := result.Manifest
	row.Capture, row.HTTPStatus, row.End, row.Events = &dir, m.Source.Status, &m.End, result.Events
	if response := m.Response(); response != nil {
		row.Bytes = &response.Bytes
	}
	for _, f := range result.Findings {
		if mayFail && f.Code == finding.HTTPStatus || mayTruncate && f.Code == finding.HTTPFailed {
			f = f.WithSeverity(finding.Warning)
		}
		row.Findings = append(row.Findings, f)
	}
	if slices.ContainsFunc(row.Findings, func(f finding.Finding) bool { return f.Severity == finding.Error && f.Code != finding.HTTPStatus }) {
		row.Verdict = project.Failed
	}
}

// addContentTypeFindings adds the finding about a wrong content type to the runs. For a
// response without a run, the wrong content type is the Cause instead.
func (row *Row) addContentTypeFindings() {
	for _, f := range row.Findings {
		for i := range row.Runs {
			if run := &row.Runs[i]; f.Code == finding.HTTPContentType && f.Severity == finding.Error && run.Run != nil {
				run.Findings = append(run.Findings, f)
			}
		}
	}
}

// observe reads the capture and compares it with the expectation.
func (row *Row) observe(ctx context.Context, expected *Expectation) error {
	seen, err := Observe(ctx, *row.Capture)
	if ctx.Err() != nil {
		return nil // the result may be due to the interruption
	}
	row.Runs = seen.Runs
	row.addContentTypeFindings()
	if seen.Snapshots != nil {
		row.Snapshots = seen.Snapshots
	}
	if err != nil {
		return err
	}
	for _, run := range seen.Runs {
		for _, f := range run.Findings {
			if f.Code == finding.SnapshotLacksText {
				row.Findings = append(row.Findings, f)
			}
		}
	}
	row.Observed, row.Freeze = &seen.Expectation, &seen.Freeze
	if seen.Terminal != "" {
		row.Terminal = &seen.Terminal
	}
	if seen.TimeSource != "" {
		row.TimeSource = &seen.TimeSource
	}
	if expected == nil {
		return nil
	}
	unexpected := diffExpectation(expected, &seen.Expectation)
	if len(unexpected) > 0 && row.Verdict == Captured {
		row.Verdict = Unexpected
	}
	row.Findings = append(row.Findings, unexpected...)
	return nil
}
