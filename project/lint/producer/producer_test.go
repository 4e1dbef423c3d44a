package producer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// check returns the findings about a stream as event, severity, rule and kind. An empty event
// cannot be read.
func check(t *testing.T, c *Checker, found *[]string, events ...string) []string {
	t.Helper()
	var last envelope.Ref
	for i, text := range events {
		if text == "" {
			c.Skip()
			continue
		}
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		e.Index = i
		last = e.Ref()
		c.Event(e)
	}
	c.End(last)
	return *found
}

func newChecker() (*Checker, *[]string) {
	found := new([]string)
	return New(func(kind string, f finding.Finding) {
		name := f.Rule
		if name == "" {
			name = string(f.Code)
		}
		*found = append(*found, strings.TrimSpace(fmt.Sprintf("%d %s %s %s", *f.EventIndex, f.Severity, name, kind)))
	}), found
}

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	failed   = `{"type":"RUN_ERROR","message":"why"}`
	m1       = `{"type":"TEXT_MESSAGE_START","messageId":"m1"}`
	hi       = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hi"}`
	end1     = `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`
	c1       = `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f"}`
	endC1    = `{"type":"TOOL_CALL_END","toolCallId":"c1"}`
)

func snapshot(messages string) string {
	return `{"type":"MESSAGES_SNAPSHOT","messages":[` + messages + `]}`
}

// The scripts of the program have each rule on both sides. These are the corner cases.
func TestChecker(t *testing.T) {
	result := `{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"c9","content":""}`
	patch := `{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a"}]}`
	usage := func(counts string) string {
		return `{"type":"RUN_FINISHED","threadId":"t","runId":"r","usage":[{` + counts + `}]}`
	}
	at := func(ms string) string { return `{"type":"CUSTOM","name":"n","value":1,"timestamp":` + ms + `}` }
	for _, test := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"what is open at RUN_FINISHED is a breach of G23", []string{started, m1, finished}, nil},
		{"what a new run finds open is a breach of G4", []string{started, m1, started, finished}, []string{"2 warning W13 run"}},
		{"open at both ends", []string{started, m1, failed, started, c1},
			[]string{"2 info W1 text messagebefore RUN_ERROR", "3 warning W13 run", "4 warning W2 tool callbefore the end of the stream"}},
		{"steps of two agents", []string{started, `{"type":"STEP_STARTED","stepName":"s"}`, `{"type":"STEP_STARTED","stepName":"s","subagentRunId":"a"}`, `{"type":"STEP_FINISHED","stepName":"s","subagentRunId":"a"}`, failed},
			[]string{"4 info W3 stepbefore RUN_ERROR"}},
		{"ids that are no strings", []string{started, `{"type":"TEXT_MESSAGE_START","messageId":1}`, `{"type":"STEP_STARTED"}`, `{"type":"TOOL_CALL_RESULT","messageId":{},"toolCallId":[],"content":""}`, failed}, nil},
		{"an unreadable event may be what a rule misses", []string{started, "", result, patch, finished}, nil},
		{"the next run is checked", []string{started, "", finished, `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`, result, patch, finished}, []string{"4 warning W6", "5 warning W7"}},
		{"an empty chunk", []string{started, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":""}`, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1"}`, finished}, []string{"1 info W9 TEXT_MESSAGE_CHUNK"}},
		{"chunks continue", []string{started, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"a"}`, c1, endC1, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"b"}`, finished}, nil},
		{"a message with the id of a result", []string{started, c1, endC1, `{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":""}`, m1, end1, finished}, []string{"4 warning W11 text message"}},
		{"a result with the id of a message", []string{started, m1, end1, c1, endC1, `{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":""}`, finished}, []string{"5 warning W11 tool result"}},
		{"an open message is not reopened", []string{started, m1, m1, end1, finished}, nil},
		{"ids are known across runs", []string{started, m1, end1, finished, `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`, m1, end1, finished}, []string{"5 warning W11 text message"}},
		{"a snapshot while a message and a call are open", []string{started, m1, hi, c1, snapshot(""), end1, endC1, finished}, nil},
		{"two snapshots report a message once", []string{started, m1, hi, end1, snapshot(""), snapshot(""), finished}, []string{"4 warning W14 message"}},
		{"an empty message need not be in a snapshot", []string{started, m1, end1, snapshot(""), finished}, nil},
		{"another text", []string{started, m1, hi, end1, snapshot(`{"id":"m1","role":"assistant","content":"Ho"}`), finished}, []string{"4 warning W14 text"}},
		{"parts", []string{started, m1, hi, end1, snapshot(`{"id":"m1","role":"assistant","content":[{"type":"text","text":"H"},{"type":"text","text":"i"},7]}`), finished}, nil},
		{"a message of chunks", []string{started, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"H"}`, `{"type":"TEXT_MESSAGE_CHUNK","delta":"i"}`, snapshot(`{"id":"m2","role":"assistant","content":"Hi"}`), finished}, []string{"3 info W15"}},
		{"a pair that two deltas share", []string{started, m1, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a\ud83d"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":""}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"\ude00"}`, end1, snapshot(`{"id":"m1","role":"assistant","content":"a😀"}`), finished}, []string{"3 info W9 TEXT_MESSAGE_CONTENT"}},
		{"halves that stay alone", []string{started, m1, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"\ude00\ud83d"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"b\ud83d"}`, end1, snapshot(`{"id":"m1","role":"assistant","content":"\ude00\ud83db\ud83d"}`), finished}, nil},
		{"a message of a subagent", []string{started, `{"type":"TEXT_MESSAGE_START","messageId":"m1","subagentRunId":"a"}`, hi, end1, snapshot(""), finished}, nil},
		{"a call that a snapshot lacks", []string{started, c1, endC1, snapshot(`{"id":"m","role":"assistant","toolCalls":[{"id":"c2"},1]},2`), finished}, []string{"3 warning W14 call"}},
		{"one that it has", []string{started, c1, endC1, snapshot(`{"id":"m","role":"assistant","toolCalls":[{"id":"c1"}]}`), finished}, nil},
		{"misspelled", []string{started, `{"type":"RunFinished"}`, `{"type":"tool-call-start"}`, `{"type":"RUN_STARTD"}`, `{"type":"META"}`, `{"type":"` + strings.Repeat("x", 100) + `"}`, finished},
			[]string{"1 warning W16 RUN_FINISHED", "2 warning W16 TOOL_CALL_START", "3 warning W16 RUN_STARTED"}},
		{"the bounds of timestamps", []string{started, at("99999999"), at("100000000"), at("99999999999"), at("100000000000"), at("99999999999999"), at("100000000000000"), at("1.5"), at("1e3"), at("-5"), finished},
			[]string{"2 warning W18 seconds", "3 warning W18 seconds", "6 warning W18 microseconds", "9 warning W17"}},
		{"counts without a sum", []string{started, usage(`"inputTokens":5,"cachedInputTokens":3,"cacheWriteInputTokens":2`)}, nil},
		{"too much is cached", []string{started, usage(`"inputTokens":5,"cachedInputTokens":3,"cacheWriteInputTokens":3`)}, []string{"1 warning W19"}},
		{"too much reasoning", []string{started, usage(`"outputTokens":5,"reasoningTokens":6`)}, []string{"1 warning W19"}},
		{"more input than all", []string{started, usage(`"inputTokens":5,"totalTokens":4`)}, []string{"1 warning W19"}},
		{"the greatest counts", []string{started, usage(`"inputTokens":9223372036854775807,"outputTokens":9223372036854775807,"totalTokens":1`)}, []string{"1 warning W19"}},
		{"counts that are no counts", []string{started, usage(`"inputTokens":-5,"totalTokens":"x","outputTokens":1.5`), `{"type":"RUN_ERROR","message":"x","usage":{}}`}, nil},
		{"arguments with half of a surrogate pair in each part", []string{started, c1, `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"\"\ud83d"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"\ude00\""}`, endC1, finished}, nil},
		{"arguments in chunks", []string{started, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"f","delta":"{\"a\":"}`, `{"type":"RAW","event":1}`, `{"type":"TOOL_CALL_CHUNK","delta":"1}"}`, finished}, nil},
		{"half of the arguments in chunks", []string{started, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"f","delta":"{\"a\":"}`, m1, end1, finished}, []string{"2 warning W21"}},
		{"half of the arguments in chunks at RUN_ERROR", []string{started, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"f","delta":"{\"a\":"}`, failed}, nil},
		{"chunks of two agents", []string{started, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"f","delta":"{"}`, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","toolCallName":"f","delta":"[","subagentRunId":"a"}`, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","delta":"]"}`, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","delta":"}"}`, finished}, nil},
	} {
		c, found := newChecker()
		if diff := cmp.Diff(test.want, check(t, c, found, test.events...)); diff != "" && (test.want != nil || len(*found) > 0) {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// A request has the messages and the state that the run begins with.
func TestSeed(t *testing.T) {
	c, found := newChecker()
	c.Seed([]byte(`{"threadId":"t","runId":"r","state":{"a":1},"messages":[{"id":"m","role":"assistant","toolCalls":[{"id":"c9","type":"function","function":{"name":"f","arguments":""}}]}]}`))
	got := check(t, c, found, started, `{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"c9","content":""}`, `{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a"}]}`, finished)
	if len(got) > 0 {
		t.Error(got)
	}
}

