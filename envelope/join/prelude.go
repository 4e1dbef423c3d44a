package join

import (
	"fmt"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/internal/eventnames"
)

// prelude is a prelude that is being made.
type prelude struct {
	*Run
	*conversation
	out [][]byte
}

// Prelude returns the events that a client gets which joins the run after the events so far:
// JSON texts on one line each. The Reducer has the conversation after the same events. There are none if the run has no RUN_STARTED. The error is
// ErrLimit if a limit was exceeded.
func (r *Run) Prelude(from *reduce.Reducer) ([][]byte, error) {
	switch {
	case from.Full():
		return nil, fmt.Errorf("%w: its messages, its state or its chunks exceed a limit of package reduce", ErrLimit)
	case r.limited():
		return nil, fmt.Errorf("%w: its ids exceed a limit of package sequence, or its events about subagents %d bytes", ErrLimit, MaxBytes)
	}
	if r.started == nil {
		return nil, nil
	}
	var open []sequence.Open
	if !r.Ended() {
		open = r.checker.Open()
	}
	p := &prelude{Run: r, conversation: r.read(from, open)}
	p.add(r.started)
	switch {
	case p.lacks(open):
		// The openers create messages, which the snapshot has to remove.
		p.openAll(open, true)
		p.forget()
		p.snapshots(true)
	case p.replaces():
		p.forget()
		p.snapshots(true)
		p.openAll(open, false)
	default:
		p.snapshots(false)
		p.openAll(open, false)
	}
	for _, o := range open {
		if o.Chunk != nil {
			p.add(o.Chunk)
		}
	}
	for _, end := range r.ends {
		p.add(end)
	}
	return p.out, nil
}

func (p *prelude) add(event []byte) { p.out = append(p.out, event) }

// openAll opens what START events opened. If it is done before the snapshot, what the
// snapshot has is opened without a subagent, because only the snapshot says whose it is.
func (p *prelude) openAll(open []sequence.Open, before bool) {
	if !p.Ended() {
		for _, e := range p.subagents {
			p.add(e)
		}
	}
	for _, o := range open {
		if o.Chunk == nil && !o.Thinking {
			p.open(o, before)
		}
	}
	for _, o := range open {
		if o.Thinking {
			p.think(o)
		}
	}
}

// open opens something.
func (p *prelude) open(o sequence.Open, before bool) {
	f := fields{}.str("type", o.Type)
	var m *message
	switch o.Type {
	case eventnames.SubagentStarted:
		return
	case eventnames.StepStarted:
		f = f.str("stepName", o.ID)
	case eventnames.ToolCallStart:
		f = f.str("toolCallId", o.ID)
		c := p.calls[o.ID]
		if c == nil {
			f = f.str("toolCallName", "")
			break
		}
		m = c.of
		f = f.add("toolCallName", c.name)
		if m.id != o.ID {
			f = f.str("parentMessageId", m.id)
		}
	default:
		f = f.str("messageId", o.ID)
		m = p.messages[o.ID]
		if o.Type == eventnames.ReasoningMessageStart {
			f = f.str("role", "reasoning")
		}
		if m != nil && o.Type == eventnames.TextMessageStart && m.isText() {
			f = f.str("role", m.role).add("name", m.name)
		}
		if m != nil && !m.holds(o.Type) {
			m = nil // the snapshot does not say whose it is
		}
	}
	switch {
	case m == nil && o.Tagged:
		f = f.str("subagentRunId", o.Subagent)
	case m != nil && !before:
		f = f.add("subagentRunId", m.tag)
	}
	p.add(f.object())
}

// think opens what THINKING events opened. Their message is not in the snapshot, so its
// text follows.
func (p *prelude) think(o sequence.Open) {
	start := eventnames.ThinkingStart
	if o.Type == eventnames.ReasoningMessageStart {
		start = eventnames.ThinkingTextMessageStart
	}
	f := fields{}.str("type", start)
	if o.Tagged {
		f = f.str("subagentRunId", o.Subagent)
	}
	m := p.thinking
	if start == eventnames.ThinkingStart || m == nil {
		p.add(f.object())
		return
	}
	p.add(f.add("metadata", m.metadata).object())
	p.add(fields{}.str("type", eventnames.ThinkingTextMessageContent).add("delta", m.content).object())
}

// dummy is the id of a message that a client gets and loses again, and the type of the
// activity that it becomes.
const dummy = "p20export.join"

// all is the metadata of a snapshot that has all activities.
const all = `{"@ag-ui/client":{"authoritativeActivityTypes":null}}`

// forget makes a client forget all messages. A snapshot without activities or reasoning
// leaves those that a client has. So the first snapshot has reasoning, which becomes an
// activity, and the next snapshot says that it has all activities.
func (p *prelude) forget() {
	p.add([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"` + dummy + `","role":"reasoning","content":""}],"metadata":` + all + `}`))
	p.add([]byte(`{"type":"ACTIVITY_SNAPSHOT","messageId":"` + dummy + `","activityType":"` + dummy + `","content":{}}`))
}

// snapshots writes the snapshots of the messages and of the state.
func (p *prelude) snapshots(whole bool) {
	metadata := ""
	c := p.changes
	switch {
	case whole, c.AllActivities && !p.hasActivity:
		metadata = all
	case !c.AllActivities && (p.hasActivity || len(c.Activities) > 0):
		metadata = `{"@ag-ui/client":{"authoritativeActivityTypes":` + texts(c.Activities) + `}}`
	}
	f := fields(p.snapshot)
	if metadata != "" {
		f = f.add("metadata", []byte(metadata))
	}
	p.add(f.object())
	for _, m := range p.odd {
		patch := fields{}.str("op", "replace").str("path", "").add("value", m.content)
		p.add(fields{}.str("type", eventnames.ActivityDelta).str("messageId", m.id).add("activityType", m.activityType).
			add("patch", append(append([]byte("["), patch.object()...), ']')).object())
	}
	if len(p.state) > 0 {
		p.add(fields{}.str("type", eventnames.StateSnapshot).add("snapshot", p.state).object())
	}
}
