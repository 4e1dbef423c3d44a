package envelope_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

// framed returns events as a response with the given framing.
func framed(f capture.Framing, events ...string) string {
	switch f {
	case capture.NDJSON:
		return strings.Join(events, "\n") + "\n"
	case capture.JSON:
		return "[" + strings.Join(events, ",\n ") + "]"
	}
	return testkit.SSE(events...)
}

var framings = []capture.Framing{capture.SSE, capture.NDJSON, capture.JSON}

func check(t *testing.T, f capture.Framing, events ...string) []finding.Finding {
	t.Helper()
	list, err := envelope.Check(capture.NewSplitter(strings.NewReader(framed(f, events...)), f))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// codes formats findings as "code #event pointer".
func codes(list []finding.Finding) []string {
	out := brief(list)
	for i, s := range out {
		out[i], _, _ = strings.Cut(s, " @")
	}
	return out
}

// Check accepts no sequence of up to four of the three events except the three in
// order.
func TestCheckOrders(t *testing.T) {
	events := []string{started, snapshot, finished}
	names := []string{"RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED or RUN_ERROR"}
	var try func(chosen []int)
	try = func(chosen []int) {
		var want []string
		seen := [3]bool{}
		last := -1
		var list []string
		for i, n := range chosen {
			list = append(list, events[n])
			switch {
			case seen[n]:
				want = append(want, fmt.Sprintf("envelope_event_repeated #%d /type", i))
				continue
			case n < last:
				want = append(want, fmt.Sprintf("envelope_order #%d /type", i))
			}
			seen[n], last = true, max(last, n)
		}
		var missing []string
		for n, ok := range seen {
			if !ok {
				missing = append(missing, names[n])
			}
		}
		want = append(slices.Repeat([]string{"envelope_incomplete"}, len(missing)), want...)
		for _, f := range framings {
			got := check(t, f, list...)
			if diff := cmp.Diff(append([]string{}, want...), codes(got)); diff != "" {
				t.Errorf("%s %v: %s", f, chosen, diff)
			}
			for i, name := range missing {
				if !strings.HasPrefix(got[i].Message, name+" ") {
					t.Errorf("%v: %q does not name %s", chosen, got[i].Message, name)
				}
			}
			if accepted := slices.Equal(chosen, []int{0, 1, 2}); finding.Failed(got) == accepted {
				t.Errorf("%s %v: failed %v", f, chosen, !accepted)
			}
		}
		if len(chosen) < 4 {
			for n := range events {
				try(append(slices.Clone(chosen), n))
			}
		}
	}
	try(nil)
	if got := check(t, capture.NDJSON, started, snapshot, failed); len(got) != 0 {
		t.Errorf("a failed run: %v", brief(got))
	}
	if got := check(t, capture.NDJSON, started, snapshot, finished, failed); !slices.Equal(codes(got), []string{"envelope_event_repeated #3 /type"}) {
		t.Errorf("both terminal events: %v", brief(got))
	}
}

// Another event of any family, at any position, is malformed.
func TestCheckExtraEvents(t *testing.T) {
	for _, name := range strings.Fields(`STEP_STARTED STEP_FINISHED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END
		TEXT_MESSAGE_CHUNK TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_CHUNK TOOL_CALL_RESULT STATE_SNAPSHOT
		STATE_DELTA ACTIVITY_SNAPSHOT ACTIVITY_DELTA RAW CUSTOM REASONING_START REASONING_END REASONING_MESSAGE_START
		REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK REASONING_ENCRYPTED_VALUE SUBAGENT_STARTED
		SUBAGENT_FINISHED SUBAGENT_ERROR THINKING_START THINKING_END THINKING_TEXT_MESSAGE_START
		THINKING_TEXT_MESSAGE_CONTENT THINKING_TEXT_MESSAGE_END META UNHEARD_OF run_finished RUN_STARTED RUN_FINISHED RUN_ERROR MESSAGES_SNAPSHOT`) {
		code := "extra_event_family"
		if strings.Contains(" RUN_STARTED RUN_FINISHED RUN_ERROR MESSAGES_SNAPSHOT ", " "+name+" ") {
			code = "envelope_event_repeated"
		}
		extra := `{"type":"` + name + `","runId":"r1","threadId":"t1","messages":[]}`
		for at := range 4 {
			if code == "envelope_event_repeated" && at < 3 {
				continue // see TestCheckOrders
			}
			events := slices.Insert([]string{started, snapshot, finished}, at, extra)
			for _, f := range framings {
				got := check(t, f, events...)
				want := fmt.Sprintf("%s #%d /type @%d", code, at, strings.Index(framed(f, events...), extra)+len(`{"type":`))
				if diff := cmp.Diff([]string{want}, brief(got)); diff != "" || !finding.Failed(got) {
					t.Errorf("%s at %d, %s: %s", name, at, f, diff)
				}
			}
		}
	}
}

// An envelope has one run, one thread, valid ids, and messages that are objects.
func TestCheckContents(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"rich messages", []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"tool","toolCallId":"c","content":[{"type":"image"}]},{}]}`, finished}, nil},
		{"no messages", []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`, finished}, nil},
		{"other keys", []string{strings.Replace(started, "{", `{"input":{"messages":[]},"rawEvent":1,`, 1), snapshot, finished}, nil},
		{"other run", []string{started, snapshot, strings.Replace(finished, "r1", "r2", 1)}, nil},
		{"other thread", []string{started, snapshot, strings.Replace(finished, "t1", "t2", 1)}, []string{"terminal_names_other_thread #2 /threadId"}},
		{"failed for another run", []string{started, snapshot, `{"type":"RUN_ERROR","message":"m","runId":"r2"}`}, nil},
		{"a run id that is none", []string{started, snapshot, strings.Replace(finished, `"r1"`, "2", 1)}, []string{"event_field_malformed #2 /runId"}},
		{"half a pair in a run id", []string{started, snapshot, strings.Replace(finished, "r1", `\ud800`, 1)}, []string{"lone_surrogate #2 /runId"}},
		{"no run id", []string{`{"type":"RUN_STARTED","threadId":"t1"}`, snapshot, failed}, []string{"event_field_malformed #0 /runId"}},
		{"half a pair", []string{strings.Replace(started, "t1", `\ud800`, 1), snapshot, failed}, []string{"lone_surrogate #0 /threadId"}},
		{"no list", []string{started, `{"type":"MESSAGES_SNAPSHOT"}`, finished}, []string{"snapshot_malformed #1 /messages"}},
		{"an object for the list", []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":{}}`, finished}, []string{"snapshot_malformed #1 /messages"}},
		{"messages that are none", []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":[{},null,"m",[{}]]}`, finished},
			[]string{"snapshot_malformed #1 /messages/1", "snapshot_malformed #1 /messages/2", "snapshot_malformed #1 /messages/3"}},
		{"key twice", []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":1,"id":2}]}`, finished},
			[]string{"envelope_incomplete", "json_duplicate_key #1 /messages/0/id"}},
		{"not JSON", []string{started, snapshot, finished, `{"type":"}`}, []string{"json_syntax #3 /type"}},
		{"no type", []string{started, snapshot, finished, `{}`}, []string{"event_type_missing #3"}},
		{"other terminal first", []string{failed, started, snapshot}, []string{"envelope_order #1 /type", "envelope_order #2 /type"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range framings {
				if c.name == "not JSON" && f == capture.JSON {
					continue // an unterminated string contains the array's end
				}
				got := check(t, f, c.events...)
				if diff := cmp.Diff(append([]string{}, c.want...), codes(got)); diff != "" {
					t.Errorf("%s: %s", f, diff)
				}
				if finding.Failed(got) != (len(c.want) > 0) {
					t.Errorf("%s: failed is %v", f, len(c.want) == 0)
				}
			}
		})
	}
	event := `{"type":"MESSAGES_SNAPSHOT","messages":[{}, 7]}`
	got := check(t, capture.NDJSON, started, event, finished)
	if want := fmt.Sprintf("snapshot_malformed #1 /messages/1 @%d", len(started)+1+strings.Index(event, "7")); brief(got)[0] != want {
		t.Errorf("%v, want %s", brief(got), want)
	}
}

func TestCheckCapsFindings(t *testing.T) {
	list, err := envelope.Check(&repeat{first: started, again: same(custom), n: 500, last: finished})
	if err != nil {
		t.Fatal(err)
	}
	// There are 500 extra events, and the snapshot is missing.
	if last := list[len(list)-1]; len(list) != 101 || last.Code != finding.FindingsUnlisted || !strings.HasPrefix(last.Message, "401 ") || !finding.Failed(list) {
		t.Errorf("%d findings, last %v", len(list), list[len(list)-1])
	}
}

func TestCheckError(t *testing.T) {
	cause := errors.New("cause")
	if list, err := envelope.Check(&frames{list: []capture.Frame{{Data: []byte(started)}}, err: cause}); !errors.Is(err, cause) || list != nil {
		t.Errorf("%v %v", list, err)
	}
}
