package freeze

import (
	"context"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// InspectRow describes one run, or a capture without one.
type InspectRow struct {
	Capture     string              `json:"capture"`
	Run         *int                `json:"run"`
	ThreadID    *string             `json:"thread_id"`
	RunID       *string             `json:"run_id"`
	ParentRunID *string             `json:"parent_run_id"`
	Families    *envelope.Families  `json:"families"`
	Snapshots   []SnapshotRow       `json:"snapshots"`
	Terminal    *string             `json:"terminal"`
	StartedAt   *string             `json:"started_at"`
	FinishedAt  *string             `json:"finished_at"`
	TimeSource  *project.TimeSource `json:"time_source"`
	Bytes       int64               `json:"bytes"`
	Findings    []finding.Finding   `json:"findings"`

	// Failed says that the capture could not be read, Negative that what was
	// read is no evidence of a run.
	Failed   bool `json:"-"`
	Negative bool `json:"-"`
	// Events is how many events the run has.
	Events int `json:"-"`
	// Source describes the capture the run is in.
	Source Source `json:"-"`
}

// Source describes a capture. Manifest is nil for a plain file.
type Source struct {
	Manifest *capture.Manifest
	Framing  capture.Framing
	Bytes    int64
	Digest   digest.Digest
}

// SnapshotRow describes one MESSAGES_SNAPSHOT.
type SnapshotRow struct {
	Index    int               `json:"index"`
	Messages int               `json:"messages"`
	Roles    envelope.Families `json:"roles"`
}

// Inspect looks into a capture and describes each of its runs. It judges
// nothing: what is wrong with a run stands among its findings.
func Inspect(ctx context.Context, path string, progress Progress) []InspectRow {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return []InspectRow{uninspected(path, err)}
	}
	defer c.Close()
	i := &inspector{path: c.Path()}
	totals, err := scan(c, i, progress)
	if err != nil {
		return []InspectRow{uninspected(path, err)}
	}
	source := Source{Manifest: c.Manifest(), Framing: c.Framing(), Bytes: c.Bytes(), Digest: c.Digest()}
	if totals.Runs == 0 {
		return []InspectRow{{Capture: c.Path(), Snapshots: []SnapshotRow{}, Bytes: c.Bytes(), Findings: totals.Findings, Negative: true, Events: totals.Events, Source: source}}
	}
	for n := range i.rows {
		row := &i.rows[n]
		row.Findings = append(totals.Findings[:len(totals.Findings):len(totals.Findings)], row.Findings...)
		finding.Sort(row.Findings)
		row.Source = source
	}
	return i.rows
}

func uninspected(path string, err error) InspectRow {
	f, isVerdict := Explain(err)
	return InspectRow{Capture: path, Snapshots: []SnapshotRow{}, Findings: []finding.Finding{f}, Failed: !isVerdict, Negative: isVerdict}
}

type inspector struct {
	path   string
	rows   []InspectRow
	events int
	items  int // what the rows hold
}

// Event implements envelope.Visitor.
func (i *inspector) Event(_ *envelope.Run, e *envelope.Event) {
	if e.Type == envelope.RunStarted {
		i.events = 0
	}
	i.events++
}

// End implements envelope.Visitor.
func (i *inspector) End(run *envelope.Run) error {
	i.items += len(run.Findings) + run.Families.Len()
	for _, s := range run.Snapshots {
		i.items += 1 + s.Roles.Len()
	}
	if len(i.rows) == maxRuns || i.items > maxItems {
		return tooMany(run)
	}
	number, families := run.Number, run.Families // the row outlives the run
	row := InspectRow{
		Capture:     i.path,
		Run:         &number,
		ThreadID:    present(clipped(run.ThreadID)),
		RunID:       present(clipped(run.RunID)),
		ParentRunID: present(clipped(run.ParentRunID)),
		Families:    &families,
		Snapshots:   make([]SnapshotRow, 0, len(run.Snapshots)),
		Bytes:       run.Bytes,
		Findings:    run.Findings,
		Events:      i.events,
	}
	for _, s := range run.Snapshots {
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
