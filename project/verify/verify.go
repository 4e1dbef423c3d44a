// Package verify repeats the projections that records name from the raw captures,
// and compares artifacts, envelopes and records byte for byte: of one artifact, or
// of everything in a directory.
//
// It must hold no rule of a projection.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// The verdicts on what else is in a directory.
const (
	// Whole is a capture that is what its manifest says.
	Whole project.Verdict = "whole"
	// Unexplained is anything that belongs to no capture and no record. The
	// severity of its finding says whether it is an error.
	Unexplained project.Verdict = "unexplained"
)

// Row is the outcome of verifying one artifact.
type Row struct {
	Artifact   string              `json:"artifact"`
	Record     string              `json:"record"`
	Capture    string              `json:"capture"`
	Verdict    project.Verdict     `json:"verdict"`
	Origin     *project.Origin     `json:"origin"`
	TimeSource *project.TimeSource `json:"time_source"`
	Findings   []finding.Finding   `json:"findings"`

	// FromRequest says that a built snapshot has the messages of the request.
	FromRequest bool `json:"-"`
}

// Files are the files of one frozen run, in memory.
type Files struct {
	// Name is that of the artifact's file, which the record states. The empty one
	// stands for that.
	Name             string
	Artifact, Record []byte
	// Envelope may be nil: then its digest in the record is compared instead.
	Envelope []byte
}

// File repeats the projection a record names from the raw capture and compares
// artifact, envelope and record byte for byte, tool version aside. The envelope
// is the one beside the artifact, and so is the record where no path of it is
// given. Where none of the capture is given, it is looked up by the digest that the
// record states, in the artifact's directory and below it; where the path is of a
// directory of captures, in that. Of several the first intact one is used. Times
// given by the operator are taken from the record and reported as such.
func File(ctx context.Context, artifactPath, recordPath, capturePath string, progress scan.Progress) Row {
	given, err := readArtifact(artifactPath)
	var stated *record.Record
	if err == nil {
		recordPath, stated, err = readRecord(artifactPath, recordPath)
	}
	row := Row{Artifact: artifactPath, Record: recordPath, Capture: capturePath}
	if err != nil {
		return row.judged(nil, err)
	}
	name := filepath.Base(artifactPath)
	held := claim{name: name, load: func() ([]byte, *record.Record, error) { return given, stated, nil }, envelope: envelopeBeside(artifactPath)}
	shelf := &shelf{most: maxFindings}
	defer shelf.close()
	if err := held.state(stated); err != nil {
		held.err = err
		return held.row(row, shelf)
	}
	candidates := []string{capturePath}
	in := cmp.Or(capturePath, filepath.Dir(artifactPath))
	if capturePath == "" || capture.IsSearchRoot(in) {
		if candidates, held.err = lookUp(ctx, in, held.source, dirtree.MaxEntries); held.err != nil {
			return held.row(row, shelf)
		}
	}
	var first *Row
	for _, path := range candidates {
		held.reset()
		row.Capture = path
		held.readFrom(ctx, path, shelf, progress)
		outcome := held.row(row, shelf)
		shelf.take(held.compared)
		if ctx.Err() != nil || !elsewhere(outcome) {
			return outcome
		}
		if first == nil {
			first = &outcome
		}
	}
	return *first
}

// elsewhere reports whether another copy of the capture may do: this one was changed,
// has a link, or cannot be read.
func elsewhere(r Row) bool {
	return r.Verdict == project.Failed || finding.Has(r.Findings, finding.CaptureDiffers) || finding.Has(r.Findings, finding.CaptureFileLink)
}

// readFrom verifies the claim against the capture of that path.
func (c *claim) readFrom(ctx context.Context, path string, shelf *shelf, progress scan.Progress) {
	with, err := capture.Open(ctx, path, "")
	if err != nil {
		c.err = differing(err)
		return
	}
	defer with.Close()
	_, _ = against(ctx, with, []*claim{c}, shelf, progress)
}

// lookUp returns the captures in a directory and below it that have the digest a
// record states. None is the finding capture_absent.
func lookUp(ctx context.Context, dir string, want record.Source, limit int) (paths []string, err error) {
	t, err := walk(ctx, dir, limit)
	if _, ok := errors.AsType[*dirtree.LimitError](err); ok {
		err = finding.New(finding.CaptureAbsent, "no capture was looked for, as %s", finding.Escape(err.Error())).WithHint("%s", nameCapture(want))
	}
	if err != nil {
		return nil, err
	}
	s := newSources()
	s.add(t, true)
	found := s.byManifest[want.ManifestDigest]
	if want.ManifestDigest == "" {
		if found, err = s.withBytes(ctx, want.Bytes, want.Digest); err != nil {
			return nil, err
		}
	}
	for _, one := range found {
		paths = append(paths, one.path)
	}
	if paths == nil {
		where := "in " + finding.Escape(dir) + " or below it"
		if n := unread(t); n > 0 {
			where += fmt.Sprintf(" (%d of what is there could not be read)", n)
		}
		return nil, s.absent(want, where)
	}
	return paths, nil
}

