package freeze

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project"
)

// Settings choose what is frozen and where it goes.
type Settings struct {
	project.Settings
	// Dir is where the files go; it is made when it is not there.
	Dir string
	// Run chooses one run, by its id or as "#2" by its number; empty takes all.
	Run string
	// Name replaces the capture's name in file names.
	Name     string
	Tool     project.Tool
	Progress Progress
}

// Row is what became of one run, or of a capture without one.
type Row struct {
	Capture        string            `json:"capture"`
	Run            *int              `json:"run"`
	RunID          *string           `json:"run_id"`
	Verdict        Verdict           `json:"verdict"`
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
}

// Profiles says which profiles an artifact keeps.
type Profiles struct {
	V1    bool `json:"v1"`
	Assay bool `json:"assay"`
}

// Suffixes of the three output files.
const (
	ArtifactSuffix = ".artifact.json"
	envelopeSuffix = ".envelope.ndjson"
	recordSuffix   = ".record.json"
)

// Freeze freezes the runs of one capture. It writes nothing before the whole
// capture was read and its digests were found right, and nothing at all for a
// run that is refused. The error is one of the settings; everything else is in
// the rows.
func Freeze(ctx context.Context, path string, s Settings) ([]Row, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return []Row{failure(path, err)}, nil
	}
	defer c.Close()
	f := &freezer{settings: s, capture: c}
	defer f.discard()
	var request []byte
	if s.Projection == project.FoldedStream {
		if request, err = c.Request(); err != nil {
			return []Row{failure(path, err)}, nil
		}
	}
	f.request = request
	totals, err := scan(c, f, s.Progress)
	if err != nil {
		return []Row{failure(path, err)}, nil
	}
	rows := f.finish(totals)
	if ctx.Err() != nil {
		return []Row{failure(path, context.Cause(ctx))}, nil
	}
	return f.publish(rows), nil
}

// failure is the row of a capture of which nothing can be said run by run.
func failure(path string, err error) Row {
	f, isVerdict := Explain(err)
	row := Row{Capture: path, Verdict: Failed, Findings: []finding.Finding{f}}
	if isVerdict {
		row.Verdict = Refused
	}
	return row
}

// freezer projects the runs of a capture as they are read.
type freezer struct {
	settings  Settings
	capture   *capture.Capture
	request   []byte
	collector *project.Collector
	runs      []*pending
	madeDirs  []string
	items     int // findings kept in rows
}

// pending is a run whose files wait for the end of the capture.
type pending struct {
	row Row
	out *staged
}

// Event implements envelope.Visitor.
func (f *freezer) Event(run *envelope.Run, e *envelope.Event) {
	if e.Type == envelope.RunStarted {
		f.collector = nil
		if f.wants(run) {
			f.collector = project.NewCollector(f.settings.Settings)
		}
	}
	if f.collector != nil {
		f.collector.Observe(e)
	}
}

func (f *freezer) wants(run *envelope.Run) bool {
	want := f.settings.Run
	if number, ok := strings.CutPrefix(want, "#"); ok {
		return number == strconv.Itoa(run.Number)
	}
	return want == "" || want == run.RunID
}

// End implements envelope.Visitor.
func (f *freezer) End(run *envelope.Run) error {
	if f.collector == nil {
		return nil
	}
	if len(f.runs) == maxRuns || f.items > maxItems {
		return tooMany(run)
	}
	out, findings := f.collector.Project(run, f.request)
	f.items += len(findings)
	number, id := run.Number, clipped(run.RunID) // the row outlives the run
	p := &pending{row: Row{
		Capture:  f.capture.Path(),
		Run:      &number,
		RunID:    &id,
		Verdict:  Refused,
		Findings: findings,
	}}
	f.runs = append(f.runs, p)
	if out == nil {
		return nil
	}
	if omitted, ok := out.OmissionsFinding(); ok {
		p.row.Findings = append(p.row.Findings, omitted)
	}
	p.row.Verdict = Frozen
	p.row.Origin = &out.Origin
	p.row.Profiles = &Profiles{V1: true, Assay: !finding.Failed(out.Assay)}
	p.row.Assay = out.Assay
	d, n := digest.Of(out.Bytes), len(out.Bytes)
	p.row.ArtifactDigest, p.row.ArtifactBytes = &d, &n
	made, err := atomicfile.MakeDir(f.settings.Dir)
	f.madeDirs = append(f.madeDirs, made...)
	if err != nil {
		return err
	}
	p.out, err = stage(f.settings.Dir, out, project.NewRecord(out, run, f.settings.Settings, f.settings.Tool))
	return err
}

