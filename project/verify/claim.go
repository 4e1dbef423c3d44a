package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/diff"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// claim is a record that is being verified. It takes so little memory that any number
// of claims can wait for one capture.
type claim struct {
	name string // of the artifact
	// load returns the artifact and the record. envelope returns the envelope next to
	// them.
	load     func() ([]byte, *record.Record, error)
	envelope func(limit int) ([]byte, error)

	source      record.Source
	settings    project.Settings
	origin      *project.Origin
	timeSource  *project.TimeSource
	fromRequest bool // a built snapshot has the messages of the request

	read            bool              // the capture was read to its end
	captureFindings []finding.Finding // about the whole capture
	runFound        bool              // the capture contains the run
	otherCapture    bool              // the record states another capture
	compared        *storedFindings   // of the comparison
	err             error             // the error that ended the verification
}

// state copies the values of a record that are needed before its run is read. It
// returns an error if the record cannot be verified.
func (c *claim) state(stated *record.Record) (err error) {
	p := stated.Predicate
	c.source = p.Capture
	if !project.HasVersion(p.Projection.Name, p.Projection.Version) {
		return finding.New(finding.ProjectionUnknown, "the record names projection %s version %d", finding.Quote(string(p.Projection.Name)), p.Projection.Version)
	}
	c.origin, c.timeSource, c.fromRequest = &p.Projection.Origin, &p.Times.Source, project.UsesRequest(p.Omissions)
	if c.settings, err = stated.Settings(); err != nil {
		return finding.New(finding.RecordMalformed, "%s", finding.Escape(err.Error()))
	}
	return nil
}

// row returns row with the outcome of the claim.
func (c *claim) row(row Row, store *findingStore) Row {
	row.Origin, row.TimeSource, row.FromRequest = c.origin, c.timeSource, c.fromRequest
	found, err := c.captureFindings, c.err
	if c.runFound && !c.otherCapture {
		compared, lost := store.get(c.compared)
		if found = append(slices.Clip(found), compared...); lost != nil {
			err = lost
		}
	}
	row = row.withOutcome(found, err)
	c.compareDigests(&row.Verdict, &row.Findings)
	return row
}

// compareDigests compares the artifact and the envelope with their digests in the record if
// the capture is absent, because then nothing else can be compared. It adds the differences
// to an outcome. Files that cannot be read are not compared.
func (c *claim) compareDigests(verdict *project.Verdict, found *[]finding.Finding) {
	if *verdict != project.Unverifiable || !finding.Has(*found, finding.CaptureAbsent) {
		return
	}
	given, stated, err := c.load()
	if err != nil {
		return
	}
	var differ []finding.Finding
	if sum := digest.Of(given).Hex(); sum != stated.Subject[0].Digest.SHA256 {
		differ = append(differ, finding.New(finding.ArtifactDiffers, "the artifact has the digest %s; the record states %s", sum, stated.Subject[0].Digest.SHA256))
	}
	there, err := c.envelope(stated.Predicate.Sizes.EnvelopeBytes)
	if tooLong := errors.Is(err, record.ErrTooLong); tooLong || err == nil && digest.Of(there).Hex() != stated.Subject[1].Digest.SHA256 {
		differ = append(differ, finding.New(finding.EnvelopeDiffers, "the envelope does not have the digest that the record states"))
	}
	if differ != nil {
		*verdict, *found = project.Differs, append(*found, differ...)
		finding.Sort(*found)
	}
}

// reset clears the outcome before another capture is tried.
func (c *claim) reset() {
	c.read, c.captureFindings, c.runFound, c.otherCapture, c.compared, c.err = false, nil, false, false, nil, nil
}

// checkForm returns an error if the capture is a plain file and the record was made
// from a directory or vice versa, or if its manifest has another digest.
func (c *claim) checkForm(with *capture.Capture) error {
	switch stated := c.source.ManifestDigest; {
	case stated != "" && with.Manifest() == nil:
		return finding.New(finding.ManifestMismatch, "the record was made from a capture directory, but the capture is a plain file").WithHint("give the capture directory, with its capture.json")
	case stated == "" && with.Manifest() != nil:
		return finding.New(finding.ManifestMismatch, "the record was made from a plain file, but the capture is a directory").WithHint("give %s", filepath.Join(with.Path(), with.Framing().FileName()))
	case stated != with.ManifestDigest():
		return finding.New(finding.CaptureDiffers, "capture.json has the digest %s; the record states %s", with.ManifestDigest(), stated)
	}
	return nil
}

