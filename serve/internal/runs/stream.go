package runs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/store"
)

// prefix begins the ids of the streams of this package. It marks them in a log that other
// programs also write: only such streams are cancelled or closed.
const prefix = "serve:"

// streamID returns the id of the stream of an attempt to run a request. Run ids can be longer
// than stream ids, so the id has a digest. The name of the agent follows, unless the id could
// then not be that of a stream. Older releases did not add it.
func streamID(runID string, attempt int, agent string) string {
	id := streamPrefix(runID) + strconv.Itoa(attempt)
	if named := id + "@" + agent; agent != "" && store.CheckID(named) == nil {
		return named
	}
	return id
}

// streamPrefix begins the ids of all attempts.
func streamPrefix(runID string) string { return prefix + digest(runID) + ":" }

// namedStream matches the id of a stream that has the name of its agent.
var namedStream = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^` + prefix + `[0-9a-f]{24}:[0-9]+@(.+)$`)
})

// AgentOf returns the name of the agent that answers in a stream, or "" if the id does not have
// it: the stream is that of an older release, of a producer or of another program.
func AgentOf(stream string) string {
	if found := namedStream().FindStringSubmatch(stream); found != nil {
		return found[1]
	}
	return ""
}

// attempted returns the stream of an attempt, of any agent. It is zero if there is none.
func attempted(ctx context.Context, log store.Log, key store.Key, runID string, attempt int) (store.Stream, error) {
	// Those of later attempts can have the same prefix, but follow.
	q := store.StreamQuery{Tenant: &key.Tenant, Thread: &key.Thread, Prefix: streamPrefix(runID) + strconv.Itoa(attempt)}
	for s, err := range log.Streams(ctx, q) {
		return s, err
	}
	return store.Stream{}, nil
}

// digest returns a name of fixed length for a text of any.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// leaseName returns the name of the lease of a thread. Different threads have different
// names.
func leaseName(key store.Key) string {
	return "thread:" + strconv.Itoa(len(key.Tenant)) + ":" + key.Tenant + ":" + key.Thread
}

// An attempt is what the log has of a request.
type attempt struct {
	store.Stream
	number    int  // from 1; 0 if there is none
	same      bool // it has the same request
	started   bool // the agent sent an event
	closed    bool // it was closed for another reason than that somebody stopped it
	cancelled bool // somebody stopped it
}

// over reports whether the request can be sent again: it has not led to a run, and nobody
// wanted it to end.
func (a *attempt) over() bool { return a.number == 0 || a.Ended && !a.started && !a.cancelled }

// find returns the last attempt to run a request, and compares its request with body. The
// numbers of attempts have no gaps.
func find(ctx context.Context, log store.Log, key store.Key, runID string, body []byte) (attempt, error) {
	var last attempt
	low, high := 0, 1 // low exists
	for {
		s, err := attempted(ctx, log, key, runID, high)
		if err != nil {
			return attempt{}, err
		}
		if s.Entries == 0 {
			break
		}
		last.Stream, last.number = s, high
		low, high = high, 2*high
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		s, err := attempted(ctx, log, key, runID, middle)
		switch {
		case err != nil:
			return attempt{}, err
		case s.Entries == 0:
			high = middle
		default:
			last.Stream, last.number = s, middle
			low = middle
		}
	}
	if last.number > 0 {
		if err := last.read(ctx, log, key, body); err != nil {
			return attempt{}, err
		}
	}
	if last.over() {
		if a, err := findAppended(ctx, log, key, runID); err != nil || a.number > 0 {
			return a, err
		}
	}
	return last, nil
}

// findAppended returns the run of an id that a producer appends, which is never that of a
// request to an agent.
func findAppended(ctx context.Context, log store.Log, key store.Key, runID string) (attempt, error) {
	s, err := appendedStream(ctx, log, key, runID)
	if err != nil || s.ID == "" {
		return attempt{}, err
	}
	a := attempt{Stream: s, number: 1}
	err = a.read(ctx, log, key, nil)
	a.started = true
	return a, err
}

// named returns the attempt to which the agent answered with a run of an id, which may differ
// from that of the request. It has ended if that run has.
func named(ctx context.Context, log store.Log, key store.Key, runID string) (attempt, error) {
	var last store.Run
	for run, err := range log.Runs(ctx, store.RunQuery{Tenant: &key.Tenant, Thread: &key.Thread, ID: &runID}) {
		if err != nil {
			return attempt{}, err
		}
		if strings.HasPrefix(run.Stream, prefix) {
			last = run
		}
	}
	if last.Stream == "" {
		return attempt{}, nil
	}
	s, err := log.Stream(ctx, key, last.Stream)
	if err != nil {
		return attempt{}, err
	}
	a := attempt{Stream: s, number: 1}
	a.ID = last.Stream
	err = a.read(ctx, log, key, nil)
	a.Ended = a.Ended || last.End != store.Open
	a.cancelled = a.cancelled && (last.End == store.Cancelled || last.End == store.Failed)
	return a, err
}

// read compares the request of the attempt with body, and finds out what became of it.
func (a *attempt) read(ctx context.Context, log store.Log, key store.Key, body []byte) error {
	for e, err := range log.Select(ctx, key, store.Selection{After: a.First - 1, To: a.Last}) {
		if err != nil {
			return err
		}
		if e.Stream == a.ID && e.Kind == store.Input {
			a.same = bytes.Equal(e.Data, body)
		}
		a.look(e)
		if a.started {
			break
		}
	}
	if !a.Ended {
		return nil
	}
	// The last closing event, which has the code, is followed by the end in the same append.
	for e, err := range log.Select(ctx, key, store.Selection{After: a.Last - 2, To: a.Last}) {
		if err != nil {
			return err
		}
		a.look(e)
	}
	return nil
}

// look looks at an entry of the thread. A stream that was cancelled has that end, also if no
// run was open that had to be closed. One that was cut for another reason has its closing
// before the end.
func (a *attempt) look(e *store.Entry) {
	switch {
	case e.Stream != a.ID:
	case e.Kind == store.Closing:
		code := ClosingCode(e.Data)
		a.closed = code != cancelled.code && code != superseded.code
		fallthrough
	default:
		a.started = a.started || e.Kind == store.Event
		a.cancelled = e.Kind == store.End && string(e.Data) == string(capture.EndCancelled) && !a.closed
	}
}

// openRun returns the run of a stream that has not ended, and whether there is one.
func openRun(ctx context.Context, log store.Log, key store.Key, stream string) (store.Run, bool, error) {
	for run, err := range log.Runs(ctx, store.RunQuery{Tenant: &key.Tenant, Thread: &key.Thread, Ends: []store.RunEnd{store.Open}}) {
		if err != nil || run.Stream == stream {
			return run, err == nil, err
		}
	}
	return store.Run{}, false, nil
}

// hasBegun reports whether a stream has an event with which a run begins: RUN_STARTED, or the
// RUN_ERROR of a run that could not start. It is the first event, if the agent keeps to AG-UI.
func hasBegun(ctx context.Context, log store.Log, key store.Key, s store.Stream) (bool, error) {
	for e, err := range log.Select(ctx, key, store.Selection{After: s.First - 1, To: s.Last, Kinds: []store.Kind{store.Event}}) {
		if err != nil {
			return false, err
		}
		if e.Stream == s.ID {
			if kind := typeOfRun(e.Data); kind == envelope.RunStarted || kind == envelope.RunError {
				return true, nil
			}
		}
	}
	return false, nil
}

// openStreams returns the streams of this package in a thread that have not ended. There is
// at most one, unless a process lost its lease.
func openStreams(ctx context.Context, log store.Log, key store.Key) (open []store.Stream, err error) {
	// Without the prefix, the log has an index for this.
	for s, err := range log.Streams(ctx, store.StreamQuery{Tenant: &key.Tenant, Thread: &key.Thread, Open: true}) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(s.ID, prefix) {
			open = append(open, s)
		}
	}
	return open, nil
}

// Pending returns the open stream of a thread whose agent has not sent an event yet. Its ID is
// empty if there is none.
func Pending(ctx context.Context, log store.Log, key store.Key) (store.Stream, error) {
	open, err := openStreams(ctx, log, key)
	if n := len(open); err == nil && n > 0 && open[n-1].Entries == 1 {
		return open[n-1], nil
	}
	return store.Stream{}, err
}

// runIDOf returns the run id of a request, or "".
func runIDOf(request []byte) string { return textOf(request, "runId") }

// textOf returns the string of a member of an object, or "".
func textOf(data []byte, name string) string {
	var o strictjson.Object
	if v, err := strictjson.ReadText(&o, new(strictjson.Decoder), data); err != nil || v.Kind != strictjson.ObjectStart {
		return ""
	}
	return o.Text(name)
}

// deleted reports whether an error says that the thread was deleted.
func deleted(err error) bool { return errors.Is(err, store.ErrDeleted) }