// Past the limits, one finding says so, and what is remembered does not grow.
func TestLimits(t *testing.T) {
	for _, n := range []int{5, 6} {
		c, found := newChecker()
		c.known.maxIDs = 6 // the run, and five messages
		events := []string{started}
		for i := range n {
			events = append(events, fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":"m%d"}`, i), fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":"m%d"}`, i))
		}
		got := check(t, c, found, append(events, finished)...)
		if n == 5 && len(got) > 0 || n == 6 && !cmp.Equal(got, []string{"11 info producer_unchecked"}) || len(c.known.ids) > 6 {
			t.Errorf("%d messages: %v, %d ids", n, got, len(c.known.ids))
		}
	}
	c, found := newChecker()
	c.known.maxBytes = 8
	if got := check(t, c, found, started, `{"type":"STEP_STARTED","stepName":"`+strings.Repeat("s", 9)+`"}`, failed); !cmp.Equal(got, []string{"1 info producer_unchecked"}) {
		t.Errorf("a long name: %v", got)
	}
}

// Arguments that are too long are not checked, and forgotten.
func TestArguments(t *testing.T) {
	c, found := newChecker()
	events := []string{started, c1}
	part := `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"` + strings.Repeat("x", maxArguments/2) + `"}`
	got := check(t, c, found, append(events, part, part, part, endC1, finished)...)
	if len(got) > 0 || c.calls.bytes != 0 || len(c.calls.texts) > 0 {
		t.Errorf("%v, %d bytes, %d texts", got, c.calls.bytes, len(c.calls.texts))
	}
	c, found = newChecker()
	got = check(t, c, found, append(events, part, endC1, finished)...)
	if !cmp.Equal(got, []string{"3 warning W21"}) || c.calls.bytes != 0 {
		t.Errorf("%v, %d bytes", got, c.calls.bytes)
	}
}