// unread counts the entries of a tree that could not be read.
func unread(t *tree) (n int) {
	for _, e := range t.entries {
		if e.Err != nil {
			n++
		}
	}
	return n
}

// Capture verifies the files of a frozen run against an open capture, which it
// reads to its end.
func Capture(ctx context.Context, c *capture.Capture, f Files) Row {
	row := Row{Artifact: f.Name, Capture: c.Path()}
	stated, err := record.Decode(f.Record)
	if err != nil {
		return row.judged(nil, finding.New(finding.RecordMalformed, "it is no record: %s", finding.Printable(err.Error())))
	}
	f.Name = cmp.Or(f.Name, stated.Subject[0].Name)
	row.Artifact = f.Name
	held := claim{name: f.Name, load: func() ([]byte, *record.Record, error) { return f.Artifact, stated, nil }, envelope: func(int) ([]byte, error) {
		if f.Envelope == nil {
			return nil, &fs.PathError{Op: "open", Path: envelopeName(f.Name), Err: fs.ErrNotExist}
		}
		return f.Envelope, nil
	}}
	shelf := &shelf{most: maxFindings}
	defer shelf.close()
	if held.err = held.state(stated); held.err == nil {
		_, _ = against(ctx, c, []*claim{&held}, shelf, nil)
	}
	return held.row(row, shelf)
}

// judged completes a row with what was found, and what ended the verification.
func (row Row) judged(found []finding.Finding, err error) Row {
	row.Verdict, row.Findings = project.Verified, append([]finding.Finding{}, found...)
	if err != nil {
		f, verdict := unverified(err)
		row.Verdict, row.Findings = verdict, append(row.Findings, f)
	} else if finding.Failed(row.Findings) {
		row.Verdict = project.Differs
	}
	finding.Sort(row.Findings)
	return row
}

// unverified makes a finding and a verdict of what ended a verification.
func unverified(err error) (finding.Finding, project.Verdict) {
	f, isVerdict := finding.FromError(err)
	if !isVerdict {
		return f, project.Failed
	}
	switch f.Code {
	case finding.NotArtifact, finding.ProjectionUnknown, finding.ManifestMismatch, finding.CaptureFileLink,
		finding.RecordAbsent, finding.ArtifactAbsent, finding.EnvelopeAbsent, finding.CaptureAbsent, finding.NothingToVerify, finding.NothingVerified:
		return f, project.Unverifiable
	}
	return f, project.Differs
}

// differing makes a verdict of a capture that is not what it was. A link in place of
// a file says nothing about that.
func differing(err error) error {
	if f, isVerdict := finding.FromError(err); isVerdict && f.Code != finding.CaptureFileLink {
		return finding.New(finding.CaptureDiffers, "%s", f.Message).WithHint("%s", f.Hint)
	}
	return err
}

// readArtifact reads an artifact. One that is longer than any artifact is a
// finding.
func readArtifact(path string) ([]byte, error) {
	given, err := record.ReadBounded(path, artifact.MaxFileBytes)
	if errors.Is(err, record.ErrTooLong) {
		err = finding.New(finding.ArtifactDiffers, "%s", finding.Escape(err.Error()))
	}
	return given, err
}

// readRecord reads the record of an artifact: the one of that path, or the one beside
// the artifact where the path is empty. It returns the path as well.
func readRecord(artifact, path string) (string, *record.Record, error) {
	if path == "" {
		if err := record.CheckArtifactName(artifact); err != nil {
			return "", nil, err
		}
		path = record.Path(artifact)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil, finding.New(finding.RecordAbsent, "there is no %s beside the artifact, so it cannot be verified", finding.Quote(filepath.Base(path))).WithHint("%s", hint.GiveRecord)
		}
	}
	stated, err := record.Read(path)
	return path, stated, err
}

// envelopeName returns the name of the envelope beside an artifact.
func envelopeName(artifact string) string {
	return strings.TrimSuffix(artifact, record.ArtifactSuffix) + record.EnvelopeSuffix
}

// envelopeBeside reads the envelope beside an artifact, up to a length.
func envelopeBeside(artifact string) func(limit int) ([]byte, error) {
	path := filepath.Join(filepath.Dir(artifact), envelopeName(filepath.Base(artifact)))
	return func(limit int) ([]byte, error) { return record.ReadBounded(path, limit) }
}
