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
	"github.com/p20export/p20export/project/record"
)

var strict = project.Settings{Projection: project.EmittedSnapshot}

// The strict projection accepts messages with exactly the keys id, role, content
// and an optional name. It reports every reason to refuse any other message.
func TestStrictMessages(t *testing.T) {
	for _, c := range []struct {
		name, message string
		want          []string
	}{
		{"plain", user, nil},
		{"named", `{"id":"a1","role":"assistant","content":"x","name":"guide"}`, nil},
		{"every role", `{"id":"1","role":"developer","content":"x"},{"id":"2","role":"system","content":"x"},{"id":"3","role":"tool","content":"x"}`, nil},
		{"any key order and escapes", `{"name":"\u0061","cont\u0065nt":" x\u0000\n","role":"\u0075ser","id":"\ud83d\ude00"}`, nil},
		{"empty toolCalls", `{"id":"a1","role":"assistant","content":"x","toolCalls":[]}`, []string{"key_outside_subset #1 /messages/0/toolCalls"}},
		{"null toolCalls", `{"id":"a1","role":"assistant","content":"x","toolCalls":null}`, []string{"key_outside_subset #1 /messages/0/toolCalls"}},
		{"tool result", `{"id":"a1","role":"tool","content":"x","toolCallId":"c","error":"e"}`,
			[]string{"key_outside_subset #1 /messages/0/error", "key_outside_subset #1 /messages/0/toolCallId"}},
		{"every reason", `{"id":"a1","role":"activity","content":{},"activityType":"x","a~/b":1,"name":null}`, []string{
			"key_outside_subset #1 /messages/0/activityType", "key_outside_subset #1 /messages/0/a~0~1b",
			"content_not_text #1 /messages/0/content", "value_null #1 /messages/0/name", "role_outside_subset #1 /messages/0/role"}},
		{"role of another kind", `{"id":"a1","role":5,"content":"x"}`, []string{"role_outside_subset #1 /messages/0/role"}},
		{"role absent", `{"id":"a1","content":"x"}`, []string{"role_outside_subset #1 /messages/0/role"}},
		{"role in capitals", `{"id":"a1","role":"User","content":"x"}`, []string{"role_outside_subset #1 /messages/0/role"}},
		{"content absent", `{"id":"a1","role":"user"}`, []string{"content_missing #1 /messages/0/content"}},
		{"content null", `{"id":"a1","role":"user","content":null}`, []string{"content_missing #1 /messages/0/content"}},
		{"content empty", `{"id":"a1","role":"user","content":""}`, []string{"content_blank #1 /messages/0/content"}},
		{"content blank", "{\"id\":\"a1\",\"role\":\"user\",\"content\":\" \\u001f\\n\u2003\"}", []string{"content_blank #1 /messages/0/content"}},
		{"content of text parts", `{"id":"a1","role":"user","content":[{"type":"text","text":"x"}]}`, []string{"content_not_text #1 /messages/0/content"}},
		{"content without parts", `{"id":"a1","role":"user","content":[]}`, []string{"content_blank #1 /messages/0/content", "content_not_text #1 /messages/0/content"}},
		{"content of media", `{"id":"a1","role":"user","content":[{"type":"image"}]}`, []string{"content_not_text #1 /messages/0/content"}},
		{"content a number", `{"id":"a1","role":"user","content":1}`, []string{"content_not_text #1 /messages/0/content"}},
		{"id absent", `{"role":"user","content":"x"}`, []string{"key_missing #1 /messages/0/id"}},
		{"id null", `{"id":null,"role":"user","content":"x"}`, []string{"wrong_type #1 /messages/0/id"}},
		{"id blank", `{"id":" ","role":"user","content":"x"}`, []string{"value_blank #1 /messages/0/id"}},
		{"name null", `{"id":"a1","role":"user","content":"x","name":null}`, []string{"value_null #1 /messages/0/name"}},
		{"name empty", `{"id":"a1","role":"user","content":"x","name":""}`, []string{"value_blank #1 /messages/0/name"}},
		{"name a number", `{"id":"a1","role":"user","content":"x","name":1}`, []string{"wrong_type #1 /messages/0/name"}},
		{"half pairs", `{"id":"\ud800","role":"user","content":"\udc00x","name":"x\ud800"}`,
			[]string{"lone_surrogate #1 /messages/0/content", "lone_surrogate #1 /messages/0/id", "lone_surrogate #1 /messages/0/name"}},
		{"half a pair in a key", `{"id":"1","role":"user","content":"x","\ud800":1}`, []string{"key_outside_subset #1 /messages/0/\uFFFD"}},
		{"half a pair as role", `{"id":"1","role":"\ud800","content":"x"}`, []string{"role_outside_subset #1 /messages/0/role"}},
		{"no object", `null`, []string{"snapshot_malformed #1 /messages/0"}},
		{"ids repeated", user + "," + user, []string{"message_id_repeated #1 /messages/1/id"}},
		{"ids repeated after trimming", user + `,{"id":" u1\u001c","role":"user","content":"x"}`, []string{"message_id_repeated #1 /messages/1/id"}},
		{"several bad ones", `{"id":"1","role":"user"},` + user + `,{"id":"2","role":"user","content":"x","k":0}`,
			[]string{"content_missing #1 /messages/0/content", "key_outside_subset #1 /messages/2/k"}},
		{"in document order", strings.Repeat(`{"id":"1","role":"user"},`, 11) + `[]`, func() (list []string) {
			for i := range 11 {
				list = append(list, fmt.Sprintf("content_missing #1 /messages/%d/content", i))
			}
			return append(list, "snapshot_malformed #1 /messages/11")
		}()},
		{"empty list", ``, []string{"nothing_left"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, strict, "", started, snapshot(c.message), finished)
			if diff := cmp.Diff(orEmpty(c.want), formatFindings(r.findings)); diff != "" {
				t.Error(diff)
			}
			for _, f := range r.findings {
				if f.EventIndex != nil && (f.Offset == nil || *f.Offset < int64(len(testkit.SSE(started)))) {
					t.Errorf("%v is at %v", f, f.Offset)
				}
			}
			if r.out != nil && (r.out.Origin != project.Emitted || len(r.out.Omissions) != 0) {
				t.Errorf("origin %s, omissions %v", r.out.Origin, formatOmissions(r.out.Omissions))
			}
		})
	}
}

