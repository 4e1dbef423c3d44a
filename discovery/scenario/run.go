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

// Verdicts about scenarios, beside project.Failed.
const (
	// Captured: the answer was kept, an HTTP error, too.
	Captured project.Verdict = "captured"
	// Skipped: the harness cannot express the scenario, and says why.
	Skipped project.Verdict = "skipped"
	// Unexpected: the capture does not show what is expected of it.
	Unexpected project.Verdict = "unexpected"
)

// Verdicts lists those that a scenario can have.
func Verdicts() []project.Verdict {
	return []project.Verdict{Captured, Skipped, Unexpected, project.Failed}
}

// Plan says which scenarios are run, where, and what they should show.
type Plan struct {
	// Scenarios are run in order, one at a time.
	Scenarios []Scenario
	// Needed names those that decide whether the integration qualifies, and others of
	// the list. The others may be answered with an HTTP error. Empty means that all
	// are needed.
	Needed []string
	// Suite says what is expected of them; nil expects nothing.
	Suite *Suite
	// UpdateExpected says that what is seen will be what is expected, so that
	// nothing is unexpected now.
	UpdateExpected bool
	// Dir gets a capture of each scenario, a directory named as it is.
	Dir string
	// Request is what the requests share. Its URL is the address that the
	// scenarios' paths are below; to its Labels that of the scenario is added.
	Request client.Settings
	// Progress, when not nil, is called as a scenario is asked for, and from time
	// to time while its answer comes.
	Progress func(scenario string, now client.Progress)
}

// Row is what became of a scenario. What is not known is null.
type Row struct {
	Scenario string          `json:"scenario"`
	About    string          `json:"about,omitzero"`
	Needed   bool            `json:"needed"`
	Verdict  project.Verdict `json:"verdict"`
	// Note says why a skipped scenario was not run.
	Note string `json:"note,omitzero"`
	// Capture is the path of the closed capture.
	Capture    *string      `json:"capture"`
	HTTPStatus *int         `json:"http_status"`
	End        *capture.End `json:"end"`
	Events     *int         `json:"events"`
	Bytes      *int64       `json:"bytes"`
	Terminal   *string      `json:"terminal"`
	// Snapshots has how many messages each emitted snapshot has; past the
	// hundredth they are not listed.
	Snapshots  []int               `json:"snapshots"`
	TimeSource *project.TimeSource `json:"time_source"`
	Freeze     *Outcomes           `json:"freeze"`
	// Cause is why the answer holds no whole run, if that can be told.
	Cause    Cause             `json:"cause,omitzero"`
	Findings []finding.Finding `json:"findings"`
	// Observed is what an expectation would say of the capture; nil where nothing
	// was observed.
	Observed *Expectation `json:"-"`
	// Runs are what the capture's runs show; empty without a capture.
	Runs []analysis.Run `json:"-"`
}

// NotCaptured returns the needed scenarios of which no capture was made, although no
// note says that the harness cannot express them. The rows are those of Run.
func (p *Plan) NotCaptured(rows []Row) (names []string) {
	for _, name := range p.Needed {
		if p.Suite.caseOf(name).Note == "" && !slices.ContainsFunc(rows, func(r Row) bool { return r.Scenario == name && len(r.Runs) > 0 }) {
			names = append(names, name)
		}
	}
	return names
}

// Conflicts returns a row for each scenario whose place is taken: captures are
// never written into again. The error says that none of them could be written.
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

// Run captures the scenarios and yields a row for each. It ends early with ctx,
// the capture under way closed as cancelled, and when nothing accepts a
// connection or an answer cannot be kept: the row that says so is the last.
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

// capture runs one scenario. The error, which the row states too, says why
// there is no capture.
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

// request returns what is asked for a scenario.
func (p *Plan) request(s Scenario) client.Settings {
	r := p.Request
	if u, err := url.Parse(r.URL); err == nil && s.Path != "" {
		r.URL = u.JoinPath(s.Path).String()
	}
	body := s.Request.Clone()
	_ = body.Compact() // its syntax was checked with its file's
	r.Body = body
	r.Labels = map[string]string{analysis.LabelScenario: s.Name}
	maps.Copy(r.Labels, p.Request.Labels)
	return r
}

func (p *Plan) captureDir(s Scenario) string { return filepath.Join(p.Dir, s.Name) }

// caseOf returns what is expected of a scenario: nothing when nothing is said.
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

// LocalFailure reports whether no answer could be kept for a reason on this side, such as a
// full disk.
func (row *Row) LocalFailure() bool {
	return row.Capture == nil && row.Verdict == project.Failed && finding.Has(row.Findings, finding.IOFailed)
}

// recordReadError says why no more can be said of a capture, unless that was said when it
// was made.
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

// GateRuns returns what the gate judges of a scenario: its runs, or a Run that says why
// there is no capture. A scenario that was not asked has none.
func (row *Row) GateRuns() []analysis.Run {
	if len(row.Runs) > 0 || row.Verdict != project.Failed {
		return row.Runs
	}
	failed := analysis.EmptyRun(artifact.V1, analysis.Failed)
	failed.Scenario, failed.Findings = row.Scenario, row.Findings
	return []analysis.Run{failed}
}

// recordCapture says what was captured. An HTTP error is left to what is expected of the
// scenario, where something is, and so is a response that breaks off as expected.
// Of a scenario that is not needed an HTTP error is an outcome like others.
func (row *Row) recordCapture(dir string, result client.Result, expected *Expectation, update bool) {
	mayFail := update || expected != nil || !row.Needed
	mayBreak := update || expected != nil && expected.End == capture.EndError
	m := result.Manifest
	row.Capture, row.HTTPStatus, row.End, row.Events = &dir, m.Source.Status, &m.End, result.Events
	if response := m.Response(); response != nil {
		row.Bytes = &response.Bytes
	}
	for _, f := range result.Findings {
		if mayFail && f.Code == finding.HTTPStatus || mayBreak && f.Code == finding.HTTPFailed {
			f = f.WithSeverity(finding.Warning)
		}
		row.Findings = append(row.Findings, f)
	}
	if slices.ContainsFunc(row.Findings, func(f finding.Finding) bool { return f.Severity == finding.Error && f.Code != finding.HTTPStatus }) {
		row.Verdict = project.Failed
	}
}

// addContentTypeFindings adds to runs that their answer has another content type than an event
// stream: of an answer without a run that is its likely cause.
func (row *Row) addContentTypeFindings() {
	for _, f := range row.Findings {
		for i := range row.Runs {
			if run := &row.Runs[i]; f.Code == finding.HTTPContentType && f.Severity == finding.Error && run.Run != nil {
				run.Findings = append(run.Findings, f)
			}
		}
	}
}

// observe says what the capture shows, and compares it with what is expected.
func (row *Row) observe(ctx context.Context, expected *Expectation) error {
	seen, err := Observe(ctx, *row.Capture)
	if ctx.Err() != nil {
		return nil // what was seen may be that it was interrupted
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
