package chunk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
)

// read reads an event, which is given the index i.
func read(t testing.TB, i int, text string) *envelope.Event {
	t.Helper()
	e, err := envelope.ReadEvent([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	e.Index, e.Offset = i, int64(100*i)
	return e
}

// expand expands events. For a fault it lists "reason key" in the place of the chunk.
func expand(t testing.TB, events []string) []string {
	t.Helper()
	var x chunk.Expander
	out := []string{}
	for i, text := range events {
		e := read(t, i, text)
		fault := x.Expand(e, func(y *envelope.Event) {
			checkEvent(t, e, y)
			out = append(out, string(y.Data))
		})
		if fault != nil {
			out = append(out, fmt.Sprintf("%s %s", fault.Reason, fault.Key))
		}
	}
	return out
}

// checkEvent checks that an event that e expands to is consistent with its text and has
// the place of e.
func checkEvent(t testing.TB, e, y *envelope.Event) {
	t.Helper()
	if y.Ref() != e.Ref() {
		t.Errorf("the place is %v, want %v", y.Ref(), e.Ref())
	}
	again, err := envelope.ReadEvent(y.Data)
	if err != nil {
		t.Fatalf("%s: %v", y.Data, err)
	}
	if again.Type != y.Type || again.Len() != y.Len() {
		t.Errorf("%s: the event has type %s and %d members", y.Data, y.Type, y.Len())
	}
	for m := range again.All {
		name, _ := m.Name.Text()
		if v, ok := y.Get(name); !ok || v.Kind != m.Value.Kind || string(v.Raw) != string(m.Value.Raw) || v.Start != m.Value.Start {
			t.Errorf("%s: member %s is %s %s at %d", y.Data, name, v.Kind, v.Raw, v.Start)
		}
	}
	if v, ok := y.Get("type"); y != e && ok {
		f := y.FindingAt(v, "x", "x")
		if *f.Offset != e.Offset {
			t.Errorf("a finding about %s has the offset %d, want %d", y.Data, *f.Offset, e.Offset)
		}
	}
}

// fill replaces the short forms of types in the events of tests.
func fill(lines string) []string {
	out := []string{}
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if kind, rest, ok := strings.Cut(line, "{"); ok {
			sep := ","
			if rest == "}" {
				sep = ""
			}
			line = fmt.Sprintf(`{"type":"%s"%s%s`, short[kind], sep, rest)
		}
		out = append(out, line)
	}
	return out
}

var short = map[string]string{
	"text": "TEXT_MESSAGE_CHUNK", "S": "TEXT_MESSAGE_START", "C": "TEXT_MESSAGE_CONTENT", "E": "TEXT_MESSAGE_END",
	"tool": "TOOL_CALL_CHUNK", "TS": "TOOL_CALL_START", "TA": "TOOL_CALL_ARGS", "TE": "TOOL_CALL_END", "TR": "TOOL_CALL_RESULT",
	"reasoning": "REASONING_MESSAGE_CHUNK", "RS": "REASONING_MESSAGE_START", "RC": "REASONING_MESSAGE_CONTENT", "RE": "REASONING_MESSAGE_END",
	"X": "CUSTOM", "RAW": "RAW", "run": "RUN_STARTED", "finished": "RUN_FINISHED", "failed": "RUN_ERROR", "all": "MESSAGES_SNAPSHOT",
	"sub": "SUBAGENT_STARTED", "subEnd": "SUBAGENT_FINISHED", "subFail": "SUBAGENT_ERROR", "new": "FUTURE_EVENT",
	"act": "ACTIVITY_SNAPSHOT", "key": "REASONING_ENCRYPTED_VALUE", "step": "STEP_STARTED",
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"text with everything", `
			text{"messageId":"m","role":"user","name":"n","delta":"a","timestamp":1,"metadata":{"k":1},"rawEvent":[2],"subagentRunId":"s"}
			text{"delta":"b","subagentRunId":"s","timestamp":2}
			finished{}`, `
			S{"messageId":"m","role":"user","name":"n","subagentRunId":"s","metadata":{"k":1}}
			C{"messageId":"m","delta":"a","subagentRunId":"s","metadata":{"k":1},"rawEvent":[2]}
			C{"messageId":"m","delta":"b","subagentRunId":"s"}
			E{"messageId":"m","subagentRunId":"s"}
			finished{}`},
		{"the role of a text message is assistant", `
			text{"messageId":"m"}
			text{"messageId":"m","role":"assistant","delta":""}`, `
			S{"messageId":"m","role":"assistant"}
			C{"messageId":"m","delta":""}`},
		{"tool call", `
			tool{"toolCallId":"t","toolCallName":"f","parentMessageId":"p","delta":"{"}
			tool{"toolCallId":"t","toolCallName":"f","parentMessageId":"p","delta":"}"}
			tool{"toolCallId":"u","toolCallName":"f","parentMessageId":null}
			TR{"toolCallId":"t"}`, `
			TS{"toolCallId":"t","toolCallName":"f","parentMessageId":"p"}
			TA{"toolCallId":"t","delta":"{"}
			TA{"toolCallId":"t","delta":"}"}
			TE{"toolCallId":"t"}
			TS{"toolCallId":"u","toolCallName":"f"}
			TE{"toolCallId":"u"}
			TR{"toolCallId":"t"}`},
		{"reasoning", `
			reasoning{"messageId":"","delta":"a"}
			reasoning{"delta":"b"}
			reasoning{"messageId":"r"}
			text{"messageId":"r"}`, `
			RS{"messageId":"","role":"reasoning"}
			RC{"messageId":"","delta":"a"}
			RC{"messageId":"","delta":"b"}
			RE{"messageId":""}
			RS{"messageId":"r","role":"reasoning"}
			RE{"messageId":"r"}
			S{"messageId":"r","role":"assistant"}`},
		{"chunks that carry no text", `
			text{"messageId":"m"}
			text{"metadata":{}}
			text{"rawEvent":1}
			text{"subagentRunId":null}
			text{"more":1}
			text{}
			text{"timestamp":4,"role":"assistant"}
			text{"delta":null}`, `
			S{"messageId":"m","role":"assistant"}
			C{"messageId":"m","delta":"","metadata":{}}
			C{"messageId":"m","delta":"","rawEvent":1}
			C{"messageId":"m","delta":"","subagentRunId":null}
			C{"messageId":"m","delta":"","more":1}
			C{"messageId":"m","delta":null}`},
		{"the metadata of a chunk is not that of the message that it ends", `
			text{"messageId":"m","metadata":{"a":1}}
			text{"messageId":"n","metadata":{"b":1}}`, `
			S{"messageId":"m","role":"assistant","metadata":{"a":1}}
			E{"messageId":"m"}
			S{"messageId":"n","role":"assistant","metadata":{"b":1}}`},
		{"unknown members are on one event", `
			text{"messageId":"m","x":1,"delta":"a","toolCallId":"t"}
			text{"messageId":"n","x":1,"y\u0031":{"type":2}}
			reasoning{"messageId":"r","role":"assistant","x":1}
			reasoning{"r\u006fle":"assistant","delta":"d"}`, `
			S{"messageId":"m","role":"assistant"}
			C{"messageId":"m","delta":"a","x":1,"toolCallId":"t"}
			E{"messageId":"m"}
			S{"messageId":"n","role":"assistant","x":1,"y\u0031":{"type":2}}
			E{"messageId":"n"}
			RS{"messageId":"r","role":"reasoning","x":1}
			RC{"messageId":"r","delta":"d","r\u006fle":"assistant"}`},
		{"lanes", `
			text{"messageId":"m","delta":"1"}
			text{"messageId":"a","subagentRunId":"s","delta":"2"}
			text{"messageId":"b","subagentRunId":"","delta":"3"}
			text{"delta":"4"}
			text{"delta":"5","subagentRunId":"s"}
			text{"delta":"6","messageId":"b"}
			X{"subagentRunId":"s"}
			X{}
			text{"delta":"7"}
			failed{}`, `
			S{"messageId":"m","role":"assistant"}
			C{"messageId":"m","delta":"1"}
			S{"messageId":"a","role":"assistant","subagentRunId":"s"}
			C{"messageId":"a","delta":"2","subagentRunId":"s"}
			S{"messageId":"b","role":"assistant","subagentRunId":""}
			C{"messageId":"b","delta":"3","subagentRunId":""}
			C{"messageId":"m","delta":"4"}
			C{"messageId":"a","delta":"5","subagentRunId":"s"}
			C{"messageId":"b","delta":"6","subagentRunId":""}
			E{"messageId":"a","subagentRunId":"s"}
			X{"subagentRunId":"s"}
			E{"messageId":"m"}
			X{}
			C{"messageId":"b","delta":"7","subagentRunId":""}
			E{"messageId":"b","subagentRunId":""}
			failed{}`},
		{"all lanes end in the order in which their streams began", `
			text{"messageId":"a","subagentRunId":"s"}
			text{"messageId":"m"}
			tool{"toolCallId":"t","toolCallName":"f","subagentRunId":"u"}
			text{"messageId":"b","subagentRunId":"s"}
			all{}`, `
			S{"messageId":"a","role":"assistant","subagentRunId":"s"}
			S{"messageId":"m","role":"assistant"}
			TS{"toolCallId":"t","toolCallName":"f","subagentRunId":"u"}
			E{"messageId":"a","subagentRunId":"s"}
			S{"messageId":"b","role":"assistant","subagentRunId":"s"}
			E{"messageId":"m"}
			TE{"toolCallId":"t","subagentRunId":"u"}
			E{"messageId":"b","subagentRunId":"s"}
			all{}`},
		{"a chunk of another kind ends the stream of its lane", `
			text{"messageId":"m"}
			tool{"toolCallId":"m","toolCallName":"f"}
			text{"messageId":"m"}`, `
			S{"messageId":"m","role":"assistant"}
			E{"messageId":"m"}
			TS{"toolCallId":"m","toolCallName":"f"}
			TE{"toolCallId":"m"}
			S{"messageId":"m","role":"assistant"}`},
		{"events that end no stream", `
			text{"messageId":"m"}
			RAW{}
			act{}
			key{}
			sub{"subagentRunId":"s"}
			subEnd{}
			subFail{"subagentRunId":null}
			new{}
			X{"subagentRunId":"s"}
			X{"subagentRunId":5}
			text{"delta":"x"}
			step{"subagentRunId":null}
			text{"messageId":"a","subagentRunId":"s"}
			subEnd{"subagentRunId":"s"}`, `
			S{"messageId":"m","role":"assistant"}
			RAW{}
			act{}
			key{}
			sub{"subagentRunId":"s"}
			subEnd{}
			subFail{"subagentRunId":null}
			new{}
			X{"subagentRunId":"s"}
			X{"subagentRunId":5}
			C{"messageId":"m","delta":"x"}
			E{"messageId":"m"}
			step{"subagentRunId":null}
			S{"messageId":"a","role":"assistant","subagentRunId":"s"}
			E{"messageId":"a","subagentRunId":"s"}
			subEnd{"subagentRunId":"s"}`},
		{"a null tag is passed on", `
			text{"messageId":"m","subagentRunId":null,"delta":"a"}
			text{"delta":"b"}
			run{}`, `
			S{"messageId":"m","role":"assistant","subagentRunId":null}
			C{"messageId":"m","delta":"a","subagentRunId":null}
			C{"messageId":"m","delta":"b","subagentRunId":null}
			E{"messageId":"m","subagentRunId":null}
			run{}`},
		{"ids are compared as values", `
			text{"messageId":"\u006d\ud83d"}
			text{"messageId":"m\uD83D","delta":"a"}`, `
			S{"messageId":"\u006d\ud83d","role":"assistant"}
			C{"messageId":"\u006d\ud83d","delta":"a"}`},
		{"incomplete chunks end the stream of their lane", `
			text{"delta":"a"}
			tool{"toolCallName":"f"}
			reasoning{}
			text{"messageId":"m"}
			tool{"toolCallId":"t"}
			text{"delta":"b"}
			text{"messageId":"a","subagentRunId":"s"}
			text{"subagentRunId":"u"}
			text{"messageId":null,"delta":"c"}`, `
			incomplete messageId
			incomplete toolCallId
			incomplete messageId
			S{"messageId":"m","role":"assistant"}
			E{"messageId":"m"}
			incomplete toolCallName
			incomplete messageId
			S{"messageId":"a","role":"assistant","subagentRunId":"s"}
			incomplete messageId
			C{"messageId":"a","delta":"c","subagentRunId":"s"}`},
		{"ambiguous chunks change nothing", `
			text{"messageId":"a","subagentRunId":"s"}
			text{"messageId":"b","subagentRunId":"u"}
			tool{"toolCallId":"t","toolCallName":"f"}
			text{"delta":"?"}
			tool{"delta":"1"}
			text{"delta":"2","subagentRunId":"s"}`, `
			S{"messageId":"a","role":"assistant","subagentRunId":"s"}
			S{"messageId":"b","role":"assistant","subagentRunId":"u"}
			TS{"toolCallId":"t","toolCallName":"f"}
			ambiguous messageId
			TA{"toolCallId":"t","delta":"1"}
			C{"messageId":"a","delta":"2","subagentRunId":"s"}`},
		{"conflicts change nothing", `
			text{"messageId":"m"}
			text{"role":"user"}
			text{"messageId":"m","name":"n"}
			text{"messageId":"m","subagentRunId":"s","delta":"?"}
			text{"delta":"1"}
			tool{"toolCallId":"t","toolCallName":"f","subagentRunId":"s"}
			tool{"toolCallName":"g","subagentRunId":"s"}
			tool{"toolCallId":"t","parentMessageId":"p"}
			tool{"delta":"2"}`, `
			S{"messageId":"m","role":"assistant"}
			conflict role
			conflict name
			conflict subagentRunId
			C{"messageId":"m","delta":"1"}
			TS{"toolCallId":"t","toolCallName":"f","subagentRunId":"s"}
			conflict toolCallName
			conflict parentMessageId
			TA{"toolCallId":"t","delta":"2","subagentRunId":"s"}`},
		{"malformed chunks", `
			text{"messageId":"m"}
			text{"role":{}}
			text{"subagentRunId":5}
			text{"delta":"1"}
			text{"messageId":5}
			text{"messageId":"m","name":[]}`, `
			S{"messageId":"m","role":"assistant"}
			malformed role
			malformed subagentRunId
			C{"messageId":"m","delta":"1"}
			E{"messageId":"m"}
			malformed messageId
			malformed name`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(fill(test.want), expand(t, fill(test.in))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestTexts lists the texts of all faults.
func TestTexts(t *testing.T) {
	t.Parallel()
	var got []string
	var x chunk.Expander
	for i, text := range fill(`
		tool{}
		tool{"toolCallId":"t"}
		text{"messageId":[]}
		text{"messageId":"m","subagentRunId":"s"}
		text{"messageId":"m","role":"user"}
		text{"messageId":"m","subagentRunId":"u"}
		text{"messageId":"n","subagentRunId":"u"}
		text{}`) {
		if f := x.Expand(read(t, i, text), func(*envelope.Event) {}); f != nil {
			got = append(got, f.Error())
		}
	}
	want := []string{
		"the first TOOL_CALL_CHUNK of a tool call must have a toolCallId",
		"the first TOOL_CALL_CHUNK of a tool call must have a toolCallName",
		"the messageId of TEXT_MESSAGE_CHUNK must be a string, not an array",
		`TEXT_MESSAGE_CHUNK of text message "m" has another role than its first chunk`,
		`TEXT_MESSAGE_CHUNK of text message "m" has another subagentRunId than its first chunk`,
		"TEXT_MESSAGE_CHUNK has neither a messageId nor a subagentRunId, and 2 subagents have an open text message",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestLimits checks the limits at their values and one above them.
func TestLimits(t *testing.T) {
	t.Parallel()
	long := func(n int) string {
		return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"%s"}`, strings.Repeat("i", n-2))
	}
	if got := expand(t, []string{long(chunk.MaxStreamBytes - len(`"assistant"`))}); len(got) != 1 || got[0][0] != '{' {
		t.Errorf("a chunk of the greatest size expands to %.80q", got)
	}
	if got := expand(t, []string{`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}`, long(chunk.MaxStreamBytes + 1 - len(`"assistant"`))}); !slices.Equal(got[1:], []string{
		`{"type":"TEXT_MESSAGE_END","messageId":"m"}`, "too-large messageId",
	}) {
		t.Errorf("a chunk that is too large expands to %.80q", got)
	}
	var many []string
	last := len(`"assistant""00"""`)
	for i := range chunk.MaxBytes / chunk.MaxStreamBytes {
		many = append(many, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"%0*d","subagentRunId":"%02d"}`, chunk.MaxStreamBytes-last, i, i))
	}
	one := `{"type":"TEXT_MESSAGE_CHUNK","messageId":"","role":"","subagentRunId":""}`
	end := `{"type":"SUBAGENT_FINISHED","subagentRunId":"00"}`
	got := expand(t, append(many, one, end, one))
	if n := len(many); len(got) != n+4 || got[n-1][0] != '{' || got[n] != "too-large messageId" || got[n+3][0] != '{' {
		t.Errorf("streams with all bytes expand to %.80q", got)
	}
	many = nil
	for i := range chunk.MaxStreams + 1 {
		many = append(many, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m%d","subagentRunId":"s%d"}`, i, i))
	}
	got = expand(t, append(many, `{"type":"RUN_ERROR"}`))
	if len(got) != 2*chunk.MaxStreams+2 || got[chunk.MaxStreams] != "too-large subagentRunId" {
		t.Errorf("%d streams expand to %d events", len(many), len(got))
	}
	for i, text := range got[chunk.MaxStreams+1 : 2*chunk.MaxStreams+1] {
		if want := fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":"m%d","subagentRunId":"s%d"}`, i, i); text != want {
			t.Fatalf("stream %d ends with %s", i, text)
		}
	}
}

// TestMemory checks that expanding a continuation allocates nothing.
func TestMemory(t *testing.T) {
	var x chunk.Expander
	first, next := read(t, 0, fill(`text{"messageId":"m","delta":"a"}`)[0]), read(t, 1, fill(`text{"delta":"b"}`)[0])
	count := func(*envelope.Event) {}
	x.Expand(first, count)
	x.Expand(next, count)
	if n := testing.AllocsPerRun(100, func() { x.Expand(next, count) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
