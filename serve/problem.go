package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/serve/internal/guard"
	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
	"github.com/p20export/p20export/store/restore"
)

// Refusal is the reason why a request was refused: the code of a problem document.
type Refusal string

// The reasons.
const (
	NotFound         Refusal = "not_found"           // there is nothing at the path
	MethodNotAllowed Refusal = "method_not_allowed"  // the path has other methods
	InvalidID        Refusal = "invalid_id"          // an id cannot be that of a thread or a run
	InvalidQuery     Refusal = "invalid_query"       // a parameter has no meaning
	InvalidCursor    Refusal = "invalid_cursor"      // the id of an event is not one of the view, or a place not one of the list
	InvalidInput     Refusal = "invalid_input"       // the body is not what the path needs
	AppendRefused    Refusal = "append_not_allowed"  // the token may not append events
	SequenceGap      Refusal = "sequence_gap"        // the log lacks events that precede those of a batch
	OtherProducer    Refusal = "other_producer"      // another producer appends the run
	UnknownAgent     Refusal = "unknown_agent"       // there is no agent with the name
	UnknownThread    Refusal = "unknown_thread"      // there is no such thread
	UnknownRun       Refusal = "unknown_run"         // the thread has no such run
	CannotFork       Refusal = "cannot_fork"         // no request can continue the run
	NoCapture        Refusal = "no_capture"          // there is no finished capture of the run
	CaptureFailed    Refusal = "capture_failed"      // the capture cannot be read
	NotSealed        Refusal = "not_sealed"          // no seal covers the thread, the position or the run
	ThreadRewritten  Refusal = "thread_rewritten"    // the entries are not those that were sealed
	OffsetGone       Refusal = "offset_gone"         // the log lost the event before an offset
	ThreadDeleted    Refusal = "thread_deleted"      // the thread was deleted
	ThreadTooLarge   Refusal = "thread_too_large"    // the thread does not fit in memory
	ThreadBusy       Refusal = "thread_busy"         // another run of the thread is active
	RunDiffers       Refusal = "run_differs"         // the run was started with another request
	RunEnded         Refusal = "run_ended"           // the run has ended
	RunCancelled     Refusal = "run_cancelled"       // the run was cancelled before it began
	TooManyRuns      Refusal = "too_many_runs"       // too many runs are active
	TooManyQueued    Refusal = "too_many_queued"     // too many requests wait for their thread
	TooManyThreads   Refusal = "too_many_threads"    // the tenant has too many threads
	TooManyReaders   Refusal = "too_many_readers"    // too many clients read
	Unavailable      Refusal = "unavailable"         // the server starts or stops
	LogFailed        Refusal = "log_failed"          // the log does not work
	AgentFailed      Refusal = "agent_failed"        // the agent could not be reached
	AgentTimeout     Refusal = "agent_timeout"       // the agent did not answer in time
	AgentAnswer      Refusal = "agent_not_streaming" // the agent did not answer with events

	MalformedRequest = Refusal(guard.Malformed)    // the request can be read in several ways
	Unauthorized     = Refusal(guard.Unauthorized) // the request has no token that is known
	OriginRefused    = Refusal(guard.Origin)       // pages of this origin may not send requests
	HostRefused      = Refusal(guard.Host)         // the Host is not one of this server
	MediaType        = Refusal(guard.MediaType)    // the body is not JSON
	BodyTooLarge     = Refusal(guard.BodyTooLarge) // the body is too large
	BodyTimeout      = Refusal(guard.BodyTimeout)  // the body did not arrive in time
	Overloaded       = Refusal(guard.Overloaded)   // too much memory is in use
)

