package freeze

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/sign"
)

// Settings configure freezing.
type Settings struct {
	project.Settings
	// Dir is the directory for the files. It is created if it does not exist. Only
	// Freeze and Batch use it.
	Dir string
	// Run selects the runs.
	Run scan.RunSelector
	// Name replaces the capture's name in file names. It must be a file name
	// without a directory.
	Name string
	// Tool is the program that the record names. Its name must be record.ToolName,
	// because verify expects that name. An empty name means record.ToolName.
	Tool record.Tool
	// Sign says how the records of Freeze and Batch are signed. If it is nil, they are
	// not.
	Sign     *sign.Settings
	Progress scan.Progress
	// Publishing is called while files are written, with the number of runs whose files
	// are durable, and the number of runs that were frozen so far. It may be nil. Batch
	// calls it from two goroutines.
	Publishing func(durable, frozen int)

	nameByDigest bool            // name the files by the digest of the response
	onRow        func(bytes int) // called with about the memory of each row and its files, unless nil
}

// Normalize fills in defaults. It returns an error if a setting is unknown or two
// settings conflict. For an invalid name, the error is a *NameError.
func (s *Settings) Normalize() error {
	if s.Tool.Name == "" {
		s.Tool.Name = record.ToolName
	}
	if s.Tool.Name != record.ToolName {
		return fmt.Errorf("the tool is %q; it must be %s", s.Tool.Name, record.ToolName)
	}
	if s.Name != "" && !isPlainName(s.Name) {
		return &NameError{Name: s.Name}
	}
	return s.Settings.Normalize()
}

// Row is the outcome for one run, or for a capture without runs.
type Row struct {
	Capture        string          `json:"capture"`
	Run            *int            `json:"run"`
	RunID          *string         `json:"run_id"`
	Verdict        project.Verdict `json:"verdict"`
	Origin         *project.Origin `json:"origin"`
	Artifact       *string         `json:"artifact"`
	Envelope       *string         `json:"envelope"`
	Record         *string         `json:"record"`
	ArtifactDigest *digest.Digest  `json:"artifact_digest"`
	ArtifactBytes  *int            `json:"artifact_bytes"`
	CaptureBytes   *int64          `json:"capture_bytes"`
	Profiles       *Profiles       `json:"profiles"`
	// Findings are sorted by place, not by severity. The reasons for which a run was not
	// frozen have the severity error.
	Findings []finding.Finding `json:"findings"`
	// Signature is the path of the DSSE envelope over the record, if it was signed.
	Signature *string `json:"signature"`
	// Timestamp is the path of the time-stamp of the signature, if there is one.
	Timestamp *string `json:"timestamp"`

	// ThreadID, StartedAt, FinishedAt and TerminalEvent are as in the artifact. They are null
	// if the run was refused or skipped.
	ThreadID      *string        `json:"thread_id"`
	StartedAt     *string        `json:"started_at"`
	FinishedAt    *string        `json:"finished_at"`
	TerminalEvent *string        `json:"terminal_event"`
	CaptureDigest *digest.Digest `json:"capture_digest"`
	// Labels are the labels of the capture. They are null if the capture has no manifest,
	// or if it could not be opened.
	Labels map[string]string `json:"labels"`

	// ArtifactJSON is the text of the artifact's file, if a run was frozen without files.
	ArtifactJSON *string `json:"artifact_json,omitzero"`
	// EnvelopeNDJSON is the text of the envelope's file, if a run was frozen without files.
	EnvelopeNDJSON *string `json:"envelope_ndjson,omitzero"`
	// RecordJSON is the text of the record's file, if a run was frozen without files.
	RecordJSON *string `json:"record_json,omitzero"`
	// SignatureJSON is the text of the DSSE envelope's file, if a run was frozen and signed
	// without files.
	SignatureJSON *string `json:"signature_json,omitzero"`

	// Assay are the findings under the assay profile for a frozen artifact.
	Assay []finding.Finding `json:"-"`
	// FromRequest reports whether a built snapshot has the messages of the request.
	FromRequest bool `json:"-"`
}

// Profiles reports which profiles accept an artifact.
type Profiles struct {
	V1    bool `json:"v1"`
	Assay bool `json:"assay"`
}

// Files are the three files of a frozen run.
type Files struct {
	Artifact, Envelope, Record []byte
}

