package artifact_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
)

// base is a valid artifact with only the required keys.
const base = `{"schema":"ag-ui.compacted-message-snapshot.export.v1","framework":"ag_ui",` +
	`"surface":"compacted_message_snapshot_artifact","thread_id_ref":"t","run_id_ref":"r",` +
	`"started_at":"2026-01-01T00:00:00Z","messages":[{"id":"m1","role":"user","content":"hi"}],` +
	`"terminal_event":"RUN_FINISHED"}`

// failed is base with a terminal error.
var failed = strings.Replace(base, `"RUN_FINISHED"`, `"RUN_ERROR","error_message":"boom"`, 1)

// with replaces old, which must occur once in text.
func with(t testing.TB, text, old, new string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%s occurs %d times in %s", old, strings.Count(text, old), text)
	}
	return strings.Replace(text, old, new, 1)
}

// marked removes the markers from text and returns their positions.
func marked(text string) (plain string, offsets []int64) {
	for i, part := range strings.Split(text, "^") {
		if i > 0 {
			offsets = append(offsets, int64(len(plain)))
		}
		plain += part
	}
	return plain, offsets
}

// spell formats findings as in the tables: code and pointer.
func spell(findings []finding.Finding) (list []string, offsets []int64) {
	for _, f := range findings {
		list = append(list, strings.TrimSuffix(string(f.Code)+" "+string(f.Pointer), " "))
		if f.Offset != nil {
			offsets = append(offsets, *f.Offset)
		}
	}
	return list, offsets
}

// mustFind decodes text and compares the findings. Each marker ^ in the text is the
// expected position of a finding, in order.
func mustFind(t *testing.T, text string, p artifact.Profile, want ...string) {
	t.Helper()
	plain, at := marked(text)
	a, findings := artifact.Decode([]byte(plain), p)
	if (a == nil) != (len(want) > 0) {
		t.Errorf("%.600s\naccepted: %v", plain, a != nil)
	}
	got, offsets := spell(findings)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%.600s\nfindings (-want +got):\n%s%v", plain, diff, findings)
	}
	if diff := cmp.Diff(at, offsets); diff != "" {
		t.Errorf("%.600s\noffsets (-want +got):\n%s%v", plain, diff, findings)
	}
	for _, f := range findings {
		if f.Severity != finding.Error || f.Message == "" || f.Offset != nil && f.Line != 1+strings.Count(plain[:*f.Offset], "\n") {
			t.Errorf("%.600s\nseverity, message or line of %+v", plain, f)
		}
	}
}

func TestAccepted(t *testing.T) {
	example, err := os.ReadFile("testdata/valid.ag-ui.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		base,
		failed,
		string(example),
		"\n\t" + strings.NewReplacer(",", " ,\n", ":\"", " :\r\t\"", "}", " }").Replace(base) + "\r\n",
		`{"messages":[{"content":"hi","role":"user","id":"m1"}],` + with(t, base, `"messages":[{"id":"m1","role":"user","content":"hi"}],`, "")[1:],
		with(t, failed, `"boom"`, `"boom","error_code":"E1"`),
		with(t, base, `"started_at"`, `"parent_run_id_ref":"p","started_at"`),
		with(t, base, `"messages"`, `"finished_at":"2026-01-01T00:00:00Z","messages"`),
		with(t, base, `"messages"`, `"finished_at":"2026-01-01T00:00:00.000001Z","messages"`),
		with(t, base, `"schema"`, `"\u0073chema"`),
		with(t, base, `"user"`, `"\u0075ser"`),
		with(t, base, `"hi"`, `"STATE_DELTA {\"events\": []} \u0000\u001b 🙂 \ud83d\ude42","name":" n "`),
		with(t, base, `"m1"`, `" m1\n"`),
		with(t, base, `"t"`, `"a:b//c/d?é🙂\"\\"`),
		with(t, failed, `"boom"`, `"at file:///x \u2028 trace"`),
	} {
		for _, p := range artifact.Profiles() {
			mustFind(t, text, p)
		}
	}
	for _, role := range artifact.Roles() {
		mustFind(t, with(t, base, "user", role), artifact.V1)
		if !artifact.IsRole(role) {
			t.Errorf("%s is no role", role)
		}
	}
}

