package freeze

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
)

// The verdicts of VerifyTree about what no record is about.
const (
	// Whole is a capture that is what its manifest says.
	Whole Verdict = "whole"
	// Unexplained is anything that belongs to no capture and no record. Whether
	// it is an error is said by the severity of its finding.
	Unexplained Verdict = "unexplained"
)

// TreeRow is the outcome for one record of a directory, or for something in it
// that no record is about. What a row has not is nil.
type TreeRow struct {
	Artifact   *string             `json:"artifact"`
	Record     *string             `json:"record"`
	Capture    *string             `json:"capture"`
	Verdict    Verdict             `json:"verdict"`
	Origin     *project.Origin     `json:"origin"`
	TimeSource *project.TimeSource `json:"time_source"`
	Findings   []finding.Finding   `json:"findings"`
	// File is what the row is about when it is none of the three.
	File *string `json:"file"`
}

// TreeSettings say how a directory is verified.
type TreeSettings struct {
	// Captures are captures outside the directory, or directories of them.
	Captures []string
	// Strict makes an error of anything unexplained.
	Strict   bool
	Progress Progress
}

// VerifyTree verifies every record in a directory and below it, each with the
// artifact and envelope beside it and the capture it states, and accounts for
// everything else there. Rows come as they are known: first the records, then
// the captures no record was made from, then the rest, each by path. After the
// context ends no further row comes.
func VerifyTree(ctx context.Context, dir string, s TreeSettings) iter.Seq[TreeRow] {
	return verifyTree(ctx, dir, s, maxTreeEntries)
}

// verifyTree is VerifyTree with a limit of the entries of each tree.
func verifyTree(ctx context.Context, dir string, s TreeSettings, limit int) iter.Seq[TreeRow] {
	return func(yield func(TreeRow) bool) {
		v := &treeVerifier{settings: s, sources: newSources(), limit: limit}
		v.tell = func(row TreeRow) bool {
			if row.Findings == nil {
				row.Findings = []finding.Finding{}
			}
			return yield(row) && ctx.Err() == nil
		}
		if v.load(ctx, dir) && v.records(ctx) && v.captures(ctx) && v.rest() && !v.evidence {
			v.tell(rowOf(TreeRow{File: &dir}, finding.New(finding.NothingToVerify, "%s holds no artifact, envelope, record or capture", finding.Escape(dir))))
		}
	}
}

// treeVerifier verifies one directory. Its methods that return a bool return
// false when there is nothing more to be done.
type treeVerifier struct {
	settings TreeSettings
	tree     *tree
	sources  *sources
	limit    int
	evidence bool // there is something to verify
	tell     func(TreeRow) bool
}

// rowOf completes a row that an error ended.
func rowOf(row TreeRow, err error) TreeRow {
	f, verdict := unverified(err)
	row.Verdict, row.Findings = verdict, append(row.Findings, f)
	return row
}

// load looks at the directory and at the captures given beside it.
func (v *treeVerifier) load(ctx context.Context, dir string) bool {
	t, err := walk(ctx, dir, v.limit)
	if err != nil {
		v.tell(failedRow(TreeRow{File: &dir}, err))
		return false
	}
	v.tree = t
	v.sources.add(t, true)
	for _, path := range v.settings.Captures {
		if err := v.give(ctx, path); err != nil && !v.tell(failedRow(TreeRow{Capture: &path}, err)) {
			return false
		}
	}
	return true
}

// failedRow completes the row of a directory of which nothing can be said.
func failedRow(row TreeRow, err error) TreeRow {
	row = rowOf(row, err)
	row.Verdict = Failed
	return row
}

// give takes in a capture outside the directory, or a directory of captures.
func (v *treeVerifier) give(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		t, err := walk(ctx, path, v.limit)
		if err == nil {
			v.sources.add(t, false)
		}
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file and no directory", path)
	}
	v.sources.addFile(&entry{path: path, name: info.Name(), mode: info.Mode(), size: info.Size()}, false)
	return nil
}

// records verifies every record.
func (v *treeVerifier) records(ctx context.Context) bool {
	for _, e := range v.tree.entries {
		if _, ok := e.stem(recordSuffix); ok && e.regular() {
			v.evidence = true
			e.told = true
			if !v.tell(v.record(ctx, e)) {
				return false
			}
		}
	}
	return true
}

