package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/finding"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	another  = `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
)

// The findings have the code, the place and the text of the breach.
func TestFindings(t *testing.T) {
	for _, test := range []struct {
		protocol event.Protocol
		event    string
		after    string // the events before it, in the run
		want     string // rule, code, pointer, offset, text
	}{
		{"1.0", `{"type":"TEXT_MESSAGE_START","messageId":"m"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`G9 already_open /messageId 41: TEXT_MESSAGE_START names text message "m", which is already open`},
		{"1.0", `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":""}`, ``,
			`G12 not_open /toolCallId 38: TOOL_CALL_ARGS names tool call "c", which is not open; TOOL_CALL_START opens it`},
		{"1.0", `{"type":"STEP_FINISHED","stepName":"s","subagentRunId":"a"}`, `{"type":"STEP_STARTED","stepName":"s"}`,
			`G15 not_open /stepName 35: STEP_FINISHED of subagent "a" names step "s", which is open for the parent agent`},
		{"1.0", `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m","subagentRunId":"a"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`G13 owner_differs /subagentRunId 100: TOOL_CALL_START names subagent "a", but its parent message "m" belongs to the parent agent`},
		{"1.0", `{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"b"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m","subagentRunId":"a"}`,
			`G18 owner_differs /subagentRunId 59: TEXT_MESSAGE_END names subagent "b", but the message "m" belongs to subagent "a"`},
		{"1.0", `{"type":"CUSTOM","name":"n","value":1,"subagentRunId":null}`, ``,
			`G5 subagent_id_null /subagentRunId 54: CUSTOM has the subagentRunId null; leave it out`},
		{"1.0", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":""},{"id":"m","role":"assistant","subagentRunId":null}]}`, ``,
			`G5 subagent_id_null /messages/1/subagentRunId 123: message "m" has the subagentRunId null; leave it out`},
		{"1.0", `{"type":"SUBAGENT_FINISHED","subagentRunId":"a","outcome":{"type":"suspended","interruptIds":["i",7]}}`, `{"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"n"}`,
			`G8 subagent_malformed /outcome/interruptIds/1 98: an interrupt id must be a string, not a number`},
		{"1.0", `{"type":"SUBAGENT_STARTED","subagentRunId":"a"}`, ``,
			`G19 subagent_malformed /name 0: SUBAGENT_STARTED must have a name, which is a string`},
		{"1.0", `{"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"n"}`, `{"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"n"}`,
			`G20 subagent_restarted /subagentRunId 43: SUBAGENT_STARTED names subagent "a", which is already active`},
		{"1.0", `{"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"n","parentSubagentRunId":"p"}`, ``,
			`G21 subagent_parent_unknown /parentSubagentRunId 80: SUBAGENT_STARTED names the parent "p", which has not started in this run`},
		{"1.0", `{"type":"RAW","event":1}`, finished,
			`G2 event_outside_run  0: RAW follows RUN_FINISHED; only a new run may follow`},
		{"1.0", started, ``,
			`G4 run_still_open  0: RUN_STARTED follows, but the run before it has no RUN_FINISHED or RUN_ERROR`},
		{"1.0", finished, `{"type":"TEXT_MESSAGE_START","messageId":"a"}
{"type":"TEXT_MESSAGE_START","messageId":"d"}
{"type":"TEXT_MESSAGE_START","messageId":"b"}
{"type":"TEXT_MESSAGE_START","messageId":"c"}
{"type":"TEXT_MESSAGE_START","messageId":"e"}`,
			`G23 left_open  0: RUN_FINISHED leaves 5 text messages open: "a", "d", "b", and 2 more`},
		{"1.0", finished, `{"type":"STEP_STARTED","stepName":"s","subagentRunId":"a"}`,
			`G23 left_open  0: RUN_FINISHED leaves 1 step open: "s" (subagent "a")`},
		{"1.0", `{"type":"TOOL_CALL_CHUNK","toolCallId":"c","delta":"{}"}`, ``,
			`G24 chunk_invalid  0: the first TOOL_CALL_CHUNK of a tool call must have a toolCallName`},
		{"1.0", `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"user"}`, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}`,
			`G27 chunk_invalid /role 52: TEXT_MESSAGE_CHUNK of text message "m" has another role than its first chunk`},
		{"1.0", `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`G9 already_open  0: TEXT_MESSAGE_START (from TEXT_MESSAGE_CHUNK) names text message "m", which is already open`},
		{"1.0", `{"subagentRunId":"b","type":"TEXT_MESSAGE_CHUNK","messageId":"m"}`, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":""}`,
			`G18 owner_differs  0: TEXT_MESSAGE_START (from TEXT_MESSAGE_CHUNK) names subagent "b", but the message "m" belongs to the parent agent`},
		{"1.0", `{"type":"THINKING_END"}`, ``,
			`G17 not_open  0: REASONING_END (from THINKING_END) names a reasoning span that no THINKING event opened`},
		{"0.x", `{"type":"THINKING_TEXT_MESSAGE_START"}`, ``,
			`G29 not_open  0: THINKING_TEXT_MESSAGE_START is outside a thinking step; THINKING_START opens one`},
	} {
		events := []string{started}
		if test.after != "" {
			events = append(events, strings.Split(test.after, "\n")...)
		}
		found := check(t, test.protocol, append(events, test.event)...)
		if len(found) != 1 {
			t.Errorf("%s: %v", test.event, found)
			continue
		}
		f := found[0]
		got := fmt.Sprintf("%s %s %s %d: %s", f.Rule, f.Code, f.Pointer, *f.Offset, f.Message)
		if got != test.want || *f.EventIndex != len(events) || f.Spec != "AG-UI" || f.Severity != finding.Error {
			t.Errorf("got  %s (event %d)\nwant %s", got, *f.EventIndex, test.want)
		}
	}
}