// A finding about a message is at the place of the message in the response.
func TestFindingOffset(t *testing.T) {
	bad := `{"id":"2","role":"user","content":"x","k":0}`
	long := `{"id":"` + strings.Repeat("x", 257) + `","role":"user","content":"x"}`
	for _, list := range [][]string{{user, bad}, {user, answer, long}} {
		s := snapshot(list...)
		r := projectRun(t, strict, "", started, s, finished)
		want := len(testkit.SSE(started)) + len("data: ") + strings.Index(s, list[len(list)-1])
		if len(r.findings) != 1 || *r.findings[0].Offset != int64(want) || r.findings[0].Line != 0 {
			t.Errorf("%v at %d, want %d", formatFindings(r.findings), *r.findings[0].Offset, want)
		}
	}
}

// Strings are copied to the artifact unchanged.
func TestStringsAreKept(t *testing.T) {
	message := "{\"id\":\" m\\u0031 \",\"role\":\"user\",\"content\":\" \\u0000\\r\\n<&>\u2028\\ud83d\\ude00\\/ \",\"name\":\"\\u00e9 \"}"
	r := projectRun(t, strict, "", `{"type":"RUN_STARTED","threadId":"t\u00e9","runId":"r<1>","parentRunId":"p1"}`, snapshot(message),
		`{"type":"RUN_ERROR","message":" it <broke> ","code":"E/1"}`)
	want := &artifact.Artifact{
		Schema: artifact.Schema, Framework: artifact.Framework, Surface: artifact.Surface,
		ThreadIDRef: "té", RunIDRef: "r<1>", ParentRunIDRef: "p1",
		StartedAt: "2026-11-21T06:28:50Z", FinishedAt: "2026-11-21T06:28:52Z",
		Messages:      []artifact.Message{{ID: " m1 ", Role: "user", Content: " \x00\r\n<&>\u2028😀/ ", Name: "é "}},
		TerminalEvent: "RUN_ERROR", ErrorCode: "E/1", ErrorMessage: " it <broke> ",
	}
	if r.out == nil {
		t.Fatal(formatFindings(r.findings))
	}
	if diff := cmp.Diff(want, r.out.Artifact); diff != "" {
		t.Error(diff)
	}
	decoded, _ := artifact.Decode(r.out.Bytes, artifact.V1)
	if diff := cmp.Diff(want, decoded); diff != "" {
		t.Error(diff)
	}
}

