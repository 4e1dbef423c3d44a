package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// ImportSettings say where imported entries belong.
type ImportSettings struct {
	Tenant string
	// Thread is the thread of streams for which neither a RUN_STARTED nor the request
	// names one. It may be empty. Files in the portable form name their thread.
	Thread string
	// Policy, if not nil, judges the seals of files in the portable form. A file with a seal
	// that no trusted key has signed is refused.
	Policy *seal.Policy
}

// Form is the form of an imported file.
type Form string

// The forms.
const (
	// FormCapture is a capture directory, or a plain file that contains a response.
	FormCapture Form = "capture"
	// FormLog is a thread in the portable form.
	FormLog Form = "log"
)

// Row is the result of importing one file. Its verdict is project.Written if the log has
// every entry, also if it had them before, and project.Skipped if it is a capture that has
// none, such as that of a failed request.
type Row struct {
	File    string          `json:"file"`
	Form    Form            `json:"form"`
	Verdict project.Verdict `json:"verdict"`
	// Stream is the id of the stream of a capture. It is null if it is not known, and for
	// the portable form, which has several.
	Stream *string `json:"stream"`
	// End says how the response of a capture ended. It is null where Stream is.
	End *capture.End `json:"end"`
	// Parts are the threads of the entries, and what the log has of them. If the import
	// failed, they say what was appended before.
	Parts    []Part            `json:"parts"`
	Findings []finding.Finding `json:"findings"`
}

// Import appends a capture, or a thread in the portable form, to a log. It reads the whole
// file and checks its digests before it appends anything, and again before it appends the
// end of the stream. So a stream of the log that has ended is complete. If the file was
// changed in between, the stream remains open.
//
// The seals of a file in the portable form must be of its entries and of those that the log has
// before these, or nothing is appended. The log gets the seals that it does not have yet. Where
// it has another seal of the same size, it keeps its own, and the row has a warning seal_kept.
//
// If a response was cut off within its content coding, the events before that are appended,
// and the row has a warning content_coding_damaged.
//
// The stream id of a capture by a proxy is the name of its directory, or for a recovered
// capture the name of the unfinished one. For other captures it is the digest of the
// manifest, and for a plain file the digest of its bytes. So importing a file again appends
// nothing.
func Import(ctx context.Context, log store.Log, in *inputs.Input, s ImportSettings) Row {
	row := Row{File: in.Path, Form: FormCapture, Verdict: project.Written, Parts: []Part{}, Findings: []finding.Finding{}}
	if err := row.importFrom(ctx, log, in, s); err != nil {
		f, isVerdict := fromError(err)
		switch {
		case !isVerdict:
			row.Verdict = project.Failed
		case f.Code == finding.FramingOpaque, errors.Is(err, errEmpty):
			row.Verdict, f = project.Skipped, f.WithSeverity(finding.Info)
		default:
			row.Verdict = project.Refused
		}
		row.Findings = append(row.Findings, f)
	}
	finding.Sort(row.Findings)
	return row
}

// Nothing reports whether a file has nothing that can be appended: it was skipped, it is not a
// capture and has no events, or nothing names its thread.
func (row *Row) Nothing() bool {
	return row.Verdict == project.Skipped || finding.Has(row.Findings, finding.StreamThreadUnknown) ||
		row.Verdict == project.Refused && finding.Has(row.Findings, finding.NoEvents)
}

// errEmpty means that a capture has no events, and no request that belongs to a thread. A proxy
// records such exchanges, too, so this is no mistake.
var errEmpty = errors.New("nothing to append")

// Find returns what the log has of the stream of a capture directory, in its first thread.
// If the stream has ended there, the log has all of it. Find reads the capture only up to
// the event that names the thread, and checks no digests. The errors are those of the log
// and of opening and reading the capture.
func Find(ctx context.Context, log store.Log, in *inputs.Input, s ImportSettings) (store.Stream, error) {
	src, err := openSource(ctx, in)
	if err != nil {
		return store.Stream{}, err
	}
	defer src.close()
	c, err := src.open(ctx)
	if err != nil {
		return store.Stream{}, err
	}
	defer c.Close()
	thread, pinned := pinnedTo(c)
	if !pinned {
		if thread, err = threadOf(ctx, c, s.Thread); err != nil || thread == "" {
			return store.Stream{}, err
		}
	}
	// The end of the stream in this thread is appended last.
	return log.Stream(ctx, store.Key{Tenant: s.Tenant, Thread: thread}, src.stream(c))
}

func (row *Row) importFrom(ctx context.Context, log store.Log, in *inputs.Input, s ImportSettings) error {
	src, err := openSource(ctx, in)
	if err != nil {
		return err
	}
	defer src.close()
	file, err := src.openPortable(ctx)
	if err != nil {
		return err
	}
	if file != nil {
		file.Close()
		row.Form = FormLog
		return row.importThread(ctx, log, src, s)
	}
	first, pinned, err := row.check(ctx, src, s.Thread)
	if err != nil {
		return err
	}
	to := NewStream(log, StreamSettings{Tenant: s.Tenant, ID: *row.Stream, Thread: first, Pinned: pinned})
	if err := to.enter(first); err != nil {
		return err
	}
	err = row.append(ctx, to, src)
	if differs, ok := errors.AsType[*DifferenceError](err); ok && differs.Ended && to.ours {
		err = finding.New(finding.LogStreamClosed, "the stream was closed at position %d of thread %s, and the capture has more events", differs.Position, finding.Quote(differs.Thread))
	}
	row.Parts = to.Parts()
	for _, p := range row.Parts {
		if p.Surplus > 0 {
			row.Findings = append(row.Findings, finding.New(finding.LogHasMore, "thread %s has %d events of the stream that the capture lacks", finding.Quote(p.Thread), p.Surplus))
		}
	}
	return err
}