// An event that cannot be read can explain breaches until the next run.
func TestSkip(t *testing.T) {
	for _, test := range []struct {
		before, after []string
		want          []string
	}{
		{nil, []string{`{"type":"CUSTOM","name":"n","value":1}`, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`, finished}, nil},
		{[]string{started}, []string{started, finished}, nil},
		{[]string{started, finished}, []string{`{"type":"CUSTOM","name":"n","value":1}`}, nil},
		{[]string{started, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`}, []string{finished}, nil},
		{[]string{started}, []string{finished, finished}, []string{"3 G2"}},
		{[]string{started}, []string{`{"type":"CUSTOM","name":"n","value":1,"subagentRunId":null}`}, []string{"2 G5"}},
		{[]string{started}, []string{another, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`}, []string{"3 G10"}},
	} {
		c := sequence.New(sequence.Options{})
		var found []finding.Finding
		i := 0
		feed := func(list []string) {
			for _, text := range list {
				found = append(found, c.Event(read(t, i, text))...)
				i++
			}
		}
		feed(test.before)
		c.Skip()
		i++
		feed(test.after)
		if diff := cmp.Diff(test.want, breaches(found)); diff != "" {
			t.Errorf("%q, unreadable, %q: %s", test.before, test.after, diff)
		}
	}
}

func TestEnd(t *testing.T) {
	for events, want := range map[string]bool{
		"": true, started: false, started + "\n" + finished: true, `{"type":"RUN_ERROR","message":"why"}`: true,
	} {
		c := sequence.New(sequence.Options{})
		for text := range strings.Lines(events) {
			c.Event(read(t, 0, text))
		}
		if c.End() != want {
			t.Errorf("%q: %v", events, !want)
		}
	}
}

func TestParseProtocol(t *testing.T) {
	for _, p := range event.Protocols() {
		if got, err := event.ParseProtocol(string(p)); got != p || err != nil {
			t.Errorf("%s is %q, %v", p, got, err)
		}
	}
	for _, s := range []string{"", "1", "1.0.0", "0.0.59"} {
		if p, err := event.ParseProtocol(s); err == nil {
			t.Errorf("%q is %q", s, p)
		}
	}
}

// New panics if there are no rules for the protocol.
func TestNew(t *testing.T) {
	defer func() {
		if got, want := recover(), "sequence: there is no protocol 0.0.58; the protocols are auto, 0.x, 1.0, 1.1 and draft"; got != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}()
	sequence.New(sequence.Options{Protocol: "0.0.58"})
}

// A Checker does not refer to events after their call.
func TestEventsAreCopied(t *testing.T) {
	c := sequence.New(sequence.Options{})
	var found []finding.Finding
	buffer := make([]byte, 0, 1<<10)
	for i, text := range []string{
		started,
		`{"type":"TEXT_MESSAGE_START","messageId":"abc","subagentRunId":"one"}`,
		`{"type":"STEP_STARTED","stepName":"def"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"abc","delta":"x","subagentRunId":"two"}`,
		finished,
	} {
		buffer = append(buffer[:0], text...)
		e, err := envelope.ReadEvent(buffer)
		if err != nil {
			t.Fatal(err)
		}
		e.Index = i
		found = append(found, c.Event(e)...)
		clear(buffer)
	}
	var texts []string
	for _, f := range found {
		texts = append(texts, f.Message)
	}
	want := []string{
		`TEXT_MESSAGE_CONTENT names subagent "two", but the message "abc" belongs to subagent "one"`,
		`RUN_FINISHED leaves 1 step open: "def"`,
		`RUN_FINISHED leaves 1 text message open: "abc"`,
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

// snapshot returns a MESSAGES_SNAPSHOT with messages that have the given ids.
func snapshot(ids ...string) string {
	var b strings.Builder
	b.WriteString(`{"type":"MESSAGES_SNAPSHOT","messages":[`)
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%q}`, id)
	}
	b.WriteString("]}")
	return b.String()
}

// Past a limit one finding says that the run is not checked further. The next run is.
func TestLimits(t *testing.T) {
	const ids, size = 200, 10_000
	if n, bytes := sequence.New(sequence.Options{}).Limits(); n != sequence.MaxIDs || bytes != sequence.MaxIDBytes {
		t.Errorf("the limits are %d ids and %d bytes", n, bytes)
	}
	var many, long []string
	for i := range ids {
		many = append(many, fmt.Sprint(i))
	}
	for i := range 10 {
		long = append(long, fmt.Sprintf("%0*d", size/10, i))
	}
	for name, test := range map[string]struct {
		ids  []string
		full bool
	}{
		"ids at the limit":   {many, false},
		"one id more":        {append(slices.Clone(many), "x"), true},
		"known ids":          {append(slices.Clone(many), many...), false},
		"bytes at the limit": {long, false},
		"one byte more":      {append(slices.Clone(long), "x"), true},
	} {
		t.Run(name, func(t *testing.T) {
			events := []string{started, snapshot(test.ids...)}
			if test.full {
				events = append(events, `{"type":"TEXT_MESSAGE_END","messageId":"y"}`, `{"type":"TEXT_MESSAGE_START","messageId":"z"}`)
			}
			events = append(events, finished, another, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`)
			c := sequence.New(sequence.Options{})
			c.SetLimits(ids, size)
			var found []finding.Finding
			for i, text := range events {
				found = append(found, c.Event(read(t, i, text))...)
			}
			want := []string{fmt.Sprintf("%d G10", len(events)-1)}
			if test.full {
				want = append([]string{"1 "}, want...)
			}
			if diff := cmp.Diff(want, breaches(found)); diff != "" || test.full != finding.Has(found, finding.SequenceUnchecked) {
				t.Errorf("%s: %.500v", diff, found)
			}
		})
	}
}

// Past a limit of package chunk one finding says that the run is not checked further. No
// chunk of the stream that was dropped is reported, and the next run is checked.
func TestChunkLimits(t *testing.T) {
	begin := func(id, tag string) string {
		return fmt.Sprintf(`{"type":"TOOL_CALL_CHUNK","toolCallId":%q,"toolCallName":"f","subagentRunId":%q}`, id, tag)
	}
	size := len(`"""f"""`)
	streams := func(n, bytes int) (list []string) {
		for i := range n {
			list = append(list, begin(fmt.Sprintf("%0*d", bytes-size-5, i), fmt.Sprintf("%05d", i)))
		}
		return list
	}
	full := streams(chunk.MaxBytes/chunk.MaxStreamBytes, chunk.MaxStreamBytes)
	for name, test := range map[string]struct {
		chunks []string
		over   bool
	}{
		"bytes of a stream":  {streams(1, chunk.MaxStreamBytes), false},
		"one byte more":      {streams(1, chunk.MaxStreamBytes+1), true},
		"streams":            {streams(chunk.MaxStreams, 20), false},
		"one stream more":    {streams(chunk.MaxStreams+1, 20), true},
		"bytes of streams":   {full, false},
		"bytes of one more":  {append(slices.Clone(full), begin("", "")), true},
		"bytes of two runs":  {slices.Concat(full, []string{finished, `{"type":"RUN_STARTED"}`}, full), false},
		"after other limits": {append(streams(chunk.MaxStreams+1, 20), begin(strings.Repeat("c", chunk.MaxStreamBytes), "")), true},
	} {
		t.Run(name, func(t *testing.T) {
			events := append([]string{started}, test.chunks...)
			var want []string
			if test.over {
				want = append(want, fmt.Sprintf("%d ", min(len(test.chunks), chunk.MaxStreams+1)))
				events = append(events, `{"type":"TOOL_CALL_CHUNK","delta":"y","subagentRunId":"x"}`, `{"type":"TOOL_CALL_CHUNK","delta":"y"}`, `{"type":"TOOL_CALL_END","toolCallId":"z"}`)
			}
			events = append(events, finished, finished, `{"type":"RUN_STARTED","threadId":"t","runId":"r3"}`, `{"type":"TOOL_CALL_CHUNK","delta":"y"}`)
			want = append(want, fmt.Sprintf("%d G2", len(events)-3), fmt.Sprintf("%d G24", len(events)-1))
			found := check(t, event.V1, events...)
			if diff := cmp.Diff(want, breaches(found)); diff != "" || test.over != finding.Has(found, finding.SequenceUnchecked) {
				t.Errorf("%s: %.500v", diff, found)
			}
		})
	}
}

// Steps that end are forgotten, so a run may have any number of them.
func TestStepsAreForgotten(t *testing.T) {
	c := sequence.New(sequence.Options{})
	c.Event(read(t, 0, started))
	start, end := read(t, 1, `{"type":"STEP_STARTED","stepName":"s"}`), read(t, 2, `{"type":"STEP_FINISHED","stepName":"s"}`)
	c.SetLimits(10, 100)
	for range 100 {
		if found := append(c.Event(start), c.Event(end)...); len(found) > 0 {
			t.Fatal(found)
		}
	}
}
