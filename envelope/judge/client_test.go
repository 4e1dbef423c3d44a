//go:build client

package judge

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/eventnames"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	start    = `{"type":"TEXT_MESSAGE_START","messageId":"m"}`
	end      = `{"type":"TEXT_MESSAGE_END","messageId":"m"}`
)

// content returns a TEXT_MESSAGE_CONTENT whose delta is a JSON string.
func content(delta string) string {
	return `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":` + delta + `}`
}

func TestClientVerify(t *testing.T) {
	j := Start(t)
	for _, test := range []struct {
		events []string
		index  int
		text   string
	}{
		{[]string{started, start, content(`"a"`), end, finished}, -1, ""},
		{nil, -1, ""},
		{[]string{started, start, finished}, 2, "while text messages are still active: m"},
		{[]string{start}, 0, "First event must be 'RUN_STARTED'"},
		{[]string{started, `{"type":"TEXT_MESSAGE_CHUNK","delta":"a"}`, finished}, 1, "First TEXT_MESSAGE_CHUNK must have a messageId"},
		{[]string{started, `{"type":"META"}`, finished}, -1, ""},
	} {
		index, text := j.Verify(test.events)
		if index != test.index || !strings.Contains(text, test.text) {
			t.Errorf("Verify(%s) = %d, %q", test.events, index, text)
		}
	}
}

func TestClientPipeline(t *testing.T) {
	j := Start(t)
	events := []string{started, `{"type":"META"}`, `{"type":"THINKING_START","title":"x"}`, `{"type":"THINKING_END"}`, `{"type":"STATE_DELTA","patch":[]}`}
	if index, text := j.Pipeline(events); index != 4 || !strings.Contains(text, "delta") {
		t.Errorf("Pipeline = %d, %q", index, text)
	}
	if !slices.ContainsFunc(j.Warnings(), func(w string) bool { return strings.Contains(w, "META") }) {
		t.Errorf("the warnings are %q", j.Warnings())
	}
}

func TestClientExpand(t *testing.T) {
	j := Start(t)
	got, err := j.Expand([]string{started, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"\ud83d"}`, finished, `{"type":"TEXT_MESSAGE_CHUNK"}`})
	want := []string{started, `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`, content(`"\ud83d"`), end, finished}
	if !slices.Equal(got, want) {
		t.Errorf("Expand = %q", got)
	}
	if refused := new(Refused); !errors.As(err, &refused) || refused.Index != 3 {
		t.Errorf("the error is %v", err)
	}
}

func TestClientSchema(t *testing.T) {
	j := Start(t)
	for event, want := range map[string]string{
		start:                         "",
		`{"type":"TEXT_MESSAGE_END"}`: "messageId",
		`{"type":"META"}`:             "type",
	} {
		if got := j.Schema(event); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("Schema(%s) = %q", event, got)
		}
	}
	if got := j.InputSchema(`{"threadId":"t","runId":"r","messages":[]}`); got != "" {
		t.Errorf("InputSchema = %q", got)
	}
	if got := j.InputSchema(`{"threadId":"t"}`); !strings.Contains(got, "runId") {
		t.Errorf("InputSchema = %q", got)
	}
}

func TestClientCompact(t *testing.T) {
	j := Start(t)
	events := []string{started, start, content(`"\ud83d"`), content(`"\ude00"`), end, `{"type":"STATE_SNAPSHOT","snapshot":{}}`, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1}]}`, finished}
	for version, state := range map[string][]string{
		"1.0.0":  {`{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`},
		"0.0.52": events[5:7],
	} {
		want := slices.Concat([]string{started, start, content(`"😀"`), end}, state, []string{finished})
		got, err := j.Compact(version, events)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Compact(%s) = %q, %v", version, got, err)
		}
	}
	if _, err := j.Compact("1.0.0", []string{"null"}); err == nil {
		t.Error("no error")
	}
}

func TestClientReduce(t *testing.T) {
	j := Start(t)
	messages, state, err := j.Reduce([]string{started, start, content(`"\ud83d"`), `{"type":"STATE_SNAPSHOT","snapshot":[9007199254740993]}`, content(`"\ude00 \ude00"`), start})
	if !Equal(messages, `[{"id":"m","role":"assistant","content":"😀 \ude00"}]`) || !Equal(state, `[9007199254740993]`) {
		t.Errorf("Reduce = %s, %s", messages, state)
	}
	if refused := new(Refused); !errors.As(err, &refused) || refused.Index != 5 {
		t.Errorf("the error is %v", err)
	}
	messages, state, err = j.ReduceFrom(`[{"id":"u","role":"user","content":"Hello."}]`, `{"a":1}`, []string{started, finished})
	if !Equal(messages, `[{"id":"u","role":"user","content":"Hello."}]`) || !Equal(state, `{"a":1}`) || err != nil {
		t.Errorf("ReduceFrom = %s, %s, %v", messages, state, err)
	}
	if messages, state, err = j.Reduce(nil); messages != "[]" || state != "{}" || err != nil {
		t.Errorf("Reduce = %s, %s, %v", messages, state, err)
	}
}