// verifyClaims verifies claims with one reading of an open capture and sets their
// outcomes. It returns an error if the capture cannot be read to its end. If no claim
// needs the capture, the result and the error are nil.
func verifyClaims(ctx context.Context, c *capture.Capture, claims []*claim, store *findingStore, progress scan.Progress) (*scan.Result, error) {
	byRun := make(map[int][]*claim)
	request, noRequest := c.Request()
	for _, one := range claims {
		if one.err = one.checkForm(c); one.err != nil {
			continue
		}
		if noRequest != nil && one.settings.Projection == project.FoldedStream {
			one.err = asCaptureDiffers(noRequest)
			continue
		}
		byRun[one.source.Run] = append(byRun[one.source.Run], one)
	}
	if len(byRun) == 0 {
		return nil, nil
	}
	projections := &scan.Projector{
		Request: request,
		Settings: func(run *envelope.Run) (list []project.Settings) {
			for _, one := range byRun[run.Number] {
				if !slices.Contains(list, one.settings) {
					list = append(list, one.settings)
				}
			}
			return list
		},
		Handle: func(run *envelope.Run, made iter.Seq[*scan.Projection]) error {
			for p := range made {
				for _, one := range byRun[run.Number] {
					if one.settings == p.Settings {
						one.runFound = true
						found, err := one.compare(c.Framing(), run, p)
						one.compared, one.err = store.add(found), err
					}
				}
			}
			return nil
		},
	}
	result, err := scan.Run(ctx, c, progress, projections)
	for _, ofRun := range byRun {
		for _, one := range ofRun {
			if err != nil {
				store.release(one.compared)
				one.compared, one.err = nil, asCaptureDiffers(err)
			} else {
				one.finish(result)
			}
		}
	}
	return &result, err
}

// finish sets the outcome after the whole capture was read.
func (c *claim) finish(r scan.Result) {
	c.read, c.captureFindings = true, r.Findings
	switch source := c.source; {
	case r.Digest != source.Digest || r.Bytes != source.Bytes:
		c.otherCapture = true
		differs := finding.New(finding.CaptureDiffers, "the response has %d bytes and the digest %s; the record states %d bytes and %s", r.Bytes, r.Digest, source.Bytes, source.Digest)
		if r.Compression != "" {
			differs = differs.WithHint("the response begins as %s: %s", r.Compression, strictjson.DecompressHint)
		}
		c.err = differs
	case !c.runFound:
		c.err = finding.New(finding.NotReprojected, "the capture has no run %d", source.Run)
	}
}

// compare compares the files with the output of the projection.
func (c *claim) compare(framing capture.Framing, run *envelope.Run, made *scan.Projection) (found []finding.Finding, err error) {
	found = slices.Clip(made.Findings)
	out := made.Output
	if out == nil {
		return found, finding.New(finding.NotReprojected, "the projection %s refuses the run", c.settings.Projection)
	}
	given, stated, err := c.load()
	if err != nil {
		return found, err
	}
	again := record.New(out, run, c.settings, record.Tool{Name: record.ToolName, Version: stated.Predicate.Tool.Version})
	source := stated.Predicate.Capture
	source.Framing = string(framing)
	again.Complete(source, c.name, envelopeName(c.name))
	if at := diff.FirstDifference(given, out.Bytes); at >= 0 {
		found = append(found, finding.New(finding.ArtifactDiffers, "the artifact differs from the projection from this byte on").WithOffset(int64(at)))
	}
	ofEnvelope, err := c.compareEnvelope(out.Envelope)
	if found = append(found, ofEnvelope...); err != nil {
		return found, err
	}
	if why := c.recordDifference(stated, again); why != "" {
		found = append(found, finding.New(finding.RecordDiffers, "%s", why))
	}
	if omitted, ok := out.OmissionsFinding(); ok {
		found = append(found, omitted)
	}
	return found, nil
}

// compareEnvelope compares the envelope next to the artifact with want. If the
// envelope is missing, only its digest in the record is compared.
func (c *claim) compareEnvelope(want []byte) ([]finding.Finding, error) {
	there, err := c.envelope(len(want))
	if missing, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return []finding.Finding{finding.New(finding.EnvelopeAbsent, "%s does not exist; its digest in the record was compared instead", finding.Escape(missing.Path))}, nil
	}
	if err != nil && !errors.Is(err, record.ErrTooLong) {
		return nil, err
	}
	if at := diff.FirstDifference(there, want); at >= 0 {
		return []finding.Finding{finding.New(finding.EnvelopeDiffers, "the envelope differs from the projection from this byte on").WithOffset(int64(at))}, nil
	}
	return nil, nil
}

// recordDifference describes the first difference between the given record and the
// record of the repeated projection. It returns the empty string if they are equal.
func (c *claim) recordDifference(stated, again *record.Record) string {
	want, err := again.Encode()
	if err != nil {
		return err.Error()
	}
	have, err := stated.Encode()
	if err != nil {
		return err.Error()
	}
	at := diff.FirstDifference(have, want)
	if at < 0 {
		return ""
	}
	line := bytes.Count(have[:min(at, len(have))], []byte{'\n'}) + 1
	why := fmt.Sprintf("the record differs from that of the repeated projection, first in line %d: it has %s instead of %s", line, lineAt(have, at), lineAt(want, at))
	if stated.Subject[0].Name != c.name {
		why += "; it names " + finding.Quote(stated.Subject[0].Name) + ", but the artifact is " + finding.Quote(c.name)
	}
	return why
}

// lineAt returns the line of data that contains the byte at, quoted.
func lineAt(data []byte, at int) string {
	at = min(at, len(data))
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	line, _, _ := bytes.Cut(data[start:], []byte{'\n'})
	return finding.Quote(strings.TrimSpace(string(line)))
}
