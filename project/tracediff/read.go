package tracediff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// Lines reads a trace and passes its lines to each. A line is valid until each returns. The
// error is that of each; what is wrong with the trace is in the File.
func Lines(ctx context.Context, t Trace, o trace.Options, each func(*trace.Line) error) (File, error) {
	s := newSide(t, o)
	if s.prepare(ctx); s.file.Verdict != project.Accepted {
		return s.file, nil
	}
	var failed error
	if err := s.read(ctx, func(l *trace.Line) error {
		failed = each(l)
		return failed
	}); err != nil && failed == nil {
		s.fail(err)
	}
	return s.file, failed
}

// side reads one of the two traces.
type side struct {
	Trace
	options trace.Options
	ids     *trace.IDs
	file    File
	out     chan *trace.Line
	// status, if not nil, is called with an HTTP status other than 200, before the first event.
	status func(code int) error
	end    capture.End // how the recording ended, if that is known
}

func newSide(t Trace, o trace.Options) *side {
	return &side{Trace: t, options: o, ids: trace.NewIDs(o), file: newFile(t.Path)}
}

// prepare reads a capture for its ids.
func (s *side) prepare(ctx context.Context) {
	if s.Golden {
		return
	}
	if err := s.scan(ctx, func(e *envelope.Event) error {
		s.ids.Event(e)
		return nil
	}); err != nil {
		s.fail(err)
	}
}

// lines returns the lines of the trace, which are read at the same time. It must be followed by
// wait.
func (s *side) lines(ctx context.Context) trace.Source {
	s.out = make(chan *trace.Line)
	go func() {
		defer close(s.out)
		err := s.read(ctx, func(l *trace.Line) error {
			select {
			case s.out <- l.Clone():
				return nil
			case <-ctx.Done():
				return errStopped
			}
		})
		if err != nil && !errors.Is(err, errStopped) && !errors.Is(context.Cause(ctx), errStopped) {
			s.fail(err)
		}
	}()
	return func() (*trace.Line, error) {
		l, ok := <-s.out
		if !ok && s.file.Verdict != project.Accepted {
			return nil, errStopped
		}
		return l, nil
	}
}

var errStopped = errors.New("the comparison has ended")

// wait waits until the trace is no longer read.
func (s *side) wait() {
	for range s.out {
	}
}

// read passes the lines of the trace to each.
func (s *side) read(ctx context.Context, each func(*trace.Line) error) error {
	if s.Golden {
		return s.golden(ctx, each)
	}
	n := trace.New(s.options, s.ids, each)
	s.status = func(code int) error { return s.note(each, `{"type":"%s","status":%d}`, statusType, code) }
	if err := s.scan(ctx, n.Event); err != nil {
		return err
	}
	if err := n.End(); err != nil || s.end == "" || s.end == capture.EndEOF {
		return err
	}
	return s.note(each, `{"type":"%s","end":"%s"}`, endType, s.end)
}

// note passes on a line about the response.
func (s *side) note(each func(*trace.Line) error, format string, args ...any) error {
	l, err := trace.ReadLine(fmt.Appendf(nil, format, args...), envelope.Ref{})
	if err != nil {
		return err
	}
	return each(l)
}

// statusType is the type of the first line of a response whose HTTP status is not 200, and
// endType that of the last line of one that was not recorded to its end. No event has them.
const (
	statusType = "(http)"
	endType    = "(end)"
)

// golden passes the lines of a golden to each.
func (s *side) golden(ctx context.Context, each func(*trace.Line) error) error {
	c, err := capture.Open(ctx, s.Path, capture.NDJSON)
	if err != nil {
		return err
	}
	defer c.Close()
	n := 0
	for ; ; n++ {
		f, err := c.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		at := envelope.Ref{Index: n, Offset: f.Offset, Line: f.Line}
		l, err := trace.ReadLine(bytes.Clone(f.Data), at)
		if err != nil {
			return finding.New(finding.GoldenMalformed, "%s", err).WithLine(f.Line)
		}
		if err := each(l); err != nil {
			return err
		}
	}
	if list := c.Findings(); len(list) > 0 {
		return list[0]
	}
	s.done(n, c.Digest())
	return nil
}

// done notes that the trace was read to its end.
func (s *side) done(events int, sum digest.Digest) { s.file.Events, s.file.Digest = &events, &sum }

// fail notes that the trace cannot be read.
func (s *side) fail(err error) {
	found, isVerdict := finding.FromError(err)
	s.file.Verdict = project.Failed
	if isVerdict {
		s.file.Verdict = project.Refused
	}
	s.file.Events, s.file.Digest, s.file.Findings = nil, nil, []finding.Finding{found}
}

// scan reads the capture once and passes its events to do. What an endpoint sends with an HTTP
// error status need not be events.
func (s *side) scan(ctx context.Context, do func(*envelope.Event) error) error {
	c, err := capture.Open(ctx, s.Path, "")
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &reader{do: do, stop: cancel}
	if m := c.Manifest(); m != nil {
		r.recorded = true
		if code := m.Source.Status; code != nil && *code != 200 {
			r.answeredError = *code >= 300
			if s.status != nil {
				if err := s.status(*code); err != nil {
					return err
				}
			}
		}
		if s.end = m.End; s.end != capture.EndEOF {
			s.file.Incomplete = "the response was not recorded to its end"
		}
	}
	result, err := scan.Run(ctx, c, s.Progress, r)
	if r.err != nil {
		return r.err
	}
	if err != nil {
		return err
	}
	if r.open {
		s.file.Incomplete = "a run has no end"
	}
	if result.Events == 0 && !r.answeredError && c.Framing() != capture.JSON && !(r.recorded && result.Bytes == 0) { // [] is a stream
		return finding.New(finding.NoEvents, "%s contains no events; it was read as %s", finding.Escape(s.Path), c.Framing()).WithSeverity(finding.Error).WithHint(hint.ImportFraming)
	}
	s.done(result.Events, result.Digest)
	s.file.Bytes = result.Bytes
	if result.Manifest != nil {
		s.file.Response = filepath.Join(s.Path, result.Framing.FileName())
	}
	s.file.Findings = []finding.Finding{}
	for _, f := range result.Findings {
		switch {
		case f.Code == finding.NoRun || f.Code == finding.FramesBeforeRun: // events need not belong to a run
		case f.Severity == finding.Error && !(f.Code == finding.HTTPStatus && r.answeredError):
			return f
		default:
			s.file.Findings = append(s.file.Findings, f)
		}
	}
	return nil
}

// reader passes the events of a capture on. A frame that is no event ends the reading: such a
// capture has no trace.
type reader struct {
	do            func(*envelope.Event) error
	stop          context.CancelCauseFunc
	answeredError bool // with an HTTP status
	recorded      bool // from an endpoint
	open          bool // a run has begun and not ended
	err           error
}

// Begin implements scan.Consumer.
func (r *reader) Begin(*envelope.Run) scan.Observer { return nil }

// Frame implements scan.FrameConsumer.
func (r *reader) Frame(_ *envelope.Run, f *capture.Frame, e *envelope.Event) {
	switch {
	case r.err != nil, e == nil && r.answeredError:
		return
	case e == nil:
		_, r.err = envelope.ReadFrame(f)
	default:
		switch e.Type {
		case eventnames.RunStarted:
			r.open = true
		case eventnames.RunFinished, eventnames.RunError:
			r.open = false
		}
		r.err = r.do(e)
	}
	if r.err != nil {
		r.stop(r.err)
	}
}

// Finish implements scan.Consumer.
func (r *reader) Finish(scan.Result) error { return nil }
