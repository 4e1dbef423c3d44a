package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/store"
)

// A noCapture is the reason why there is no capture to send.
type noCapture string

func (e noCapture) Error() string { return string(e) }

// The reasons.
const (
	errNoCaptures  noCapture = "this server has no captures"
	errNoReports   noCapture = "this server makes no report pages"
	errNotRecorded noCapture = "this server has no capture of the run"
	errRunOpen     noCapture = "the run has not ended, so this server has no finished capture of it"
	errUnfinished  noCapture = "the capture of the run is not finished yet"
	errNoTimes     noCapture = "the log does not have the times of the run, by which its capture would be found"
)

// isNoCapture reports whether an error says that there is no capture to send.
func isNoCapture(err error) bool {
	_, ok := errors.AsType[noCapture](err)
	return ok
}

// A captureError reports that a capture, or the directory of captures, cannot be read. Its text
// can name files.
type captureError struct{ err error }

func (e *captureError) Error() string { return e.err.Error() }
func (e *captureError) Unwrap() error { return e.err }

// sendCapture serves GET /threads/{thread}/capture: the capture of a run, as a tar archive.
func (s *Server) sendCapture(q *request) {
	leave, ok := s.reader(q)
	if !ok {
		return
	}
	defer leave()
	name, ok := s.evidence(q)
	if !ok {
		return
	}
	s.download(q, name+".tar", "application/x-tar", func(w io.Writer) error {
		out := bufio.NewWriterSize(w, writeBytes)
		err := capture.WriteTar(q.Context(), s.settings.Exchanges.Captures, name, out)
		if err == nil {
			err = out.Flush()
		}
		if err != nil && !isUnsent(err) {
			err = &captureError{err}
		}
		return err
	})
}

// maxReports is the number of report pages that are made at the same time. A page can have
// 100 MB.
const maxReports = 2

// sendReport serves GET /threads/{thread}/report: the report page about the capture of a run.
func (s *Server) sendReport(q *request) {
	s.build(q, s.reports, func() (string, []byte, bool) {
		name, ok := s.evidence(q)
		if !ok {
			return "", nil, false
		}
		if s.settings.Report == nil {
			s.fail(q, errNoReports)
			return "", nil, false
		}
		var page bytes.Buffer
		if err := s.settings.Report(q.Context(), filepath.Join(s.settings.Exchanges.Captures.Name(), name), &page); err != nil {
			s.fail(q, &captureError{err})
			return "", nil, false
		}
		attachment(q.w.Header(), name+".html")
		return "text/html; charset=utf-8", page.Bytes(), true
	})
}

// evidence returns the name of the capture of the run that a request names. If there is none,
// evidence answers the request.
func (s *Server) evidence(q *request) (name string, ok bool) {
	run, ok := s.runAt(q)
	if !ok {
		return "", false
	}
	name, err := s.captureOf(q.Context(), run)
	if err != nil {
		s.fail(q, err)
		return "", false
	}
	return name, true
}

// maxDescribed limits the captures whose manifests are read to find one.
const maxDescribed = 10_000

// captureOf returns the name of the finished capture of a run. Its manifest names the tenant,
// the thread and the stream, and it has the request that the log has. If there is no such
// capture, the error is a noCapture.
//
// The name of a capture begins with the time when the request was posted, which is right after
// that of the request in the log and before that of the first event. So the first manifest that is
// read is mostly the right one.
func (s *Server) captureOf(ctx context.Context, run *store.Run) (string, error) {
	root := s.settings.Exchanges.Captures
	if root == nil {
		return "", errNoCaptures
	}
	sent, request, err := s.requestOf(ctx, run)
	if err != nil {
		return "", err
	}
	if sent.IsZero() || run.StartedAt.IsZero() {
		return "", errNoTimes
	}
	names, err := proxy.Names(ctx, root, sent, run.StartedAt)
	if err != nil {
		return "", &captureError{err}
	}
	unfinished := false
	for _, name := range names[:min(len(names), maxDescribed)] {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		m, finished, err := capture.Describe(root, name)
		switch {
		case err != nil: // it is not a capture, was removed meanwhile, or is damaged
		case m.Labels[capture.StreamLabel] != run.Stream || m.Labels[capture.ThreadLabel] != run.Thread || m.Labels[capture.TenantLabel] != run.Tenant:
		case !finished:
			unfinished = true
		case m.Files.Request == nil || m.Files.Request.Digest == request:
			return name, nil
		}
	}
	switch {
	case run.End == store.Open:
		return "", errRunOpen
	case unfinished:
		return "", errUnfinished
	}
	return "", errNotRecorded
}

// requestOf returns the time and the digest of the request with which the stream of a run
// begins. The time is zero if the stream begins otherwise.
func (s *Server) requestOf(ctx context.Context, run *store.Run) (sent time.Time, request digest.Digest, err error) {
	stream, err := s.settings.Log.Stream(ctx, run.Key, run.Stream)
	if err != nil {
		return sent, "", err
	}
	for e, err := range s.settings.Log.Select(ctx, run.Key, store.At(max(stream.First, 1))) {
		if err != nil {
			return sent, "", err
		}
		if e.Position == stream.First && e.Kind == store.Input {
			sent, request = e.Arrived, digest.Of(e.Data)
		}
	}
	return sent, request, nil
}
