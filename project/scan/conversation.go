package scan

import (
	"context"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// Conversation is what a client has after an event of a capture.
type Conversation struct {
	Capture string
	// Event is the index of the last event that was applied, or -1 if there was none.
	Event int
	// Events is the number of events of the capture.
	Events int
	// Messages, State and Interrupts are JSON texts. State is empty if the events leave
	// no value.
	Messages, State, Interrupts []byte
	// Known reports whether an event, the request or the input in RUN_STARTED set the state. Otherwise the state
	// is the result of patches to an empty object.
	Known            bool
	PendingToolCalls []string
	// Refused is the index of the event, at most Event, at which the reference client
	// ends the run. It is set by lint.Conversation, and -1 if there is none.
	Refused int
	// Findings are about the events up to Event and about the capture.
	Findings []finding.Finding

	// Failed means that the capture could not be read. Negative means that it was read
	// but is not evidence of a run, or does not have the event.
	Failed, Negative bool
}

// ConversationOptions are the settings of ReadConversation.
type ConversationOptions struct {
	// At is the index of the last event to apply, or -1 for all events.
	At      int
	Dialect reduce.Dialect
	// Messages and State choose what to show, and so which warnings are reported: those
	// about events of the state are only reported with State, and others with Messages.
	Messages, State bool
}

// ReadConversation reads a capture, and applies its events to the messages and the state
// of its request. A conversation continues through all runs of a capture. Events outside
// runs count too. Other consumers see the capture in the same pass.
func ReadConversation(ctx context.Context, in *inputs.Input, o ConversationOptions, progress Progress, others ...Consumer) Conversation {
	c, err := in.Open(ctx)
	if err != nil {
		return failedConversation(in.Path, err)
	}
	defer c.Close()
	r := &conversationReader{ConversationOptions: o, last: -1, reducer: reduce.New(reduce.Options{Dialect: o.Dialect})}
	request, err := c.Request()
	if err != nil {
		return failedConversation(in.Path, err)
	}
	if request != nil {
		r.report(r.reducer.Seed(request))
	}
	result, err := Run(ctx, c, progress, append(others, r)...)
	if err != nil {
		return failedConversation(in.Path, err)
	}
	for _, f := range result.Findings {
		r.found.Add(f)
	}
	return Conversation{
		Capture:          c.Path(),
		Event:            r.last,
		Events:           result.Events,
		Messages:         r.reducer.AppendMessages(nil),
		State:            r.reducer.AppendState(nil),
		Interrupts:       r.reducer.AppendInterrupts(nil),
		Known:            r.reducer.HasState(),
		Refused:          -1,
		PendingToolCalls: r.reducer.PendingToolCalls(),
		Findings:         r.found.Findings(),
		Negative:         result.Runs == 0,
	}
}

func failedConversation(path string, err error) Conversation {
	f, isVerdict := finding.FromError(err)
	return Conversation{Capture: path, Event: -1, Refused: -1, Findings: []finding.Finding{f}, Failed: !isVerdict, Negative: isVerdict}
}

// conversationReader applies the events of a capture.
type conversationReader struct {
	ConversationOptions
	reducer *reduce.Reducer
	last    int
	found   finding.List
}

// Begin implements Consumer.
func (r *conversationReader) Begin(*envelope.Run) Observer { return r }

// Event implements Observer.
func (r *conversationReader) Event(*envelope.Event) {}

// Frame implements FrameConsumer.
func (r *conversationReader) Frame(_ *envelope.Run, f *capture.Frame, e *envelope.Event) {
	if r.At >= 0 && f.Index > r.At {
		return
	}
	if r.last = f.Index; e == nil {
		return
	}
	found := r.reducer.Event(e)
	ofState := e.Type == eventnames.StateSnapshot || e.Type == eventnames.StateDelta
	if ofState && r.State || !ofState && r.Messages {
		r.report(found)
	}
}

// End implements Observer.
func (r *conversationReader) End(run *envelope.Run) error {
	r.report(run.Findings)
	return nil
}

// Finish implements Consumer.
func (r *conversationReader) Finish(result Result) error {
	if r.At >= result.Events {
		return finding.New(finding.EventOutOfRange, "the capture has %d events, which are counted from 0, and no event %d", result.Events, r.At)
	}
	return nil
}

// report adds findings, except those about later events.
func (r *conversationReader) report(list []finding.Finding) {
	for _, f := range list {
		if r.At < 0 || f.EventIndex == nil || *f.EventIndex <= r.At {
			r.found.Add(f)
		}
	}
}
