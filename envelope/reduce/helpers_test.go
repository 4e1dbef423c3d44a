package reduce

import (
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// apply applies events to a reducer, and returns its warnings.
func apply(t testing.TB, r *Reducer, events ...string) (warnings []finding.Finding) {
	t.Helper()
	for i, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		e.Index = i
		warnings = append(warnings, r.Event(e)...)
	}
	return warnings
}

// check compares what a reducer knows about its messages with the messages.
func check(t testing.TB, r *Reducer) {
	t.Helper()
	c := &r.conversation
	byID := map[string]*node{}
	calls := map[string]callRef{}
	n := 0
	var last *node
	for at := range c.messages.all {
		n++
		if last != nil && (!last.before(at) || at.before(last)) {
			t.Errorf("message %d is not behind the one before it", n)
		}
		last = at
		if byID[at.id] == nil {
			byID[at.id] = at
		}
		for i, call := range at.toolCalls() {
			if calls[call.id].node == nil {
				calls[call.id] = callRef{at, i}
			}
		}
	}
	if last != c.messages.last || n != c.Len() {
		t.Errorf("the list has %d messages, and Len is %d", n, c.Len())
	}
	for id, at := range byID {
		if c.find(id) != at {
			t.Errorf("the first message with the id %q is not found", id)
		}
	}
	for id, want := range calls {
		if got, _ := c.calls.first(id); got != want {
			t.Errorf("the first tool call with the id %q is not found", id)
		}
	}
	if len(byID) != len(c.byID) || len(calls) != len(c.calls.byID) {
		t.Errorf("%d messages and %d tool calls are known, want %d and %d", len(c.byID), len(c.calls.byID), len(byID), len(calls))
	}
	if bytes, run := c.size(), r.run.calls.bytes+r.run.interruptBytes; bytes+run != c.bytes {
		t.Errorf("%d bytes are accounted for, want %d of the messages and %d of the run", c.bytes, bytes, run)
	}
	history := 0
	for m := range c.All {
		if m.isHistory() {
			history++
		}
	}
	if history != c.history {
		t.Errorf("%d messages are counted as history, want %d", c.history, history)
	}
	checkTree(t, c.messages.root, nil)
}

// checkTree checks the order of priorities in a subtree, and returns whether the subtree
// contains a message that is not a tool result.
func checkTree(t testing.TB, n, up *node) bool {
	if n == nil {
		return false
	}
	if n.up != up || up != nil && n.priority > up.priority {
		t.Errorf("the node of %q is in the wrong place", n.id)
	}
	left, right := checkTree(t, n.left, n), checkTree(t, n.right, n)
	if other := left || right || !n.isResult(); other != n.other {
		t.Errorf("the node of %q has other messages: %v, want %v", n.id, n.other, other)
	}
	return n.other
}
