// Package scan reads an open capture once and passes its runs to any number of
// consumers.
//
// It must not contain rules for reading or projecting runs, and it writes nothing.
package scan

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
)

// Observer processes the events of one run.
type Observer interface {
	// Event is called for each valid event of the run, starting with RUN_STARTED.
	// It must not retain e.
	Event(e *envelope.Event)
	// End is called at the end of the run. If it returns an error, reading stops.
	End(run *envelope.Run) error
}

// Consumer processes the runs of one capture.
type Consumer interface {
	// Begin is called for each run after its RUN_STARTED was read. It returns a
	// new Observer for the run, or nil to skip the run.
	Begin(run *envelope.Run) Observer
	// Finish is called once, after the last run, if the digests of the capture match.
	// Results from the capture are not valid before this call. Finish is not called if
	// reading fails.
	Finish(r Result) error
}

// FrameConsumer is a Consumer that also processes every frame of the capture,
// including frames before the first run and frames that are not valid events.
type FrameConsumer interface {
	Consumer
	// Frame is called for each frame in order, before observers process its event.
	// The run is nil before the first RUN_STARTED. The event is nil if the frame
	// is not a valid event. Frame must not retain its arguments.
	Frame(run *envelope.Run, f *capture.Frame, e *envelope.Event)
}

// Result is the result of reading a whole capture.
type Result struct {
	Source
	// Events and Runs are the numbers of events and runs in the capture.
	Events, Runs int
	// Findings are the sorted findings about the whole capture. If one of them is
	// an error, no run of the capture is evidence.
	Findings []finding.Finding
}

// Source describes a capture that was read to its end.
type Source struct {
	Path string
	// Manifest is nil, and its digest empty, for a plain file.
	Manifest       *capture.Manifest
	ManifestDigest digest.Digest
	Framing        capture.Framing
	// Bytes and Digest are those of the stored response.
	Bytes  int64
	Digest digest.Digest
	// Compression is the undeclared compression of the response, as returned by
	// Capture.Compression.
	Compression string
}

// Progress is called from time to time, and at the end, with the number of bytes read. It
// may be nil.
type Progress func(read int64)

