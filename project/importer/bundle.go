package importer

import (
	"context"
	"errors"
	"io"

	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/internal/digest"
	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/project/freeze"
)

// BundleRow is the outcome of verifying one bundle.
type BundleRow struct {
	Bundle  string         `json:"bundle"`
	Verdict freeze.Verdict `json:"verdict"`
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
// strict, what that lets pass and no writer of bundles writes is an error too.
// Each event goes to entry, which may be nil, before it is known whether the
// bundle holds. "-" is standard input.
func VerifyBundle(ctx context.Context, path string, strict bool, entry func(assay.Entry) error, progress freeze.Progress) BundleRow {
	row := BundleRow{Bundle: path, Verdict: freeze.Verified, Findings: []finding.Finding{}}
	if err := row.verify(ctx, strict, entry, progress); err != nil {
		f, isVerdict := freeze.Explain(err)
		row.Verdict, row.Findings = freeze.Failed, append(row.Findings, f)
		if isVerdict {
			row.Verdict = freeze.Refused
		}
	}
	return row
}

func (row *BundleRow) verify(ctx context.Context, strict bool, entry func(assay.Entry) error, progress freeze.Progress) error {
	r, closeFile, err := freeze.OpenInput(ctx, row.Bundle)
	if err != nil {
		return err
	}
	defer closeFile()
	hash := digest.Hash()
	r = io.TeeReader(r, hash)
	if progress != nil {
		r = &told{Reader: r, progress: progress}
	}
	v, err := assay.Verify(r, assay.Options{Strict: strict, Entry: entry})
	var refusal *assay.Refusal
	switch {
	case errors.As(err, &refusal):
		row.Refusal = &Refusal{refusal.Class, refusal.Code}
		return refused(refusal)
	case err != nil:
		return err
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
	f := finding.New(finding.BundleRefused, "%s", finding.Escape(r.Error()))
	if r.Event >= 0 {
		f = f.In(r.Event)
	}
	if r.Class == "Limits" {
		f = f.Hinting("make several smaller bundles; p20export assay --bundle --split does")
	}
	return f
}

// deviations reports what strictness found.
func (row *BundleRow) deviations(v *assay.Verified) {
	for _, d := range v.Deviations {
		f := finding.New(finding.BundleDeviates, "%s", finding.Escape(d.Message)).On(finding.Pointer(d.Pointer))
		if d.Event >= 0 {
			f = f.In(d.Event)
		}
		row.Findings = append(row.Findings, f)
	}
	if v.EventsBytes > assay.MaxEventsBytes {
		row.Findings = append(row.Findings, finding.New(finding.BundleDeviates, "%d bytes of events; Assay's show and lint take %d", v.EventsBytes, assay.MaxEventsBytes))
	}
	if v.MoreDeviations > 0 {
		row.Findings = append(row.Findings, finding.New(finding.FindingsUnlisted, "%d more findings are not listed", v.MoreDeviations))
	}
	if len(row.Findings) > 0 {
		row.Verdict = freeze.Differs
	}
}

// told tells a Progress what is read.
type told struct {
	io.Reader
	progress freeze.Progress
	read     int64
}

func (t *told) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.read += int64(n)
	t.progress(t.read)
	return n, err
}