// Run is the outcome for one run that was frozen in memory. The paths in its row are
// nil. If the run was refused, Files is empty.
type Run struct {
	Row
	Files Files `json:"-"`
}

// Freeze freezes the runs of the capture at path to files. It writes nothing until it
// has read the whole capture and checked its digests. It writes no files for a refused
// run. Freeze returns an error only for invalid settings. The rows report all other
// errors.
func Freeze(ctx context.Context, path string, s Settings) ([]Row, error) {
	if err := s.Normalize(); err != nil {
		return nil, err
	}
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return []Row{failureRow(path, err)}, nil
	}
	defer c.Close()
	files := &staging{dir: s.Dir}
	defer files.close()
	rows := freeze(ctx, c, s, files)
	to := &publisher{publishing: s.Publishing, sign: s.Sign}
	defer to.close()
	to.publish(ctx, s.Dir, rows, files)
	return rows, nil
}

// Capture freezes the runs of an open capture in memory. It reads the capture from its
// first frame to its end. The files of all runs may have up to 512 MiB in total.
// Capture returns an error only for invalid settings. The runs report all other errors.
func Capture(ctx context.Context, c *capture.Capture, s Settings) ([]Run, error) {
	if err := s.Normalize(); err != nil {
		return nil, err
	}
	kept := &memory{limit: maxMemory}
	rows := freeze(ctx, c, s, kept)
	runs := make([]Run, len(rows))
	for i, row := range rows {
		runs[i].Row = row
		if row.Verdict == project.Frozen {
			runs[i].Files = kept.run(*row.Run).files
		}
	}
	return runs, nil
}

