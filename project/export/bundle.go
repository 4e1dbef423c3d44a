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
	// Refusal is why Assay's verifier refuses it, in that verifier's words.
	Refusal *Refusal `json:"refusal"`
	// What follows is null but for a bundle whose integrity holds.
	RunID       *string   `json:"run_id"`
	RunRoot     *string   `json:"run_root"`
	Producer    *Producer `json:"producer"`
	Events      *int      `json:"events"`
	EventsBytes *int64    `json:"events_bytes"`
	Bytes       *int64    `json:"bytes"`
	// Digest is of the file.
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

// VerifyBundle verifies the integrity of a bundle as Assay's verifier does. With
// strict, what that lets pass and this program never writes is an error too. "-"
// is standard input.
func VerifyBundle(ctx context.Context, path string, strict bool, progress func(read int64)) BundleRow {
	return verifyBundle(ctx, path, strict, progress, io.Discard)
}

// OpenBundle is VerifyBundle, and keeps the bundle so that its events can be
// gone through once it is known to hold: what is verified and what is shown are
// the same bytes, wherever they come from. There is none to keep when it does
// not hold. The caller closes it.
func OpenBundle(ctx context.Context, path string, progress func(read int64)) (BundleRow, *VerifiedBundle) {
	file, err := atomicfile.CreateUnnamed("")
	if err != nil {
		return unread(BundleRow{Bundle: path}, err), nil
	}
	row := verifyBundle(ctx, path, false, progress, file)
	if row.Verdict != project.Verified {
		file.Close()
		return row, nil
	}
	return row, &VerifiedBundle{file, *row.Bytes}
}

// VerifiedBundle is a bundle that holds.
type VerifiedBundle struct {
	file  *os.File
	bytes int64
}

// Close gives back what the bundle takes.
func (k *VerifiedBundle) Close() error { return k.file.Close() }

// Entries goes through the bundle's events until the context ends or each
// returns an error.
func (k *VerifiedBundle) Entries(ctx context.Context, each func(assay.Entry) error) error {
	_, err := assay.Verify(io.NewSectionReader(k.file, 0, k.bytes), assay.Options{Entry: func(e assay.Entry) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return each(e)
	}})
	return err
}

// verifyBundle writes what it reads to keep.
func verifyBundle(ctx context.Context, path string, strict bool, progress func(read int64), keep io.Writer) BundleRow {
	row := BundleRow{Bundle: path, Verdict: project.Verified, Findings: []finding.Finding{}}
	if err := row.verify(ctx, strict, progress, keep); err != nil {
		row = unread(row, err)
	}
	return row
}

// unread is the row of a bundle that err ended the verification of.
func unread(row BundleRow, err error) BundleRow {
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
		r = &told{Reader: r, progress: progress}
	}
	v, err := assay.Verify(r, assay.Options{Strict: strict})
	var refusal *assay.Refusal
	switch {
	case errors.As(err, &refusal):
		row.Refusal = &Refusal{refusal.Class, refusal.Code}
		f := refused(refusal)
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
		row.deviations(v)
	}
	return nil
}

// refused makes a finding of a refusal.
func refused(r *assay.Refusal) finding.Finding {
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

// deviations reports what strictness found.
func (row *BundleRow) deviations(v *assay.Verified) {
	for _, d := range v.Deviations {
		f := finding.New(finding.BundleDeviates, "%s", finding.Escape(d.Message)).WithPointer(finding.Pointer(d.Pointer))
		if d.Event >= 0 {
			f = f.WithEvent(d.Event)
		}
		row.Findings = append(row.Findings, f)
	}
	if v.EventsBytes > assay.MaxEventsBytes {
		row.Findings = append(row.Findings, finding.New(finding.BundleDeviates, "%d bytes of events; Assay's show and lint take %d", v.EventsBytes, assay.MaxEventsBytes))
	}
	if v.UnlistedDeviations > 0 {
		row.Findings = append(row.Findings, finding.New(finding.FindingsUnlisted, "%d more findings are not listed", v.UnlistedDeviations))
	}
	if len(row.Findings) > 0 {
		row.Verdict = project.Differs
	}
}

// told tells a Progress what is read.
type told struct {
	io.Reader
	progress func(read int64)
	read     int64
}

func (t *told) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.read += int64(n)
	t.progress(t.read)
	return n, err
}
