package freeze

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// VerifyRow is the outcome of verifying one artifact.
type VerifyRow struct {
	Artifact   string              `json:"artifact"`
	Record     string              `json:"record"`
	Capture    string              `json:"capture"`
	Verdict    Verdict             `json:"verdict"`
	Origin     *project.Origin     `json:"origin"`
	TimeSource *project.TimeSource `json:"time_source"`
	Findings   []finding.Finding   `json:"findings"`
	// scanned says that the capture was read to its end and is what its
	// manifest says.
	scanned bool
}

// Verify repeats the projection a record names from the raw capture and
// compares artifact, envelope and record byte for byte, tool version aside.
// Times given by the operator are taken from the record and reported as such.
func Verify(ctx context.Context, artifactPath, recordPath, capturePath string, progress Progress) VerifyRow {
	v := &verifier{row: VerifyRow{Artifact: artifactPath, Record: recordPath, Capture: capturePath, Verdict: Verified, Findings: []finding.Finding{}}}
	if err := v.verify(ctx, progress); err != nil {
		f, verdict := unverified(err)
		v.row.Verdict, v.row.Findings = verdict, append(v.row.Findings, f)
	} else if finding.Failed(v.row.Findings) {
		v.row.Verdict = Differs
	}
	finding.Sort(v.row.Findings)
	return v.row
}

// unverified makes a finding and a verdict of what ended a verification.
func unverified(err error) (finding.Finding, Verdict) {
	f, isVerdict := Explain(err)
	if !isVerdict {
		return f, Failed
	}
	switch f.Code {
	case finding.ProjectionUnknown, finding.ManifestMismatch,
		finding.RecordAbsent, finding.ArtifactAbsent, finding.EnvelopeAbsent, finding.CaptureAbsent, finding.NothingToVerify:
		return f, Unverifiable
	}
	return f, Differs
}

type verifier struct {
	row       VerifyRow
	record    *project.Record
	collector *project.Collector
	settings  project.Settings
	request   []byte
	run       *envelope.Run
	out       *project.Output
	findings  []finding.Finding // of the projection
}

func (v *verifier) report(f finding.Finding) { v.row.Findings = append(v.row.Findings, f) }

func (v *verifier) verify(ctx context.Context, progress Progress) error {
	given, err := readBounded(v.row.Artifact, artifact.MaxFileBytes)
	if errors.Is(err, errTooLong) {
		return finding.New(finding.ArtifactDiffers, "%s", finding.Escape(err.Error()))
	}
	if err != nil {
		return err
	}
	if v.record, err = ReadRecord(v.row.Record); err != nil {
		return err
	}
	p := v.record.Predicate
	if !project.Known(p.Projection.Name, p.Projection.Version) {
		return finding.New(finding.ProjectionUnknown, "the record names projection %s version %d", finding.Quote(string(p.Projection.Name)), p.Projection.Version)
	}
	v.row.Origin, v.row.TimeSource = &p.Projection.Origin, &p.Times.Source
	if v.settings, err = v.record.Settings(); err != nil {
		return finding.New(finding.RecordMalformed, "%s", finding.Escape(err.Error()))
	}
	c, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	totals, err := scan(c, v, progress)
	if err != nil {
		return differing(err)
	}
	v.row.scanned = true
	v.row.Findings = append(v.row.Findings, totals.Findings...)
	return v.compare(c, given)
}