func TestDecodedValues(t *testing.T) {
	text := with(t, failed, `"boom"`, `"b\u00e9\ud83d\ude42","error_code":"E1","finished_at":"2026-01-01T01:00:00+01:00","parent_run_id_ref":"p"`)
	text = with(t, text, `"content":"hi"}`, `"content":" hi\n"},{"name":"N","content":"2","role":"tool","id":"m2"}`)
	want := &artifact.Artifact{
		Schema: artifact.Schema, Framework: artifact.Framework, Surface: artifact.Surface,
		ThreadIDRef: "t", RunIDRef: "r", ParentRunIDRef: "p",
		StartedAt: "2026-01-01T00:00:00Z", FinishedAt: "2026-01-01T01:00:00+01:00",
		Messages:      []artifact.Message{{ID: "m1", Role: "user", Content: " hi\n"}, {ID: "m2", Role: "tool", Content: "2", Name: "N"}},
		TerminalEvent: artifact.RunError, ErrorCode: "E1", ErrorMessage: "bé🙂",
	}
	for _, p := range artifact.Profiles() {
		got, findings := artifact.Decode([]byte(text), p)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %v\n%s", p, findings, diff)
		}
	}
}

// Each rule of the contract is violated separately. Both profiles have the same
// findings.
func TestRefused(t *testing.T) {
	const message = `{"id":"m1","role":"user","content":"hi"}`
	for _, tt := range []struct {
		old, new string // in base, or in failed if base does not contain old
		want     []string
	}{
		// Required keys. A missing key is reported at the beginning of its object.
		{`{"schema":"ag-ui.compacted-message-snapshot.export.v1",`, `^{`, []string{"key_missing /schema"}},
		{`{"schema"`, `^{^"schem"`, []string{"key_missing /schema", "key_unknown /schem"}},
		{`,"terminal_event":"RUN_FINISHED"}`, `}`, []string{"key_missing@0 /terminal_event"}},
		{`"framework":"ag_ui",`, ``, []string{"key_missing@0 /framework"}},
		{`"surface":"compacted_message_snapshot_artifact",`, ``, []string{"key_missing@0 /surface"}},
		{`"thread_id_ref":"t",`, ``, []string{"key_missing@0 /thread_id_ref"}},
		{`"run_id_ref":"r",`, ``, []string{"key_missing@0 /run_id_ref"}},
		{`"started_at":"2026-01-01T00:00:00Z",`, ``, []string{"key_missing@0 /started_at"}},
		{`"messages":[` + message + `],`, ``, []string{"key_missing@0 /messages"}},
		{`"id":"m1",`, ``, []string{"key_missing@message /messages/0/id"}},
		{`"role":"user",`, ``, []string{"key_missing@message /messages/0/role"}},
		{`,"content":"hi"`, ``, []string{"key_missing@message /messages/0/content"}},
		{message, `^^^{}`, []string{"key_missing /messages/0/content", "key_missing /messages/0/id", "key_missing /messages/0/role"}},
		{`"RUN_ERROR","error_message":"boom"`, `^"RUN_ERROR"`, []string{"key_missing /error_message"}},
		{`"RUN_ERROR","error_message":"boom"`, `^"RUN_ERROR","error_code":"E"`, []string{"key_missing /error_message"}},
		// The three fixed values.
		{`"ag-ui.compacted-message-snapshot.export.v1"`, `^"ag-ui.compacted-message-snapshot.export.v2"`, []string{"wrong_value /schema"}},
		{`"ag_ui"`, `^"AG_UI"`, []string{"wrong_value /framework"}},
		{`"ag_ui"`, `^" ag_ui"`, []string{"wrong_value /framework"}},
		{`"compacted_message_snapshot_artifact"`, `^""`, []string{"wrong_value /surface"}},
		// Types.
		{`"ag_ui"`, `^null`, []string{"wrong_type /framework"}},
		{`"t"`, `^1e400`, []string{"wrong_type /thread_id_ref"}},
		{`"t"`, `^{"x":[1]}`, []string{"wrong_type /thread_id_ref"}},
		{`"r"`, `^["r"]`, []string{"wrong_type /run_id_ref"}},
		{`"2026-01-01T00:00:00Z"`, `^1735689600`, []string{"wrong_type /started_at"}},
		{`[` + message + `]`, `^{}`, []string{"wrong_type /messages"}},
		{`[` + message + `]`, `^null`, []string{"wrong_type /messages"}},
		{message, `^"m1"`, []string{"wrong_type /messages/0"}},
		{message, `^[` + message + `]`, []string{"wrong_type /messages/0"}},
		{message, message + `,^null`, []string{"wrong_type /messages/1"}},
		{`"hi"`, `^[{"type":"text","text":"hi"}]`, []string{"wrong_type /messages/0/content"}},
		{`"hi"`, `^null`, []string{"wrong_type /messages/0/content"}},
		{`"hi"`, `"hi","name":^null`, []string{"wrong_type /messages/0/name"}},
		{`"user"`, `^true`, []string{"wrong_type /messages/0/role"}},
		{`"RUN_FINISHED"`, `^null`, []string{"wrong_type /terminal_event"}},
		{`"boom"`, `^null`, []string{"wrong_type /error_message"}},
		{`"boom"`, `"boom","error_code":^17`, []string{"wrong_type /error_code"}},
		// Blank strings.
		{`"t"`, `^""`, []string{"value_blank /thread_id_ref"}},
		{`"r"`, `^" \t\u001c\u3000"`, []string{"value_blank /run_id_ref"}},
		{`"r"`, `"r","parent_run_id_ref":^""`, []string{"value_blank /parent_run_id_ref"}},
		{`"2026-01-01T00:00:00Z"`, `^""`, []string{"value_blank /started_at"}},
		{`"r"`, `"r","finished_at":^" "`, []string{"value_blank /finished_at"}},
		{`"m1"`, `^"\n"`, []string{"value_blank /messages/0/id"}},
		{`"user"`, `^""`, []string{"value_blank /messages/0/role"}},
		{`"hi"`, `^"\u00a0"`, []string{"value_blank /messages/0/content"}},
		{`"hi"`, `"hi","name":^"\u2003"`, []string{"value_blank /messages/0/name"}},
		{`"RUN_FINISHED"`, `^""`, []string{"value_blank /terminal_event"}},
		{`"boom"`, `^" "`, []string{"value_blank /error_message"}},
		{`"boom"`, `"boom","error_code":^""`, []string{"value_blank /error_code"}},
		// Messages.
		{`[` + message + `]`, `^[]`, []string{"messages_empty /messages"}},
		{message, message + `,{"role":"user","content":"b","id":^"m1"}`, []string{"message_id_repeated /messages/1/id"}},
		{message, message + `,{"id":^" \u006d1\n","role":"user","content":"b"}`, []string{"message_id_repeated /messages/1/id"}},
		{message, message + `,{"id":^"m1","role":"user","content":"b"},{"id":^"m1","role":"user","content":"b"}`, []string{"message_id_repeated /messages/1/id", "message_id_repeated /messages/2/id"}},
		{`"user"`, `^"User"`, []string{"wrong_value /messages/0/role"}},
		{`"user"`, `^"user "`, []string{"wrong_value /messages/0/role"}},
		{`"user"`, `^"function"`, []string{"wrong_value /messages/0/role"}},
		// References.
		{`"t"`, `^"http://x"`, []string{"ref_not_opaque /thread_id_ref"}},
		{`"t"`, `^"a b"`, []string{"ref_not_opaque /thread_id_ref"}},
		{`"t"`, `^" t"`, []string{"ref_not_opaque /thread_id_ref"}},
		{`"r"`, `^"r\u3000"`, []string{"ref_not_opaque /run_id_ref"}},
		{`"r"`, `^"r\u0000"`, []string{"ref_not_opaque /run_id_ref"}},
		{`"r"`, `^"r\u009b"`, []string{"ref_not_opaque /run_id_ref"}},
		{`"r"`, `"r","parent_run_id_ref":^":\u002f\/"`, []string{"ref_not_opaque /parent_run_id_ref"}},
		// The end of the run.
		{`"RUN_FINISHED"`, `^"RUN_CANCELLED"`, []string{"wrong_value /terminal_event"}},
		{`"RUN_FINISHED"`, `^"run_finished"`, []string{"wrong_value /terminal_event"}},
		{`"RUN_FINISHED"`, `^"RUN_FINISHED "`, []string{"wrong_value /terminal_event"}},
		{`"RUN_FINISHED"`, `"RUN_FINISHED","error_message":^"boom"`, []string{"error_key_forbidden /error_message"}},
		{`"RUN_FINISHED"`, `"RUN_FINISHED","error_code":^"E"`, []string{"error_key_forbidden /error_code"}},
		{`"RUN_FINISHED"`, `"RUN_FINISHED","error_code":^^null`, []string{"error_key_forbidden /error_code", "wrong_type /error_code"}},
		{`"boom"`, `^"a\nb"`, []string{"control_character /error_message"}},
		{`"boom"`, `^"a\u0085b"`, []string{"control_character /error_message"}},
		{`"boom"`, `"boom","error_code":^"E\u007f"`, []string{"control_character /error_code"}},
		// Times.
		{`"2026-01-01T00:00:00Z"`, `^"2026-01-01"`, []string{"timestamp_malformed /started_at"}},
		{`"r"`, `"r","finished_at":^"2026-01-01T00:00:00"`, []string{"timestamp_malformed /finished_at"}},
		{`"r"`, `"r","finished_at":^"2025-12-31T23:59:59.999999Z"`, []string{"times_out_of_order /finished_at"}},
		{`"r"`, `"r","finished_at":^"2026-01-01T00:30:00+00:31"`, []string{"times_out_of_order /finished_at"}},
		{`"boom"`, `"boom","finished_at":^"2025-01-01T00:00:00Z"`, []string{"times_out_of_order /finished_at"}},
		// Halves of surrogate pairs.
		{`"hi"`, `^"\ud83d"`, []string{"lone_surrogate /messages/0/content"}},
		{`"t"`, `^"\ude42\ud83d"`, []string{"lone_surrogate /thread_id_ref"}},
		{`"ag_ui"`, `^"\ud83d"`, []string{"lone_surrogate /framework"}},
		{`"schema"`, `^"\ud83d":1,"schema"`, []string{"key_unknown /\ufffd"}},
		// Unknown and repeated keys.
		{`"schema"`, `^"x":1,"schema"`, []string{"key_unknown /x"}},
		{`"schema"`, `^"":1,"schema"`, []string{"key_unknown /"}},
		{`"schema"`, `^"Schema":1,"schema"`, []string{"key_unknown /Schema"}},
		{`"schema"`, `^"metadata":{"a":{"b":[1]}},"schema"`, []string{"key_unknown /metadata"}},
		{`"id"`, `^"a/b~":[{}],"id"`, []string{"key_unknown /messages/0/a~1b~0"}},
		{`"hi"`, `"hi",^"type":"STATE_DELTA"`, []string{"key_unknown /messages/0/type"}},
		{`"r"`, `"r",^"run_id_ref":"r"`, []string{"json_duplicate_key /run_id_ref"}},
		{`"r"`, `"r",^"\u0072un_id_ref":{^"state":1}`, []string{"json_duplicate_key /run_id_ref", "extra_event_family /run_id_ref/state"}},
		{`"RUN_FINISHED"`, `"RUN_FINISHED",^"messages":[]`, []string{"json_duplicate_key /messages"}},
		{`"hi"`, `"hi",^"content":"hi"`, []string{"json_duplicate_key /messages/0/content"}},
		{`"schema"`, `^"x":{"a":1,^"a":2,"b":[{"c":1,^"c":2}]},"schema"`, []string{"key_unknown /x", "json_duplicate_key /x/a", "json_duplicate_key /x/b/0/c"}},
		{`"schema"`, `^"state":{"a":1,^"a":2},"schema"`, []string{"extra_event_family /state", "json_duplicate_key /state/a"}},
		// Several at once, in document order.
		{`"thread_id_ref":"t","run_id_ref":"r"`, `"thread_id_ref":^"","run_id_ref":^"a b",^"z":0`, []string{"value_blank /thread_id_ref", "ref_not_opaque /run_id_ref", "key_unknown /z"}},
		// JSON syntax. Findings before a syntax error are still reported.
		{`"schema"`, `^"x":1,^schema`, []string{"key_unknown /x", "json_syntax /x"}},
		{`"hi"`, `"h` + "^\xff" + `i"`, []string{"json_invalid_utf8 /messages/0/content"}},
		{`"RUN_FINISHED"}`, `"RUN_FINISHED"} ^{}`, []string{"json_trailing_data"}},
		{`"RUN_FINISHED"}`, `"RUN_FINISHED"^`, []string{"json_syntax /terminal_event"}},
		{`"hi"`, `"hi`, []string{"json_syntax@unclosed /messages/0/content"}},
	} {
		text := base
		if !strings.Contains(base, tt.old) {
			text = failed
		}
		text = with(t, text, tt.old, tt.new)
		var want []string
		for _, w := range tt.want {
			switch code, rest, _ := strings.Cut(w, "@"); {
			case strings.HasPrefix(rest, "0 "):
				text, w = "^"+text, code+rest[1:]
			case strings.HasPrefix(rest, "message "):
				text, w = with(t, text, `[{`, `[^{`), code+strings.TrimPrefix(rest, "message")
			case strings.HasPrefix(rest, "unclosed "):
				text, w = with(t, text, `hi}],"`, `hi}],"^`), code+strings.TrimPrefix(rest, "unclosed")
			}
			want = append(want, w)
		}
		for _, p := range artifact.Profiles() {
			mustFind(t, text, p, want...)
		}
	}
}

