package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/store"
)

// A Batch has events of one run, which a producer appends in the place of an agent.
//
// A run that is appended has no owner: each process that has the same log accepts its batches.
// All that is known of it is in the log. The id of its stream names the run and the producer,
// and the sequence number of a batch is compared with the number of events in the stream.
type Batch struct {
	Key   store.Key
	RunID string
	// Producer is what the producer calls itself. No other one can append to the run.
	Producer string
	// Sequence is the number of events of the run that precede the batch.
	Sequence int64
	// Input is the RunAgentInput of the run if Sequence is 0.
	Input []byte
	// Events are the events. If Sequence is 0, there is one at least. The run ends with the
	// last one if that is RUN_FINISHED or RUN_ERROR.
	Events [][]byte
}

// Appended is what the log has of a run that is appended.
type Appended struct {
	Events int64
	// End is store.Open while the run goes on.
	End store.RunEnd
}

// Errors of Append.
var (
	ErrProducer = errors.New("another producer appends the run")
	ErrEvents   = errors.New("the log has other events in the place of these")
	errTaken    = errors.New("the thread is taken for a moment")
)

// GapError reports that the log lacks events that precede a batch.
type GapError struct {
	// Events is the number of events that the log has.
	Events int64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("the log lacks events that precede the batch: it has %d of the run", e.Events)
}

// appendPrefix begins the ids of the streams that are appended. It marks in the log what no
// agent has answered to this program: it is in no capture, and is never evidence.
const appendPrefix = prefix + "append:"

// isAppended reports whether a stream is appended.
func isAppended(stream string) bool { return strings.HasPrefix(stream, appendPrefix) }

// appendStreams begins the ids of the streams in which producers append a run.
func appendStreams(runID string) string { return appendPrefix + digest(runID) + ":" }

// Append appends what the log does not have yet of a batch, and returns what it has then. The
// same batch can be sent again at any time.
//
// The error is a *GapError, ErrProducer, ErrEvents, ErrDifferent if the log has another request,
// ErrRunEnded if it has the end of the run and not all of the batch, a *BusyError if another run
// of the thread is active, ErrDraining, ErrRuns, ErrThreads, that of ctx, or that of the log.
func (r *Runs) Append(ctx context.Context, b Batch) (Appended, error) {
	x := appending{runs: r, batch: b, stream: appendStreams(b.RunID) + digest(b.Producer)}
	first, err := r.hear(ctx, b.Key, x.stream)
	var result Appended
	if err == nil {
		result, err = x.retry(ctx)
	}
	if x.ended || err != nil && first && !x.exists {
		r.forget(b.Key, x.stream)
		r.wake(b.Key)
	}
	return result, err
}

// appending is one call of Append.
type appending struct {
	runs   *Runs
	batch  Batch
	stream string
	exists bool // the log has the stream
	ended  bool // and its end
}

// retry tries until nobody else uses the thread.
func (x *appending) retry(ctx context.Context) (Appended, error) {
	for since := time.Now(); ; {
		result, err := x.try(ctx)
		switch {
		case errors.Is(err, store.ErrConflict):
			continue
		case !errors.Is(err, errTaken):
			return result, err
		}
		h, err := x.runs.holder(ctx, x.batch.Key)
		if err != nil {
			return Appended{}, err
		}
		if h.stream == x.stream { // another process appended the same batch meanwhile
			continue
		}
		if !h.ending || time.Since(since) > finishTime {
			return Appended{}, &BusyError{h.runID}
		}
		select {
		case <-ctx.Done():
			return Appended{}, context.Cause(ctx)
		case <-time.After(pollTime):
		}
	}
}

// try appends once. The error is also store.ErrConflict or errTaken.
func (x *appending) try(ctx context.Context) (Appended, error) {
	log, b := x.runs.log, &x.batch
	t, err := log.Thread(ctx, b.Key) // first: an append that succeeds shows that nothing has changed since
	switch {
	case errors.Is(err, store.ErrNoThread):
	case err != nil:
		return Appended{}, err
	case !t.DeletedAt.IsZero():
		return Appended{}, store.ErrDeleted
	}
	s, err := appendedStream(ctx, log, b.Key, b.RunID)
	switch {
	case err != nil:
		return Appended{}, err
	case s.ID == "":
		return x.start(ctx)
	case s.ID != x.stream:
		return Appended{}, ErrProducer
	}
	x.exists, x.ended = true, s.Ended
	old, err := x.compare(ctx, s)
	if err != nil {
		return Appended{}, err
	}
	missing := b.Events[min(max(old-b.Sequence, 0), int64(len(b.Events))):]
	if len(missing) > 0 && !s.Ended {
		return x.append(ctx, t.Last, old, nil, missing)
	}
	result := Appended{old, store.Open}
	if s.Ended {
		if result.End, err = x.end(ctx); err == nil && len(missing) > 0 {
			err = ErrRunEnded
		}
	}
	return result, err
}

