package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

var folded = project.Settings{Projection: project.FoldedStream}

// request returns a run input with messages.
func request(messages ...string) string {
	return `{"threadId":"t1","runId":"r1","messages":[` + strings.Join(messages, ",") + `]}`
}

const (
	absent = "request_absent request.json" // the omission; the finding follows
	built  = "(snapshot_built)"
)

// The text events of a stream, without a request.
func TestFoldedStream(t *testing.T) {
	sub := `"subagentRunId":"s1"`
	type test struct {
		name     string
		events   []string
		messages []string
		left     []string // without request_absent
		want     []string // errors
	}
	tests := []test{
		{"start, contents, end", []string{textStart("a"), textContent("a", "He"), textContent("a", ""), textContent("a", "llo"), textEnd("a")}, []string{"a/assistant: Hello"}, nil, nil},
		{"roles and names", []string{
			textStart("a", `"role":"user"`), textContent("a", "x"), textStart("b", `"role":"developer"`, `"name":"n"`), textContent("b", "x"), textStart("c", `"role":null`), textContent("c", "x"),
			textStart("d", `"role":"tool"`), textContent("d", "x")},
			[]string{"a/user: x", "b/developer/n: x", "c/assistant: x", "d/tool: x"}, nil, nil},
		{"roles outside", []string{textStart("a"), textContent("a", "x"), textStart("b", `"role":"reasoning"`), textContent("b", "x"), textStart("c", `"role":5`), textContent("c", "x"), textStart("d", `"role":"\ud800"`), textContent("d", "\\ud800")},
			[]string{"a/assistant: x"}, []string{"role_outside_subset #3", "role_outside_subset #5", "role_outside_subset #7"}, nil},
		{"names null and blank", []string{textStart("a", `"name":null`), textContent("a", "x"), textStart("b", `"name":" "`), textContent("b", "x")}, []string{"a/assistant: x", "b/assistant: x"},
			[]string{"value_null #1 /name", "value_blank #3 /name"}, nil},
		{"name a number", []string{textStart("a", `"name":5`), textContent("a", "x")}, nil, nil, []string{"wrong_type #1 /name"}},
		{"order of start", []string{textStart("a"), textStart("b"), textContent("b", "B"), textEnd("b"), textContent("a", "A"), textEnd("a")}, []string{"a/assistant: A", "b/assistant: B"}, nil, nil},
		{"open at the end", []string{textStart("a"), textContent("a", "He")}, []string{"a/assistant: He"}, nil, nil},
		{"reopened appends", []string{textStart("a"), textContent("a", "1"), textEnd("a"), textStart("b"), textContent("b", "x"), textEnd("b"), textStart("a"), textContent("a", "2"), textEnd("a")},
			[]string{"a/assistant: 12", "b/assistant: x"}, nil, nil},
		{"reopened as another", []string{textStart("a", `"name":"n"`), textContent("a", "1"), textEnd("a"), textStart("a", `"role":"user"`, `"name":"o"`), textContent("a", "2")},
			nil, nil, []string{"message_has_two_speakers #4 /role"}},
		{"reopened under another name", []string{textStart("a", `"name":"n"`), textContent("a", "1"), textEnd("a"), textStart("a", `"name":"o"`), textContent("a", "2")},
			nil, nil, []string{"message_has_two_speakers #4 /name"}},
		{"reopened with a name", []string{textStart("a"), textContent("a", "1"), textEnd("a"), textStart("a", `"name":"o"`), textContent("a", "2")},
			[]string{"a/assistant: 12"}, []string{"key_outside_subset #4 /name"}, nil},
		{"reopened as the same", []string{textStart("a", `"name":"n"`), textContent("a", "1"), textEnd("a"), textStart("a", `"role":"assistant"`, `"name":"\u006e"`), textContent("a", "2")}, []string{"a/assistant/n: 12"}, nil, nil},
		{"half pairs over deltas", []string{textStart("a"), textContent("a", `x\ud83d`), textContent("a", ``), textContent("a", `\ude00y`)}, []string{"a/assistant: x😀y"}, nil, nil},
		{"half a pair left", []string{textStart("a"), textContent("a", `\ude00`), textContent("a", `\ud83d`)}, nil, nil, []string{"lone_surrogate #1"}},
		{"half a pair in an id", []string{textStart(`\ud800`)}, nil, nil, []string{"event_field_malformed #1 /messageId"}},
		{"escapes", []string{textStart("a"), textContent("a", `\u0000\"\\\/\n`)}, []string{"a/assistant: \x00\"\\/\n"}, nil, nil},
		{"blank text", []string{textStart("a"), textContent("a", " \\n"), textEnd("a"), textStart("b"), textEnd("b"), textStart("c"), textContent("c", "x")}, []string{"c/assistant: x"}, []string{"content_blank #1", "content_blank #4"}, nil},
		{"nothing", nil, nil, nil, []string{"nothing_left"}},
		{"nothing but blank", []string{textStart("a")}, nil, nil, []string{"nothing_left"}},

		{"content not open", []string{textContent("a", "x")}, nil, nil, []string{"text_event_not_open #1 /messageId"}},
		{"end not open", []string{textEnd("a")}, nil, nil, []string{"text_event_not_open #1 /messageId"}},
		{"content after the end", []string{textStart("a"), textContent("a", "x"), textEnd("a"), textContent("a", "y")}, nil, nil, []string{"text_event_not_open #4 /messageId"}},
		{"ended twice", []string{textStart("a"), textContent("a", "x"), textEnd("a"), textEnd("a")}, nil, nil, []string{"text_event_not_open #4 /messageId"}},
		{"content of a chunk's message", []string{chunk(`"messageId":"a"`, `"delta":"x"`), textContent("a", "y")}, nil, nil, []string{"text_event_not_open #2 /messageId"}},
		{"no delta", []string{textStart("a"), `{"type":"TEXT_MESSAGE_CONTENT","messageId":"a"}`}, nil, nil, []string{"event_field_malformed #2 /delta"}},
		{"delta null", []string{textStart("a"), `{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":null}`}, nil, nil, []string{"event_field_malformed #2 /delta"}},
		{"no id", []string{`{"type":"TEXT_MESSAGE_START"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":null,"delta":"x"}`, `{"type":"TEXT_MESSAGE_END","messageId":5}`}, nil, nil,
			[]string{"event_field_malformed #1 /messageId", "event_field_malformed #2 /messageId", "event_field_malformed #3 /messageId"}},
		{"ids that trim to one", []string{textStart("a"), textContent("a", "x"), textStart("a "), textContent("a ", "x")}, nil, nil, []string{"message_id_repeated #3"}},
		{"id blank", []string{textStart(""), textContent("", "x")}, nil, nil, []string{"value_blank #1"}},

		{"properties of a message other than its text", []string{
			textStart("a", `"metadata":{}`, `"timestamp":5`, `"rawEvent":{}`, `"delta":"x"`), textContent("a", "x", `"metadata":null`, `"timestamp":5`, `"role":"user"`), textEnd("a", `"x":1`, `"rawEvent":1`),
			chunk(`"messageId":"b"`, `"delta":"y"`, `"metadata":1`, `"\ud800":1`)},
			[]string{"a/assistant: x", "b/assistant: y"},
			[]string{"key_outside_subset #1 /metadata", "key_outside_subset #1 /delta", "key_outside_subset #2 /metadata", "key_outside_subset #2 /role", "key_outside_subset #3 /x", "key_outside_subset #4 /metadata", "key_outside_subset #4 /\uFFFD"}, nil},

		{"chunks", []string{chunk(`"messageId":"a"`, `"role":"user"`, `"name":"n"`, `"delta":"x"`), chunk(`"messageId":"a"`, `"delta":"y"`), chunk(`"delta":"z"`), chunk(), chunk(`"messageId":null`, `"delta":"!"`)}, []string{"a/user/n: xyz!"}, nil, nil},
		{"chunks of several messages", []string{chunk(`"messageId":"a"`, `"delta":"1"`), chunk(`"messageId":"b"`, `"delta":"2"`), chunk(`"delta":"3"`), chunk(`"messageId":"a"`, `"delta":"4"`), chunk(`"delta":"5"`)}, []string{"a/assistant: 145", "b/assistant: 23"}, nil, nil},
		{"chunk given otherwise", []string{chunk(`"messageId":"a"`, `"delta":"1"`), chunk(`"messageId":"a"`, `"role":"user"`), chunk(`"name":"n"`, `"delta":"2"`)}, nil, nil, []string{"message_has_two_speakers #2 /role"}},
		{"chunk of an open message", []string{textStart("a"), textContent("a", "1"), chunk(`"messageId":"a"`, `"delta":"2"`)}, []string{"a/assistant: 12"}, nil, nil},
		{"chunk without id first", []string{chunk(`"delta":"x"`)}, nil, nil, []string{"text_event_not_open #1"}},
		{"chunk delta null", []string{chunk(`"messageId":"a"`, `"delta":null`)}, nil, nil, []string{"event_field_malformed #1 /delta"}},
		{"chunk id a number", []string{chunk(`"messageId":5`, `"delta":"x"`)}, nil, nil, []string{"event_field_malformed #1 /messageId"}},
		{"chunk after text events", []string{chunk(`"messageId":"a"`, `"delta":"x"`), textStart("b"), chunk(`"delta":"y"`)}, nil, nil, []string{"text_event_not_open #3"}},

		{"subagent", []string{textStart("a"), textStart("s", sub), textContent("s", "no", sub), textContent("a", "yes"), textEnd("s", sub), textEnd("a")}, []string{"a/assistant: yes"}, []string{"subagent_text #2"}, nil},
		{"subagent, untagged after its start", []string{textStart("a"), textContent("a", "yes"), textStart("s", sub), textContent("s", "no"), textEnd("s"), textStart("s"), textContent("s", "no")}, []string{"a/assistant: yes"}, []string{"subagent_text #3"}, nil},
		{"subagent of the empty name", []string{textStart("a"), textContent("a", "yes"), textStart("s", `"subagentRunId":""`), textContent("s", "no", `"subagentRunId":""`)}, []string{"a/assistant: yes"}, []string{"subagent_text #3"}, nil},
		{"subagent null", []string{textStart("a", `"subagentRunId":null`), textContent("a", "yes", `"subagentRunId":null`)}, []string{"a/assistant: yes"}, nil, nil},
		{"subagent without start", []string{textStart("a"), textContent("a", "yes"), textContent("s", "no", sub), textContent("s", "no", sub), textEnd("s", sub)}, []string{"a/assistant: yes"}, []string{"subagent_text #3"}, nil},
		{"subagent on the run's own message", []string{textStart("a"), textContent("a", "yes"), textContent("a", "no", sub), textEnd("a", sub), textStart("a", sub), chunk(`"messageId":"a"`, `"delta":"no"`, sub), textContent("a", "!")},
			[]string{"a/assistant: yes!"}, []string{"subagent_text #3", "subagent_text #4", "subagent_text #5", "subagent_text #6"}, nil},
		{"subagent reopened", []string{textStart("a"), textContent("a", "yes"), textStart("s", sub), textEnd("s", sub), textStart("s", sub), textContent("s", "no", sub)}, []string{"a/assistant: yes"}, []string{"subagent_text #3"}, nil},
		{"half pairs of a subagent", []string{textStart("a"), textContent("a", "yes"), textStart("s", sub), textContent("s", `\ud800`, sub)}, []string{"a/assistant: yes"}, []string{"subagent_text #3"}, nil},

		{"lanes", []string{chunk(`"messageId":"a"`, `"delta":"1"`), chunk(`"messageId":"s"`, `"delta":"no"`, sub), chunk(`"delta":"no"`, sub), chunk(`"delta":"2"`)}, []string{"a/assistant: 12"}, []string{"subagent_text #2"}, nil},
		{"only a subagent's lane", []string{textStart("a"), textContent("a", "1"), chunk(`"messageId":"s"`, `"delta":"no"`, sub), chunk(`"delta":"no"`)}, []string{"a/assistant: 1"}, []string{"subagent_text #3"}, nil},
		{"several subagents' lanes", []string{chunk(`"messageId":"s"`, `"delta":"no"`, sub), chunk(`"messageId":"s2"`, `"subagentRunId":"s2"`), chunk(`"delta":"?"`)}, nil, nil, []string{"text_event_not_open #3"}},
		{"a lane that is not open", []string{chunk(`"messageId":"a"`, `"delta":"1"`), chunk(`"delta":"?"`, sub)}, nil, nil, []string{"text_event_not_open #2"}},
		{"a lane that was closed", []string{chunk(`"messageId":"s"`, `"delta":"no"`, sub), textContent("s", "no", sub), chunk(`"delta":"?"`, sub)}, nil, nil, []string{"text_event_not_open #3"}},
		{"own text by the subagent's id", []string{chunk(`"messageId":"a"`, `"delta":"1"`), chunk(`"messageId":"s"`, sub), chunk(`"messageId":"s"`, `"delta":"no"`)}, []string{"a/assistant: 1"}, []string{"subagent_text #2"}, nil},
	}
	for _, closer := range strings.Fields(`TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_CHUNK TOOL_CALL_RESULT STATE_SNAPSHOT STATE_DELTA CUSTOM
		STEP_STARTED STEP_FINISHED REASONING_START REASONING_END REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK SUBAGENT_FINISHED SUBAGENT_ERROR`) {
		tests = append(tests,
			test{closer + " closes its lane", []string{chunk(`"messageId":"a"`, `"delta":"x"`), `{"type":"` + closer + `"}`, chunk(`"delta":"y"`)}, nil, nil, []string{"text_event_not_open #3"}},
			test{closer + " closes no other lane", []string{chunk(`"messageId":"a"`, `"delta":"x"`), `{"type":"` + closer + `","subagentRunId":"s1"}`, chunk(`"delta":"y"`)}, []string{"a/assistant: xy"}, nil, nil},
			test{closer + " closes a subagent's lane", []string{chunk(`"messageId":"a"`, `"delta":"x"`), chunk(`"messageId":"s"`, sub), `{"type":"` + closer + `","subagentRunId":"s1"}`, chunk(sub)}, nil, nil, []string{"text_event_not_open #4"}})
	}
	for _, other := range strings.Fields(`RAW ACTIVITY_SNAPSHOT ACTIVITY_DELTA REASONING_ENCRYPTED_VALUE SUBAGENT_STARTED META`) {
		tests = append(tests, test{other + " closes nothing", []string{chunk(`"messageId":"a"`, `"delta":"x"`), `{"type":"` + other + `"}`, chunk(`"delta":"y"`)}, []string{"a/assistant: xy"}, nil, nil})
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, folded, "", append(append([]string{started}, c.events...), failed)...)
			if diff := cmp.Diff(orEmpty(c.messages), formatMessages(r.out)); diff != "" {
				t.Error(diff)
			}
			if len(c.want) > 0 {
				if diff := cmp.Diff(append([]string{"(request_absent)"}, c.want...), formatFindings(r.findings)); diff != "" && !cmp.Equal(append(orEmpty(c.want), "(request_absent)"), formatFindings(r.findings)) {
					t.Error(diff)
				}
				return
			}
			if diff := cmp.Diff([]string{"(request_absent)", built}, formatFindings(r.findings)); diff != "" {
				t.Error(diff)
			}
			if r.out == nil {
				return
			}
			var want []string
			inStream := c.left
			want = append(want, absent)
			// Messages are omitted at the end of the run, keys while it is read.
			got := formatOmissions(r.out.Omissions)
			if diff := cmp.Diff(sorted(append(want, inStream...)), sorted(got)); diff != "" {
				t.Error(diff)
			}
			if r.out.Origin != project.Built || len(r.out.Parts) != 2 {
				t.Errorf("origin %s, parts %v", r.out.Origin, r.out.Parts)
			}
		})
	}
}

