package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/finding"
)

// declaring returns a RUN_STARTED with a protocolVersion, which is JSON text or empty.
func declaring(run, version string) string {
	if version != "" {
		version = `,"protocolVersion":` + version
	}
	return fmt.Sprintf(`{"type":"RUN_STARTED","threadId":"t","runId":%q%s}`, run, version)
}

// Each run is read as the version that it declares, and a version that is newer than that
// or cannot be interpreted is reported once.
func TestDeclared(t *testing.T) {
	for _, c := range []struct {
		protocol, reads event.Protocol
		version         string
		how             event.Declaration
		finding         string
	}{
		{event.Auto, event.V1Minor1, ``, event.Undeclared, ""},
		{event.Auto, event.V1, `"1.0"`, event.Known, ""},
		{event.Auto, event.V0, `"0.0"`, event.Known, ""},
		{event.Auto, event.V1Minor1, `"1.1"`, event.Known, ""},
		{event.Auto, event.V1Minor1, `"1.10"`, event.Newer, `protocol_newer: RUN_STARTED declares AG-UI "1.10"; the run is read as 1.1`},
		{event.Auto, event.V1Minor1, `"2.0"`, event.Newer, `protocol_newer: RUN_STARTED declares AG-UI "2.0"; the run is read as 1.1`},
		{event.Auto, event.V1Minor1, `"1.0.0"`, event.Uninterpretable, `protocol_newer: RUN_STARTED declares the version "1.0.0", which is not of the form MAJOR.MINOR; the run is read as 1.1`},
		{event.Auto, event.V1Minor1, `""`, event.Uninterpretable, `protocol_newer: RUN_STARTED declares the version "", which is not of the form MAJOR.MINOR; the run is read as 1.1`},
		{event.Auto, event.V1Minor1, `1.0`, event.Undeclared, ""}, // the form of the event is wrong
		{event.V1, event.V1, `"1.1"`, event.Known, `protocol_newer: RUN_STARTED declares AG-UI "1.1"; the run is read as 1.0`},
		{event.V1Minor1, event.V1Minor1, `"1.0"`, event.Known, ""},
		{event.Draft, event.Draft, `"1.1"`, event.Known, ""},
		{event.Draft, event.Draft, `"7.1"`, event.Newer, `protocol_newer: RUN_STARTED declares AG-UI "7.1"; the run is read as draft`},
		{event.V0, event.V0, `"7.1"`, event.Newer, ""},
	} {
		s := sequence.New(sequence.Options{Protocol: c.protocol})
		found := s.Event(read(t, 0, declaring("r", c.version)))
		text := ""
		for _, f := range found {
			text += f.Error()
			if f.Severity != finding.Warning || f.Pointer != "/protocolVersion" || f.Rule != "" {
				t.Errorf("%s under %s: %+v", c.version, c.protocol, f)
			}
		}
		version, how := s.Declared()
		if want := strings.Trim(c.version, `"`); version != want && c.version[0] == '"' || how != c.how || s.Protocol() != c.reads || text != c.finding {
			t.Errorf("%s under %s: declared %q, %d, read as %s: %q", c.version, c.protocol, version, how, s.Protocol(), text)
		}
		if found := s.Event(read(t, 1, `{"type":"RUN_ERROR","message":"why"}`)); len(found) > 0 {
			t.Error(found)
		}
	}
}

// A stream of runs of several versions is checked by the rules of each.
func TestSeveralVersions(t *testing.T) {
	other := `{"type":"RUN_FINISHED","threadId":"t","runId":"other"}`
	found := check(t, event.Auto, declaring("a", `"0.0"`), other, declaring("b", `"1.0"`), other, declaring("c", ``), other)
	if diff := cmp.Diff([]string{"3 G30", "5 G30"}, breaches(found)); diff != "" {
		t.Error(diff)
	}
}