// Run reads an open capture once, from its first frame to its end, and passes it
// to the consumers in order. The error is from reading, from a consumer, or the
// cause of the context. Use finding.FromError to distinguish findings about the
// evidence from other errors.
func Run(ctx context.Context, c *capture.Capture, progress Progress, consumers ...Consumer) (Result, error) {
	if c.Begun() {
		return Result{}, finding.New(finding.IOFailed, "%s was already read; a capture can be read only once", finding.Escape(c.Path())).WithHint("open it again")
	}
	p := &dispatcher{consumers: consumers, observers: make([]Observer, len(consumers))}
	var visitor envelope.Visitor = p
	for _, consumer := range consumers {
		if f, ok := consumer.(FrameConsumer); ok {
			p.frames = append(p.frames, f)
			visitor = frameDispatcher{p}
		}
	}
	frames := &frameReader{ctx: ctx, Capture: c, progress: progress}
	totals, err := envelope.Scan(frames, visitor)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	r := Result{Source: newSource(c), Events: totals.Events, Runs: totals.Runs, Findings: append(totals.Findings, c.Findings()...)}
	if r.Runs == 0 {
		r.Findings = preferHTTPError(r.Findings)
	}
	finding.Sort(r.Findings)
	r.Findings = slices.Clip(r.Findings)
	frames.explainNoRun(r)
	for _, consumer := range consumers {
		if err := consumer.Finish(r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// preferHTTPError returns the findings of a capture without runs. If the endpoint
// responded with an HTTP error, that finding becomes an error and replaces no_run.
func preferHTTPError(list []finding.Finding) []finding.Finding {
	i := slices.IndexFunc(list, func(f finding.Finding) bool { return f.Code == finding.HTTPStatus })
	if i < 0 {
		return list
	}
	list[i] = list[i].WithSeverity(finding.Error)
	return slices.DeleteFunc(list, func(f finding.Finding) bool { return f.Code == finding.NoRun })
}

// newSource describes a capture that was read to its end.
func newSource(c *capture.Capture) Source {
	return Source{Path: c.Path(), Manifest: c.Manifest(), ManifestDigest: c.ManifestDigest(), Framing: c.Framing(), Bytes: c.Bytes(), Digest: c.Digest(), Compression: c.Compression()}
}

// dispatcher passes events and runs to the consumers.
type dispatcher struct {
	consumers []Consumer
	frames    []FrameConsumer
	observers []Observer // of the current run; nil if a consumer skips it
}

// frameDispatcher passes frames to the consumers too.
type frameDispatcher struct{ *dispatcher }

// Frame implements envelope.FrameVisitor.
func (p frameDispatcher) Frame(run *envelope.Run, f *capture.Frame, e *envelope.Event) {
	for _, consumer := range p.frames {
		consumer.Frame(run, f, e)
	}
}

// Event implements envelope.Visitor.
func (p *dispatcher) Event(run *envelope.Run, e *envelope.Event) {
	if e.Type == envelope.RunStarted {
		for i, consumer := range p.consumers {
			p.observers[i] = consumer.Begin(run)
		}
	}
	for _, o := range p.observers {
		if o != nil {
			o.Event(e)
		}
	}
}

// End implements envelope.Visitor.
func (p *dispatcher) End(run *envelope.Run) error {
	for _, o := range p.observers {
		if o == nil {
			continue
		}
		if err := o.End(run); err != nil {
			return err
		}
	}
	return nil
}

// progressEvery is the number of frames between two calls of a Progress.
const progressEvery = 1024

// frameReader reads the frames of a capture. It calls a Progress and stops when the
// context ends. It checks the context after each read.
type frameReader struct {
	ctx context.Context
	*capture.Capture
	progress Progress
	frames   int
	read     int64 // number of bytes read when the context was last checked
	begin    prefixDetector
}

// explainNoRun explains the finding no_run. For a plain file, the hint names the
// framing, which is only a guess.
func (r *frameReader) explainNoRun(result Result) {
	for i, f := range result.Findings {
		if f.Code == finding.NoRun {
			if result.Manifest == nil {
				f = f.WithHint(hint.ChooseFraming, result.Framing)
			}
			result.Findings[i] = r.begin.explainNoRun(f, result.Compression)
		}
	}
}

// Next implements envelope.Frames.
func (r *frameReader) Next() (*capture.Frame, error) {
	if n := r.Bytes(); n != r.read || r.frames == 0 {
		if r.read = n; r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
	}
	if r.frames++; r.frames%progressEvery == 0 && r.progress != nil {
		r.progress(r.Bytes())
	}
	f, err := r.Capture.Next()
	switch {
	case err == nil:
		r.begin.frame(f.Data)
	case err == io.EOF && r.progress != nil:
		r.progress(r.Bytes())
	}
	return f, err
}

// MaxRuns bounds the number of runs in one capture, and MaxItems the total number of
// findings, snapshots and event types in the rows of one capture. The rows are kept
// in memory until the end of the capture. Real captures contain a few runs.
const (
	MaxRuns  = 10_000
	MaxItems = 50_000
)

// TooManyRuns returns the error for a capture that exceeds MaxRuns or MaxItems.
func TooManyRuns(run *envelope.Run) error {
	return run.Started.Finding(finding.RunsTooMany, "the capture contains more than %d runs, or more than %d findings, snapshots and event types", MaxRuns, MaxItems)
}

// maxID bounds the length of an id in a row, in bytes. The contract allows 256 code
// points.
const maxID = 2 << 10

// TruncateID returns a copy of an id, truncated to the length that rows show.
func TruncateID(id string) string {
	if len(id) > maxID {
		id = strings.ToValidUTF8(id[:maxID], "") + "…"
	}
	return strings.Clone(id)
}