// The strict projection requires exactly one snapshot. It also reports other faults
// of the run.
func TestStrictSnapshots(t *testing.T) {
	one := snapshot(user)
	for _, c := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"none", []string{started, finished}, []string{"snapshot_missing"}},
		{"two", []string{started, one, one, finished}, []string{"snapshot_several #2"}},
		{"three", []string{started, one, failed[:0] + `{"type":"RAW"}`, one, one, finished}, []string{"snapshot_several #3"}},
		{"none, and no time", []string{started, `{"type":"RUN_FINISHED","runId":"r2"}`}, []string{"snapshot_missing", "terminal_names_other_run #1 /runId"}},
		{"no messages", []string{started, `{"type":"MESSAGES_SNAPSHOT"}`, finished}, []string{"snapshot_malformed #1 /messages"}},
		{"messages null", []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":null}`, finished}, []string{"snapshot_malformed #1 /messages"}},
		{"not terminated", []string{started, one}, []string{"run_not_terminated #1"}},
		{"after the terminal", []string{started, finished, one}, []string{"events_after_terminal #2"}},
		{"terminal twice, and rich", []string{started, snapshot(`{"id":"1","role":"user"}`), finished, finished},
			[]string{"content_missing #1 /messages/0/content", "terminal_several #3"}},
		{"damaged", []string{started, one, `{`, finished}, []string{"json_syntax #2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, strict, "", c.events...)
			if diff := cmp.Diff(c.want, formatFindings(r.findings)); diff != "" || r.out != nil {
				t.Error(diff)
			}
		})
	}
}

// parentRunId, code and the error message, strictly.
func TestStrictEvents(t *testing.T) {
	start := func(parent string) string { return strings.Replace(started, "}", `,"parentRunId":`+parent+`}`, 1) }
	for _, c := range []struct {
		name, start, end string
		want             []string
		parent, code     string
	}{
		{"all there", start(`"p"`), `{"type":"RUN_ERROR","message":"m","code":"c"}`, nil, "p", "c"},
		{"parent null", start(`null`), finished, []string{"value_null #0 /parentRunId"}, "", ""},
		{"parent blank", start(`" "`), finished, []string{"value_blank #0 /parentRunId"}, "", ""},
		{"parent a number", start(`1`), finished, []string{"wrong_type #0 /parentRunId"}, "", ""},
		{"parent half a pair", start(`"\ud800"`), finished, []string{"lone_surrogate #0 /parentRunId"}, "", ""},
		{"parent not opaque", start(`"http://x"`), finished, []string{"ref_not_opaque #0 /parentRunId"}, "", ""},
		{"code null", started, `{"type":"RUN_ERROR","message":"m","code":null}`, []string{"value_null #2 /code"}, "", ""},
		{"code blank", started, `{"type":"RUN_ERROR","message":"m","code":""}`, []string{"value_blank #2 /code"}, "", ""},
		{"code a number", started, `{"type":"RUN_ERROR","message":"m","code":5}`, []string{"wrong_type #2 /code"}, "", ""},
		{"message absent", started, `{"type":"RUN_ERROR"}`, []string{"key_missing #2 /message"}, "", ""},
		{"message null", started, `{"type":"RUN_ERROR","message":null}`, []string{"wrong_type #2 /message"}, "", ""},
		{"message blank", started, `{"type":"RUN_ERROR","message":"\n"}`, []string{"value_blank #2 /message"}, "", ""},
		{"message of lines", started, `{"type":"RUN_ERROR","message":"a\nb"}`, []string{"control_character #2 /message"}, "", ""},
		{"code with a control", started, `{"type":"RUN_ERROR","message":"a","code":"\u0085"}`, []string{"value_blank #2 /code"}, "", ""},
		{"code with a control within", started, `{"type":"RUN_ERROR","message":"a","code":"a\u007fb"}`, []string{"control_character #2 /code"}, "", ""},
		{"half pairs", started, `{"type":"RUN_ERROR","message":"a\ud800","code":"\udc00"}`, []string{"lone_surrogate #2 /code", "lone_surrogate #2 /message"}, "", ""},
		{"thread blank", strings.Replace(started, "t1", "", 1), `{"type":"RUN_FINISHED"}`, []string{"value_blank #0 /threadId"}, "", ""},
		{"run with a space", strings.Replace(started, "r1", "r 1", 1), `{"type":"RUN_FINISHED"}`, []string{"ref_not_opaque #0 /runId"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, strict, "", c.start, snapshot(user), c.end)
			if diff := cmp.Diff(orEmpty(c.want), formatFindings(r.findings)); diff != "" {
				t.Error(diff)
			}
			if r.out != nil && (r.out.Artifact.ParentRunIDRef != c.parent || r.out.Artifact.ErrorCode != c.code) {
				t.Errorf("%+v", r.out.Artifact)
			}
		})
	}
}