// status returns the HTTP status of a refusal.
func (r Refusal) status() int {
	switch r {
	case InvalidID, InvalidQuery, InvalidCursor, InvalidInput:
		return http.StatusBadRequest
	case TooManyThreads, AppendRefused:
		return http.StatusForbidden
	case NotFound, UnknownAgent, UnknownThread, UnknownRun, NoCapture, NotSealed:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case ThreadBusy, RunDiffers, RunEnded, RunCancelled, SequenceGap, OtherProducer, ThreadRewritten, CannotFork:
		return http.StatusConflict
	case ThreadDeleted, OffsetGone:
		return http.StatusGone
	case ThreadTooLarge:
		return http.StatusUnprocessableEntity
	case AgentFailed, AgentAnswer:
		return http.StatusBadGateway
	case AgentTimeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusServiceUnavailable
}

// retryAfter is the value of Retry-After, in seconds, of a status that asks for patience.
const retryAfter = "1"

// problem is a problem document (RFC 9457). Its type is about:blank, which is omitted.
type problem struct {
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail,omitempty"`
	Code   Refusal `json:"code"`
	// RunID is the run that is active, if it is known.
	RunID string `json:"run_id,omitempty"`
	// Events is the number of events of the run in the log, with SequenceGap.
	Events *int64 `json:"events,omitempty"`
}

// refuse answers a request with a problem document.
func (s *Server) refuse(q *request, code Refusal, detail string) {
	s.refuseWith(q, problem{Status: code.status(), Detail: detail, Code: code})
}

func (s *Server) refuseWith(q *request, p problem) {
	s.settings.Observer.Refused(p.Code)
	p.Title = http.StatusText(p.Status)
	h := q.w.Header()
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", retryAfter)
	}
	for _, name := range []string{"ETag", "Cache-Control", "Content-Disposition", "Content-Security-Policy", nextOffset, upToDate, cursorName, closedName} {
		h.Del(name)
	}
	s.write(q, p.Status, "application/problem+json", p)
}

// refuseGuarded answers a request that the guard refuses.
func (s *Server) refuseGuarded(w http.ResponseWriter, r *http.Request, status int, code guard.Code, detail string) {
	s.refuseWith(&request{Request: r, w: w}, problem{Status: status, Detail: detail, Code: Refusal(code)})
}

// answer answers a request with a JSON document.
func (s *Server) answer(q *request, document any) {
	s.write(q, http.StatusOK, "application/json", document)
}

// write writes a JSON document.
func (s *Server) write(q *request, status int, mediaType string, document any) {
	s.writeText(q, status, mediaType, s.encode(document))
}

// encode encodes a JSON document. Ids may have invalid Unicode, which becomes U+FFFD. It returns
// nil if that fails.
func (s *Server) encode(document any) []byte {
	text, err := json.Marshal(document, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		s.settings.Logger.Error("an answer cannot be encoded", "error", err)
	}
	return text
}

const (
	// largeAnswer is the size of the answers that are limited together.
	largeAnswer = 64 << 10
	// maxAnswers limits the size of all large answers that clients have not read yet.
	maxAnswers = 256 << 20
)

// writeText writes an encoded document. A client that does not read is dropped.
func (s *Server) writeText(q *request, status int, mediaType string, text []byte) {
	if size := int64(len(text)); size > largeAnswer {
		defer s.answers.Add(-size)
		if n := s.answers.Add(size); n > maxAnswers && n > size {
			s.refuse(q, Overloaded, "too many large answers are being read: try again")
			return
		}
	}
	if text == nil {
		status = http.StatusInternalServerError
	}
	h := q.w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	q.w.WriteHeader(status)
	if q.Method != http.MethodHead {
		t := s.sender(q)
		t.send(text)
		t.end()
	}
}

