package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/exchange"
	"github.com/p20export/p20export/finding"
)

// recording is an exchange whose response headers were received.
type recording struct {
	settings Settings
	dir      string
	target   string // the public URL
	proxy    string // the public URL of the proxy, or ""
	started  time.Time
	response *http.Response
	// countLimit limits the time to count the events of an encoded body. It is the
	// constant countLimit, except in tests.
	countLimit time.Duration

	writer *capture.Writer
	count  *capture.Counter
	head   []byte // the first bytes of the body
	bytes  int64
	shown  time.Time // time of the last call of Progress
}

const (
	// headBytes is the number of bytes of the body that findings may quote.
	headBytes = 512
	// progressEvery is the minimum time between two calls of Progress.
	progressEvery = 100 * time.Millisecond
	// countLimit limits the time to count the events of a stored, encoded body. A
	// small body can decode to a thousand times its size.
	countLimit = 10 * time.Second
)

var errCountLimit = errors.New("counting took too long")

// run stores the body and closes the capture.
func (r *recording) run(ctx, caller context.Context) (Result, error) {
	s := r.settings
	if s.Head != nil {
		s.Head(r.response.StatusCode, r.response.Header)
	}
	format := framing(s.Framing, r.response)
	from := exchange.Source(capture.KindHTTP, r.target, r.proxy, r.response)
	writer, err := capture.Create(r.dir, capture.Settings{
		Source: from, Framing: format, StartedAt: r.started,
		Request: s.Body, Labels: s.Labels, Tool: s.Tool, Arrivals: true,
	})
	if err != nil {
		return Result{}, err
	}
	r.writer = writer
	coded := from.Headers["content-encoding"]
	if coded == "" || strings.EqualFold(coded, "identity") {
		r.count = capture.NewCounter(format)
		r.count.Frame = s.Frame
	}

	end, broken := r.copy(ctx, caller)
	manifest, err := writer.Close(end)
	if manifest == nil {
		return Result{}, err
	}
	result := Result{Manifest: manifest, Findings: r.findings(end, broken)}
	if err != nil { // the capture is closed anyway
		unsynced, _ := finding.FromError(err)
		result.Findings = append(result.Findings, unsynced)
	}
	for _, path := range writer.Leftovers() {
		result.Findings = append(result.Findings, finding.Leftover(path))
	}
	if err := r.addEvents(caller, &result); err != nil {
		return Result{}, err
	}
	if s.Progress != nil {
		s.Progress(Progress{Events: result.Events, Bytes: r.bytes, Elapsed: time.Since(r.started)})
	}
	return result, nil
}

// copy stores the body, with one write for each read. It returns how the body ended,
// and the finding about that, if any. It stops after a failed write, whose error the
// writer returns from Close.
func (r *recording) copy(ctx, caller context.Context) (capture.End, *finding.Finding) {
	buf := make([]byte, exchange.ReadBytes)
	for {
		part := buf
		room := r.settings.MaxBytes - r.bytes
		if r.settings.MaxBytes > 0 && room < int64(len(part)) {
			// At the limit, read one more byte to detect whether the body is longer.
			part = part[:max(room, 1)]
		}
		n, err := r.response.Body.Read(part)
		if n > 0 && r.settings.MaxBytes > 0 && room <= 0 {
			return capture.EndLimit, cutShort(finding.Error, "the response is longer than the limit of %d bytes", r.settings.MaxBytes)
		}
		if n > 0 {
			if _, err := r.writer.Write(part[:n]); err != nil {
				return capture.EndError, nil
			}
			r.stored(part[:n])
		}
		switch {
		case err == io.EOF:
			return capture.EndEOF, nil
		case err == nil && ctx.Err() == nil:
		case caller.Err() != nil:
			return capture.EndCancelled, cutShort(finding.Warning, "the recording was cancelled after %d bytes", r.bytes)
		case ctx.Err() != nil:
			return capture.EndLimit, cutShort(finding.Error, "the response did not end within the time limit of %s", r.settings.Timeout)
		default:
			f := failed(r.target, err)
			f.Message += fmt.Sprintf(" (after %d bytes of the body)", r.bytes)
			return capture.EndError, &f
		}
	}
}

