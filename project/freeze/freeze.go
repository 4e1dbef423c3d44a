package freeze

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strconv"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// Settings choose what is frozen and where it goes.
type Settings struct {
	project.Settings
	// Dir is where the files go; it is made when it is not there. It is for
	// Freeze alone.
	Dir string
	// Run chooses the runs.
	Run scan.RunSelector
	// Name replaces the capture's name in file names. It is a plain file name.
	Name string
	// Tool is the program that the record names as its maker. Its name can only be
	// record.ToolName, and stands for the empty one: verification repeats it.
	Tool     record.Tool
	Progress scan.Progress
}

// Normalize fills in defaults and reports settings that are not known or do not go
// together; a name under which no file can be is a *NameError.
func (s *Settings) Normalize() error {
	if s.Tool.Name == "" {
		s.Tool.Name = record.ToolName
	}
	if s.Tool.Name != record.ToolName {
		return fmt.Errorf("the tool is %q; records are made by %s", s.Tool.Name, record.ToolName)
	}
	if s.Name != "" && !plain(s.Name) {
		return &NameError{Name: s.Name}
	}
	return s.Settings.Normalize()
}

// Row is what became of one run, or of a capture without one.
type Row struct {
	Capture        string            `json:"capture"`
	Run            *int              `json:"run"`
	RunID          *string           `json:"run_id"`
	Verdict        project.Verdict   `json:"verdict"`
	Origin         *project.Origin   `json:"origin"`
	Artifact       *string           `json:"artifact"`
	Envelope       *string           `json:"envelope"`
	Record         *string           `json:"record"`
	ArtifactDigest *digest.Digest    `json:"artifact_digest"`
	ArtifactBytes  *int              `json:"artifact_bytes"`
	CaptureBytes   *int64            `json:"capture_bytes"`
	Profiles       *Profiles         `json:"profiles"`
	Findings       []finding.Finding `json:"findings"`

	// Assay says why Assay could not take a frozen artifact.
	Assay []finding.Finding `json:"-"`
	// FromRequest says that a built snapshot has the messages of the request.
	FromRequest bool `json:"-"`
}

// Profiles says which profiles an artifact keeps.
type Profiles struct {
	V1    bool `json:"v1"`
	Assay bool `json:"assay"`
}

// Files are the three files of a frozen run.
type Files struct {
	Artifact, Envelope, Record []byte
}

// Run is what became of one run that was frozen in memory. The paths in its row
// are nil, and its files empty when it was refused.
type Run struct {
	Row
	Files Files `json:"-"`
}

// Freeze freezes the runs of the capture that path names into files. It writes
// nothing before the whole capture was read and its digests were found right,
// and nothing at all for a run that is refused. The error is one of the settings;
// everything else is in the rows.
func Freeze(ctx context.Context, path string, s Settings) ([]Row, error) {
	if err := s.Normalize(); err != nil {
		return nil, err
	}
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return []Row{failure(path, err)}, nil
	}
	defer c.Close()
	files := &staging{dir: s.Dir}
	defer files.close()
	return freeze(ctx, c, s, files), nil
}

// Capture freezes the runs of an open capture in memory, which it reads from its
// first frame to its end. The files of its runs are held in memory together, up to
// 512 MiB of them. The error is one of the settings; everything else is in the runs.
func Capture(ctx context.Context, c *capture.Capture, s Settings) ([]Run, error) {
	if err := s.Normalize(); err != nil {
		return nil, err
	}
	kept := &memory{most: maxMemory}
	rows := freeze(ctx, c, s, kept)
	runs := make([]Run, len(rows))
	for i, row := range rows {
		runs[i].Row = row
		if row.Verdict == project.Frozen {
			runs[i].Files = kept.runs[*row.Run]
		}
	}
	return runs, nil
}

