package runs

import (
	"context"
	"slices"
	"time"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/store"
)

// A stopper makes the events that end the open run of a stream as cancelled (AG-UI 1.0,
// Runs and Steps, "Cancelled runs"). It reads each event once, also if it is asked again
// because the run goes on.
type stopper struct {
	log    store.Log
	key    store.Key
	stream string

	run     int64 // the run that was read, or 0
	last    int64 // the position up to which it was read
	checker *sequence.Checker
	// thread and id are those of RUN_STARTED, if it has both.
	thread, id string
	named      bool
	old        bool // RUN_STARTED declares AG-UI 0.x, which has no cancelled runs
	unread     bool // an event could not be read
	// spans and messages count the THINKING events of AG-UI 0.x that opened something, minus
	// those that closed it. They have no ids.
	spans, messages int
}

// events returns the events that end a run up to a position of its thread. It returns nil
// if the run cannot be ended in order.
func (p *stopper) events(ctx context.Context, run store.Run, to int64, c closing, at time.Time) ([][]byte, error) {
	if p.run != run.Start {
		*p = stopper{log: p.log, key: p.key, stream: p.stream, run: run.Start, last: run.Start - 1, checker: sequence.New(sequence.Options{Protocol: event.Auto})}
	}
	if err := p.read(ctx, to); err != nil {
		return nil, err
	}
	if p.unread || p.old || !p.named || p.checker.Full() {
		return nil, nil
	}
	open := p.checker.Open()
	spans, messages := p.spans, p.messages
	slices.Reverse(open) // what was opened last is closed first
	slices.SortStableFunc(open, func(a, b sequence.Open) int { return rank(a) - rank(b) })
	var events [][]byte
	for _, o := range open {
		switch {
		case o.Thinking && o.Type == eventnames.ReasoningStart:
			spans--
		case o.Thinking:
			messages--
		case o.Chunk != nil:
			continue // the next event that is no chunk ends it
		}
		events = append(events, event.Append(nil, closingOf(o, c)))
	}
	if spans != 0 || messages != 0 {
		return nil, nil
	}
	return append(events, event.Append(nil, &event.RunFinished{
		Base:     event.Base{Timestamp: event.Some(at.UnixMilli()), Metadata: c.metadata()},
		ThreadID: p.thread, RunID: p.id, Outcome: &event.Outcome{Type: event.OutcomeCancelled},
	})), nil
}

// read reads the events of the run up to a position of its thread.
func (p *stopper) read(ctx context.Context, to int64) error {
	if p.run == 0 {
		return nil
	}
	for e, err := range p.log.Select(ctx, p.key, store.Events(p.last, to)) {
		if err != nil {
			return err
		}
		if p.last = e.Position; e.Run == p.run {
			p.look(e.Data)
		}
	}
	return nil
}

// goesOn is like read after events, but reads all entries, and reports whether the run is
// still the open one: its stream has nothing that begins or ends a run, and no end.
func (p *stopper) goesOn(ctx context.Context, to int64) (bool, error) {
	for e, err := range p.log.Select(ctx, p.key, store.Selection{After: p.last, To: to, Bare: []store.Kind{store.Input}}) {
		if err != nil {
			return false, err
		}
		if e.Stream == p.stream && (e.Kind != store.Event || e.Run != p.run || typeOfRun(e.Data) != "") {
			return false, nil
		}
		if p.last = e.Position; e.Run == p.run && e.Kind == store.Event {
			p.look(e.Data)
		}
	}
	return true, nil
}

// look reads an event of the run.
func (p *stopper) look(data []byte) {
	e, err := envelope.ReadEvent(data)
	if err != nil {
		p.unread = true
		return
	}
	switch e.Type {
	case eventnames.RunStarted:
		thread, _ := e.Get("threadId")
		id, _ := e.Get("runId")
		p.thread, _ = thread.Text()
		p.id, _ = id.Text()
		p.named = thread.Kind == envelope.StringValue && id.Kind == envelope.StringValue
		protocol, _ := event.Declared(e.Text("protocolVersion"))
		p.old = protocol == event.V0
	case eventnames.ThinkingStart:
		p.spans++
	case eventnames.ThinkingEnd:
		p.spans--
	case eventnames.ThinkingTextMessageStart:
		p.messages++
	case eventnames.ThinkingTextMessageEnd:
		p.messages--
	}
	p.checker.Event(e)
}

// rank orders what is closed. A subagent is closed after what it owns, and reasoning after
// its messages.
func rank(o sequence.Open) int {
	return slices.Index([]string{
		eventnames.TextMessageStart, eventnames.ToolCallStart, eventnames.ReasoningMessageStart, eventnames.ReasoningStart, eventnames.StepStarted, eventnames.SubagentStarted,
	}, o.Type)
}

// closingOf returns the event that closes something. A subagent ends with an error, because
// SUBAGENT_FINISHED would say that it was successful.
func closingOf(o sequence.Open, c closing) event.Event {
	var owner event.Optional[string]
	if o.Tagged {
		owner = event.Some(o.Subagent)
	}
	switch {
	case o.Thinking && o.Type == eventnames.ReasoningStart:
		return &event.Unknown{Name: eventnames.ThinkingEnd}
	case o.Thinking:
		return &event.Unknown{Name: eventnames.ThinkingTextMessageEnd}
	case o.Type == eventnames.TextMessageStart:
		return &event.TextMessageEnd{MessageID: o.ID, SubagentRunID: owner}
	case o.Type == eventnames.ToolCallStart:
		return &event.ToolCallEnd{ToolCallID: o.ID, SubagentRunID: owner}
	case o.Type == eventnames.ReasoningMessageStart:
		return &event.ReasoningMessageEnd{MessageID: o.ID, SubagentRunID: owner}
	case o.Type == eventnames.ReasoningStart:
		return &event.ReasoningEnd{MessageID: o.ID, SubagentRunID: owner}
	case o.Type == eventnames.StepStarted:
		return &event.StepFinished{StepName: o.ID, SubagentRunID: owner}
	}
	return &event.SubagentError{SubagentRunID: o.ID, Message: c.message, Code: event.Some(c.code)}
}
