// Package scan reads an open capture once and shows its runs to any number of
// consumers.
//
// It knows how runs are read and projected, and must hold no rule of either. It
// writes nothing.
package scan

import (
	"context"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
)

// Observer sees one run. It is made for that run, so it never has to be reset.
type Observer interface {
	// Event is called for each readable event of the run, RUN_STARTED first.
	// The event is valid during the call.
	Event(e *envelope.Event)
	// End is called when the run is complete. An error ends the reading.
	End(run *envelope.Run) error
}

// Consumer takes part in the reading of one capture.
type Consumer interface {
	// Begin is called with each run when its RUN_STARTED was read, and returns
	// what observes it: nil when the consumer is not interested.
	Begin(run *envelope.Run) Observer
	// Finish is called once, after the last run, when the digests of the capture
	// were found right. Nothing of the capture counts before. It is not called
	// when the reading fails.
	Finish(r Result) error
}

// FrameConsumer is a Consumer that also sees every frame of the capture: those
// before the first run, and those that are no events.
type FrameConsumer interface {
	Consumer
	// Frame is called for each frame in order, before observers see its event.
	// The run is nil before the first RUN_STARTED, the event nil where the frame
	// cannot be read as one. All are valid during the call.
	Frame(run *envelope.Run, f capture.Frame, e *envelope.Event)
}

// Result is what a whole reading found.
type Result struct {
	Source
	// Events and Runs count those of the capture.
	Events, Runs int
	// Findings are about the capture as a whole, in their order. An error among
	// them means that no run of the capture is evidence.
	Findings []finding.Finding
}

// Source describes a capture as it was read.
type Source struct {
	Path string
	// Manifest is nil, and its digest empty, for a plain file.
	Manifest       *capture.Manifest
	ManifestDigest digest.Digest
	Framing        capture.Framing
	// Bytes and Digest are of the stored response.
	Bytes  int64
	Digest digest.Digest
	// Compression is what the response begins as where no content coding says so, as
	// Capture.Compression has it.
	Compression string
}

// Progress is called from time to time with how many bytes of a capture were read. It
// may be nil.
type Progress func(read int64)

// Run reads an open capture from its first frame to its end, once, and shows it
// to the consumers in their order. The error is one of the reading, a consumer's,
// or the cause of ctx's end; finding.FromError tells which of them are about
// the evidence.
func Run(ctx context.Context, c *capture.Capture, progress Progress, consumers ...Consumer) (Result, error) {
	if c.Begun() {
		return Result{}, finding.New(finding.IOFailed, "%s was read before; a capture is read once", finding.Escape(c.Path())).WithHint("open it again")
	}
	p := &pass{consumers: consumers, observers: make([]Observer, len(consumers))}
	for _, consumer := range consumers {
		if f, ok := consumer.(FrameConsumer); ok {
			p.frames = append(p.frames, f)
		}
	}
	frames := &reported{ctx: ctx, Capture: c, progress: progress}
	totals, err := envelope.Scan(frames, p)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	r := Result{Source: sourceOf(c), Events: totals.Events, Runs: totals.Runs, Findings: append(totals.Findings, c.Findings()...)}
	if r.Runs == 0 {
		r.Findings = unanswered(r.Findings)
	}
	finding.Sort(r.Findings)
	r.Findings = slices.Clip(r.Findings)
	frames.explain(r)
	for _, consumer := range consumers {
		if err := consumer.Finish(r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// unanswered returns the findings of a capture without a run. Where the endpoint
// answered with an HTTP error, that is why there is none.
func unanswered(list []finding.Finding) []finding.Finding {
	i := slices.IndexFunc(list, func(f finding.Finding) bool { return f.Code == finding.HTTPStatus })
	if i < 0 {
		return list
	}
	list[i] = list[i].WithSeverity(finding.Error)
	return slices.DeleteFunc(list, func(f finding.Finding) bool { return f.Code == finding.NoRun })
}

// sourceOf describes a capture that was read to its end.
func sourceOf(c *capture.Capture) Source {
	return Source{Path: c.Path(), Manifest: c.Manifest(), ManifestDigest: c.ManifestDigest(), Framing: c.Framing(), Bytes: c.Bytes(), Digest: c.Digest(), Compression: c.Compression()}
}

// pass shows what is read to the consumers.
type pass struct {
	consumers []Consumer
	frames    []FrameConsumer
	observers []Observer // of the present run; nil where there is none
}

// Frame implements envelope.FrameVisitor.
func (p *pass) Frame(run *envelope.Run, f capture.Frame, e *envelope.Event) {
	for _, consumer := range p.frames {
		consumer.Frame(run, f, e)
	}
}

// Event implements envelope.Visitor.
func (p *pass) Event(run *envelope.Run, e *envelope.Event) {
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
func (p *pass) End(run *envelope.Run) error {
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

// progressEvery is how many frames pass between two calls of a Progress.
const progressEvery = 1024

// reported calls a Progress with how far the reading has come, and ends with a
// context.
type reported struct {
	ctx context.Context
	*capture.Capture
	progress Progress
	frames   int
	begin    beginning
}

// explain adds to the finding that there is no run what the response is instead,
// where that is known. The framing of a plain file is only guessed, so its next step
// names that.
func (r *reported) explain(result Result) {
	for i, f := range result.Findings {
		if f.Code == finding.NoRun {
			if result.Manifest == nil {
				f = f.WithHint(hint.ChooseFraming, result.Framing)
			}
			result.Findings[i] = r.begin.explain(f, result.Compression)
		}
	}
}

// Next implements envelope.Frames.
func (r *reported) Next() (capture.Frame, error) {
	if r.ctx.Err() != nil {
		return capture.Frame{}, context.Cause(r.ctx)
	}
	if r.frames++; r.frames%progressEvery == 0 && r.progress != nil {
		r.progress(r.Bytes())
	}
	f, err := r.Capture.Next()
	if err == nil {
		r.begin.frame(f.Data)
	}
	return f, err
}

// MaxRuns is how many runs of one capture are distinguished, and MaxItems how many
// findings, snapshots and names of families the rows of one capture may hold
// together: they are kept until its end. Each run costs a row and staged files;
// real captures hold a few.
const (
	MaxRuns  = 10_000
	MaxItems = 50_000
)

// TooManyRuns is the finding that ends the reading of a capture with too many runs.
func TooManyRuns(run *envelope.Run) error {
	return run.Started.Finding(finding.RunsTooMany, "the capture holds more than %d runs, or more than %d findings, snapshots and event families", MaxRuns, MaxItems)
}

// maxID bounds how much of an id a row shows, in bytes; the contract takes 256
// code points.
const maxID = 2 << 10

// TruncateID returns an id as a row shows it: its beginning where it is long. The
// result does not keep the event it is from.
func TruncateID(id string) string {
	if len(id) > maxID {
		id = strings.ToValidUTF8(id[:maxID], "") + "…"
	}
	return strings.Clone(id)
}