// Reader freezes the runs of a response in memory. The response is an event stream,
// JSON lines or a JSON array. The names of the files start with name, which must be a
// file name without a directory. Such a response has no arrival times and no request.
// The times come from the events or from Settings.Operator, and the request from the
// input in RUN_STARTED, if present.
func Reader(ctx context.Context, r io.Reader, name string, s Settings) ([]Run, error) {
	if !isPlainName(name) {
		return nil, &NameError{Name: name}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c, err := capture.OpenReader(capture.Interruptible(ctx, r), name, "")
	if err != nil {
		return []Run{{Row: failureRow(name, err)}}, nil
	}
	defer c.Close()
	return Capture(ctx, c, s)
}

// freeze freezes the runs of a capture into an output.
func freeze(ctx context.Context, c *capture.Capture, s Settings, to output) []Row {
	f := &freezer{settings: s, capture: c, labels: c.Labels(), output: to}
	p := &scan.Projector{Settings: f.projectionsOf, Handle: f.handle}
	request, err := c.Request()
	switch {
	case err == nil:
		p.Request = request
	case s.Projection == project.FoldedStream:
		return f.fail(err)
	}
	f.suggestsFold = err == nil && s.Projection != project.FoldedStream
	result, err := scan.Run(ctx, c, s.Progress, p)
	if err != nil {
		return f.fail(err)
	}
	rows := f.finish(result)
	if ctx.Err() != nil {
		return f.fail(context.Cause(ctx))
	}
	return rows
}

// failureRow returns the row of a capture that has no outcome for individual runs.
func failureRow(path string, err error) Row {
	f, isVerdict := finding.FromError(err)
	row := Row{Capture: path, Verdict: project.Failed, Findings: []finding.Finding{f}}
	if isVerdict {
		row.Verdict = project.Refused
	}
	return row
}

// output stores the files of frozen runs until the end of the capture.
type output interface {
	// add stores the files of a run. The record has no names and digests yet.
	add(run int, out *project.Output, draft *record.Record) error
	// complete sets the values that are known at the end of the capture.
	complete(run int, source record.Source, name string) error
	// drop discards the files of a run.
	drop(run int)
}

// freezer freezes the runs of a capture as they are read.
type freezer struct {
	settings     Settings
	capture      *capture.Capture
	labels       map[string]string
	output       output
	suggestsFold bool  // whether to try FoldedStream for a run without a snapshot
	rows         []Row // of the selected runs
	items        int   // findings kept in rows
}

// fail returns the row of a capture that could not be read to its end.
func (f *freezer) fail(err error) []Row {
	row := failureRow(f.capture.Path(), err)
	row.Labels = f.labels
	return []Row{row}
}

func (f *freezer) projectionsOf(run *envelope.Run) []project.Settings {
	if !f.settings.Run.Matches(run) {
		return nil
	}
	asked := f.settings.Settings
	if !f.suggestsFold {
		return []project.Settings{asked}
	}
	folded := asked
	folded.Projection, folded.Version, folded.Snapshot = project.FoldedStream, project.FoldedStream.Version(), project.Only
	return []project.Settings{asked, folded}
}

// handle processes the projections of a run. The second projection is only used for a
// hint if the run has no snapshot.
func (f *freezer) handle(run *envelope.Run, made iter.Seq[*scan.Projection]) error {
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
	v := &values{run: run.Number, runID: scan.TruncateID(run.RunID)} // the row outlives the run
	row := Row{Capture: f.capture.Path(), Labels: f.labels, Run: &v.run, RunID: &v.runID, Verdict: project.Refused, Findings: p.WithOmissions()}
	bytes := rowBytes
	if out := p.Output; out != nil {
		row.Verdict, row.Origin = project.Frozen, &out.Origin
		v.profiles = Profiles{V1: true, Assay: !finding.Failed(out.Assay)}
		row.Profiles = &v.profiles
		row.describe(out, v)
		row.Assay, row.FromRequest = out.Assay, project.UsesRequest(out.Omissions)
		draft := record.New(out, run, f.settings.Settings, f.settings.Tool)
		v.artifactDigest, v.artifactBytes = draft.ArtifactDigest(), len(out.Bytes)
		row.ArtifactDigest, row.ArtifactBytes = &v.artifactDigest, &v.artifactBytes
		bytes += len(out.Bytes) + len(out.Envelope)
		if err := f.output.add(v.run, out, draft); err != nil {
			return err
		}
	}
	f.rows = append(f.rows, row)
	if f.settings.onRow != nil {
		f.settings.onRow(bytes)
	}
	return nil
}

// finish returns the rows at the end of the capture. The files of the frozen runs are
// complete then.
func (f *freezer) finish(result scan.Result) []Row {
	f.settings.Run.CheckOperatorTimes(&result, f.settings.Operator)
	of := Row{Capture: result.Path, Labels: f.labels, Verdict: project.Refused, Findings: result.Findings, CaptureBytes: &result.Bytes, CaptureDigest: &result.Digest}
	if result.Runs == 0 {
		return []Row{of}
	}
	if err := f.settings.Run.Check(result, len(f.rows)); err != nil {
		why, _ := finding.FromError(err)
		of.Findings = append(of.Findings, why)
		return []Row{of}
	}
	name := f.settings.Name
	switch {
	case f.settings.nameByDigest:
		name = result.Digest.Hex()
	case name == "":
		name = f.capture.Name()
	}
	for i := range f.rows {
		row := &f.rows[i]
		row.CaptureBytes, row.CaptureDigest = &result.Bytes, &result.Digest
		findings, counts := result.MergeFindings(row.Findings)
		row.Findings = findings
		if row.Verdict != project.Frozen {
			continue
		}
		if !counts {
			f.output.drop(*row.Run)
			row.Verdict, row.Origin, row.Profiles = project.Refused, nil, nil
			row.ArtifactDigest, row.ArtifactBytes = nil, nil
			row.ThreadID, row.StartedAt, row.FinishedAt, row.TerminalEvent = nil, nil, nil, nil
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

// values are what the fields of a row point to.
type values struct {
	run, artifactBytes                                    int
	runID, threadID, startedAt, finishedAt, terminalEvent string
	artifactDigest                                        digest.Digest
	profiles                                              Profiles
}

// describe sets what the row repeats of the artifact. The row outlives the artifact and its
// run, so it shares no memory with them.
func (r *Row) describe(out *project.Output, v *values) {
	a := out.Artifact
	v.threadID, v.startedAt, v.finishedAt, v.terminalEvent = strings.Clone(a.ThreadIDRef), a.StartedAt, a.FinishedAt, a.TerminalEvent
	r.ThreadID, r.StartedAt, r.TerminalEvent = &v.threadID, &v.startedAt, &v.terminalEvent
	if v.finishedAt != "" {
		r.FinishedAt = &v.finishedAt
	}
}

// fail adds an error to the row of a run.
func (r *Row) fail(fault finding.Finding) {
	r.Verdict, r.Findings = project.Failed, append(r.Findings, fault)
}
