// Package restore restores the messages and the state of a thread from its log: as of the
// end of any run, or as of any position.
//
// A run continues its parent, as package envelope/lineage finds it, as far as the parent
// got before the run started. So a restored conversation never changes when the log grows.
// The requests of the runs count as Options.Input says, and the events as in package
// envelope/reduce. Events before the first RUN_STARTED of a stream belong to no run, and do
// not count.
//
// Only the runs of the branch are read, and only as far back as the last request that has
// the whole conversation. Of the runs before it, only events that create, move or remove
// messages are read: Auto keeps activities that such a request omits. Memory is bounded by the
// limits of the reducer, and of these events the last 32 MiB of runs count. What the package
// restores is not evidence.
package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// Input says what the messages and the state of a request are.
type Input string

const (
	// Auto is Normalized for runs with a parentRunId. Others have the whole conversation,
	// except activities if they have none, and reasoning if they have none: clients do not
	// send activities, and some no reasoning, but keep them. Those of earlier runs stay right
	// behind the message that they follow, and are removed with it. If a request with a
	// parentRunId repeats the history with other ids, its messages replace the history, as
	// reduce.Reducer.Merge says. Its state counts as with Normalized.
	Auto Input = "auto"
	// Full means that a request has the whole conversation and the state: the messages of
	// earlier runs do not count, also activities and reasoning that clients omit.
	Full Input = "full"
	// Normalized means that a request may omit what the history has: its messages are
	// added if their ids are new, and its state replaces that of the history.
	Normalized Input = "normalized"
)

// Inputs returns the names of all values of Input.
func Inputs() []string { return []string{string(Auto), string(Full), string(Normalized)} }

// ParseInput returns the value of Input with a name.
func ParseInput(name string) (Input, error) {
	if slices.Contains(Inputs(), name) {
		return Input(name), nil
	}
	return "", fmt.Errorf("the inputs are %s", strings.Join(Inputs(), ", "))
}

// Options are the settings of Open. The zero value is ready to use.
type Options struct {
	// Input says what requests are. Empty means Auto.
	Input Input
	// Dialect is the dialect of JSON Patch.
	Dialect reduce.Dialect
	// Behind, if not nil, is called after so many entries of a thread were applied that it should
	// have checkpoints: with these options, and the position for Thread.KeepCheckpoints. It must not
	// block.
	Behind func(key store.Key, o Options, position int64)

	spacing spacing // of kept checkpoints; only tests set it
}

// ErrPosition means that a thread has no such position.
var ErrPosition = errors.New("the thread has no such position")

// A Thread is a thread of a log, with the runs that it had when it was opened.
type Thread struct {
	Key store.Key
	// Last is the last position.
	Last int64
	// Graph has the runs. Their Position is the position of RUN_STARTED.
	Graph *lineage.Graph

	log     store.Log
	options Options
	runs    []store.Run // those of Graph.Nodes
}

// Open reads the runs of a thread. The error is store.ErrNoThread if it does not exist, and
// store.ErrDeleted if it was deleted.
func Open(ctx context.Context, log store.Log, key store.Key, o Options) (*Thread, error) {
	about, err := log.Thread(ctx, key)
	if err != nil {
		return nil, err
	}
	if !about.DeletedAt.IsZero() {
		return nil, store.ErrDeleted
	}
	t := &Thread{Key: key, Last: about.Last, log: log, options: o}
	for r, err := range log.Runs(ctx, store.RunQuery{Tenant: &key.Tenant, Thread: &key.Thread}) {
		if err != nil {
			return nil, err
		}
		if r.Start > t.Last {
			break // it was appended since
		}
		r.Last = min(r.Last, t.Last)
		t.runs = append(t.runs, r)
	}
	list := make([]lineage.Run, len(t.runs))
	for i := range t.runs {
		list[i] = Lineage(&t.runs[i])
	}
	t.Graph = lineage.New(list)
	return t, nil
}

// Lineage returns a run of a log for a lineage.Graph.
func Lineage(r *store.Run) lineage.Run {
	return lineage.Run{
		Thread: r.Thread, ID: r.ID, ParentID: r.Parent, Source: r.Stream, Position: r.Start, Events: r.Entries,
		StartedAt: r.StartedAt, LastAt: r.LastAt, End: lineage.End(r.End),
	}
}