func TestNotAnObject(t *testing.T) {
	for _, text := range []string{`^[]`, ` ^"x"`, `^1`, "\n^null", `^true`, `^[{"type":"RUN_STARTED"},{"state":1}]`} {
		mustFind(t, text, artifact.V1, "not_an_object")
	}
	mustFind(t, `^[1,^]`, artifact.V1, "not_an_object", "json_syntax /1")
	mustFind(t, `^`, artifact.V1, "json_syntax")
	mustFind(t, "^\ufeff"+base, artifact.V1, "json_syntax")
}

func TestLines(t *testing.T) {
	text := strings.ReplaceAll(with(t, base, `"schema"`, "\r\n\n^\"x\":1,^\"y\":1,\"schema\""), ",", ",\n")
	mustFind(t, text, artifact.V1, "key_unknown /x", "key_unknown /y")
}

func TestMessagesQuoteSafely(t *testing.T) {
	hostile := `\u001b[31m\u202e` + strings.Repeat("x", 1_000)
	for _, text := range []string{
		with(t, base, `"schema"`, `"`+hostile+`":1,"schema"`),
		with(t, base, `"schema"`, `"schema":"s","schema"`),
		with(t, base, `"ag_ui"`, `"`+hostile+`"`),
		with(t, base, `"user"`, `"`+hostile+`"`),
		with(t, base, `"RUN_FINISHED"`, `"`+hostile+`"`),
		with(t, base, `"2026-01-01T00:00:00Z"`, `"`+hostile+`"`),
		with(t, base, `"r"`, `"r","x":{"`+hostile+`":1,"`+hostile+`":2}`),
	} {
		_, findings := artifact.Decode([]byte(text), artifact.V1)
		if len(findings) == 0 {
			t.Errorf("%.200s is accepted", text)
		}
		for _, f := range findings {
			if len(f.Message) > 400 || f.Message != finding.Printable(f.Message) {
				t.Errorf("unsafe message %q", f.Message)
			}
		}
	}
}

