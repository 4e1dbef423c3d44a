package restore_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/store/restore"
)

// TestUnknownMaterial has a thread with members, roles, content parts, operations and events
// that AG-UI does not define. A client that conforms does not show them, so they do not come
// back from the log, which keeps every byte.
func TestUnknownMaterial(t *testing.T) {
	t.Parallel()
	entries := script(`
		a input {"threadId":"t","runId":"r","new":1,"messages":[{"id":"u","role":"user","content":[{"type":"text","text":"x","new":1},{"type":"new"}]},{"id":"v","role":"new","content":"x"}],"state":{"new":1},"tools":[{"name":"n","description":"d","new":1}]}
		a RUN_STARTED{"threadId":"t","runId":"r","new":1}
		a NEW_EVENT{"new":1}
		a TEXT_MESSAGE_START{"messageId":"m","new":1}
		a TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"hi","new":1}
		a TEXT_MESSAGE_END{"messageId":"m"}
		a REASONING_ENCRYPTED_VALUE{"subtype":"message","entityId":"m","encryptedValue":"e","encryptedValueType":"vendor.kind"}
		a REASONING_ENCRYPTED_VALUE{"subtype":"new","entityId":"u","encryptedValue":"f"}
		a TOOL_CALL_RESULT{"messageId":"w","toolCallId":"c","content":[{"type":"new"}]}
		a STATE_DELTA{"delta":[{"op":"new","path":"/a"},{"op":"add","path":"/a","value":1}]}
		a RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"interrupt","new":1,"interrupts":[{"id":"i","reason":"r","new":1}]}}`)
	th := open(t, entries, restore.Options{})
	n := th.Graph.Nodes[0]
	got, err := th.Run(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	const messages = `[{"id":"u","role":"user","content":[{"type":"text","text":"x"}]},` +
		`{"id":"m","role":"assistant","content":"hi","encryptedValue":"e","encryptedValueType":"vendor.kind"},` +
		`{"id":"w","toolCallId":"c","role":"tool","content":[]}]`
	if diff := cmp.Diff(messages, string(got.Messages)); diff != "" {
		t.Errorf("messages: -want +got\n%s", diff)
	}
	if string(got.State) != `{"new":1,"a":1}` || string(got.Interrupts) != `[{"id":"i","reason":"r"}]` {
		t.Errorf("the state is %s, the interrupts are %s", got.State, got.Interrupts)
	}
	if len(got.Findings) != 5 {
		t.Errorf("the findings are %v", got.Findings)
	}
	if !bytes.Equal(got.Input, entries[0].Data) {
		t.Errorf("the request is %s", got.Input)
	}
	fork, err := th.Fork(got, "f", lineage.Full)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"threadId":"t","runId":"f","parentRunId":"r","messages":` + messages + `,"state":{"new":1,"a":1},"tools":[{"name":"n","description":"d"}]}`
	if text := string(event.AppendRunInput(nil, fork)); strings.Count(text, "new") != strings.Count(want, "new") {
		t.Errorf("the fork is %s, want about %s", text, want)
	}
	l, err := th.Live(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	events := prelude(t, l)
	wantEvents := []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":` + messages + `}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"new":1,"a":1}}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r"}]}}`,
	}
	if diff := cmp.Diff(wantEvents, events); diff != "" {
		t.Errorf("prelude: -want +got\n%s", diff)
	}
	for i, e := range entriesIn(t, entries) {
		if !bytes.Equal(e.Data, entries[i].Data) {
			t.Errorf("entry %d is %s, want %s", i, e.Data, entries[i].Data)
		}
	}
}