// finish turns the capture's end into rows.
func (f *freezer) finish(totals envelope.Totals) []Row {
	if totals.Runs > 1 && f.settings.Operator.Given() && f.settings.Run == "" {
		totals.Findings = append(totals.Findings, finding.New(finding.OperatorTimesNeedRun, "the capture holds %d runs, and --started-at can be of one only", totals.Runs))
	}
	ofCapture := Row{Capture: f.capture.Path(), Verdict: Refused, Findings: totals.Findings}
	bytes := f.capture.Bytes()
	ofCapture.CaptureBytes = &bytes
	switch {
	case totals.Runs == 0:
		return []Row{ofCapture}
	case len(f.runs) == 0:
		ofCapture.Findings = append(ofCapture.Findings, finding.New(finding.RunNotFound, "no run %s among %d", finding.Quote(f.settings.Run), totals.Runs))
		return []Row{ofCapture}
	case len(f.runs) > 1 && f.settings.Run != "":
		ofCapture.Findings = append(ofCapture.Findings, finding.New(finding.RunAmbiguous, "%d runs have the id %s", len(f.runs), finding.Quote(f.settings.Run)))
		f.discard()
		return []Row{ofCapture}
	}
	name := f.settings.Name
	if name == "" {
		name = f.capture.Name()
	}
	rows := make([]Row, 0, len(f.runs))
	damaged := finding.Failed(totals.Findings)
	for _, p := range f.runs {
		if damaged {
			p.refuse()
		}
		if p.out != nil {
			p.out.name = name
			if totals.Runs > 1 {
				p.out.name += "." + strconv.Itoa(*p.row.Run)
			}
			if err := p.out.complete(f.source(*p.row.Run)); err != nil {
				f, _ := Explain(err)
				p.row.Verdict, p.row.Findings = Failed, append(p.row.Findings, f)
			}
		}
		p.row.CaptureBytes = &bytes
		p.row.Findings = append(totals.Findings[:len(totals.Findings):len(totals.Findings)], p.row.Findings...)
		finding.Sort(p.row.Findings)
		rows = append(rows, p.row)
	}
	return rows
}

// refuse takes back what was made of a run: the capture as a whole is no
// evidence.
func (p *pending) refuse() {
	p.out.discard()
	p.out = nil
	p.row.Verdict, p.row.Origin, p.row.Profiles = Refused, nil, nil
	p.row.ArtifactDigest, p.row.ArtifactBytes = nil, nil
	// What was left out of an artifact that is not there, and who gave its
	// times, is no news.
	p.row.Findings = slices.DeleteFunc(p.row.Findings, func(f finding.Finding) bool {
		return f.Code == finding.OmissionsRecorded || f.Code == finding.OperatorAsserted
	})
}

func (f *freezer) source(run int) project.Source {
	return project.Source{
		Digest:         f.capture.Digest(),
		Bytes:          f.capture.Bytes(),
		Framing:        string(f.capture.Framing()),
		ManifestDigest: f.capture.ManifestDigest(),
		Run:            run,
	}
}

// publish gives the staged files their names, and tells the rows.
func (f *freezer) publish(rows []Row) []Row {
	for i, p := range f.runs {
		if p.out == nil || i >= len(rows) || rows[i].Verdict != Frozen {
			continue
		}
		row := &rows[i]
		if err := p.out.publish(); err != nil {
			fault, _ := Explain(err)
			if errors.Is(err, fs.ErrExist) {
				fault = finding.New(finding.OutputExists, "%s", finding.Escape(err.Error()))
			}
			row.Verdict = Failed
			row.Findings = append(row.Findings, fault)
			continue
		}
		row.Artifact = p.out.path(ArtifactSuffix)
		row.Envelope = p.out.path(envelopeSuffix)
		row.Record = p.out.path(recordSuffix)
	}
	return rows
}

func (f *freezer) discard() {
	for _, p := range f.runs {
		p.out.discard()
		p.out = nil
	}
	atomicfile.RemoveEmpty(f.madeDirs) // which spares those that something was published in
}

// CheckOutput reports an output directory, given by a flag, that lies in a
// capture: nothing is ever written into one.
func CheckOutput(flag, dir string) error {
	if dir == "" {
		return fmt.Errorf("%s is empty", flag)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for at := abs; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, capture.ManifestName)); err == nil {
			return fmt.Errorf("%s %s lies in the capture %s, which nothing is written into", flag, finding.Escape(dir), finding.Escape(at))
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// CheckNames reports, before anything is written, two captures that would be
// frozen under one name, or a name that is no file name.
func CheckNames(paths []string, name string) error {
	if name != "" {
		if len(paths) > 1 {
			return errors.New("--name goes with one capture")
		}
		if name != filepath.Base(name) || name == "." || name == ".." || strings.ContainsRune(name, os.PathSeparator) {
			return fmt.Errorf("--name %s is not a plain file name", finding.Quote(name))
		}
	}
	seen := make(map[string]string, len(paths))
	for _, path := range paths {
		base := cmp.Or(name, capture.BaseName(path))
		if !utf8.ValidString(base) {
			return fmt.Errorf("the name %s is not UTF-8 and cannot stand in a record; give another with --name", finding.Quote(base))
		}
		if other, ok := seen[base]; ok {
			return fmt.Errorf("%s and %s would both be frozen as %s; freeze them apart, with --name", finding.Escape(other), finding.Escape(path), finding.Escape(base))
		}
		seen[base] = path
	}
	return nil
}
