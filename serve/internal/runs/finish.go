package runs

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/store"
)

// A closing is the reason why a run is closed in the place of its agent. If it stops the run,
// the run did not fail: it was cancelled.
type closing struct {
	code, message string
	stops         bool
}

// The closings. Clients can rely on the codes.
var (
	ownerLost      = closing{"p20export.owner_lost", "The process that ran this run has ended. The run was closed.", false}
	cancelled      = closing{"p20export.cancelled", "The run was cancelled.", true}
	superseded     = closing{"p20export.superseded", "The run was cancelled, because its client had left and another run of the thread was started.", true}
	upstreamEnded  = closing{"p20export.upstream_ended", "The response of the agent ended before the run did.", false}
	shutDown       = closing{"p20export.shutdown", "The server was stopped before the run had ended.", false}
	producerSilent = closing{"p20export.producer_silent", "The producer of the run sent nothing for too long. The run was closed.", false}
	timedOut       = closing{"p20export.timeout", "The run took too long and was ended.", false}
)

// because returns a closing whose message has a reason, too.
func (c closing) because(reason string) closing {
	return closing{c.code, c.message + " The reason: " + reason + ".", c.stops}
}

// event returns the RUN_ERROR of a closing.
func (c closing) event(at time.Time) []byte {
	text, _ := jsontext.AppendQuote([]byte(`{"type":"RUN_ERROR","message":`), c.message) // which is valid Unicode
	text = append(text, `,"code":"`+c.code+`","timestamp":`...)
	return append(strconv.AppendInt(text, at.UnixMilli(), 10), '}')
}

// The keys of the metadata of a RUN_FINISHED that closes a run. RUN_FINISHED has no code.
const metadataKey, codeKey, messageKey = "p20export", "code", "message"

// metadata returns the metadata of the RUN_FINISHED of a closing.
func (c closing) metadata() event.JSON {
	return event.JSON(`{"` + metadataKey + `":{"` + codeKey + `":"` + c.code + `","` + messageKey + `":"` + c.message + `"}}`)
}

// ClosingCode returns the code of a closing event: the code of a RUN_ERROR, or that in the
// metadata of a RUN_FINISHED. It returns "" for what is closed before a RUN_FINISHED, for an
// event of the agent that was completed, and if another program wrote the event.
func ClosingCode(data []byte) string {
	e, err := envelope.ReadEvent(data)
	if err != nil {
		return ""
	}
	code, _ := e.Get("code")
	if e.Type != envelope.RunError {
		metadata, _ := e.Get("metadata")
		ours, _ := metadata.Member(metadataKey)
		code, _ = ours.Member(codeKey)
	}
	if text, _ := code.Text(); strings.HasPrefix(text, codePrefix) {
		return text
	}
	return ""
}

// codePrefix begins the codes of closings.
const codePrefix = "p20export."

// finish ends a stream, unless it has ended, and reports whether it did. An open run is
// closed first, which is reported too. So is a request to which the agent began no run, if
// silent is set: its readers learn what happened.
//
// A run that is stopped ends with RUN_FINISHED and the outcome cancelled, after the ends of
// what is open in it. If that is not possible, it ends with a RUN_ERROR, like all others.
//
// The last position is read before anything else. If the append succeeds, nothing was
// appended since, so the stream was still open. If it does not, because the run goes on, a
// run that is stopped is not looked up again: reading what was appended since is enough, and
// shorter, and the next append has to come before the next one of the run.
func finish(ctx context.Context, log store.Log, key store.Key, stream string, c closing, silent bool, end capture.End) (ended, closed bool, err error) {
	stop := stopper{log: log, key: key, stream: stream}
	for {
		t, err := log.Thread(ctx, key)
		if err != nil {
			return false, false, err
		}
		if !t.DeletedAt.IsZero() {
			return false, false, store.ErrDeleted
		}
		s, err := log.Stream(ctx, key, stream)
		if err != nil || s.Ended || s.Entries == 0 {
			return false, false, err
		}
		run, open, err := openRun(ctx, log, key, stream)
		if err != nil {
			return false, false, err
		}
		stops := open && c.stops
		if silent && !open {
			begun, err := hasBegun(ctx, log, key, s)
			if err != nil {
				return false, false, err
			}
			open = !begun
		}
		for last, same := t.Last, true; same; {
			now := time.Now()
			var events [][]byte
			if stops {
				if events, err = stop.events(ctx, run, last, c, now); err != nil {
					return false, false, err
				}
			}
			if open && events == nil {
				events = [][]byte{c.event(now)}
			}
			var entries []store.Entry
			for _, e := range events {
				entries = append(entries, store.Entry{Stream: stream, Kind: store.Closing, Arrived: now, Data: e})
			}
			entries = append(entries, store.Entry{Stream: stream, Kind: store.End, Arrived: now, Data: []byte(end)})
			var conflict *store.ConflictError
			if _, err = log.Append(ctx, key, last, entries); !errors.As(err, &conflict) {
				return err == nil, err == nil && open, err
			}
			if last = conflict.Last; !stops {
				break
			}
			if same, err = stop.goesOn(ctx, last); err != nil {
				return false, false, err
			}
		}
	}
}