// open opens the capture and what the projection needs beside it.
func (v *verifier) open(ctx context.Context) (*capture.Capture, error) {
	source := v.record.Predicate.Capture
	// The framing is the capture's own: a record cannot make other events of it.
	c, err := capture.Open(ctx, v.row.Capture, "")
	if err != nil {
		return nil, differing(err)
	}
	switch stated := source.ManifestDigest; {
	case stated != "" && c.Manifest() == nil:
		err = finding.New(finding.ManifestMismatch, "the record was made from a capture directory, and a plain file is given").WithHint("give the capture directory with its capture.json and arrivals.tsv")
	case stated == "" && c.Manifest() != nil:
		err = finding.New(finding.ManifestMismatch, "the record was made from a plain file, and a capture directory is given").WithHint("give %s", filepath.Join(v.row.Capture, c.Framing().FileName()))
	case stated != c.ManifestDigest():
		err = finding.New(finding.CaptureDiffers, "capture.json has the digest %s; the record states %s", c.ManifestDigest(), stated)
	case v.settings.Projection == project.FoldedStream:
		if v.request, err = c.Request(); err != nil {
			err = differing(err)
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// differing makes a verdict of a capture that is not what it was.
func differing(err error) error {
	if f, isVerdict := Explain(err); isVerdict {
		return finding.New(finding.CaptureDiffers, "%s", f.Message).WithHint("%s", f.Hint)
	}
	return err
}

// Event implements envelope.Visitor.
func (v *verifier) Event(run *envelope.Run, e *envelope.Event) {
	if run.Number != v.record.Predicate.Capture.Run {
		return
	}
	if e.Type == envelope.RunStarted {
		v.collector = project.NewCollector(v.settings)
	}
	v.collector.Observe(e)
}

// End implements envelope.Visitor.
func (v *verifier) End(run *envelope.Run) error {
	if run.Number == v.record.Predicate.Capture.Run {
		v.run = run
		v.out, v.findings = v.collector.Project(run, v.request)
		v.collector = nil
	}
	return nil
}

func (v *verifier) compare(c *capture.Capture, given []byte) error {
	source := v.record.Predicate.Capture
	if c.Digest() != source.Digest || c.Bytes() != source.Bytes {
		return finding.New(finding.CaptureDiffers, "the response has %d bytes and the digest %s; the record states %d bytes and %s", c.Bytes(), c.Digest(), source.Bytes, source.Digest)
	}
	if v.run == nil {
		return finding.New(finding.NotReprojected, "the capture has no run %d", source.Run)
	}
	v.row.Findings = append(v.row.Findings, v.findings...)
	if v.out == nil {
		return finding.New(finding.NotReprojected, "the projection %s refuses the run", v.settings.Projection)
	}
	base := filepath.Base(v.row.Artifact)
	name := strings.TrimSuffix(base, ArtifactSuffix)
	again := project.NewRecord(v.out, v.run, v.settings, project.Tool{Name: project.ToolName, Version: v.record.Predicate.Tool.Version})
	source.Framing = string(c.Framing())
	again.Complete(source, base, name+envelopeSuffix)
	if at := differenceAt(given, v.out.Bytes); at >= 0 {
		v.report(finding.New(finding.ArtifactDiffers, "the artifact differs from the projection from here on").WithOffset(int64(at)))
	}
	if err := v.compareEnvelope(filepath.Join(filepath.Dir(v.row.Artifact), name+envelopeSuffix)); err != nil {
		return err
	}
	if why := v.recordDifference(again); why != "" {
		v.report(finding.New(finding.RecordDiffers, "%s", why))
	}
	if omitted, ok := v.out.OmissionsFinding(); ok {
		v.report(omitted)
	}
	return nil
}

// compareEnvelope compares the envelope beside the artifact; when there is
// none its digest in the record is what is compared.
func (v *verifier) compareEnvelope(path string) error {
	there, err := readBounded(path, len(v.out.Envelope))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.report(finding.New(finding.EnvelopeAbsent, "%s is not there; its digest in the record was compared instead", finding.Escape(path)))
		return nil
	case err != nil && !errors.Is(err, errTooLong):
		return err
	}
	if at := differenceAt(there, v.out.Envelope); at >= 0 {
		v.report(finding.New(finding.EnvelopeDiffers, "the envelope differs from the projection from here on").WithOffset(int64(at)))
	}
	return nil
}

// recordDifference says where the record differs from the one made again.
func (v *verifier) recordDifference(again *project.Record) string {
	want, err := again.Encode()
	if err != nil {
		return err.Error()
	}
	have, err := v.record.Encode()
	if err != nil {
		return err.Error()
	}
	at := differenceAt(have, want)
	if at < 0 {
		return ""
	}
	line := bytes.Count(have[:min(at, len(have))], []byte{'\n'}) + 1
	why := fmt.Sprintf("the record differs from the one made again, first in line %d: it has %s where %s belongs", line, lineAt(have, at), lineAt(want, at))
	if base := filepath.Base(v.row.Artifact); v.record.Subject[0].Name != base {
		why += "; it names " + finding.Quote(v.record.Subject[0].Name) + ", the artifact given is " + finding.Quote(base)
	}
	return why
}

// lineAt quotes the line of data that holds the byte at.
func lineAt(data []byte, at int) string {
	at = min(at, len(data))
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	line, _, _ := bytes.Cut(data[start:], []byte{'\n'})
	return finding.Quote(strings.TrimSpace(string(line)))
}

// differenceAt returns the first byte at which a and b differ, or -1.
func differenceAt(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
