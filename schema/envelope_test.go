package schema_test

import (
	"testing"

	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// bounded returns the events of a bounded envelope.
func bounded() []any {
	return []any{
		object{"type": "RUN_STARTED", "threadId": "t", "runId": "r", "parentRunId": "p", "input": object{"state": []any{}}},
		object{"type": "MESSAGES_SNAPSHOT", "messages": []any{
			object{"id": "m1", "role": "user", "content": "hi"},
			object{"id": "m2", "role": "assistant", "toolCalls": []any{object{"id": "c"}}},
		}},
		object{"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": nil},
	}
}

func TestEnvelope(t *testing.T) {
	const started, snapshot, terminal = 0, 1, 2
	change := func(event int, key string, value any) []any {
		events := bounded()
		set(events[event].(object), key, value)
		return events
	}
	drop := func(event int, key string) []any {
		events := bounded()
		delete(events[event].(object), key)
		return events
	}
	failure := func(more object) []any {
		more["type"] = "RUN_ERROR"
		return append(bounded()[:2], more)
	}
	swapped := func(i, j int) []any {
		events := bounded()
		events[i], events[j] = events[j], events[i]
		return events
	}
	for i, c := range []struct {
		events []any
		want   bool
	}{
		{bounded(), true},
		{failure(object{"message": "boom"}), true},
		{failure(object{}), true},
		{failure(object{"message": 7, "code": []any{}}), true},
		{failure(object{"threadId": "t", "runId": "r"}), true},
		{failure(object{"runId": nil}), false},
		{nil, false},
		{bounded()[:2], false},
		{bounded()[1:], false},
		{append(bounded(), bounded()[terminal]), false},
		{append(bounded(), object{"type": "STATE_SNAPSHOT"}), false},
		{append(bounded()[:1], append([]any{object{"type": "STATE_SNAPSHOT"}}, bounded()[1:]...)...), false},
		{swapped(0, 1), false},
		{swapped(1, 2), false},
		{change(started, "type", "run_started"), false},
		{change(started, "type", nil), false},
		{drop(started, "type"), false},
		{drop(started, "threadId"), false},
		{drop(started, "runId"), false},
		{change(started, "threadId", 7), false},
		{change(started, "runId", nil), false},
		{change(started, "parentRunId", 7), true},
		{change(started, "new", object{}), true},
		{drop(snapshot, "messages"), false},
		{change(snapshot, "messages", object{}), false},
		{change(snapshot, "messages", []any{}), true},
		{change(snapshot, "messages", []any{object{}}), true},
		{change(snapshot, "messages", []any{"hi"}), false},
		{change(snapshot, "messages", []any{[]any{}}), false},
		{change(snapshot, "metadata", object{"p20export": object{"origin": "built"}}), true},
		{change(terminal, "type", "STEP_FINISHED"), false},
		{drop(terminal, "threadId"), true},
		{drop(terminal, "runId"), true},
		{change(terminal, "threadId", object{}), false},
		{[]any{"RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"}, false},
	} {
		data := linesOf(t, c.events)
		err := schematest.CheckLines(schema.Envelope, data)
		if err != nil && !isRefusal(err) {
			t.Fatal(err)
		}
		if got := err == nil; got != c.want || isBounded(t, data) != c.want {
			t.Errorf("%d: the schema accepts: %t, the program: %t, want %t\n%s", i, got, isBounded(t, data), c.want, data)
		}
	}
	for _, text := range []string{"", "{}\n", `{"type":"RUN_STARTED"},{}` + "\n"} {
		if err := schematest.CheckLines(schema.Envelope, []byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
