// Package verify verifies frozen artifacts. It repeats the projection that a record
// names from the raw capture, and compares the artifact, envelope and record byte for
// byte. It can verify one artifact or a whole directory.
//
// It must not contain rules of a projection.
package verify

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/sign"
)

// The verdicts on other contents of a directory.
const (
	// Whole is the verdict on a capture that matches its manifest.
	Whole project.Verdict = "whole"
	// Unexplained is the verdict on a file that belongs to no capture and no record.
	// Whether it is an error depends on the severity of its finding.
	Unexplained project.Verdict = "unexplained"
	// Broken is the verdict on an artifact that verifies, but whose signature or
	// time-stamp is broken, or not of its record.
	Broken project.Verdict = "broken"
	// Unsigned is the verdict on an artifact that verifies, but lacks a signature or a
	// time-stamp that is required.
	Unsigned project.Verdict = "unsigned"
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
	// Signature is what the signatures of the record are worth, if keys are trusted.
	Signature *sign.Signature `json:"signature"`

	// FromRequest reports whether a built snapshot has the messages of the request.
	FromRequest bool `json:"-"`
}

// Files are the files of one frozen run, in memory.
type Files struct {
	// Name is the file name of the artifact. The default is the name that the
	// record states.
	Name             string
	Artifact, Record []byte
	// Envelope may be nil. In that case only its digest in the record is compared.
	Envelope []byte
}

// File verifies one artifact. It repeats the projection that the record names from the
// raw capture and compares the artifact, envelope and record byte for byte, except for
// the tool version.
//
// File reads the envelope next to the artifact. If recordPath is empty, it also reads the
// record next to the artifact. If capturePath is empty, File searches the artifact's
// directory and its subdirectories for a capture with the digest that the record states.
// If capturePath is a directory of captures, File searches that directory. It uses the
// first intact match. Times given by the operator are read from the record and reported.
// The signature of the record is judged as signed demands.
func File(ctx context.Context, artifactPath, recordPath, capturePath string, signed *sign.Policy, progress scan.Progress) Row {
	return verifyFile(ctx, artifactPath, recordPath, capturePath, signed, &finder{jobs: 1, limit: MaxEntries}, progress)
}

// verifyFile is File with a finder, which several calls can share.
func verifyFile(ctx context.Context, artifactPath, recordPath, capturePath string, signed *sign.Policy, find *finder, progress scan.Progress) Row {
	given, err := readArtifact(disk{}, artifactPath)
	var stated *record.Record
	var bytes []byte
	if err == nil {
		recordPath, stated, bytes, err = readRecord(artifactPath, recordPath)
	}
	row := Row{Artifact: artifactPath, Record: recordPath, Capture: capturePath}
	if err != nil {
		return row.withOutcome(nil, err)
	}
	row = verifyRead(ctx, row, given, stated, capturePath, find, progress)
	j := judge(ctx, recordPath, bytes, signed, record.ReadBounded)
	row.Signature, row.Verdict, row.Findings = j.signature, j.verdict(row.Verdict), append(row.Findings, j.found...)
	finding.Sort(row.Findings)
	return row
}

// verifyRead verifies an artifact and a record that were read.
func verifyRead(ctx context.Context, row Row, given []byte, stated *record.Record, capturePath string, find *finder, progress scan.Progress) Row {
	artifactPath := row.Artifact
	name := filepath.Base(artifactPath)
	held := claim{name: name, load: func() ([]byte, *record.Record, error) { return given, stated, nil }, envelope: envelopeBeside(disk{}, artifactPath)}
	store := &findingStore{limit: maxFindings}
	defer store.close()
	if err := held.state(stated); err != nil {
		held.err = err
		return held.row(row, store)
	}
	try := func(path string) (Row, *scan.Result) {
		held.reset()
		row.Capture = path
		result := held.verifyFrom(ctx, path, store, progress)
		defer store.release(held.compared)
		return held.row(row, store), result
	}
	candidates := []string{capturePath}
	in := cmp.Or(capturePath, filepath.Dir(artifactPath))
	if capturePath == "" || capture.IsSearchRoot(in) {
		if only := find.onlyFile(ctx, in, held.source); only != "" {
			// The verification also computes its digest.
			outcome, result := try(only)
			if ctx.Err() != nil || result != nil && result.Digest == held.source.Digest && !shouldTryNext(outcome) {
				return outcome
			}
			held.reset()
			row.Capture = capturePath
		}
		if candidates, held.err = find.lookUp(ctx, in, held.source); held.err != nil {
			return held.row(row, store)
		}
	}
	var first *Row
	for _, path := range candidates {
		outcome, _ := try(path)
		if ctx.Err() != nil || !shouldTryNext(outcome) {
			return outcome
		}
		if first == nil {
			first = &outcome
		}
	}
	return *first
}