// cutShort returns a finding about a response that was not read to its end.
func cutShort(severity finding.Severity, format string, args ...any) *finding.Finding {
	f := finding.New(finding.CaptureCutShort, format, args...).WithSeverity(severity)
	return &f
}

// stored counts the stored bytes p and their events, and reports the progress.
func (r *recording) stored(p []byte) {
	r.bytes += int64(len(p))
	if room := headBytes - len(r.head); room > 0 {
		r.head = append(r.head, p[:min(room, len(p))]...)
	}
	if r.count != nil {
		r.count.Feed(p)
	}
	if r.settings.Progress == nil {
		return
	}
	if now := time.Now(); now.Sub(r.shown) >= progressEvery {
		r.shown = now
		r.settings.Progress(Progress{Events: r.events(), Bytes: r.bytes, Elapsed: now.Sub(r.started)})
	}
}

// events returns the number of events so far, or nil if it is not known.
func (r *recording) events() *int {
	if r.count == nil {
		return nil
	}
	return new(r.count.Events())
}

// findings returns the findings about the exchange.
func (r *recording) findings(end capture.End, broken *finding.Finding) []finding.Finding {
	var list []finding.Finding
	if f := checkHead(r.settings.Framing, r.response, r.head); f != nil {
		list = append(list, *f)
	}
	if broken != nil {
		list = append(list, *broken)
	}
	return list
}

// addEvents adds to result the number of events and, if the response has the expected
// status and type, the findings about its framing. It counts the events of an encoded
// body in the closed capture, until the caller's context is done or the count limit is
// reached. The time limit of the exchange does not apply.
func (r *recording) addEvents(caller context.Context, result *Result) error {
	expected := checkHead(r.settings.Framing, r.response, nil) == nil
	if r.count != nil {
		r.count.Finish()
		result.Events = r.events()
		if expected {
			result.Findings = append(result.Findings, r.count.Findings()...)
		}
		return nil
	}
	ctx, stop := context.WithTimeoutCause(caller, r.countLimit, errCountLimit)
	defer stop()
	events, findings, err := r.countStored(ctx)
	if ctx.Err() != nil && err != nil {
		result.Findings = append(result.Findings, finding.New(finding.EventsUncounted, "the events of the response were not all counted: %s", uncounted(ctx)))
		return nil
	}
	result.Events = events
	if expected {
		result.Findings = append(result.Findings, findings...)
	}
	return err
}

// uncounted returns the reason why not all events were counted.
func uncounted(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), errCountLimit) {
		return errCountLimit.Error()
	}
	return "the recording was cancelled"
}

// countStored counts the events of the closed capture. The number is nil if ctx was
// done before all events were counted, or if the content coding is unknown. A body
// that cannot be decoded is reported as a finding.
func (r *recording) countStored(ctx context.Context) (events *int, findings []finding.Finding, err error) {
	var f finding.Finding
	c, err := capture.Open(ctx, r.dir, "")
	if errors.As(err, &f) {
		return nil, []finding.Finding{f}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	// There already is a finding about the end of the response.
	others := func() []finding.Finding {
		return slices.DeleteFunc(c.Findings(), func(f finding.Finding) bool { return f.Code == finding.CaptureCutShort })
	}
	for n := 0; ; n++ {
		frame, err := c.Next()
		switch {
		case err == nil && r.settings.Frame != nil:
			r.settings.Frame(frame)
		case err == io.EOF:
			return &n, others(), nil
		case errors.As(err, &f):
			return &n, append(others(), f), nil
		case err != nil:
			return nil, nil, err
		}
	}
}
