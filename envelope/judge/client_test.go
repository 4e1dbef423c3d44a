//go:build client

package judge

import (
	"errors"
	"slices"
	"strings"
	"testing"
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