// Other keys of an event are recorded as omissions, also by the strict projection.
func TestEventKeysAreRecorded(t *testing.T) {
	events := []string{
		`{"protocolVersion":"1.0","type":"RUN_STARTED","threadId":"t1","runId":"r1","input":{"messages":[]},"timestamp":5,"rawEvent":{}}`,
		`{"type":"STEP_STARTED","stepName":"s"}`,
		`{"type":"MESSAGES_SNAPSHOT","timestamp":6,"messages":[` + user + `],"metadata":{},"\ud800":1}`,
		`{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":null,"message":"x","code":"y","a/b":0}`,
	}
	want := []string{
		"key_outside_subset #0 /protocolVersion", "key_outside_subset #0 /input", "key_outside_subset #0 /timestamp", "key_outside_subset #0 /rawEvent",
		"key_outside_subset #3 /outcome", "key_outside_subset #3 /message", "key_outside_subset #3 /code", "key_outside_subset #3 /a~1b",
		"key_outside_subset #2 /timestamp", "key_outside_subset #2 /metadata", "key_outside_subset #2 /\uFFFD",
	}
	for _, s := range []project.Settings{strict, {Projection: project.EmittedSnapshotText}} {
		r := projectRun(t, s, "", events...)
		if r.out == nil {
			t.Fatal(formatFindings(r.findings))
		}
		if diff := cmp.Diff(want, formatOmissions(r.out.Omissions)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"(timestamp_implausible #0 /timestamp)"}, formatFindings(r.findings)); diff != "" {
			t.Error(diff)
		}
		if _, err := record.New(r.out, r.run, s, record.Tool{}).Encode(); err != nil {
			t.Error(err)
		}
	}
	events[3] = `{"type":"RUN_ERROR","threadId":"t1","runId":"r1","message":"x","code":"y","usage":[],"stack":"z"}`
	r := projectRun(t, strict, "", events...)
	if diff := cmp.Diff([]string{"key_outside_subset #3 /usage", "key_outside_subset #3 /stack"}, formatOmissions(r.out.Omissions)[4:6]); diff != "" {
		t.Error(diff)
	}
}

