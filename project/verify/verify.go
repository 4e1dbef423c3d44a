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
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
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

	// RequestTaken says that a built snapshot has the messages of the request.
	RequestTaken bool `json:"-"`
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
// given. Times given by the operator are taken from the record and reported as
// such.
func File(ctx context.Context, artifactPath, recordPath, capturePath string, progress scan.Progress) Row {
	recordPath = cmp.Or(recordPath, record.Path(artifactPath))
	given, err := readArtifact(artifactPath)
	var stated *record.Record
	if err == nil {
		stated, err = record.Read(recordPath)
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
	c, err := capture.Open(ctx, capturePath, "")
	if err != nil {
		held.err = differing(err)
		return held.row(row, shelf)
	}
	defer c.Close()
	_, _ = against(ctx, c, []*claim{&held}, shelf, progress)
	return held.row(row, shelf)
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
	case finding.ProjectionUnknown, finding.ManifestMismatch, finding.CaptureFileLink,
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

// envelopeName returns the name of the envelope beside an artifact.
func envelopeName(artifact string) string {
	return strings.TrimSuffix(artifact, record.ArtifactSuffix) + record.EnvelopeSuffix
}

// envelopeBeside reads the envelope beside an artifact, up to a length.
func envelopeBeside(artifact string) func(limit int) ([]byte, error) {
	path := filepath.Join(filepath.Dir(artifact), envelopeName(filepath.Base(artifact)))
	return func(limit int) ([]byte, error) { return record.ReadBounded(path, limit) }
}