// record verifies one record with what lies beside it.
func (v *treeVerifier) record(ctx context.Context, e *entry) TreeRow {
	row := TreeRow{Record: &e.path}
	record, err := ReadRecord(e.path)
	if err != nil {
		stem, _ := e.stem(recordSuffix)
		row.Artifact = e.in.take(stem+ArtifactSuffix, ArtifactSuffix)
		e.in.take(stem+envelopeSuffix, envelopeSuffix)
		return rowOf(row, err)
	}
	if p := record.Predicate; project.Known(p.Projection.Name, p.Projection.Version) {
		row.Origin, row.TimeSource = &p.Projection.Origin, &p.Times.Source
	}
	artifactName, envelopeName := record.Subject[0].Name, record.Subject[1].Name
	row.Artifact = e.in.take(artifactName, ArtifactSuffix)
	e.in.take(envelopeName, envelopeSuffix)
	if err := lacking(e.in, artifactName); err != nil {
		return rowOf(row, err)
	}
	candidates, err := v.candidates(ctx, record.Predicate.Capture)
	if err != nil {
		return rowOf(row, err)
	}
	return v.verify(ctx, row, candidates)
}

// take accounts for a file that a record names, and returns its path. A record
// can name no other than an artifact and an envelope beside it.
func (f *folder) take(name, suffix string) *string {
	e := f.regular(name)
	if e == nil {
		return nil
	}
	if _, ok := e.stem(suffix); !ok {
		return nil
	}
	e.told = true
	return &e.path
}

// lacking says what a record lacks beside it to be verified. An envelope may be
// absent; it may not be something that is not read.
func lacking(f *folder, artifactName string) error {
	stem, named := strings.CutSuffix(artifactName, ArtifactSuffix)
	envelopeName := stem + envelopeSuffix
	a, env := f.held[artifactName], f.held[envelopeName]
	switch {
	case a == nil:
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, is not beside it", finding.Quote(artifactName))
	case !named:
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, is no *%s", finding.Quote(artifactName), ArtifactSuffix)
	case !a.regular():
		return finding.New(finding.ArtifactAbsent, "%s, which the record names, is %s", finding.Quote(artifactName), a.kind())
	case env != nil && !env.regular():
		return finding.New(finding.EnvelopeAbsent, "%s beside the record is %s", finding.Quote(envelopeName), env.kind()).
			WithSeverity(finding.Error).WithHint("put the envelope itself there, or nothing")
	}
	return nil
}

// candidates returns the captures that a record can have been made from, at
// least one, or the finding capture_absent.
func (v *treeVerifier) candidates(ctx context.Context, want project.Source) ([]*source, error) {
	if want.ManifestDigest == "" {
		list, err := v.sources.withBytes(ctx, want.Bytes, want.Digest)
		if err != nil || len(list) > 0 {
			return list, err
		}
		return nil, finding.New(finding.CaptureAbsent, "no file here has the %d bytes and the digest %s that the record states", want.Bytes, shown(want.Digest)).
			WithHint(hint.GiveFile, shown(want.Digest))
	}
	if list := v.sources.byManifest[want.ManifestDigest]; len(list) > 0 {
		return list, nil
	}
	also := ""
	if other := v.sources.byResponse[want.Digest]; other != nil && want.Digest != "" {
		also = "; " + finding.Escape(other.path) + " has the same response under another capture.json"
	}
	return nil, finding.New(finding.CaptureAbsent, "no capture here has a capture.json with the digest %s that the record states%s", shown(want.ManifestDigest), also).
		WithHint(hint.GiveCapture, shown(want.ManifestDigest))
}

// shown returns a digest that a record states, which may be anything.
func shown(d digest.Digest) string {
	if _, err := digest.Parse(string(d)); err != nil {
		return finding.Quote(string(d))
	}
	return string(d)
}

// verify verifies a record from the first of the captures that is whole. When
// none is, the row says what is wrong with the first.
func (v *treeVerifier) verify(ctx context.Context, row TreeRow, candidates []*source) TreeRow {
	for _, s := range candidates {
		if s.bad != nil {
			continue
		}
		done := Verify(ctx, *row.Artifact, *row.Record, s.path, v.settings.Progress)
		if finding.Has(done.Findings, finding.CaptureDiffers) && s.check(ctx, v.settings.Progress) != nil {
			continue
		}
		s.use()
		if !done.scanned && ctx.Err() == nil {
			v.unread(ctx, s, &done)
		}
		row.Capture, row.Verdict, row.Findings = &s.path, done.Verdict, done.Findings
		return row
	}
	s := candidates[0]
	s.use()
	row.Capture = &s.path
	return rowOf(row, differing(s.bad))
}