// With the option Client, only rules are checked that the published client enforces.
func TestClientRules(t *testing.T) {
	for _, v := range vectors(t) {
		for _, p := range v.Protocols {
			s := sequence.New(sequence.Options{Protocol: p, Client: true})
			var found []finding.Finding
			for i, text := range v.events() {
				found = append(found, s.Event(read(t, i, text))...)
			}
			found = append(found, s.Truncated()...)
			var got []string
			for _, f := range found {
				if f.Rule == "" {
					t.Errorf("%s/%s: %v", v.File, v.Name, f)
				}
				got = append(got, fmt.Sprintf("%d %s", *f.EventIndex, f.Rule))
			}
			if diff := cmp.Diff(v.want(p, true), got); diff != "" {
				t.Errorf("%s/%s under %s: %s", v.File, v.Name, p, diff)
			}
		}
	}
}

// The ids of runs and interrupts are remembered up to a limit. Past it, one finding says so,
// and what is not remembered breaks no rule.
func TestStreamLimits(t *testing.T) {
	run := func(i int) []string {
		return []string{fmt.Sprintf(`{"type":"RUN_STARTED","threadId":"t","runId":"%02d"}`, i), fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":"t","runId":"%02d"}`, i)}
	}
	for name, c := range map[string]struct{ ids, bytes, fit int }{
		"ids":   {10, 1000, 10},
		"bytes": {100, 30, 10},
	} {
		s := sequence.New(sequence.Options{})
		s.SetLimits(c.ids, c.bytes)
		var got []string
		n := 0
		each := func(texts []string) {
			for _, text := range texts {
				for _, f := range s.Event(read(t, n, text)) {
					got = append(got, fmt.Sprintf("%d %s %s", n, f.Code, f.Rule))
				}
				n++
			}
		}
		for i := range c.fit + 5 {
			each(run(i))
		}
		each(run(0))         // is remembered
		each(run(c.fit + 1)) // is not
		want := []string{fmt.Sprintf("%d sequence_unchecked ", 2*c.fit), fmt.Sprintf("%d run_id_reused G35", 2*c.fit+10)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}

	// The interrupts of one run at a time are remembered.
	s := sequence.New(sequence.Options{})
	s.SetLimits(1000, 100)
	for i := range 50 {
		interrupt := fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"%050d","reason":"x"}]}}`, i)
		begin := fmt.Sprintf(`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"%050d","status":"resolved"}]}}`, i-1)
		if i == 0 {
			begin = started
		}
		found := append(s.Event(read(t, 2*i, begin)), s.Event(read(t, 2*i+1, interrupt))...)
		found = slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Rule == "G35" })
		if len(found) > 0 {
			t.Fatalf("run %d: %v", i, found)
		}
	}
	// An id that is too long is not known.
	long := strings.Repeat("x", 101)
	if found := s.Event(read(t, 100, fmt.Sprintf(`{"type":"RUN_STARTED","threadId":%q,"runId":%q}`, long, long))); len(found) > 0 {
		t.Error(found)
	}
	if found := s.Event(read(t, 101, `{"type":"RUN_FINISHED","threadId":"u","runId":"v"}`)); len(found) > 0 {
		t.Error(found)
	}
}

// The findings about what no published client checks have the code, the place and the text of
// the breach.
func TestSpecificationFindings(t *testing.T) {
	const interrupted = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"x"},{"id":"j","reason":"x"}]}}`
	resumed := func(entries string) string {
		return `{"type":"RUN_STARTED","threadId":"t","runId":"r2","input":{"threadId":"t","runId":"r2","messages":[]` + entries + `}}`
	}
	ended := func(outcome string) string {
		return `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":` + outcome + `}`
	}
	const called = `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}` + "\n" + `{"type":"TOOL_CALL_END","toolCallId":"c"}`
	for _, test := range []struct{ event, after, want string }{
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"q"}`, ``,
			`G30 run_id_differs /runId 46: RUN_FINISHED names run "q", but RUN_STARTED names run "r"`},
		{`{"type":"RUN_FINISHED","threadId":"u","runId":"r"}`, ``,
			`G31 thread_differs /threadId 34: RUN_FINISHED names thread "u", but RUN_STARTED names thread "t"`},
		{`{"type":"RUN_STARTED","threadId":"u","runId":"r2"}`, finished,
			`G32 thread_differs /threadId 33: RUN_STARTED names thread "u", but the first run of the stream is of thread "t"`},
		{started, finished, `G35 run_id_reused /runId 45: RUN_STARTED names run "r", which is an earlier run of the thread`},
		{ended(`{"type":"interrupt","interrupts":[{"id":"i","reason":"x"},{"id":"i","reason":"x"}]}`), ``,
			`G33 interrupt_id_repeated /outcome/interrupts/1/id 124: two interrupts of RUN_FINISHED have the id "i"`},
		{resumed(`,"resume":[{"interruptId":"j","status":"resolved"}]`), interrupted,
			`G36 resume_incomplete /input/resume 110: the resume of RUN_STARTED leaves out 1 interrupt of run "r": "i"`},
		{resumed(``), interrupted,
			`G36 resume_incomplete /input 58: the resume of RUN_STARTED leaves out 2 interrupts of run "r": "i", "j"`},
		{resumed(`,"resume":[{"interruptId":"j","status":"resolved"},{"interruptId":"k","status":"resolved"},{"interruptId":"i","status":"cancelled"}]`), interrupted,
			`G37 resume_unknown /input/resume/1/interruptId 166: the resume of RUN_STARTED names interrupt "k", which run "r" does not have`},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"reasoning","content":"","encryptedValueType":"k"}]}`, ``,
			`G38 encrypted_type_alone /messages/0/encryptedValueType 103: /messages/0/encryptedValueType is without an encryptedValue`},
		{ended(`{"type":"success","pendingToolCallIds":["c","d"]}`), called,
			`G39 pending_calls_differ /outcome/pendingToolCallIds/1 104: pendingToolCallIds names call "d", which the run did not start`},
		{ended(`{"type":"success","pendingToolCallIds":["c"]}`), called + "\n" + `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":""}`,
			`G39 pending_calls_differ /outcome/pendingToolCallIds/0 100: pendingToolCallIds names call "c", which has a TOOL_CALL_RESULT`},
		{ended(`{"type":"success","pendingToolCallIds":["c"]}`), called + "\n" + strings.ReplaceAll(called, `"c"`, `"d"`),
			`G39 pending_calls_differ /outcome/pendingToolCallIds 99: pendingToolCallIds leaves out 1 call without a result: "d"`},
		{`{"type":"TEXT_MESSAGE_START","messageId":"m"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user"}` + "\n" + `{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
			`G40 reopened_differs  0: TEXT_MESSAGE_START opens text message "m" again with the role "assistant", which was "user"`},
		{`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"g"}`, called,
			`G41 reopened_differs /toolCallName 58: TOOL_CALL_START opens tool call "c" again with the toolCallName "g", which was "f"`},
		{`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}`, `{"type":"CUSTOM","name":"n","value":1,"subagentRunId":"s"}`,
			`G42 subagent_started_late /subagentRunId 43: SUBAGENT_STARTED names subagent "s", which an earlier event of the run belongs to`},
		{`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"P","content":{},"replace":false,"subagentRunId":"s"}`, `{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"P","content":{}}`,
			`G43 owner_differs /subagentRunId 108: ACTIVITY_SNAPSHOT with replace false names subagent "s", but the activity "a" belongs to the parent agent`},
	} {
		events := []string{started}
		if test.after != "" {
			events = append(events, strings.Split(test.after, "\n")...)
		}
		found := check(t, event.V1Minor1, append(events, test.event)...)
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
	found := check(t, event.Draft, started, `{"type":"CUSTOM","name":"n","value":1}`)
	if len(found) != 1 || found[0].Error() != "stream_truncated: the stream ends in a run without RUN_FINISHED or RUN_ERROR" || found[0].Rule != "G34" || *found[0].EventIndex != 1 {
		t.Errorf("%v", found)
	}
}
