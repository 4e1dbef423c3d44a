package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/exchange"
	"github.com/p20export/p20export/internal/hostcheck"
)

// Match says which capture answers a request.
type Match string

const (
	// MatchAny answers every request with the same capture. It needs exactly one.
	MatchAny Match = "any"
	// MatchOrder answers one request with each capture, in the order in which the
	// captures were started.
	MatchOrder Match = "order"
	// MatchInput answers with a capture whose request has the same last user message.
	// If there are several, they take turns, in the order in which they were started.
	MatchInput Match = "input"
)

// Settings are the settings of a replay.
type Settings struct {
	// Match is MatchAny for a single capture and MatchOrder for a directory if it is
	// empty.
	Match Match
	// Speed divides the recorded pauses: 1 keeps them, and 2 halves them. Zero means no
	// pauses.
	Speed float64
	// RequestIDs replaces the thread id and the run id in the events with those of the
	// request. The response then has the header AlteredHeader.
	RequestIDs bool
	// AnyHost accepts requests whose Host header does not name this machine. Otherwise they
	// are refused, because a page in a browser could send them.
	AnyHost bool
	// AllowedOrigins are the origins of pages that may read responses in a browser, in the
	// form that ParseOrigin returns.
	AllowedOrigins []string
	// Log is for requests and responses, without their content. It may be nil.
	Log *slog.Logger
}

// AlteredHeader is a header of responses that differ from the recorded bytes. Its value
// says what was altered.
const AlteredHeader = "P20export-Altered"

// MaxRequestBytes limits the body of a request, like that of request.json in a capture.
const MaxRequestBytes = 64 << 20

// Replay answers requests with captures. It is an http.Handler, and safe for concurrent
// use.
type Replay struct {
	settings Settings
	all      []*recorded // in the order in which they were started

	serving sync.RWMutex // read-locked while a request is answered
	stopped atomic.Bool  // a response was broken off because Serve ended

	mu      sync.Mutex
	next    int                    // the capture that MatchOrder takes
	byInput map[inputKey]*rotation // for MatchInput
}

// rotation is a list of captures that take turns.
type rotation struct {
	list []*recorded
	next int
}