func TestClientPatch(t *testing.T) {
	j := Start(t)
	for _, test := range []struct {
		document, operations, result string
		ok                           bool
	}{
		{`[1]`, `[{"op":"add","path":"/01","value":2}]`, `[1,2]`, true},
		{`{}`, `[{"op":"remove","path":""}]`, `null`, true},
		{`{}`, `[{"op":"copy","from":"/a","path":""}]`, ``, true},
		{`{}`, `[{"op":"remove","path":"/a"}]`, "", false},
	} {
		result, ok := j.Patch(test.document, test.operations)
		if ok != test.ok || ok && result != test.result {
			t.Errorf("Patch(%s, %s) = %q, %t", test.document, test.operations, result, ok)
		}
	}
}

// Generated streams keep the rules, whatever is asked for, and follow the schema unless
// something else is asked for. Each type of event is among them.
func TestClientGenerate(t *testing.T) {
	j := Start(t)
	types := map[string]int{}
	for seed := range Streams(2000) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		var g Generator
		if seed%2 == 1 {
			g = Generator{Without: Feature(r.Uint64()) & (UnknownTypes - 1), With: Feature(r.Uint64()) &^ (UnknownTypes - 1)}
		}
		events := Generate(r, g)
		if index, text := j.Verify(events); index >= 0 {
			t.Fatalf("stream %d: %s: %s\n%s", seed, text, events[index], strings.Join(events[:index], "\n"))
		}
		if g.With != 0 {
			continue
		}
		for i, problem := range j.Schemas(events) {
			if problem != "" {
				t.Fatalf("stream %d: %s\n%s", seed, events[i], problem)
			}
			types[event.FindStringSubmatch(events[i])[1]]++
		}
		if index, text := j.Pipeline(events); index >= 0 {
			t.Fatalf("stream %d: %s: %s", seed, text, events[index])
		}
	}
	for _, name := range eventnames.Released() {
		if types[name] < 10 && !strings.HasPrefix(name, "THINKING_") {
			t.Errorf("%d events of type %s", types[name], name)
		}
	}
	t.Log(types)
}

var event = regexp.MustCompile(`^\{"type":"(\w+)"`)

// breaches are the texts of the client's errors about sequences, by a part that tells
// them apart.
var breaches = []string{
	"The run has already errored", "The run has already finished", "First event must be", "while a run is still active",
	"' with 'subagentRunId: null'", "with 'description: null'", "with outcome type 'lost'", "'outcome.interruptIds: null'", "non-string entry",
	"an interrupt (id", "Cannot send a message (id",
	"A text message with ID", "'TEXT_MESSAGE_CONTENT' event: No active", "'TEXT_MESSAGE_END' event: No active",
	"A tool call with ID", "'TOOL_CALL_ARGS' event: No active", "'TOOL_CALL_END' event: No active",
	"does not match its parent message", "but its parent message",
	"does not match the message", "does not match the tool call", "does not match the activity", "does not match the reasoning message",
	`is already active for 'STEP_STARTED'`, "in subagent 's9'", "A step must be finished by whoever started it", "that was not started",
	"A reasoning span with ID", "A reasoning message with ID", "No active reasoning span", "No active reasoning message",
	"without a 'subagentRunId'", "'SUBAGENT_STARTED' without a 'name'", "'SUBAGENT_ERROR' without a 'message'",
	"is already active. Finish it", "has already finished in this run", "has not been started in this run", "no active subagent found",
	"while steps are still", "while text messages are still", "while reasoning messages are still", "while reasoning spans are still", "while tool calls are still", "while subagents are still",
	"First TEXT_MESSAGE_CHUNK must have a messageId", "First TOOL_CALL_CHUNK must have a toolCallId", "First TOOL_CALL_CHUNK must have a toolCallName", "First REASONING_MESSAGE_CHUNK must have a messageId",
	"Ambiguous ", "does not match the open stream's subagent", "chunk role", "chunk name", "chunk toolCallName", "chunk parentMessageId",
}

// Damage breaks every rule of the client.
func TestClientDamage(t *testing.T) {
	j := Start(t)
	kept, found := 0, make([]int, len(breaches))
	n := Streams(5000)
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		_, text := j.Verify(Damage(r, Generate(r, Generator{})))
		if text == "" {
			kept++
			continue
		}
		known := false
		for i, b := range breaches {
			if strings.Contains(text, b) {
				found[i]++
				known = true
			}
		}
		if !known {
			t.Errorf("not in the list: %s", text)
		}
	}
	for i, b := range breaches {
		if found[i] == 0 {
			t.Errorf("no stream is refused for %q", b)
		}
	}
	if kept > n/2 {
		t.Errorf("%d of %d damaged streams keep the rules", kept, n)
	}
	t.Log(kept, found)
}
