// Package join makes what a client needs first that joins a run: a prelude, after which it
// goes on with the rest of the run's events.
//
// The prelude is RUN_STARTED as the agent sent it, MESSAGES_SNAPSHOT, STATE_SNAPSHOT, and
// an event that opens each thing which is open: text messages, tool calls, steps, reasoning
// and subagents. What chunks opened is opened by a chunk without delta, because the rest of
// it comes in chunks. If the run has ended, its last event follows the snapshots instead.
//
// If the events of a run keep the rules that package sequence checks, a client that gets
// the prelude and the events after it accepts them too. It ends with the messages and the
// state of a client that got all events, whatever messages it had before. So a client that
// lost its connection can join again.
//
// # What a client cannot know
//
//   - Which agent a message of an earlier run belongs to, if events of the run say otherwise
//     than the message does. A snapshot of the message would tell the client, but then the
//     message differs. Such a client refuses the events. The same is true of a message that
//     a tool call created, and of an id that a snapshot removed and the run uses again.
//   - Where the message of THINKING events of AG-UI 0.x is that is open. It follows all
//     others. Its id is the client's own.
//   - Which tool calls of the run began before the client joined. If RUN_FINISHED does not
//     name those that wait for a result, the client derives them from the events it saw.
//   - Activities that the conversation lacks stay with a client that has them, unless a
//     snapshot of the agent has removed them. The prelude says so in the metadata of
//     MESSAGES_SNAPSHOT, which only the reference client reads; see Conversation.
package join

import (
	"errors"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event/names"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/internal/strictjson"
)

// A Run remembers the ids of the run as a sequence.Checker does, within its limits, and the
// events that the prelude repeats.
const (
	// MaxEvents bounds the number of events of subagents that are remembered.
	MaxEvents = 100_000
	// MaxBytes bounds the size of the events that are remembered: RUN_STARTED, the last
	// event of the run, and those of subagents.
	MaxBytes = 64 << 20
)

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
}

// New returns a Run without events.
func New() *Run { return &Run{checker: sequence.New(sequence.Options{})} }

// Event takes the next event of the run, whose first one is RUN_STARTED. It does not retain
// e. A RUN_STARTED that follows begins another run.
func (r *Run) Event(e *envelope.Event) {
	if e.Type == names.RunStarted {
		r.subagents, r.ends, r.bytes, r.full = nil, nil, 0, false
		r.started = r.keep(e)
	}
	broken := len(r.checker.Event(e)) > 0
	switch e.Type {
	case names.RunFinished, names.RunError:
		if r.checker.End() && !(broken && len(r.ends) > 0) {
			r.ends = append(r.ends, r.keep(e))
		}
	case names.SubagentStarted, names.SubagentFinished, names.SubagentError:
		if !broken && len(r.ends) == 0 {
			r.subagents = append(r.subagents, r.keep(e))
		}
	}
}

// Skip tells the Run that the next event cannot be read.
func (r *Run) Skip() { r.checker.Skip() }

// Ended reports whether the run has ended.
func (r *Run) Ended() bool { return len(r.ends) > 0 }

// keep returns a copy of an event on one line.
func (r *Run) keep(e *envelope.Event) []byte {
	if r.bytes += len(e.Data); r.bytes > MaxBytes || len(r.subagents) >= MaxEvents {
		r.full = true
		return nil
	}
	return slices.Clone(strictjson.OneLine(e.Data))
}
