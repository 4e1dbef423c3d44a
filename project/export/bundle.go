package export

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// BundleRow is the outcome of verifying one bundle.
type BundleRow struct {
	Bundle  string          `json:"bundle"`
	Verdict project.Verdict `json:"verdict"`
	// Refusal is the class and code with which Assay's verifier refuses the bundle.
	Refusal *Refusal `json:"refusal"`
	// The following fields are null unless the bundle's integrity was verified.
	RunID       *string   `json:"run_id"`
	RunRoot     *string   `json:"run_root"`
	Producer    *Producer `json:"producer"`
	Events      *int      `json:"events"`
	EventsBytes *int64    `json:"events_bytes"`
	Bytes       *int64    `json:"bytes"`
	// Digest is the digest of the file.
	Digest   *digest.Digest    `json:"digest"`
	Findings []finding.Finding `json:"findings"`
}

// Refusal is a refusal of Assay's verifier.
type Refusal struct {
	Class string `json:"class"`
	Code  string `json:"code"`
}

// Producer is the program that a manifest names.
type Producer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Git     string `json:"git"`
}

// VerifyBundle verifies the integrity of a bundle like Assay's verifier. If strict is
// set, deviations from the form that this program writes are also errors, even if
// Assay's verifier accepts them. The path "-" means standard input.
func VerifyBundle(ctx context.Context, path string, strict bool, progress func(read int64)) BundleRow {
	return verifyBundle(ctx, path, strict, progress, io.Discard)
}

// OpenBundle verifies a bundle like VerifyBundle and keeps a copy of its bytes, so that
// the caller can read the events of the bundle that was verified. The returned bundle
// is nil if the verification fails. The caller must close it.
func OpenBundle(ctx context.Context, path string, progress func(read int64)) (BundleRow, *VerifiedBundle) {
	file, err := atomicfile.CreateUnnamed("")
	if err != nil {
		return failedRow(BundleRow{Bundle: path}, err), nil
	}
	row := verifyBundle(ctx, path, false, progress, file)
	if row.Verdict != project.Verified {
		file.Close()
		return row, nil
	}
	return row, &VerifiedBundle{file, *row.Bytes}
}

// VerifiedBundle is a copy of a bundle whose integrity was verified.
type VerifiedBundle struct {
	file  *os.File
	bytes int64
}

// Close removes the copy.
func (k *VerifiedBundle) Close() error { return k.file.Close() }

// Entries calls each for every event of the bundle in order. It stops when the context
// ends or each returns an error, and returns that error.
func (k *VerifiedBundle) Entries(ctx context.Context, each func(assay.Entry) error) error {
	_, err := assay.Verify(io.NewSectionReader(k.file, 0, k.bytes), assay.Options{Entry: func(e assay.Entry) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return each(e)
	}})
	return err
}

// verifyBundle verifies a bundle and copies its bytes to keep.
func verifyBundle(ctx context.Context, path string, strict bool, progress func(read int64), keep io.Writer) BundleRow {
	row := BundleRow{Bundle: path, Verdict: project.Verified, Findings: []finding.Finding{}}
	if err := row.verify(ctx, strict, progress, keep); err != nil {
		row = failedRow(row, err)
	}
	return row
}

// failedRow returns row with an error that ended the verification.
func failedRow(row BundleRow, err error) BundleRow {
	f, isVerdict := finding.FromError(err)
	row.Verdict, row.Findings = project.Failed, append(row.Findings, f)
	if isVerdict {
		row.Verdict = project.Refused
	}
	return row
}

func (row *BundleRow) verify(ctx context.Context, strict bool, progress func(read int64), keep io.Writer) error {
	r, closeFile, err := capture.OpenInput(ctx, row.Bundle)
	if err != nil {
		return err
	}
	defer closeFile()
	hash := digest.Hash()
	r = io.TeeReader(r, io.MultiWriter(hash, keep))
	if progress != nil {
		r = &progressReader{Reader: r, progress: progress}
	}
	v, err := assay.Verify(r, assay.Options{Strict: strict})
	var refusal *assay.Refusal
	switch {
	case errors.As(err, &refusal):
		row.Refusal = &Refusal{refusal.Class, refusal.Code}
		f := refusalFinding(refusal)
		if strings.HasSuffix(row.Bundle, record.ArtifactSuffix) {
			f = f.WithHint("%s", hint.ValidateFile)
		}
		return f
	case err != nil:
		return atomicfile.WrapUnnamed("", err)
	}
	m, d := v.Manifest, digest.Sum(hash)
	row.RunID, row.RunRoot, row.Digest = &m.RunID, &v.RunRoot, &d
	row.Producer = &Producer{m.Producer.Name, m.Producer.Version, m.Producer.Git}
	row.Events, row.EventsBytes, row.Bytes = &v.Events, &v.EventsBytes, &v.BundleBytes
	if strict {
		row.addDeviations(v)
	}
	return nil
}

// refusalFinding converts a refusal to a finding.
func refusalFinding(r *assay.Refusal) finding.Finding {
	f := finding.New(finding.BundleRefused, "%s", finding.Printable(r.Error()))
	if r.Event >= 0 {
		f = f.WithEvent(r.Event)
	}
	switch r.Code {
	case "LimitBundleBytes", "LimitDecodeBytes", "LimitFileSize", "LimitTotalEvents":
		f = f.WithHint(hint.SplitBundle)
	}
	return f
}

// addDeviations adds the deviations found by strict verification.
func (row *BundleRow) addDeviations(v *assay.Verified) {
	for _, d := range v.Deviations {
		f := finding.New(finding.BundleDeviates, "%s", finding.Escape(d.Message)).WithPointer(finding.Pointer(d.Pointer))
		if d.Event >= 0 {
			f = f.WithEvent(d.Event)
		}
		row.Findings = append(row.Findings, f)
	}
	if v.EventsBytes > assay.MaxEventsBytes {
		row.Findings = append(row.Findings, finding.New(finding.BundleDeviates, "the events have %d bytes; Assay's show and lint accept %d", v.EventsBytes, assay.MaxEventsBytes))
	}
	if v.UnlistedDeviations > 0 {
		row.Findings = append(row.Findings, finding.New(finding.FindingsUnlisted, "%d more findings are not listed", v.UnlistedDeviations))
	}
	if len(row.Findings) > 0 {
		row.Verdict = project.Differs
	}
}

// progressReader reports the number of bytes read.
type progressReader struct {
	io.Reader
	progress func(read int64)
	read     int64
}

func (t *progressReader) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.read += int64(n)
	t.progress(t.read)
	return n, err
}