// check reads a capture to its end. It returns the thread of its first entries, and whether it
// is that of all.
func (row *Row) check(ctx context.Context, src *source, fallback string) (first string, pinned bool, err error) {
	c, err := src.open(ctx)
	if err != nil {
		return "", false, err
	}
	defer c.Close()
	request, err := c.Request()
	if err != nil {
		return "", false, err
	}
	first, pinned = pinnedTo(c)
	frames := 0
	for {
		f, err := c.Next()
		if err != nil && c.CodingCut() {
			damage, _ := finding.FromError(err)
			row.Findings = append(row.Findings, damage.WithSeverity(finding.Warning))
			break
		}
		if err == io.EOF {
			break
		}
		if err == nil {
			err = f.Problem
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return "", false, err
		}
		if frames++; frames == 1 && isHead(f.Data) {
			return "", false, src.portableDamage()
		}
		if first == "" {
			first = threadOfEvent(f.Data)
		}
	}
	for _, f := range c.Findings() {
		if f.Code == finding.ArrayMalformed {
			return "", false, f
		}
		row.Findings = append(row.Findings, f.WithSeverity(finding.Warning))
	}
	if frames == 0 && request == nil {
		empty := finding.New(finding.NoEvents, "%s contains no events and no request; it was read as %s", finding.Escape(src.in.Path), c.Framing())
		if c.Manifest() != nil {
			return "", false, fmt.Errorf("%w: %w", errEmpty, empty)
		}
		return "", false, empty.WithSeverity(finding.Error).WithHint(hint.ImportFraming)
	}
	id, end := src.stream(c), endOf(c)
	row.Stream, row.End = &id, &end
	if first == "" {
		first = cmp.Or(threadOfInput(request), fallback)
	}
	if first == "" {
		err = ErrThread
		if frames == 0 && c.Manifest() != nil { // a request that failed
			err = fmt.Errorf("%w: %w", errEmpty, err)
		}
	}
	return first, pinned, err
}

// append reads a capture again and appends its entries to a stream.
func (row *Row) append(ctx context.Context, to *Stream, src *source) error {
	c, err := src.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var started, ended time.Time
	cut := false
	if m := c.Manifest(); m != nil {
		started, ended = m.StartedAt, m.EndedAt
		_, to.recovered = m.Labels[capture.RecoveredFrom]
		// What recorded such a capture has also appended the complete events, and went on
		// if the capture could not be stored any more.
		_, to.ours = m.Labels[capture.StreamLabel]
		to.recovered = to.recovered || to.ours && (m.End == capture.EndStorage || m.End == capture.EndLimit)
		cut = m.End != capture.EndEOF
	}
	request, err := c.Request()
	if err == nil && request != nil {
		err = to.Input(ctx, request, started)
	}
	for err == nil {
		var f *capture.Frame
		if f, err = c.Next(); err == nil && !(to.ours && cut && f.End == f.Offset+f.Bytes) {
			err = to.Event(ctx, f.Data, f.Arrived)
		}
	}
	if err != io.EOF && !c.CodingCut() {
		return err
	}
	if id := src.stream(c); id != *row.Stream || endOf(c) != *row.End {
		return finding.New(finding.DigestMismatch, "%s was changed while it was imported", finding.Escape(src.in.Path))
	}
	return to.End(ctx, *row.End, ended)
}

// endOf returns how a response ended. A plain file is complete.
func endOf(c *capture.Capture) capture.End {
	if m := c.Manifest(); m != nil {
		return m.End
	}
	return capture.EndEOF
}

// stream returns the id of the stream of a capture that was read to its end.
func (s *source) stream(c *capture.Capture) string {
	m := c.Manifest()
	if m == nil {
		return string(c.Digest())
	}
	if m.Source.Kind == capture.KindProxy {
		if id := m.Labels[capture.StreamLabel]; store.CheckID(id) == nil {
			return id
		}
		if name := m.Labels[capture.RecoveredFrom]; name != "" {
			return name
		}
		path := s.in.Path
		if abs, err := filepath.Abs(path); err == nil && s.in.IsPath() {
			path = abs
		}
		if name := filepath.Base(path); name != "." && name != ".." {
			return name
		}
	}
	return string(c.ManifestDigest())
}

// fromError returns the finding for an error, and whether it is a verdict on the file.
func fromError(err error) (f finding.Finding, isVerdict bool) {
	text := finding.Escape(err.Error())
	switch {
	case errors.Is(err, ErrThread):
		return finding.New(finding.StreamThreadUnknown, "%s", text), true
	case errors.Is(err, store.ErrDeleted):
		return finding.New(finding.LogThreadDeleted, "%s", text), true
	case errors.Is(err, store.ErrKey):
		return finding.New(finding.LogIDRefused, "%s", text), true
	}
	if _, ok := errors.AsType[*DifferenceError](err); ok {
		return finding.New(finding.LogEntryDiffers, "%s", text), true
	}
	f, isVerdict = finding.FromError(err)
	if f.Code == finding.FramingOpaque {
		f.Hint = hint.ImportOpaque
	}
	if _, ok := errors.AsType[*logError](err); ok && f.Code == finding.IOFailed {
		f.Hint = hint.LogFailed
	}
	return f, isVerdict
}
