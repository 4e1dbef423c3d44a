package scan

import (
	"context"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Inspection describes one run, or a capture without runs.
type Inspection struct {
	Capture     string              `json:"capture"`
	Run         *int                `json:"run"`
	ThreadID    *string             `json:"thread_id"`
	RunID       *string             `json:"run_id"`
	ParentRunID *string             `json:"parent_run_id"`
	Families    *envelope.Counts    `json:"families"`
	Snapshots   []SnapshotRow       `json:"snapshots"`
	Terminal    *string             `json:"terminal"`
	StartedAt   *string             `json:"started_at"`
	FinishedAt  *string             `json:"finished_at"`
	TimeSource  *project.TimeSource `json:"time_source"`
	Bytes       int64               `json:"bytes"`
	Findings    []finding.Finding   `json:"findings"`

	// Failed means that the capture could not be read. Negative means that it was read
	// but is not evidence of a run.
	Failed   bool `json:"-"`
	Negative bool `json:"-"`
	// Events is the number of events of the run.
	Events int `json:"-"`
	// Streamed counts the run's text messages.
	Streamed Streamed `json:"-"`
	// Source describes the capture that contains the run.
	Source Source `json:"-"`
}

// SnapshotRow describes one MESSAGES_SNAPSHOT.
type SnapshotRow struct {
	Index    int             `json:"index"`
	Messages int             `json:"messages"`
	Roles    envelope.Counts `json:"roles"`
}

// Inspect reads a capture and describes each of its runs. Faults of a run are among
// its findings.
func Inspect(ctx context.Context, in *inputs.Input, progress Progress) []Inspection {
	c, err := in.Open(ctx)
	if err != nil {
		return []Inspection{FailedInspection(in.Path, err)}
	}
	defer c.Close()
	i := NewInspector(c.Path())
	if _, err := Run(ctx, c, progress, i); err != nil {
		return []Inspection{FailedInspection(in.Path, err)}
	}
	return i.Inspections()
}

// FailedInspection describes a capture that could not be read.
func FailedInspection(path string, err error) Inspection {
	f, isVerdict := finding.FromError(err)
	return Inspection{Capture: path, Snapshots: []SnapshotRow{}, Findings: []finding.Finding{f}, Failed: !isVerdict, Negative: isVerdict}
}

// Inspector is a consumer that describes runs.
type Inspector struct {
	path  string
	rows  []Inspection
	items int // of the rows, limited by MaxItems
}

// NewInspector returns an Inspector for the capture at path.
func NewInspector(path string) *Inspector { return &Inspector{path: path} }

// Inspections returns a row for each run, or one row for a capture without runs. It
// must be called after Finish.
func (i *Inspector) Inspections() []Inspection { return i.rows }

// Begin implements Consumer.
func (i *Inspector) Begin(*envelope.Run) Observer { return &runInspector{inspector: i} }

// Finish implements Consumer.
func (i *Inspector) Finish(r Result) error {
	if r.Runs == 0 {
		i.rows = []Inspection{{Capture: i.path, Snapshots: []SnapshotRow{}, Bytes: r.Bytes, Findings: r.Findings, Negative: true, Events: r.Events, Source: r.Source}}
	}
	for n := range i.rows {
		row := &i.rows[n]
		if r.Runs > 0 {
			row.Findings, _ = r.MergeFindings(row.Findings)
		}
		row.Source = r.Source
	}
	return nil
}

// runInspector describes one run.
type runInspector struct {
	inspector *Inspector
	events    int
	snapshots []envelope.Snapshot // up to envelope.MaxSnapshots
	streamed  streamedCounter
}

// Event implements Observer.
func (o *runInspector) Event(e *envelope.Event) {
	o.events++
	if e.Type == envelope.MessagesSnapshot && len(o.snapshots) < envelope.MaxSnapshots {
		o.snapshots = append(o.snapshots, envelope.DescribeSnapshot(e))
	}
	o.streamed.event(e)
}

// End implements Observer.
func (o *runInspector) End(run *envelope.Run) error {
	i := o.inspector
	i.items += len(run.Findings) + run.Families.Len() + o.streamed.Roles.Len()
	for _, s := range o.snapshots {
		i.items += 1 + s.Roles.Len()
	}
	if len(i.rows) == MaxRuns || i.items > MaxItems {
		return TooManyRuns(run)
	}
	number, families := run.Number, run.Families // the row outlives the run
	row := Inspection{
		Capture:     i.path,
		Run:         &number,
		ThreadID:    present(TruncateID(run.ThreadID)),
		RunID:       present(TruncateID(run.RunID)),
		ParentRunID: present(TruncateID(run.ParentRunID)),
		Families:    &families,
		Snapshots:   make([]SnapshotRow, 0, len(o.snapshots)),
		Bytes:       run.Bytes,
		Findings:    run.Findings,
		Events:      o.events,
		Streamed:    o.streamed.Streamed,
	}
	if run.TerminalOtherRun != nil {
		row.Findings = append(row.Findings, *run.TerminalOtherRun)
	}
	for _, s := range o.snapshots {
		row.Snapshots = append(row.Snapshots, SnapshotRow{Index: s.Index, Messages: s.Messages, Roles: s.Roles})
		if s.Problem != nil {
			row.Findings = append(row.Findings, *s.Problem)
		}
	}
	if run.Terminal != nil {
		row.Terminal = present(run.Terminal.Type)
	}
	times, findings := project.ResolveTimes(run, project.OperatorTimes{})
	row.Findings = append(row.Findings, findings...)
	if times.Source != "" {
		row.TimeSource = &times.Source
	}
	row.StartedAt, row.FinishedAt = present(times.StartedAt), present(times.FinishedAt)
	i.rows = append(i.rows, row)
	return nil
}

func present(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