// Every limit, at the largest allowed value and one above, under both profiles.
func TestLimits(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return strings.Repeat("é", n) }
	content := func(s string) string { return snapshot(`{"id":"m","role":"user","content":"` + s + `"}`) }
	many := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"id":"m%d","role":"user","content":"x"}`, i)
		}
		return snapshot(list...)
	}
	for _, c := range []struct {
		name      string
		v1, assay int
		events    func(n int) []string
		want      string
	}{
		{"thread", 256, 96, func(n int) []string {
			return []string{strings.Replace(started, "t1", text(n), 1), snapshot(user), failed}
		}, "too_long #0 /threadId"},
		{"run", 256, 96, func(n int) []string {
			return []string{strings.Replace(started, "r1", text(n), 1), snapshot(user), failed}
		}, "too_long #0 /runId"},
		{"parent", 256, 96, func(n int) []string {
			return []string{strings.Replace(started, "}", `,"parentRunId":"`+text(n)+`"}`, 1), snapshot(user), failed}
		}, "too_long #0 /parentRunId"},
		{"message id", 256, 96, func(n int) []string {
			return []string{started, snapshot(user, `{"id":"`+text(n)+`","role":"user","content":"x"}`), failed}
		}, "too_long #1 /messages/1/id"},
		{"name", 128, 60, func(n int) []string {
			return []string{started, snapshot(`{"id":"m","role":"user","content":"x","name":"` + text(n) + `"}`), failed}
		}, "too_long #1 /messages/0/name"},
		{"content", 262_144, 400, func(n int) []string { return []string{started, content(text(n)), failed} }, "too_long #1 /messages/0/content"},
		{"error code", 128, 48, func(n int) []string {
			return []string{started, snapshot(user), `{"type":"RUN_ERROR","message":"m","code":"` + text(n) + `"}`}
		}, "too_long #2 /code"},
		{"error message", 1024, 200, func(n int) []string {
			return []string{started, snapshot(user), `{"type":"RUN_ERROR","message":"` + text(n) + `"}`}
		}, "too_long #2 /message"},
		{"messages", 2000, 2000, func(n int) []string { return []string{started, many(n), failed} }, "messages_too_many #1 /messages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range artifact.Profiles() {
				limit := c.v1
				if p == artifact.Assay {
					limit = c.assay
				}
				s := project.Settings{Projection: project.EmittedSnapshot, Profile: p}
				if r := projectRun(t, s, "", c.events(limit)...); len(r.findings) != 0 {
					t.Errorf("%s at the limit: %v", p, formatFindings(r.findings))
				} else if p == artifact.V1 && finding.Failed(r.out.Assay) != (c.v1 > c.assay) {
					t.Errorf("findings against assay: %v", formatFindings(r.out.Assay))
				}
				r := projectRun(t, s, "", c.events(limit+1)...)
				if diff := cmp.Diff([]string{c.want}, formatFindings(r.findings)); diff != "" {
					t.Errorf("%s past the limit: %s", p, diff)
				}
			}
		})
	}
	// The file: 33 contents of the largest size exceed 8 MiB.
	var large []string
	for i := range 33 {
		large = append(large, fmt.Sprintf(`{"id":"m%d","role":"user","content":"%s"}`, i, strings.Repeat("x", 262_144)))
	}
	if r := projectRun(t, strict, "", started, snapshot(large[:31]...), finished); r.out == nil {
		t.Errorf("below 8 MiB: %v", formatFindings(r.findings))
	}
	if r := projectRun(t, strict, "", started, snapshot(large...), finished); !cmp.Equal([]string{"file_too_large"}, formatFindings(r.findings)) {
		t.Errorf("above 8 MiB: %v", formatFindings(r.findings))
	}
}

// The count of messages is not reported if the list was not read to its end.
func TestMessagesPastTheLimit(t *testing.T) {
	const n = 10_000
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":"m%d","role":"user","content":"x"}`, i))
	}
	for _, s := range []project.Settings{strict, {Projection: project.EmittedSnapshotText}} {
		r := projectRun(t, s, "", started, snapshot(list...), finished)
		if len(r.findings) != 2 || r.findings[0].Message != "there are more than 2000 messages, which is the limit" || r.findings[1].Message != "7999 more messages were not checked" {
			t.Errorf("%s: %v", s.Projection, r.findings)
		}
		r = projectRun(t, s, "", started, snapshot(list[:2001]...), finished)
		if len(r.findings) != 1 || r.findings[0].Message != "/messages contains 2001 messages; the limit is 2000" {
			t.Errorf("%s: %v", s.Projection, r.findings)
		}
	}
}

// Findings past maxFindings are counted.
func TestFindingsCap(t *testing.T) {
	for _, n := range []int{1000, 1001} {
		bad := strings.TrimSuffix(strings.Repeat(`{"id":"1","role":"user"},`, n), ",")
		r := projectRun(t, strict, "", started, snapshot(bad), finished)
		if n == 1000 && len(r.findings) != 1000 || n > 1000 && (len(r.findings) != 1001 || !strings.Contains(r.findings[1000].Message, "1 more messages were not checked")) {
			t.Errorf("%d findings for %d", len(r.findings), n)
		}
	}
}
