package serve

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/serve/internal/guard"
	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/store"
)

const (
	// maxBatch limits the events of a batch, and so the time for which others wait for the log.
	maxBatch = 1000
	// maxProducer limits the bytes of what a producer calls itself.
	maxProducer = 128
)

// append serves POST /threads/{thread}/events: events of a run that no upstream sends.
func (s *Server) append(q *request) {
	switch active := s.runs.Load(); {
	case !guard.MayAppend(q.Context()):
		s.refuse(q, AppendRefused, "the token of the request does not have the scope append")
	case active == nil:
		s.fail(q, runs.ErrDraining)
	default:
		body, ok := s.guard.ReadBody(q.w, q.Request)
		if !ok {
			return
		}
		batch := runs.Batch{Key: q.key()}
		if err := readBatch(&batch, body); err != nil {
			s.refuse(q, InvalidInput, err.Error())
			return
		}
		has, err := active.Append(q.Context(), batch)
		if err != nil {
			s.fail(q, err)
			return
		}
		answer := appended{ThreadID: batch.Key.Thread, RunID: batch.RunID, Events: has.Events}
		if has.End != store.Open {
			answer.End = &has.End
		}
		s.answer(q, answer)
	}
}

// appended is the answer to a batch.
type appended struct {
	ThreadID string `json:"thread_id"`
	RunID    string `json:"run_id"`
	// Events is the number of events of the run in the log.
	Events int64 `json:"events"`
	// End is nil while the run is open.
	End *store.RunEnd `json:"end"`
}

// readBatch reads the body of a request that appends. Its events are those of one run: the
// first begins it, and only the last can end it.
func readBatch(b *runs.Batch, body []byte) error {
	var o strictjson.Object
	if err := readObject(&o, body); err != nil {
		return err
	}
	b.RunID, b.Producer = o.Text("runId"), o.Text("producer")
	if err := store.CheckID(b.RunID); err != nil {
		return fmt.Errorf("runId: %w", err)
	}
	if b.Producer == "" || len(b.Producer) > maxProducer {
		return fmt.Errorf("producer is not a string of 1 to %d bytes", maxProducer)
	}
	sequence, _ := o.Get("sequence")
	number, err := strconv.ParseUint(string(sequence.Raw), 10, 63)
	if err != nil {
		return errors.New("sequence is not a whole number from 0")
	}
	b.Sequence = int64(number)
	request, given := o.Get("input")
	switch {
	case b.Sequence == 0 && !given:
		return errors.New("input is missing: with the sequence 0, it is the request of the run")
	case b.Sequence > 0 && given:
		return errors.New("input is only given with the sequence 0")
	case given:
		var in input
		if err := in.read(request.Raw, "threadId", "runId"); err != nil {
			return fmt.Errorf("input: %w", err)
		}
		if in.thread != b.Key.Thread || in.run != b.RunID {
			return errors.New("input has another threadId than the path, or another runId than the batch")
		}
		b.Input = request.Raw
	}
	events, _ := o.Get("events")
	if events.Kind != strictjson.ArrayStart {
		return errors.New("events is not an array")
	}
	err = strictjson.Elements(events, func(i int, v strictjson.Value, e *strictjson.Object) error {
		if err := checkAppended(b, i, v, e); err != nil {
			return fmt.Errorf("events[%d]: %w", i, err)
		}
		b.Events = append(b.Events, v.Raw)
		return nil
	})
	if err == nil && len(b.Events) == 0 && b.Sequence == 0 {
		err = errors.New("events is empty, and the sequence is 0: a run begins with an event")
	}
	return err
}

// checkAppended checks an event of a batch, and its place in the run.
func checkAppended(b *runs.Batch, i int, v strictjson.Value, e *strictjson.Object) error {
	first := b.Sequence == 0 && i == 0
	switch kind := e.Text("type"); {
	case i == maxBatch:
		return fmt.Errorf("a batch has at most %d events", maxBatch)
	case v.Kind != strictjson.ObjectStart || kind == "":
		return errors.New("it is not an object with a type")
	case bytes.IndexByte(v.Raw, '\r') >= 0: // readers would get LF (WHATWG HTML §9.2.6)
		return errors.New("it has a carriage return outside its strings, which server-sent events cannot carry")
	case i > 0 && runs.EndsRun(b.Events[i-1]):
		return errors.New("it follows the end of the run")
	case first && kind != eventnames.RunStarted && kind != eventnames.RunError:
		return errors.New("a run begins with RUN_STARTED, or with RUN_ERROR if it cannot start")
	case !first && kind == eventnames.RunStarted:
		return errors.New("the run has begun: each run is appended on its own")
	case kind == eventnames.RunStarted && (e.Text("threadId") != b.Key.Thread || e.Text("runId") != b.RunID):
		return errors.New("it has another threadId than the path, or another runId than the batch")
	}
	return nil
}
