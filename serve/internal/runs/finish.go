package runs

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
)

// A closing is the reason why a run is closed in the place of its agent.
type closing struct{ code, message string }

// The closings. Clients can rely on the codes.
var (
	ownerLost     = closing{"p20export.owner_lost", "The process that ran this run has ended. The run was closed."}
	cancelled     = closing{"p20export.cancelled", "The run was cancelled."}
	upstreamEnded = closing{"p20export.upstream_ended", "The response of the agent ended before the run did."}
	shutDown      = closing{"p20export.shutdown", "The server was stopped before the run had ended."}
	timedOut      = closing{"p20export.timeout", "The run took too long and was ended."}
)

// because returns a closing whose message has a reason, too.
func (c closing) because(reason string) closing {
	return closing{c.code, c.message + " The reason: " + reason + "."}
}

// event returns the RUN_ERROR of a closing.
func (c closing) event(at time.Time) []byte {
	text, _ := jsontext.AppendQuote([]byte(`{"type":"RUN_ERROR","message":`), c.message) // which is valid Unicode
	text = append(text, `,"code":"`+c.code+`","timestamp":`...)
	return append(strconv.AppendInt(text, at.UnixMilli(), 10), '}')
}

// ClosingCode returns the code of a closing, or "" if another program wrote it without one.
func ClosingCode(data []byte) string { return textOf(data, "code") }

// finish ends a stream, unless it has ended, and reports whether it did. An open run is
// closed first, which is reported too. So is a request to which the agent began no run, if
// silent is set: its readers learn what happened.
//
// The last position is read before anything else. If the append succeeds, nothing was
// appended since, so the stream was still open.
func finish(ctx context.Context, log store.Log, key store.Key, stream string, c closing, silent bool, end capture.End) (ended, closed bool, err error) {
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
		open, err := hasOpenRun(ctx, log, key, stream)
		if err != nil {
			return false, false, err
		}
		if silent && !open {
			begun, err := hasBegun(ctx, log, key, s)
			if err != nil {
				return false, false, err
			}
			open = !begun
		}
		now := time.Now()
		var entries []store.Entry
		if open {
			entries = append(entries, store.Entry{Stream: stream, Kind: store.Closing, Arrived: now, Data: c.event(now)})
		}
		entries = append(entries, store.Entry{Stream: stream, Kind: store.End, Arrived: now, Data: []byte(end)})
		if _, err = log.Append(ctx, key, t.Last, entries); err == nil || !errors.Is(err, store.ErrConflict) {
			return err == nil, err == nil && open, err
		}
	}
}