// fail answers a request that failed with an error of the log, of runs or of an agent.
func (s *Server) fail(q *request, err error) {
	var busy *runs.BusyError
	var gap *runs.GapError
	var upstream *proxy.UpstreamError
	var refused *proxy.Refused
	var unreadable *captureError
	switch {
	case q.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the client has left
	case errors.As(err, &busy):
		s.refuseWith(q, problem{Status: ThreadBusy.status(), Code: ThreadBusy, Detail: err.Error() + ": wait for its end, or cancel it", RunID: busy.RunID})
	case errors.As(err, &gap):
		s.refuseWith(q, problem{Status: SequenceGap.status(), Code: SequenceGap, Detail: err.Error(), Events: &gap.Events})
	case errors.As(err, &refused):
		s.refuse(q, AgentAnswer, err.Error())
	case errors.As(err, &upstream):
		s.refuse(q, AgentFailed, err.Error())
	case errors.As(err, &unreadable):
		s.sayFailed(err)
		s.refuse(q, CaptureFailed, "the capture of the run cannot be read") // the error can name files
	case isNoCapture(err):
		s.refuse(q, NoCapture, err.Error())
	default:
		code, ok := refusalOf(err)
		if code == ThreadRewritten {
			s.say(slog.LevelError, "a thread was rewritten: its entries are not those that were sealed", "tenant", q.tenant, "thread", q.ids[0])
		}
		if !ok {
			s.sayFailed(err)
			s.refuse(q, code, "the log does not work at the moment") // the error can name a host
			return
		}
		s.refuse(q, code, err.Error())
	}
}

// sayFailed says that the log failed, or that a capture, or the directory of captures, cannot be
// read.
func (s *Server) sayFailed(err error) {
	message := "the log failed"
	if _, ok := errors.AsType[*captureError](err); ok {
		message = "the captures cannot be read"
	}
	s.say(slog.LevelWarn, message, "error", err)
}

// warnInterval is the time between messages about a log that fails. Clients try again often.
const warnInterval = 10 * time.Second

// say says what is wrong with the log, unless something was said a moment ago.
func (s *Server) say(level slog.Level, message string, about ...any) {
	now, last := time.Now().UnixNano(), s.warned.Load()
	if now-last >= int64(warnInterval) && s.warned.CompareAndSwap(last, now) {
		s.settings.Logger.Log(context.Background(), level, message, about...)
	}
}

// refusalOf returns the refusal for an error, and whether the error is known. All others are
// failures of the log.
func refusalOf(err error) (Refusal, bool) {
	for _, known := range []struct {
		err  error
		code Refusal
	}{
		{store.ErrDeleted, ThreadDeleted}, {store.ErrNoThread, UnknownThread}, {store.ErrKey, InvalidID}, {store.ErrClosed, Unavailable}, {store.ErrRewound, Unavailable},
		{attach.ErrCursor, InvalidCursor}, {restore.ErrTooLarge, ThreadTooLarge}, {attach.ErrClosed, Unavailable}, {attach.ErrMemory, Overloaded}, {restore.ErrPosition, InvalidQuery},
		{runs.ErrDifferent, RunDiffers}, {runs.ErrDraining, Unavailable}, {runs.ErrRuns, TooManyRuns}, {runs.ErrQueue, TooManyQueued},
		{runs.ErrThreads, TooManyThreads}, {runs.ErrCancelled, RunCancelled}, {runs.ErrNoRun, UnknownRun}, {runs.ErrRunEnded, RunEnded}, {runs.ErrNoEvents, AgentFailed}, {runs.ErrProducer, OtherProducer}, {runs.ErrEvents, RunDiffers}, {errOffset, OffsetGone},
		{errPosition, InvalidQuery}, {errNoEntry, NotFound}, {errRunSize, ThreadTooLarge}, {errNoRun, UnknownRun}, {errNoRunAt, UnknownRun}, {lineage.ErrFork, CannotFork},
		{proxy.ErrTimeout, AgentTimeout}, {proxy.ErrDrained, Unavailable}, {proxy.ErrBusy, TooManyRuns},
	} {
		if errors.Is(err, known.err) {
			return known.code, true
		}
	}
	if code, ok := refusalOfSeal(err); ok {
		return code, true
	}
	return LogFailed, false
}