// start appends the first batch.
func (x *appending) start(ctx context.Context) (Appended, error) {
	r, b := x.runs, &x.batch
	if b.Sequence > 0 {
		return Appended{}, &GapError{}
	}
	lease := leaseName(b.Key)
	taken, err := r.leases.Take(ctx, lease)
	switch {
	case err != nil:
		return Appended{}, err
	case !taken:
		return Appended{}, errTaken
	}
	defer r.wake(b.Key)
	defer r.leases.Release(lease)
	if free, err := r.free(ctx, b.Key); err != nil {
		return Appended{}, err
	} else if !free {
		return Appended{}, errTaken
	}
	switch last, err := find(ctx, r.log, b.Key, b.RunID, nil); {
	case err != nil:
		return Appended{}, err
	case isAppended(last.ID):
		return Appended{}, store.ErrConflict // the same batch came a moment earlier
	case !last.over():
		return Appended{}, ErrDifferent
	}
	if err := r.threads.admit(ctx, r.log, b.Key); err != nil {
		return Appended{}, err
	}
	t, err := r.log.Thread(ctx, b.Key)
	if err != nil && !errors.Is(err, store.ErrNoThread) {
		return Appended{}, err
	}
	return x.append(ctx, t.Last, 0, b.Input, b.Events)
}

// append appends events after those that the log has, and the request before them if it is
// not nil. It ends the stream after the last event of a run.
func (x *appending) append(ctx context.Context, after, old int64, input []byte, events [][]byte) (Appended, error) {
	r, b := x.runs, &x.batch
	began := time.Now()
	var entries []store.Entry
	add := func(kind store.Kind, data []byte) {
		entries = append(entries, store.Entry{Stream: x.stream, Kind: kind, Arrived: began.UTC().Truncate(time.Microsecond), Data: data})
	}
	if input != nil {
		add(store.Input, input)
	}
	for _, e := range events {
		add(store.Event, e)
	}
	ends := EndsRun(events[len(events)-1])
	if ends {
		add(store.End, []byte(capture.EndEOF))
	}
	if _, err := r.log.Append(ctx, b.Key, after, entries); err != nil {
		if !errors.Is(err, store.ErrConflict) && !deleted(err) && ctx.Err() == nil {
			r.settings.Observer.AppendFailed(err)
		}
		return Appended{}, err
	}
	x.exists, x.ended = true, ends
	r.settings.Observer.Appended(len(entries), time.Since(began))
	result := Appended{old + int64(len(events)), store.Open}
	var err error
	if ends {
		result.End, err = x.end(ctx)
	}
	return result, err
}

// compare returns the number of events that the log has, after it has compared those that the
// batch has, too.
func (x *appending) compare(ctx context.Context, s store.Stream) (number int64, err error) {
	b, after := &x.batch, s.First-1
	// The request is the first entry, and the events follow.
	if have := s.Entries - 1; !s.Ended && s.Last-s.First == have {
		switch {
		case b.Sequence > have:
			return 0, &GapError{have}
		case b.Sequence == have && have > 0: // nearly always
			return have, nil
		case b.Sequence > 0:
			number, after = b.Sequence, s.First+b.Sequence
		}
	}
	for e, err := range x.runs.log.Select(ctx, b.Key, store.Selection{After: after, To: s.Last}) {
		switch {
		case err != nil:
			return 0, err
		case e.Stream != s.ID:
		case e.Kind == store.Input && b.Sequence == 0 && !bytes.Equal(e.Data, b.Input):
			return 0, ErrDifferent
		case e.Kind == store.Event:
			if i := number - b.Sequence; i >= 0 && i < int64(len(b.Events)) && !bytes.Equal(e.Data, b.Events[i]) {
				return 0, ErrEvents
			}
			number++
		}
	}
	switch {
	case b.Sequence <= number:
		return number, nil
	case s.Ended:
		return 0, ErrRunEnded
	}
	return 0, &GapError{number}
}

// end returns how the run ended.
func (x *appending) end(ctx context.Context) (store.RunEnd, error) {
	b := &x.batch
	for run, err := range x.runs.log.Runs(ctx, store.RunQuery{Tenant: &b.Key.Tenant, Thread: &b.Key.Thread, ID: &b.RunID}) {
		if err != nil || run.Stream == x.stream {
			return run.End, err
		}
	}
	return store.Failed, nil // it could not start
}

// EndsRun reports whether an event ends its run.
func EndsRun(data []byte) bool {
	kind := typeOfRun(data)
	return kind == envelope.RunFinished || kind == envelope.RunError
}

// appendedStream returns the stream in which a producer appends a run. Its ID is empty if there
// is none.
func appendedStream(ctx context.Context, log store.Log, key store.Key, runID string) (store.Stream, error) {
	for s, err := range log.Streams(ctx, store.StreamQuery{Tenant: &key.Tenant, Thread: &key.Thread, Prefix: appendStreams(runID)}) {
		return s, err
	}
	return store.Stream{}, nil
}
