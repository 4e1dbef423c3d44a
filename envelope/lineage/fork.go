package lineage

import (
	"errors"
	"fmt"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
)

// Conversation is what a run left behind. Package store/restore restores it.
type Conversation struct {
	// Messages and State are those at the end of the run. State is nil if it is not known.
	Messages []event.Message
	State    event.JSON
	// Input is the request that the run answered, or nil.
	Input *event.RunAgentInput
}

// Form says which messages an input has.
type Form int

const (
	// Full is an input with the whole conversation and the state.
	Full Form = iota
	// Normalized is an input without messages and state, because the agent has the
	// history.
	Normalized
)

// ErrFork means that a run cannot be continued by an input.
var ErrFork = errors.New("the run cannot be continued")

// Fork returns an input that continues a run, which need not be the last of its branch. It
// has a new run id, and the tools, the context, the forwardedProps and the members that
// AG-UI does not define of the run's own input. It answers no interrupts: if the run waits
// for answers, the caller has to set Resume. The error is ErrFork if the run id is not new,
// or if parentRunId cannot name the run because it has no id, or because a later run has
// the same.
func (g *Graph) Fork(n *Node, runID string, form Form, c Conversation) (*event.RunAgentInput, error) {
	same := g.Find(n.Thread, n.ID)
	switch {
	case n.ID == "":
		return nil, fmt.Errorf("%w: it has no runId", ErrFork)
	case same[len(same)-1] != n:
		return nil, fmt.Errorf("%w: a later run of the thread is also called %s", ErrFork, finding.Quote(n.ID))
	case runID == "":
		return nil, fmt.Errorf("%w: the id of the new run is empty", ErrFork)
	case g.Find(n.Thread, runID) != nil:
		return nil, fmt.Errorf("%w: the thread already has a run %s; give another id", ErrFork, finding.Quote(runID))
	}
	in := &event.RunAgentInput{ThreadID: n.Thread, RunID: runID, ParentRunID: event.Some(n.ID), Messages: []event.Message{}}
	if form == Full {
		in.State = c.State
		in.Messages = append(in.Messages, c.Messages...)
	}
	if own := c.Input; own != nil {
		in.ProtocolVersion = own.ProtocolVersion
		in.Tools, in.Context = own.Tools, own.Context
		in.ForwardedProps, in.Extra = own.ForwardedProps, own.Extra
	}
	return in, nil
}
