// Package join makes what a client needs first that joins a run: a prelude, after which it
// goes on with the rest of the run's events.
//
// The prelude is RUN_STARTED as the agent sent it, but without what AG-UI does not define,
// MESSAGES_SNAPSHOT, STATE_SNAPSHOT, and
// an event that opens each thing which is open: text messages, tool calls, steps, reasoning
// and subagents. What chunks opened is opened by a chunk without delta, because the rest of
// it comes in chunks. If the run has ended, its last event follows the snapshots instead.
//
// If the events of a run keep the rules that package sequence checks, a client that gets
// the prelude and the events after it accepts them too. It ends with the messages and the
// state of a client that got all events, also if it has older messages of the thread: a
// client that lost its connection can join again. A MESSAGES_SNAPSHOT leaves what a client
// has in its order. If that could be another order than the right one, two events precede
// the snapshot that make the reference client forget all messages.
//
// # Limits
//
// There is no prelude past the limits of packages reduce and sequence, and of this one. And
// these are not as if the client had got all events:
//
//   - Whom things belong to. A message of the snapshot belongs to the subagent that it names.
//     If events of the run name another one, the client refuses them. That can only be so
//     with messages of an earlier run, with those that a tool call created, with reasoning
//     that does not name the subagent of its span, and with ids that a snapshot of the agent
//     removed and the run uses again.
//   - The message that THINKING events of AG-UI 0.x have open follows all others.
//   - Several messages with the same id, and activities with the id of another message: an
//     event may change another one, or belong to another subagent.
//   - Tool calls that began before the client joined: if RUN_FINISHED does not name those
//     that wait for a result, the client does not count them. Interrupts of earlier runs.
//   - A message of a request that a client refuses in a snapshot is not in it, or lacks what
//     is wrong, such as null for an optional member.
//   - Messages that the Reducer does not know, such as activities that a client added itself:
//     a client that has them keeps them, unless it has to forget all. Package store/restore
//     says which messages of earlier runs it keeps. Which activities the agent removed is in
//     the metadata of MESSAGES_SNAPSHOT, which only the reference client 1.0.0 reads.
package join

import (
	"errors"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// MaxBytes bounds the size of the events of a run that are remembered: RUN_STARTED, those
// about subagents, and the last ones. Of ids, a Run remembers as many as a sequence.Checker.
const MaxBytes = 64 << 20

// ErrLimit means that a run exceeds a limit, so that there is no prelude.
var ErrLimit = errors.New("the run is too large to be joined")

// A Run is what is known of a run whose clients join. The zero value is not usable; use New.
type Run struct {
	checker   *sequence.Checker
	started   []byte   // RUN_STARTED
	subagents [][]byte // the events about subagents
	ends      [][]byte // RUN_FINISHED and RUN_ERROR
	bytes     int
	full      bool
	size      int // the expected size of a snapshot
	earlier   reduce.Changes
}

// New returns a Run without events.
func New() *Run { return &Run{checker: sequence.New(sequence.Options{Client: true})} }

// Event takes the next event of the run, whose first one is RUN_STARTED. It does not retain
// e. A RUN_STARTED that follows begins another run.
func (r *Run) Event(e *envelope.Event) {
	if e.Type == eventnames.RunStarted {
		r.subagents, r.ends, r.bytes, r.full = nil, nil, 0, false
		r.started = r.keep(e)
	}
	broken := len(r.checker.Event(e)) > 0
	switch e.Type {
	case eventnames.RunFinished, eventnames.RunError:
		if r.checker.End() && !(broken && len(r.ends) > 0) {
			r.ends = append(r.ends, r.keep(e))
		}
	case eventnames.SubagentStarted, eventnames.SubagentFinished, eventnames.SubagentError:
		if !broken && len(r.ends) == 0 && !r.limited() {
			r.subagents = append(r.subagents, r.keep(e))
		}
	}
}

// Earlier tells the Run what earlier runs changed, if the Reducer of Prelude did not get their
// events. A client may have seen only some of them.
func (r *Run) Earlier(c reduce.Changes) { r.earlier = c }

// Skip tells the Run that the next event cannot be read.
func (r *Run) Skip() { r.checker.Skip() }

// Ended reports whether the run has ended.
func (r *Run) Ended() bool { return len(r.ends) > 0 }

// limited reports whether the run exceeds a limit.
func (r *Run) limited() bool { return r.full || r.checker.Full() }

// keep returns a copy of an event on one line, without what AG-UI does not define.
func (r *Run) keep(e *envelope.Event) []byte {
	if r.bytes += len(e.Data); r.bytes > MaxBytes {
		r.full = true
		r.started, r.subagents = nil, nil // there will be no prelude
		return nil
	}
	return slices.Clone(strictjson.OneLine(reduce.KnownEvent(e)))
}