// New loads and verifies a capture, or all captures in a directory and below it, as
// capture.Search finds them. In a directory, unfinished captures and those in which ids
// cannot be replaced are skipped with a warning in the log, unless none is left.
//
// New fails if a capture is damaged, or cannot be replayed with the settings. The error
// names the capture, and may contain a finding.
func New(ctx context.Context, path string, s Settings) (*Replay, error) {
	single := !capture.IsSearchRoot(path)
	if s.Match == "" {
		if s.Match = MatchOrder; single {
			s.Match = MatchAny
		}
	}
	if !(s.Speed >= 0) {
		return nil, fmt.Errorf("the speed is %v; it must not be negative", s.Speed)
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	r := &Replay{settings: s}
	var err error
	if single {
		err = r.add(ctx, path)
	} else {
		err = r.addAll(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	switch s.Match {
	case MatchAny:
		if len(r.all) != 1 {
			return nil, fmt.Errorf("%d captures cannot all answer every request", len(r.all))
		}
	case MatchInput:
		return r, r.indexInputs()
	}
	return r, nil
}

// Len returns the number of captures.
func (r *Replay) Len() int { return len(r.all) }

// Match returns which capture answers a request.
func (r *Replay) Match() Match { return r.settings.Match }

// Errors of New match ErrNoRequests if no capture can match an input, ErrIDs if ids cannot be
// replaced in a response, and ErrNoEvents for a file that has no events.
var (
	ErrNoRequests = errors.New("no capture has a request with a user message, so none can match an input")
	ErrIDs        = errors.New("the ids in the response cannot be replaced")
	ErrNoEvents   = errors.New("it is not a capture, and contains no events")
)

// errUnmatched is the error for a request that no capture answers.
type errUnmatched struct{ reason string }

func (e errUnmatched) Error() string { return e.reason }

// choose returns the capture that answers a request.
func (r *Replay) choose(in *input) (*recorded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.settings.Match {
	case MatchOrder:
		if r.next == len(r.all) {
			return nil, errUnmatched{fmt.Sprintf("all captures (%d) were replayed; start the replay again to begin with the first", len(r.all))}
		}
		r.next++
		return r.all[r.next-1], nil
	case MatchInput:
		if !in.hasUser {
			return nil, errUnmatched{"the request has no user message"}
		}
		of, ok := r.byInput[in.key]
		if !ok {
			return nil, errUnmatched{"no capture has a request with this last user message"}
		}
		c := of.list[of.next]
		of.next = (of.next + 1) % len(of.list)
		return c, nil
	}
	return r.all[0], nil
}

// ServeHTTP implements http.Handler. It answers POST requests to any path. A request that
// no capture answers gets the status 404 and the reason.
func (r *Replay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.serving.RLock()
	defer r.serving.RUnlock()
	if !r.settings.AnyHost && !hostcheck.Local(request.Host, nil) {
		r.refuse(w, http.StatusMisdirectedRequest, "the host in the request is not this machine")
		return
	}
	allowed := r.allowOrigin(w.Header(), request)
	if isPreflight(request) {
		r.preflight(w, request, allowed)
		return
	}
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		r.refuse(w, http.StatusMethodNotAllowed, "recorded runs answer only POST requests")
		return
	}
	needed := r.settings.Match == MatchInput || r.settings.RequestIDs
	body, err := readBody(w, request, needed)
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		r.refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes", MaxRequestBytes))
		return
	}
	if err != nil {
		r.refuse(w, http.StatusBadRequest, "the request is incomplete")
		return
	}
	var in *input
	if needed {
		if in, err = readInput(body); err != nil {
			r.refuse(w, http.StatusBadRequest, "the request is not a run input: "+err.Error())
			return
		}
	}
	if r.settings.RequestIDs && !in.hasIDs() {
		r.refuse(w, http.StatusBadRequest, "the request has no threadId or no runId to replace the recorded ids with")
		return
	}
	c, err := r.choose(in)
	if err != nil {
		r.refuse(w, http.StatusNotFound, err.Error())
		return
	}
	r.answer(w, request, c, in)
}

// readBody reads the body of a request within a limit of time and size. It returns the body
// if keep is true, and nil otherwise.
func readBody(w http.ResponseWriter, request *http.Request, keep bool) (body []byte, err error) {
	until := func(t time.Time) error {
		err := http.NewResponseController(w).SetReadDeadline(t)
		if errors.Is(err, http.ErrNotSupported) { // such as a recorder in a test
			return nil
		}
		return err
	}
	if err := until(time.Now().Add(exchange.BodyTimeout)); err != nil {
		return nil, err
	}
	limited := http.MaxBytesReader(w, request.Body, MaxRequestBytes)
	if keep {
		body, err = io.ReadAll(limited)
	} else {
		_, err = io.Copy(io.Discard, limited)
	}
	if err == nil {
		err = until(time.Time{})
	}
	return body, err
}

// refuse answers with an error of our own.
func (r *Replay) refuse(w http.ResponseWriter, status int, reason string) {
	r.settings.Log.Warn("request refused", "status", status, "reason", reason)
	http.Error(w, reason, status)
}

// answer answers with a capture. It panics with http.ErrAbortHandler to break off the
// connection.
func (r *Replay) answer(w http.ResponseWriter, request *http.Request, c *recorded, in *input) {
	ctx, started := request.Context(), time.Now()
	log := r.settings.Log.With("capture", c.path)
	body, altered, err := c.open(ctx, started, r.settings.Speed, in)
	if err != nil {
		log.Error("capture not readable", "error", err)
		http.Error(w, "the capture cannot be read", http.StatusInternalServerError)
		return
	}
	defer body.Close()
	for name, values := range c.header {
		w.Header()[name] = values
	}
	if altered {
		w.Header().Set(AlteredHeader, "ids")
		w.Header().Del("Content-Encoding") // decoded, to find the ids
		log = log.With("altered", "ids")
	}
	w.WriteHeader(c.status)
	n, err := send(w, body)
	log = log.With("status", c.status, "bytes", n, "duration", time.Since(started).Round(time.Microsecond))
	cause := context.Cause(ctx)
	switch {
	case err == nil && c.end == capture.EndEOF:
		log.Info("response sent")
		return
	case err == nil:
		log.Info("response broken off as recorded", "end", string(c.end))
	case cause != nil && cause != context.Canceled:
		r.stopped.Store(true)
		log.Warn("response broken off", "reason", "the replay was stopped")
	case cause != nil || errors.Is(err, errClient):
		log.Info("client left")
	default:
		log.Error("response broken off", "error", err)
	}
	panic(http.ErrAbortHandler)
}

// errClient is in the errors of send for a client that does not take the response.
var errClient = errors.New("the client left")

// send copies a body to a client, and flushes after each read. It returns the number of
// bytes.
func send(w http.ResponseWriter, body io.Reader) (n int64, err error) {
	client := http.NewResponseController(w)
	if err := client.Flush(); err != nil {
		return 0, fmt.Errorf("%w: %w", errClient, err)
	}
	buf := make([]byte, bufferBytes)
	for {
		k, err := body.Read(buf)
		if k > 0 {
			m, err := w.Write(buf[:k])
			n += int64(m)
			if err == nil {
				err = client.Flush()
			}
			if err != nil {
				return n, fmt.Errorf("%w: %w", errClient, err)
			}
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// shutdownTime limits the time for the ends of responses when Serve ends.
const shutdownTime = time.Second

// Serve answers requests on l until ctx is done. Then it breaks off the open responses and
// returns the cause of ctx if there were any.
func (r *Replay) Serve(ctx context.Context, l net.Listener) error {
	server := exchange.NewServer(r, r.settings.Log)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// The end of a response is written after its handler has returned.
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if server.Shutdown(soon) != nil {
		server.Close()
	}
	r.serving.Lock() // until all handlers have returned
	defer r.serving.Unlock()
	if r.stopped.Load() {
		return context.Cause(ctx)
	}
	return nil
}

// ParseSpeed parses a speed: 0, or a positive number.
func ParseSpeed(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= maxSpeed) {
		return 0, fmt.Errorf("the speed is a number from 0 to %d", int(maxSpeed))
	}
	return f, nil
}

// maxSpeed is more than anyone can use.
const maxSpeed = 1e6