// shouldTryNext reports whether another copy of the capture should be tried, because
// this one was changed, contains a link or cannot be read.
func shouldTryNext(r Row) bool {
	return r.Verdict == project.Failed || finding.Has(r.Findings, finding.CaptureDiffers) || finding.Has(r.Findings, finding.CaptureFileLink)
}

// verifyFrom verifies the claim with the capture at path. The result is nil if the capture
// cannot be read to its end, or was not needed.
func (c *claim) verifyFrom(ctx context.Context, path string, store *findingStore, progress scan.Progress) *scan.Result {
	with, err := capture.Open(ctx, path, "")
	if err != nil {
		c.err = asCaptureDiffers(err)
		return nil
	}
	defer with.Close()
	result, err := verifyClaims(ctx, with, []*claim{c}, store, progress)
	if err != nil {
		return nil
	}
	return result
}

// Capture verifies the files of a frozen run with an open capture, which it reads to
// its end.
func Capture(ctx context.Context, c *capture.Capture, f Files) Row {
	row := Row{Artifact: f.Name, Capture: c.Path()}
	stated, err := record.Decode(f.Record)
	if err != nil {
		return row.withOutcome(nil, finding.New(finding.RecordMalformed, "the record is invalid: %s", finding.Printable(err.Error())))
	}
	f.Name = cmp.Or(f.Name, stated.Subject[0].Name)
	row.Artifact = f.Name
	held := claim{name: f.Name, load: func() ([]byte, *record.Record, error) { return f.Artifact, stated, nil }, envelope: func(int) ([]byte, error) {
		if f.Envelope == nil {
			return nil, &fs.PathError{Op: "open", Path: envelopeName(f.Name), Err: fs.ErrNotExist}
		}
		return f.Envelope, nil
	}}
	store := &findingStore{limit: maxFindings}
	defer store.close()
	if held.err = held.state(stated); held.err == nil {
		_, _ = verifyClaims(ctx, c, []*claim{&held}, store, nil)
	}
	return held.row(row, store)
}

// withOutcome returns row with its findings and verdict. The argument err is the error
// that ended the verification, if any.
func (row Row) withOutcome(found []finding.Finding, err error) Row {
	row.Verdict, row.Findings = project.Verified, append([]finding.Finding{}, found...)
	if err != nil {
		f, verdict := outcomeOf(err)
		row.Verdict, row.Findings = verdict, append(row.Findings, f)
	} else if finding.Failed(row.Findings) {
		row.Verdict = project.Differs
	}
	finding.Sort(row.Findings)
	return row
}

// outcomeOf returns the finding and the verdict for an error that ended a verification.
func outcomeOf(err error) (finding.Finding, project.Verdict) {
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

// asCaptureDiffers converts a finding about a capture to the finding capture_differs. It
// returns other errors unchanged, and also the finding about a symbolic link, which does
// not mean that the capture differs.
func asCaptureDiffers(err error) error {
	if f, isVerdict := finding.FromError(err); isVerdict && f.Code != finding.CaptureFileLink {
		return finding.New(finding.CaptureDiffers, "%s", f.Message).WithHint("%s", f.Hint)
	}
	return err
}

// readArtifact reads an artifact. If the file exceeds artifact.MaxFileBytes, the error is
// the finding artifact_differs.
func readArtifact(from files, path string) ([]byte, error) {
	given, err := from.read(path, artifact.MaxFileBytes)
	if errors.Is(err, record.ErrTooLong) {
		err = finding.New(finding.ArtifactDiffers, "%s", finding.Escape(err.Error()))
	}
	return given, err
}

// readRecord reads the record at path or, if path is empty, the record next to the
// artifact. It also returns the path of the record and its bytes.
func readRecord(artifact, path string) (string, *record.Record, []byte, error) {
	if path == "" {
		if err := record.CheckArtifactName(artifact); err != nil {
			return "", nil, nil, err
		}
		path = record.Path(artifact)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil, nil, finding.New(finding.RecordAbsent, "there is no %s next to the artifact, so the artifact cannot be verified", finding.Quote(filepath.Base(path))).WithHint("%s", hint.GiveRecord)
		}
	}
	stated, bytes, err := record.ReadFrom(path, record.ReadBounded)
	return path, stated, bytes, err
}

// envelopeName returns the name of the envelope next to an artifact.
func envelopeName(artifact string) string {
	return strings.TrimSuffix(artifact, record.ArtifactSuffix) + record.EnvelopeSuffix
}

// envelopeBeside returns a function that reads the envelope next to an artifact.
func envelopeBeside(from files, artifact string) func(limit int) ([]byte, error) {
	path := filepath.Join(filepath.Dir(artifact), envelopeName(filepath.Base(artifact)))
	return func(limit int) ([]byte, error) { return from.read(path, limit) }
}