// unread holds a capture against its manifest that a row names and verification
// did not come to, so that what is wrong with it is told all the same.
func (v *treeVerifier) unread(ctx context.Context, s *source, row *VerifyRow) {
	err := s.check(ctx, v.settings.Progress)
	if err == nil {
		return
	}
	f, verdict := unverified(differing(err))
	if row.Verdict == Unverifiable {
		row.Verdict = verdict
	}
	if !finding.Has(row.Findings, f.Code) {
		row.Findings = append(row.Findings, f)
		finding.Sort(row.Findings)
	}
}

// use marks a capture as named by a row.
func (s *source) use() {
	s.used = true
	if s.file != nil {
		s.file.told = true
	}
}

// captures judges the captures in the directory that no row has named, and
// those that were not closed.
func (v *treeVerifier) captures(ctx context.Context) bool {
	for _, s := range v.sources.directories {
		if !s.inside {
			continue
		}
		v.evidence = true
		if !s.used && !v.tell(v.unused(ctx, s)) {
			return false
		}
	}
	for _, f := range v.tree.folders {
		if !f.unfinished() {
			continue
		}
		v.evidence = true
		f.tell(append(captureFiles[:len(captureFiles):len(captureFiles)], capture.ClaimName))
		why := finding.New(finding.CaptureUnfinished, "%s has no capture.json, so it is no closed capture", finding.Escape(f.path))
		if !v.tell(TreeRow{Capture: &f.path, Verdict: Unexplained, Findings: v.unexplained(why)}) {
			return false
		}
	}
	return true
}

// unused is the row of a capture directory that no record was verified from.
func (v *treeVerifier) unused(ctx context.Context, s *source) TreeRow {
	row := TreeRow{Capture: &s.path}
	if err := s.check(ctx, v.settings.Progress); err != nil {
		return rowOf(row, err)
	}
	row.Verdict = Whole
	for _, f := range s.findings {
		if f.Severity == finding.Error { // of its events, and not of the capture
			f = f.WithSeverity(finding.Warning)
		}
		row.Findings = append(row.Findings, f)
	}
	f := finding.New(finding.NothingFrozen, "no record here was made from it")
	for _, other := range v.sources.byManifest[s.manifest] {
		if other.used {
			f = repeated(other)
			break
		}
	}
	row.Findings = append(row.Findings, f)
	return row
}

func repeated(used *source) finding.Finding {
	return finding.New(finding.CaptureRepeated, "it is the same capture as %s, which was used", finding.Escape(used.path))
}

// unexplained grades a finding about something unexplained.
func (v *treeVerifier) unexplained(f finding.Finding) []finding.Finding {
	severity := finding.Warning
	if v.settings.Strict {
		severity = finding.Error
	}
	return []finding.Finding{f.WithSeverity(severity)}
}

// rest tells of everything that no row has accounted for.
func (v *treeVerifier) rest() bool {
	for _, e := range v.tree.entries {
		if !e.told && !v.tell(v.leftover(e)) {
			return false
		}
	}
	return true
}

// leftover is the row of an entry that no other row accounts for.
func (v *treeVerifier) leftover(e *entry) TreeRow {
	switch {
	case e.err != nil:
		v.evidence = true // as far as can be told
		return rowOf(TreeRow{File: &e.path}, e.err)
	case !e.regular():
		return v.stray(e, "it is "+e.kind())
	}
	if _, ok := e.stem(ArtifactSuffix); ok {
		v.evidence = true
		return rowOf(TreeRow{Artifact: &e.path}, finding.New(finding.RecordAbsent, "no record beside the artifact names it, so it cannot be verified"))
	}
	if _, ok := e.stem(envelopeSuffix); ok {
		v.evidence = true
		return rowOf(TreeRow{File: &e.path}, finding.New(finding.RecordAbsent, "no record beside the envelope names it, so it cannot be verified"))
	}
	if used := v.sources.repeats(e); used != nil {
		return TreeRow{Capture: &e.path, Verdict: Whole, Findings: []finding.Finding{repeated(used)}}
	}
	if e.in.isCapture {
		return v.stray(e, "it lies in a capture whose capture.json does not list it")
	}
	return v.stray(e, "no record here names it or was made from it")
}

func (v *treeVerifier) stray(e *entry, why string) TreeRow {
	return TreeRow{File: &e.path, Verdict: Unexplained, Findings: v.unexplained(finding.New(finding.FileUnexplained, "%s", why))}
}