// Reader freezes the runs of a response in memory: an event stream, JSON lines or
// a JSON array. The artifacts are called after name, a plain file name. A response
// read so has no times of arrival and no request: its events have timestamps, or
// Settings.Operator has the times; and what the run was asked with is known from
// RUN_STARTED, if at all.
func Reader(ctx context.Context, r io.Reader, name string, s Settings) ([]Run, error) {
	if !plain(name) {
		return nil, &NameError{Name: name}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c, err := capture.OpenReader(capture.Interruptible(ctx, r), name, "")
	if err != nil {
		return []Run{{Row: failure(name, err)}}, nil
	}
	defer c.Close()
	return Capture(ctx, c, s)
}

// freeze freezes the runs of a capture into an output.
func freeze(ctx context.Context, c *capture.Capture, s Settings, to output) []Row {
	f := &freezer{settings: s, capture: c, output: to}
	p := &scan.Projector{Settings: f.wants, Handle: f.made}
	request, err := c.Request()
	switch {
	case err == nil:
		p.Request = request
	case s.Projection == project.FoldedStream:
		return []Row{failure(c.Path(), err)}
	}
	f.advises = err == nil && s.Projection != project.FoldedStream
	result, err := scan.Run(ctx, c, s.Progress, p)
	if err != nil {
		return []Row{failure(c.Path(), err)}
	}
	rows := f.finish(result)
	if ctx.Err() != nil {
		return []Row{failure(c.Path(), context.Cause(ctx))}
	}
	f.publish(ctx, rows)
	return rows
}

// failure is the row of a capture of which nothing can be said run by run.
func failure(path string, err error) Row {
	f, isVerdict := finding.FromError(err)
	row := Row{Capture: path, Verdict: project.Failed, Findings: []finding.Finding{f}}
	if isVerdict {
		row.Verdict = project.Refused
	}
	return row
}

// output is where frozen runs go. What it keeps of a run waits for the end of the
// capture; then it is completed and published.
type output interface {
	// keep takes the files of a run. The record lacks names and digests.
	keep(run int, out *project.Output, draft *record.Record) error
	// complete fills in what is known at the capture's end.
	complete(run int, source record.Source, name string) error
	// drop forgets a run.
	drop(run int)
	// publish publishes a run that was completed, wholly or not at all. It returns
	// temporary names that could not be removed.
	publish(ctx context.Context, run int) (left []string, err error)
	// sync makes durable what was published.
	sync() error
	// place names the published files of a run in its row.
	place(run int, row *Row)
}

// freezer freezes the runs of a capture as they are read.
type freezer struct {
	settings Settings
	capture  *capture.Capture
	output   output
	advises  bool  // whether a run without a snapshot is tried under FoldedStream
	rows     []Row // of the chosen runs
	items    int   // findings kept in rows
}

func (f *freezer) wants(run *envelope.Run) []project.Settings {
	if !f.settings.Run.Matches(run) {
		return nil
	}
	asked := f.settings.Settings
	if !f.advises {
		return []project.Settings{asked}
	}
	folded := asked
	folded.Projection, folded.Version, folded.Snapshot = project.FoldedStream, project.FoldedStream.Version(), project.Only
	return []project.Settings{asked, folded}
}

// made takes in what the projection made of a run. The second, which only advises,
// is made for a run that lacks a snapshot.
func (f *freezer) made(run *envelope.Run, made iter.Seq[*scan.Projection]) error {
	var asked *scan.Projection
	for p := range made {
		if asked != nil {
			asked.Findings = scan.Advise(asked.Findings, p)
			break
		}
		if asked = p; !finding.Has(p.Findings, finding.SnapshotMissing) {
			break
		}
	}
	return f.keep(run, asked)
}

func (f *freezer) keep(run *envelope.Run, p *scan.Projection) error {
	if len(f.rows) == scan.MaxRuns || f.items > scan.MaxItems {
		return scan.TooManyRuns(run)
	}
	f.items += len(p.Findings)
	number, id := run.Number, scan.TruncateID(run.RunID) // the row outlives the run
	row := Row{Capture: f.capture.Path(), Run: &number, RunID: &id, Verdict: project.Refused, Findings: p.WithOmissions()}
	if out := p.Output; out != nil {
		row.Verdict, row.Origin = project.Frozen, &out.Origin
		row.Profiles = &Profiles{V1: true, Assay: !finding.Failed(out.Assay)}
		row.Assay, row.FromRequest = out.Assay, project.UsesRequest(out.Omissions)
		d, n := digest.Of(out.Bytes), len(out.Bytes)
		row.ArtifactDigest, row.ArtifactBytes = &d, &n
		if err := f.output.keep(number, out, record.New(out, run, f.settings.Settings, f.settings.Tool)); err != nil {
			return err
		}
	}
	f.rows = append(f.rows, row)
	return nil
}

// finish turns the capture's end into rows. Those that are still frozen are
// complete.
func (f *freezer) finish(result scan.Result) []Row {
	f.settings.Run.CheckOperatorTimes(&result, f.settings.Operator)
	of := Row{Capture: result.Path, Verdict: project.Refused, Findings: result.Findings, CaptureBytes: &result.Bytes}
	if result.Runs == 0 {
		return []Row{of}
	}
	if err := f.settings.Run.Check(result, len(f.rows)); err != nil {
		why, _ := finding.FromError(err)
		of.Findings = append(of.Findings, why)
		return []Row{of}
	}
	name := f.settings.Name
	if name == "" {
		name = f.capture.Name()
	}
	for i := range f.rows {
		row := &f.rows[i]
		row.CaptureBytes = &result.Bytes
		findings, counts := result.MergeFindings(row.Findings)
		row.Findings = findings
		if row.Verdict != project.Frozen {
			continue
		}
		if !counts {
			f.output.drop(*row.Run)
			row.Verdict, row.Origin, row.Profiles = project.Refused, nil, nil
			row.ArtifactDigest, row.ArtifactBytes = nil, nil
			continue
		}
		called := name
		if result.Runs > 1 {
			called += "." + strconv.Itoa(*row.Run)
		}
		if err := f.output.complete(*row.Run, record.SourceOf(f.capture, *row.Run), called); err != nil {
			why, _ := finding.FromError(err)
			row.Verdict, row.Findings = project.Failed, append(row.Findings, why)
			finding.Sort(row.Findings)
		}
	}
	return f.rows
}

// publish publishes the files of the frozen runs, and says so in their rows.
func (f *freezer) publish(ctx context.Context, rows []Row) {
	var published []*Row
	for i := range rows {
		row := &rows[i]
		if row.Verdict != project.Frozen {
			continue
		}
		left, err := f.output.publish(ctx, *row.Run)
		if err != nil {
			fault, _ := finding.FromError(err)
			if errors.Is(err, fs.ErrExist) {
				fault = finding.New(finding.OutputExists, "%s", finding.Escape(err.Error()))
			}
			row.fail(fault)
			continue
		}
		f.output.place(*row.Run, row)
		for _, name := range left {
			row.Findings = append(row.Findings, finding.Leftover(name))
		}
		published = append(published, row)
	}
	if len(published) == 0 {
		return
	}
	if err := f.output.sync(); err != nil {
		fault, _ := finding.FromError(err)
		for _, row := range published {
			row.fail(fault)
		}
	}
}

// fail says what could not be done for a run.
func (r *Row) fail(fault finding.Finding) {
	r.Verdict, r.Findings = project.Failed, append(r.Findings, fault)
}