func TestErr(t *testing.T) {
	_, plain := artifact.Decode([]byte(with(t, base, `"schema"`, `"x":1,"schema"`)), artifact.V1)
	_, extra := artifact.Decode([]byte(with(t, base, `"schema"`, `"x":1,"state":{},"schema"`)), artifact.V1)
	_, none := artifact.Decode([]byte(base), artifact.V1)
	for _, tt := range []struct {
		findings         []finding.Finding
		malformed, extra bool
	}{
		{none, false, false},
		{nil, false, false},
		{[]finding.Finding{finding.New(finding.SnapshotBuilt, "x")}, false, false},
		{plain, true, false},
		{extra, true, true},
	} {
		err := artifact.Err(tt.findings)
		if errors.Is(err, artifact.ErrMalformed) != tt.malformed || errors.Is(err, artifact.ErrExtraEventFamily) != tt.extra || (err != nil) != tt.malformed {
			t.Errorf("%v gives %v", tt.findings, err)
		}
	}
	if !errors.Is(artifact.ErrExtraEventFamily, artifact.ErrMalformed) || errors.Is(artifact.ErrMalformed, artifact.ErrExtraEventFamily) {
		t.Error("the tree of errors is wrong")
	}
	var f finding.Finding
	if err := artifact.Err(extra); !errors.As(err, &f) || f.Pointer != "/x" {
		t.Errorf("the first finding is %+v", f)
	}
	if got := fmt.Sprint(artifact.Err(plain)); got != `malformed artifact: key_unknown: the key "x" is not part of the contract` {
		t.Errorf("got %s", got)
	}
}

func TestProfiles(t *testing.T) {
	for _, p := range artifact.Profiles() {
		if got, err := artifact.ParseProfile(string(p)); got != p || err != nil {
			t.Errorf("%s: %s, %v", p, got, err)
		}
	}
	for _, name := range []string{"", "V1", "v2", "assay "} {
		if got, err := artifact.ParseProfile(name); err == nil || got != "" {
			t.Errorf("%q is a profile: %s", name, got)
		}
	}
}
