package scenario

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/finding"
)

// Cause says why a response has no complete run. It is empty if the cause is not known.
type Cause string

// The causes.
const (
	Unreachable    Cause = "unreachable"   // nothing accepts a connection
	NoTLS          Cause = "no_tls"        // https, and the server does not speak TLS
	NoAnswer       Cause = "no_answer"     // no response within the time limit
	Truncated      Cause = "broke_off"     // the connection ended too early
	TimeLimit      Cause = "time_limit"    // the response did not end within the time limit
	SizeLimit      Cause = "past_limit"    // the response is larger than the limit
	Redirected     Cause = "redirected"    // HTTP 3xx
	Unauthorized   Cause = "unauthorized"  // HTTP 401, 403 or 407
	NotFound       Cause = "not_found"     // HTTP 404, 405, 410 or 501
	TooMany        Cause = "too_many"      // HTTP 429
	Rejected       Cause = "rejected"      // any other HTTP 4xx
	ServerFailed   Cause = "server_failed" // any other HTTP 5xx
	OtherStatus    Cause = "other_status"  // any other HTTP status but 200
	WebPage        Cause = "web_page"      // HTTP 200 with HTML
	NotEventStream Cause = "not_events"    // HTTP 200, but not an event stream
	Unreadable     Cause = "unreadable"    // the response cannot be parsed as events
	NoRun          Cause = "no_run"        // events without a run
)

// Causes returns all causes.
func Causes() []Cause {
	return []Cause{
		Unreachable, NoTLS, NoAnswer, Truncated, TimeLimit, SizeLimit, Redirected, Unauthorized, NotFound, TooMany, Rejected, ServerFailed, OtherStatus,
		WebPage, NotEventStream, Unreadable, NoRun,
	}
}

// causeOfError returns the cause of an error without a capture. It returns "" if the
// error is local to this machine.
func causeOfError(err error) Cause {
	switch {
	case errors.Is(err, client.ErrUnreachable):
		return Unreachable
	case errors.Is(err, client.ErrNoTLS):
		return NoTLS
	case errors.Is(err, client.ErrTimeLimit):
		return NoAnswer
	}
	if f, ok := errors.AsType[finding.Finding](err); ok && f.Code == finding.HTTPFailed {
		return Truncated
	}
	return ""
}

// causeOfAnswer returns the cause that the manifest of a capture shows, or "".
func causeOfAnswer(m *capture.Manifest, asked client.Settings) Cause {
	status := http.StatusOK
	if m.Source.Status != nil {
		status = *m.Source.Status
	}
	media, _, _ := strings.Cut(strings.ToLower(m.Source.ContentType), ";")
	media = strings.TrimSpace(media)
	switch {
	case status != http.StatusOK:
		return causeOfStatus(status)
	case asked.Framing == "" && (media == "text/html" || media == "application/xhtml+xml"):
		return WebPage
	case asked.Framing == "" && media != "text/event-stream":
		return NotEventStream
	case m.End == capture.EndError:
		return Truncated
	case m.End == capture.EndLimit && asked.MaxBytes > 0 && m.Response().Bytes >= asked.MaxBytes:
		return SizeLimit
	case m.End == capture.EndLimit:
		return TimeLimit
	}
	return ""
}

func causeOfStatus(status int) Cause {
	switch {
	case status >= 300 && status < 400:
		return Redirected
	case slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired}, status):
		return Unauthorized
	case slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented}, status):
		return NotFound
	case status == http.StatusTooManyRequests:
		return TooMany
	case status >= 400 && status < 500:
		return Rejected
	case status >= 500 && status < 600:
		return ServerFailed
	}
	return OtherStatus
}

// causeOfRuns returns the cause that the runs of a capture show, or "".
func causeOfRuns(runs []analysis.Run) Cause {
	for _, run := range runs {
		if run.Run != nil {
			return ""
		}
		for _, f := range run.Findings {
			if f.Severity == finding.Error && f.Code != finding.NoRun && f.Code != finding.NoEvents {
				return Unreadable
			}
		}
	}
	return NoRun
}