// requests are run inputs, each with the expected result for a run that streams
// "Hello".
var requests = []struct {
	name, request  string
	messages, left []string
	want           []string
}{
	{"plain", request(user), []string{"u1/user: Hi", "a/assistant: Hello"}, nil, []string{built}},
	{"no messages", request(), []string{"a/assistant: Hello"}, nil, []string{built}},
	{"other keys", `{"state":{},"messages":[` + user + `],"tools":[],"\ud800":0,"a/b":1}`, []string{"u1/user: Hi", "a/assistant: Hello"},
		[]string{"key_outside_subset request.json /state", "key_outside_subset request.json /tools", "key_outside_subset request.json /\uFFFD", "key_outside_subset request.json /a~1b"}, []string{built}},
	{"richer messages", request(`{"id":"1","role":"assistant","toolCalls":[]}`, `{"id":"2","role":"tool","content":"4","toolCallId":"c"}`, `{"id":"3","role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}`, `{"id":"4","role":"user","content":"x","name":null}`),
		[]string{"2/tool: 4", "3/user: xy", "4/user: x", "a/assistant: Hello"},
		[]string{"content_missing request.json /messages/0", "key_outside_subset request.json /messages/0/toolCalls", "key_outside_subset request.json /messages/1/toolCallId", "text_parts_joined request.json /messages/2/content", "value_null request.json /messages/3/name"}, []string{built}},
	{"absent", "", []string{"a/assistant: Hello"}, []string{absent}, []string{"(request_absent)", built}},
	{"of another run", strings.Replace(request(user), "r1", "r2", 1), []string{"a/assistant: Hello"}, []string{"request_names_other_run request.json /runId"}, []string{built, "(request_names_other_run /runId)"}},
	{"of another thread", strings.Replace(request(user), "t1", "t2", 1), []string{"a/assistant: Hello"}, []string{"request_names_other_run request.json /threadId"}, []string{built, "(request_names_other_run /threadId)"}},
	{"of a run that is no name", strings.Replace(request(user), `"r1"`, `null`, 1), []string{"a/assistant: Hello"}, []string{"request_names_other_run request.json /runId"}, []string{built, "(request_names_other_run /runId)"}},
	{"run by escape", strings.Replace(request(user), `r1`, `\u00721`, 1), []string{"u1/user: Hi", "a/assistant: Hello"}, nil, []string{built}},
	{"not JSON", `{"messages":[` + user + `]`, nil, nil, []string{"json_syntax /messages"}},
	{"empty", " ", nil, nil, []string{"json_syntax"}},
	{"key twice", `{"messages":[{"id":"1","id":"2"}]}`, nil, nil, []string{"json_duplicate_key /messages/0/id"}},
	{"trailing", request(user) + `{}`, nil, nil, []string{"json_trailing_data"}},
	{"no list", `{"threadId":"t1"}`, nil, nil, []string{"request_malformed /messages"}},
	{"list of another kind", `{"messages":{}}`, nil, nil, []string{"request_malformed /messages"}},
	{"an array", `[` + user + `]`, nil, nil, []string{"request_malformed /messages"}},
	{"message no object", request(user, `null`), nil, nil, []string{"request_malformed /messages/1"}},
	{"message without id", request(`{"role":"user","content":"x"}`), nil, nil, []string{"key_missing /messages/0/id"}},
	{"ids repeated", request(user, user), nil, nil, []string{"message_id_repeated /messages/1/id"}},
	{"half a pair", request(`{"id":"1","role":"user","content":"\ud800"}`), nil, nil, []string{"lone_surrogate /messages/0/content"}},
	{"half a pair left out", request(`{"id":"1","role":"activity","content":"\ud800"}`), []string{"a/assistant: Hello"}, []string{"role_outside_subset request.json /messages/0"}, []string{built}},
	{"streamed id", request(`{"id":"a","role":"user","content":"x"}`), nil, nil, []string{"streamed_id_in_request #1 /messageId"}},
	{"streamed id after trimming", request(`{"id":" a\u001c","role":"user","content":"x"}`), nil, nil, []string{"streamed_id_in_request #1 /messageId"}},
	{"streamed id of a message left out", request(user, `{"id":"a","role":"assistant","toolCalls":[]}`), nil, nil, []string{"streamed_id_in_request #1 /messageId"}},
	{"streamed id of another run's request", `{"runId":"r2","messages":[{"id":"a","role":"user","content":"x"}]}`, []string{"a/assistant: Hello"}, []string{"request_names_other_run request.json /runId"}, []string{built, "(request_names_other_run /runId)"}},
}

