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
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/diff"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// claim is a record on its way to a verdict. It stays small until the run it is
// about was read, and after: any number of them can wait for one capture.
type claim struct {
	name string // of the artifact
	// load returns the artifact and the record, envelope the file beside them.
	load     func() ([]byte, *record.Record, error)
	envelope func(limit int) ([]byte, error)

	source     record.Source
	settings   project.Settings
	origin     *project.Origin
	timeSource *project.TimeSource
	requested  bool // what the record says of the request

	read     bool              // the capture was read to its end
	whole    []finding.Finding // about it
	run      bool              // the run was found in it
	other    bool              // it is not the capture that the record states
	compared *shelved          // the findings of the comparison
	err      error             // what ended the verification
}

// state takes in what a record states, as far as it is needed before its run is
// read. The error is why it cannot be verified.
func (c *claim) state(stated *record.Record) (err error) {
	p := stated.Predicate
	c.source = p.Capture
	if !project.HasVersion(p.Projection.Name, p.Projection.Version) {
		return finding.New(finding.ProjectionUnknown, "the record names projection %s version %d", finding.Quote(string(p.Projection.Name)), p.Projection.Version)
	}
	c.origin, c.timeSource, c.requested = &p.Projection.Origin, &p.Times.Source, project.UsesRequest(p.Omissions)
	if c.settings, err = stated.Settings(); err != nil {
		return finding.New(finding.RecordMalformed, "%s", finding.Escape(err.Error()))
	}
	return nil
}

// row completes a row with the outcome.
func (c *claim) row(row Row, shelf *shelf) Row {
	row.Origin, row.TimeSource, row.FromRequest = c.origin, c.timeSource, c.requested
	found, err := c.whole, c.err
	if c.run && !c.other {
		compared, lost := shelf.look(c.compared)
		if found = append(slices.Clip(found), compared...); lost != nil {
			err = lost
		}
	}
	return row.judged(found, err)
}

// reset forgets the outcome, for another capture.
func (c *claim) reset() {
	c.read, c.whole, c.run, c.other, c.compared, c.err = false, nil, false, false, nil, nil
}

// fits reports a capture that has another form than the one the record was made
// from.
func (c *claim) fits(with *capture.Capture) error {
	switch stated := c.source.ManifestDigest; {
	case stated != "" && with.Manifest() == nil:
		return finding.New(finding.ManifestMismatch, "the record was made from a capture directory, and a plain file is given").WithHint("give the capture directory, with its capture.json")
	case stated == "" && with.Manifest() != nil:
		return finding.New(finding.ManifestMismatch, "the record was made from a plain file, and a capture directory is given").WithHint("give %s", filepath.Join(with.Path(), with.Framing().FileName()))
	case stated != with.ManifestDigest():
		return finding.New(finding.CaptureDiffers, "capture.json has the digest %s; the record states %s", with.ManifestDigest(), stated)
	}
	return nil
}

// against verifies claims against an open capture in one reading of it. Every
// claim has its outcome then. The error is why the capture could not be read to
// its end; it is nil, and so is the result, when no claim needed the reading.
func against(ctx context.Context, c *capture.Capture, claims []*claim, shelf *shelf, progress scan.Progress) (*scan.Result, error) {
	byRun := make(map[int][]*claim)
	request, noRequest := c.Request()
	for _, one := range claims {
		if one.err = one.fits(c); one.err != nil {
			continue
		}
		if noRequest != nil && one.settings.Projection == project.FoldedStream {
			one.err = differing(noRequest)
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
						one.run = true
						found, err := one.compare(c.Framing(), run, p)
						one.compared, one.err = shelf.put(found), err
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
				shelf.take(one.compared)
				one.compared, one.err = nil, differing(err)
			} else {
				one.finish(result)
			}
		}
	}
	return &result, err
}

// finish gives the outcome when the whole capture was read.
func (c *claim) finish(r scan.Result) {
	c.read, c.whole = true, r.Findings
	switch source := c.source; {
	case r.Digest != source.Digest || r.Bytes != source.Bytes:
		c.other = true
		differs := finding.New(finding.CaptureDiffers, "the response has %d bytes and the digest %s; the record states %d bytes and %s", r.Bytes, r.Digest, source.Bytes, source.Digest)
		if r.Compression != "" {
			differs = differs.WithHint("the response begins as %s: %s", r.Compression, strictjson.DecompressHint)
		}
		c.err = differs
	case !c.run:
		c.err = finding.New(finding.NotReprojected, "the capture has no run %d", source.Run)
	}
}

// compare compares the files with what the projection made of the run, and returns
// what it found. The error is what ended that.
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
		found = append(found, finding.New(finding.ArtifactDiffers, "the artifact differs from the projection from here on").WithOffset(int64(at)))
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

// compareEnvelope compares the envelope beside the artifact; when there is none
// its digest in the record is what is compared.
func (c *claim) compareEnvelope(want []byte) ([]finding.Finding, error) {
	there, err := c.envelope(len(want))
	if missing, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return []finding.Finding{finding.New(finding.EnvelopeAbsent, "%s is not there; its digest in the record was compared instead", finding.Escape(missing.Path))}, nil
	}
	if err != nil && !errors.Is(err, record.ErrTooLong) {
		return nil, err
	}
	if at := diff.FirstDifference(there, want); at >= 0 {
		return []finding.Finding{finding.New(finding.EnvelopeDiffers, "the envelope differs from the projection from here on").WithOffset(int64(at))}, nil
	}
	return nil, nil
}

// recordDifference says where the record differs from the one made again.
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
	why := fmt.Sprintf("the record differs from the one made again, first in line %d: it has %s where %s belongs", line, lineAt(have, at), lineAt(want, at))
	if stated.Subject[0].Name != c.name {
		why += "; it names " + finding.Quote(stated.Subject[0].Name) + ", the artifact given is " + finding.Quote(c.name)
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
