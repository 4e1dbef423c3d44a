package join

import (
	"bytes"
	"slices"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// conversation is what a prelude needs of a conversation.
type conversation struct {
	changes reduce.Changes
	state   []byte // empty if there is none
	// messages and calls are the first ones with the ids of what is open.
	messages map[string]*message
	calls    map[string]*call
	// thinking is the message that THINKING events have open. It is not in the snapshot.
	thinking *message
	// odd are activities whose content is not an object, as a snapshot must have it. In the
	// snapshot it is empty.
	odd                       []*message
	hasActivity, hasReasoning bool   // in the snapshot
	snapshot                  []byte // MESSAGES_SNAPSHOT without its metadata and its end
	// input are the ids of the messages in RUN_STARTED that are not found yet, and differs
	// means that they are not those with which the snapshot begins.
	input   []string
	differs bool
}

// read reads the conversation of a run of which some things are open.
func (r *Run) read(from *reduce.Reducer, open []sequence.Open) *conversation {
	c := &conversation{changes: r.allChanges(from), messages: make(map[string]*message), calls: make(map[string]*call)}
	thinking := false
	for _, o := range open {
		switch {
		case o.Thinking:
			thinking = thinking || o.Type == eventnames.ReasoningMessageStart
		case o.Type == eventnames.ToolCallStart:
			c.calls[o.ID] = nil
		case o.Type != eventnames.StepStarted && o.Type != eventnames.SubagentStarted:
			c.messages[o.ID] = nil
		}
	}
	hasState := false
	c.input, hasState = inputOf(r.started)
	if c.changes.State || hasState { // a client may take the state of the input
		c.state = from.AppendState(nil)
	}
	text := append(make([]byte, 0, r.size), snapshotHead...)
	text = from.AppendMessages(text)
	r.size = len(text) + len(text)/8
	c.snapshot = text
	var o strictjson.Object
	// The Reducer wrote the text, so there is no error.
	list, _ := strictjson.ReadText(&o, new(strictjson.Decoder), text[len(snapshotHead):])
	edited := false
	_ = strictjson.Elements(list, func(_ int, v strictjson.Value, o *strictjson.Object) error {
		shown := c.message(v, o, &thinking)
		asItIs := len(shown) > 0 && &shown[0] == &v.Raw[0]
		if asItIs && !edited {
			return nil
		}
		if !edited {
			before := bytes.TrimSuffix(text[:len(snapshotHead)+v.Start], []byte(","))
			c.snapshot, edited = append([]byte(nil), before...), true
		}
		if len(shown) > 0 {
			if c.snapshot[len(c.snapshot)-1] != '[' {
				c.snapshot = append(c.snapshot, ',')
			}
			c.snapshot = append(c.snapshot, shown...)
		}
		return nil
	})
	if edited {
		c.snapshot = append(c.snapshot, ']')
	}
	c.differs = c.differs || len(c.input) > 0
	return c
}

// allChanges returns what the events of the run and of earlier ones did to the messages.
func (r *Run) allChanges(from *reduce.Reducer) reduce.Changes {
	c, earlier := from.Changes(), &r.earlier
	c.Moved = c.Moved || earlier.Moved
	c.Thinking = c.Thinking || earlier.Thinking
	c.Reasoning = c.Reasoning || earlier.Reasoning
	c.AllActivities = c.AllActivities || earlier.AllActivities
	for _, kind := range earlier.Activities {
		if !slices.Contains(c.Activities, kind) {
			c.Activities = append(c.Activities, kind)
		}
	}
	slices.Sort(c.Activities)
	return c
}

// snapshotHead is the beginning of a snapshot, before its messages.
const snapshotHead = `{"type":"MESSAGES_SNAPSHOT","messages":`

// inputOf returns the ids of the messages in the input of RUN_STARTED, and whether it has a
// state.
func inputOf(started []byte) (ids []string, hasState bool) {
	var o strictjson.Object
	_, _ = strictjson.ReadText(&o, new(strictjson.Decoder), started) // it was read before
	input, _ := o.Get("input")
	list, _ := input.Member("messages")
	_ = strictjson.Elements(list, func(_ int, _ strictjson.Value, o *strictjson.Object) error {
		ids = append(ids, o.Text("id"))
		return nil
	})
	_, hasState = input.Member("state")
	return ids, hasState
}

// lacks reports whether the conversation lacks a message or a tool call that is open: a
// snapshot of the agent has removed it. What opens it would create it.
func (c *conversation) lacks(open []sequence.Open) bool {
	for _, o := range open {
		switch o.Type {
		case eventnames.ToolCallStart:
			if o.Chunk == nil && c.calls[o.ID] == nil {
				return true
			}
		case eventnames.TextMessageStart, eventnames.ReasoningMessageStart:
			if o.Chunk == nil && (o.Thinking && c.thinking == nil || !o.Thinking && c.messages[o.ID] == nil) {
				return true
			}
		}
	}
	return false
}

// replaces reports whether a client may not end with the right messages after a snapshot,
// which leaves what a client has in its order. A client has the messages in RUN_STARTED, and
// it may have older ones of the thread.
func (c *conversation) replaces() bool {
	return c.differs || c.changes.Moved || c.changes.Repeated || c.changes.Thinking || c.changes.Reasoning && !c.hasReasoning
}

// fields is the text of a JSON object that is being written.
type fields []byte

// add adds a member whose value is a JSON text, unless it is empty.
func (f fields) add(name string, value []byte) fields {
	if len(value) == 0 {
		return f
	}
	next := byte(',')
	if len(f) == 0 {
		next = '{'
	}
	return append(append(append(append(f, next, '"'), name...), '"', ':'), value...)
}

// str adds a member whose value is a string.
func (f fields) str(name, value string) fields {
	return f.add(name, jsonvalue.AppendString(nil, value))
}

// object returns the object.
func (f fields) object() []byte { return append(f, '}') }

// texts returns a list of strings as a JSON array.
func texts(list []string) string {
	text := []byte("[")
	for i, s := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = jsonvalue.AppendString(text, s)
	}
	return string(append(text, ']'))
}