// A Result is a restored conversation.
type Result struct {
	Key store.Key
	// Run is the run to which the conversation belongs, or nil if there is none yet.
	Run *lineage.Node
	// Position is the position of the last entry that the conversation includes.
	Position int64
	// Messages is a JSON array.
	Messages []byte
	// State is the JSON text of the state. StateKnown reports that a request, the input of
	// a RUN_STARTED or a STATE_SNAPSHOT set it; otherwise it is the result of all patches to an empty object.
	// A patch in the client's dialect can leave no value; State is then empty.
	State      []byte
	StateKnown bool
	// Interrupts is a JSON array: what the run waits for, if it ended with an interrupt.
	Interrupts []byte
	// PendingToolCalls are the ids of the tool calls of the run that wait for a result.
	PendingToolCalls []string
	// Input is the request of the run as it was sent, or nil if the log does not have it.
	Input []byte
	// Used are the runs from which the conversation was restored, in order. It is a part
	// of the path of Run: of the runs before a request that has the whole conversation, only
	// messages count that the request omits.
	Used []*lineage.Node
	// Entries is the number of entries that were applied.
	Entries int64
	// Findings are warnings about the used runs and their entries.
	Findings []finding.Finding
}

// Run restores the conversation at the end of a run, which is a node of t.Graph.
func (t *Thread) Run(ctx context.Context, n *lineage.Node) (*Result, error) {
	return t.restore(ctx, n, t.runs[n.Index].Last, true)
}

// Before restores the conversation that a run continues: that of its parent when the run
// started. It is empty for a root.
func (t *Thread) Before(ctx context.Context, n *lineage.Node) (*Result, error) {
	return t.restore(ctx, n.Parent, t.runs[n.Index].Start-1, true)
}

// At restores the conversation as of a position. The run is the one that has the entry at
// the position, or that answers it if it is a request. Otherwise it is the last run of its
// stream before the position, or else of the thread. The error is ErrPosition if the thread
// has no such position.
func (t *Thread) At(ctx context.Context, position int64) (*Result, error) {
	n, err := t.runAt(ctx, position)
	if err != nil {
		return nil, err
	}
	return t.restore(ctx, n, position, true)
}

// runAt returns the run to which a position belongs by the rules of At, or nil.
func (t *Thread) runAt(ctx context.Context, position int64) (*lineage.Node, error) {
	if position < 1 || position > t.Last {
		return nil, fmt.Errorf("%w: %d; the positions are 1 to %d", ErrPosition, position, t.Last)
	}
	where := store.At(position)
	where.Bare = store.Kinds()
	for e, err := range t.log.Select(ctx, t.Key, where) {
		if err != nil {
			return nil, err
		}
		return t.owner(e), nil
	}
	return nil, fmt.Errorf("%w: %d", ErrPosition, position)
}

// owner returns the run to which an entry belongs by the rules of At, or nil.
func (t *Thread) owner(e *store.Entry) *lineage.Node {
	var stream, any *lineage.Node
	for i := range t.runs {
		r, n := &t.runs[i], t.Graph.Nodes[i]
		switch {
		case e.Run != 0 && r.Start == e.Run, e.Kind == store.Input && r.Input == e.Position:
			return n
		case r.Start > e.Position: // a later run can still answer the request
		case r.Stream == e.Stream:
			stream, any = n, n
		default:
			any = n
		}
	}
	if stream != nil {
		return stream
	}
	return any
}

// Fork returns an input that continues the run of a result. The result must be that of
// Thread.Run, because an input cannot name a position within a run. See lineage.Graph.Fork.
func (t *Thread) Fork(r *Result, runID string, form lineage.Form) (*event.RunAgentInput, error) {
	if r.Run == nil {
		return nil, fmt.Errorf("%w: there is no run", lineage.ErrFork)
	}
	if last := t.runs[r.Run.Index].Last; r.Position < last {
		return nil, fmt.Errorf("%w at position %d: parentRunId names a whole run, which ends at position %d", lineage.ErrFork, r.Position, last)
	}
	var c lineage.Conversation
	if len(r.State) > 0 && (r.StateKnown || string(r.State) != "{}") {
		c.State = event.JSON(r.State)
	}
	messages, err := event.DecodeRunInput(slices.Concat([]byte(`{"threadId":"","runId":"","messages":`), r.Messages, []byte("}")), event.Tolerant(nil))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lineage.ErrFork, err)
	}
	c.Messages = messages.Messages
	if r.Input != nil {
		if c.Input, err = event.DecodeRunInput(reduce.KnownRequest(r.Input), event.Tolerant(nil)); err != nil {
			return nil, fmt.Errorf("%w: the request of the run cannot be read: %w", lineage.ErrFork, err)
		}
	}
	return t.Graph.Fork(r.Run, runID, form, c)
}