// The messages of the request come first. They are reduced to the text subset.
func TestFoldedRequest(t *testing.T) {
	events := []string{started, textStart("a"), textContent("a", "Hello"), failed}
	for _, c := range requests {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, folded, c.request, events...)
			if diff := cmp.Diff(orEmpty(c.messages), formatMessages(r.out)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(orEmpty(c.want), formatFindings(r.findings)); diff != "" {
				t.Error(diff)
			}
			for _, f := range r.findings {
				if f.EventIndex == nil && f.Offset != nil {
					t.Errorf("%v has an offset of the response", f)
				}
			}
			if r.out != nil {
				if diff := cmp.Diff(orEmpty(c.left), formatOmissions(r.out.Omissions)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	// The messages of the request suffice; the run's own messages may be blank.
	r := projectRun(t, folded, request(user), started, failed)
	if diff := cmp.Diff([]string{"u1/user: Hi"}, formatMessages(r.out)); diff != "" {
		t.Error(diff)
	}
	// Only the folded stream reads the request.
	r = projectRun(t, strict, `{`, started, snapshot(user), finished)
	if r.out == nil || len(r.findings) != 0 {
		t.Error(formatFindings(r.findings))
	}
}

// A run that emitted a snapshot is refused, even if the snapshot is malformed.
func TestFoldedRefusesSnapshots(t *testing.T) {
	for _, s := range []string{snapshot(), snapshot(user), `{"type":"MESSAGES_SNAPSHOT"}`} {
		r := projectRun(t, folded, request(user), started, textStart("a"), s, s, finished)
		if diff := cmp.Diff([]string{"snapshot_present #2"}, formatFindings(r.findings)); diff != "" || r.out != nil {
			t.Error(diff)
		}
	}
}

// The text of each run of a capture is folded separately.
func TestFoldedRuns(t *testing.T) {
	results := projectAll(t, input{Settings: folded, at: everySecond, request: []byte(request(user)), raw: testkit.SSE(started, textStart("a"), textContent("a", "1"), failed,
		strings.Replace(started, "r1", "r2", 1), textStart("a"), textContent("a", "2"), failed, started, textContent("a", "3"), failed)})
	want := [][]string{{"u1/user: Hi", "a/assistant: 1"}, {"a/assistant: 2"}, {}}
	for i, r := range results {
		if diff := cmp.Diff(want[i], formatMessages(r.out)); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"text_event_not_open #9 /messageId"}, formatFindings(results[2].findings)); diff != "" {
		t.Error(diff)
	}
}

// A built snapshot must satisfy the limits of the artifact. The findings name the
// event that the message came from.
func TestFoldedLimits(t *testing.T) {
	x := strings.Repeat
	many := func(n int) []string {
		events := []string{started}
		for i := range n {
			id := fmt.Sprint("m", i)
			events = append(events, textStart(id), textContent(id, "x"), textEnd(id))
		}
		return append(events, textStart("blank"), failed)
	}
	assay := project.Settings{Projection: project.FoldedStream, Profile: artifact.Assay}
	for _, c := range []struct {
		name   string
		s      project.Settings
		events []string
		want   []string
	}{
		{"messages", folded, many(2000), nil},
		{"too many messages", folded, many(2001), []string{"messages_too_many /messages"}},
		{"content", folded, []string{started, textStart("a"), textContent("a", x("é", 200_000)), textContent("a", x("é", 62_144)), failed}, nil},
		{"content too long", folded, []string{started, textStart("a"), textContent("a", x("é", 200_000)), textContent("a", x("é", 62_145)), failed}, []string{"too_long #1"}},
		{"content for assay", assay, []string{started, textStart("a"), textContent("a", " "+x("é", 400)), failed}, nil},
		{"content too long for assay", assay, []string{started, textStart("a"), textContent("a", x("é", 401)), failed}, []string{"too_long #1"}},
		{"name too long", folded, []string{started, textStart("a", `"name":"`+x("n", 129)+`"`), textContent("a", "x"), failed}, []string{"too_long #1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, c.s, request(), c.events...)
			if len(c.want) == 0 {
				c.want = []string{built}
			}
			if diff := cmp.Diff(c.want, formatFindings(r.findings)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if n := len(projectRun(t, folded, request(), many(2000)...).out.Artifact.Messages); n != 2000 {
		t.Errorf("%d messages", n)
	}
}

// A run that streams more than maxFoldedBytes is refused.
func TestFoldedBounds(t *testing.T) {
	t.Parallel()
	delta := strings.Repeat("x", 8<<20)
	var text, roles, tags []string
	for i := range 7 {
		text = append(text, textContent("a", delta))
		roles = append(roles, textContent("b", delta))
		tags = append(tags, chunk(`"messageId":"s"`, `"subagentRunId":"`+fmt.Sprint(i)+delta+`"`))
	}
	first := []string{started, textStart("a"), textContent("a", "x")}
	for _, c := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"text past the file", text[:1], []string{"file_too_large"}},
		{"text past what is kept", text, []string{"file_too_large #8 /delta"}},
		{"text of a message left out", append([]string{textStart("b", `"role":"reasoning"`)}, roles...), []string{built}},
		{"raw events", []string{textStart("c", `"rawEvent":"`+strings.Repeat(delta, 6)+`"`), textContent("c", "y")}, []string{built}},
		{"subagents' names", tags, []string{"file_too_large #8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, folded, request(), append(append(first[:3:3], c.events...), failed)...)
			var errs []string
			for _, f := range r.findings {
				if f.Code == finding.TooLong {
					continue // of the content as well as of the file
				}
				errs = append(errs, formatFindings([]finding.Finding{f})...)
			}
			if diff := cmp.Diff(c.want, errs); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, n := range []int{100, 101, 150} {
		r := projectRun(t, folded, request(user), started, strings.TrimSuffix(strings.TrimPrefix(strings.Repeat("\n\ndata: "+textEnd("a"), n), "\n\ndata: "), "\n"), failed)
		last := r.findings[len(r.findings)-1]
		if n > 100 && (len(r.findings) != 101 || last.Code != finding.FindingsUnlisted || !strings.HasPrefix(last.Message, fmt.Sprint(n-100, " "))) || n == 100 && len(r.findings) != 100 {
			t.Errorf("%d: %d findings, last %v", n, len(r.findings), last)
		}
	}
}
