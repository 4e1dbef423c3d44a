// Package rewrite reads a capture once and writes its events, compacted, in the same or
// another framing.
//
// What it writes is a derived copy and not evidence of a run. The package must not
// contain rules of compaction.
package rewrite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/compact"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// Settings configure a compacted copy.
type Settings struct {
	Mode compact.Mode
	// Dialect is the dialect of JSON Patch of mode snapshot.
	Dialect reduce.Dialect
	// Framing is that of the copy. If it is empty, it is that of the capture.
	Framing capture.Framing
	// Progress, if not nil, is called with the number of bytes read.
	Progress scan.Progress
}

// Row is the result of compacting one capture. The fields after Mode are nil if nothing
// was written.
type Row struct {
	Capture string          `json:"capture"`
	File    string          `json:"file"`
	Verdict project.Verdict `json:"verdict"`
	Mode    compact.Mode    `json:"mode"`
	// Framing, Events, Families, Bytes and Digest are those of the copy. Families are the
	// numbers of events of each type.
	Framing  *capture.Framing `json:"framing"`
	Events   *int             `json:"events"`
	Families *envelope.Counts `json:"families"`
	Bytes    *int64           `json:"bytes"`
	Digest   *digest.Digest   `json:"digest"`
	// CaptureEvents, CaptureFamilies and CaptureBytes are those of the response of the
	// capture.
	CaptureEvents   *int              `json:"capture_events"`
	CaptureFamilies *envelope.Counts  `json:"capture_families"`
	CaptureBytes    *int64            `json:"capture_bytes"`
	Findings        []finding.Finding `json:"findings"`
}

// CheckOut returns an error if the file out is the capture at path.
func CheckOut(path, out string) error {
	from, err := os.Stat(path)
	if err != nil {
		return nil // reading it reports the error
	}
	if to, err := os.Stat(out); err == nil && os.SameFile(from, to) {
		return fmt.Errorf("%s is the capture %s; choose another name for the copy", finding.Escape(out), finding.Escape(path))
	}
	return nil
}

// WriteFile writes a compacted copy of the capture at path to a file. The file is written
// completely or not at all, and only after the digests of the capture were checked. It
// never replaces a file, but a file with the same bytes counts as written.
func WriteFile(ctx context.Context, path, out string, s Settings) Row {
	row := Row{Capture: path, File: out, Mode: s.Mode, Verdict: project.Written, Findings: []finding.Finding{}}
	if err := row.writeFile(ctx, s); err != nil {
		row.fail(err)
	}
	return row
}

// writeFile writes the copy of a row to its file.
func (row *Row) writeFile(ctx context.Context, s Settings) error {
	dir, _ := filepath.Split(row.File)
	if err := capture.CheckOutside(dir); err != nil {
		return err
	}
	leftover, err := atomicfile.WriteNew(ctx, row.File, func(w io.Writer) error { return row.compact(ctx, s, w) })
	if errors.Is(err, fs.ErrExist) {
		return finding.New(finding.OutputExists, "%s", finding.Escape(err.Error())).WithHint("%s", hint.ChooseOutput)
	}
	for _, name := range leftover {
		row.Findings = append(row.Findings, finding.Leftover(name))
	}
	return err
}

// Write is like WriteFile, but writes the copy to w. Until the capture was read, the copy
// waits in a temporary file. The error is from w.
func Write(ctx context.Context, path string, w io.Writer, s Settings) (Row, error) {
	row := Row{Capture: path, File: "-", Mode: s.Mode, Verdict: project.Written, Findings: []finding.Finding{}}
	file, err := atomicfile.CreateUnnamed("")
	if err != nil {
		row.fail(err)
		return row, nil
	}
	defer file.Close()
	err = row.compact(ctx, s, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		row.fail(atomicfile.WrapUnnamed("", err))
		return row, nil
	}
	_, err = io.Copy(w, file)
	return row, err
}

// fail makes row the row of a capture without a copy.
func (row *Row) fail(err error) {
	f, isVerdict := finding.FromError(err)
	verdict := project.Failed
	if isVerdict && f.Code != finding.OutputExists {
		verdict = project.Refused
	}
	list := append(row.Findings, f)
	finding.Sort(list)
	*row = Row{Capture: row.Capture, File: row.File, Verdict: verdict, Mode: row.Mode, Findings: list}
}

// compact writes the compacted events of the capture to w, and completes the row.
func (row *Row) compact(ctx context.Context, s Settings, w io.Writer) error {
	c, err := capture.Open(ctx, row.Capture, "")
	if err != nil {
		return err
	}
	defer c.Close()
	framing := cmp.Or(s.Framing, c.Framing())
	hash, size := digest.Hash(), new(counter)
	out := newWriter(io.MultiWriter(w, hash, size), framing)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &rewriter{stop: cancel}
	r.compactor = compact.New(compact.Options{Mode: s.Mode, Dialect: s.Dialect, Report: r.warnings.Add}, out.event)
	if s.Mode == compact.ModeSnapshot {
		request, err := c.Request()
		if err != nil {
			return err
		}
		if request != nil {
			r.err = r.compactor.Seed(request)
		}
	}
	result, err := scan.Run(ctx, c, s.Progress, r)
	row.Findings = append(append(row.Findings, r.findings...), r.warnings.Findings()...)
	if err != nil {
		return err
	}
	if result.Events == 0 && c.Framing() != capture.JSON { // [] is a stream
		return finding.New(finding.NoEvents, "%s contains no events; it was read as %s", finding.Escape(row.Capture), c.Framing()).WithSeverity(finding.Error).WithHint(hint.ImportFraming)
	}
	if err := out.end(); err != nil {
		return err
	}
	sum := digest.Sum(hash)
	row.Framing, row.Events, row.Families, row.Bytes, row.Digest = &framing, &out.events, &out.families, (*int64)(size), &sum
	row.CaptureEvents, row.CaptureFamilies, row.CaptureBytes = &result.Events, &r.families, &result.Bytes
	return nil
}

// rewriter passes the events of a capture to a compactor. It does not divide them into
// runs.
type rewriter struct {
	compactor *compact.Compactor
	stop      context.CancelCauseFunc
	err       error // the first
	families  envelope.Counts
	findings  []finding.Finding
	warnings  finding.List // of the compactor
}

// Begin implements scan.Consumer.
func (r *rewriter) Begin(*envelope.Run) scan.Observer { return nil }

// Frame implements scan.FrameConsumer. After a finding the capture is read to its end,
// because a changed capture is the more important finding. Other errors stop reading.
func (r *rewriter) Frame(_ *envelope.Run, f *capture.Frame, e *envelope.Event) {
	if r.err != nil {
		return
	}
	if e != nil {
		r.families.Add(e.Type)
		r.err = r.compactor.Event(e)
	} else {
		_, r.err = envelope.ReadFrame(f)
	}
	if _, ok := errors.AsType[finding.Finding](r.err); r.err != nil && !ok {
		r.stop(r.err)
	}
}

// Finish implements scan.Consumer.
func (r *rewriter) Finish(result scan.Result) error {
	for _, f := range result.Findings {
		switch {
		case f.Code == finding.NoRun || f.Code == finding.FramesBeforeRun: // events need not belong to a run
		case f.Code == finding.HTTPStatus && f.Severity == finding.Error: // what follows is the body of an HTTP error
			r.err = f
		case f.Severity == finding.Error && r.err == nil:
			r.err = f
		default:
			r.findings = append(r.findings, f)
		}
	}
	if r.err == nil {
		r.err = r.compactor.End()
	}
	return r.err
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
