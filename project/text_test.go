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

func text(sel project.Selection, p artifact.Profile) project.Settings {
	return project.Settings{Projection: project.EmittedSnapshotText, Snapshot: sel, Profile: p}
}

// The text projection omits some content of messages and still refuses other content.
func TestTextMessages(t *testing.T) {
	for _, c := range []struct {
		name, messages string
		want, left     []string
		findings       []string
	}{
		{"plain", user + "," + answer, []string{"u1/user: Hi", "a1/assistant: Hello"}, nil, nil},
		{"keys", `{"id":"a","role":"assistant","content":"x","toolCalls":[{"id":1}],"metadata":null,"":0}`, []string{"a/assistant: x"},
			[]string{"key_outside_subset #1 /messages/0/toolCalls", "key_outside_subset #1 /messages/0/metadata", "key_outside_subset #1 /messages/0/"}, nil},
		{"tool turn", user + `,{"id":"a","role":"assistant","toolCalls":[]},{"id":"b","role":"tool","content":"4","toolCallId":"c"},{"id":"d","role":"assistant","content":""}`,
			[]string{"u1/user: Hi", "b/tool: 4"},
			[]string{"content_missing #1 /messages/1", "key_outside_subset #1 /messages/1/toolCalls", "key_outside_subset #1 /messages/2/toolCallId", "content_blank #1 /messages/3"}, nil},
		{"roles", user + `,{"id":"a","role":"activity","content":"x"},{"id":"b","role":"reasoning","content":"x","k":1},{"id":"c","content":"x"},{"id":"d","role":7,"content":"x"}`,
			[]string{"u1/user: Hi"}, []string{"role_outside_subset #1 /messages/1", "role_outside_subset #1 /messages/2", "key_outside_subset #1 /messages/2/k", "role_outside_subset #1 /messages/3", "role_outside_subset #1 /messages/4"}, nil},
		{"contents", user + `,{"id":"a","role":"user","content":null},{"id":"b","role":"user","content":5},{"id":"c","role":"user","content":"\u001d \n"},{"id":"d","role":"user","content":{"type":"text","text":"x"}},{"id":"e","role":"user","content":[]}`,
			[]string{"u1/user: Hi"}, []string{"content_missing #1 /messages/1", "content_not_text #1 /messages/2", "content_blank #1 /messages/3", "content_not_text #1 /messages/4", "content_blank #1 /messages/5"}, nil},
		{"text parts", `{"id":"a","role":"user","content":[{"type":"text","text":" a"},{"text":"b ","type":"text"},{"type":"text","text":""}]}`,
			[]string{"a/user:  ab "}, []string{"text_parts_joined #1 /messages/0/content"}, nil},
		{"text parts of more", `{"id":"a","role":"user","content":[{"type":"text","text":"x","id":"p"},{"type":"text","text":"y","metadata":{}}],"k":0}`, []string{"a/user: xy"},
			[]string{"text_parts_joined #1 /messages/0/content", "key_outside_subset #1 /messages/0/content/0/id", "key_outside_subset #1 /messages/0/content/1/metadata", "key_outside_subset #1 /messages/0/k"}, nil},
		{"half pairs over parts", `{"id":"a","role":"user","content":[{"type":"text","text":"\ud83d"},{"type":"text","text":"\ude00"}]}`, []string{"a/user: 😀"},
			[]string{"text_parts_joined #1 /messages/0/content"}, nil},
		{"a part that is no text", user + `,{"id":"a","role":"user","content":[{"type":"text","text":"x"},{"type":"image","source":{}}]}`, []string{"u1/user: Hi"}, []string{"content_not_text #1 /messages/1"}, nil},
		{"parts of other shapes", user + `,{"id":"a","role":"user","content":["x"]},{"id":"b","role":"user","content":[null]},{"id":"c","role":"user","content":[{"type":"text"}]},{"id":"d","role":"user","content":[{"type":"text","text":null}]},{"id":"e","role":"user","content":[{"text":"x"}]},{"id":"f","role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":1}]}`,
			[]string{"u1/user: Hi"}, []string{"content_not_text #1 /messages/1", "content_not_text #1 /messages/2", "content_not_text #1 /messages/3", "content_not_text #1 /messages/4", "content_not_text #1 /messages/5", "content_not_text #1 /messages/6"}, nil},
		{"names", `{"id":"a","role":"user","content":"x","name":null},{"id":"b","role":"user","content":"x","name":" "},{"id":"c","role":"user","content":"x","name":"n"}`,
			[]string{"a/user: x", "b/user: x", "c/user/n: x"}, []string{"value_null #1 /messages/0/name", "value_blank #1 /messages/1/name"}, nil},
		{"half pairs in what is left out", user + `,{"id":"\ud800","role":"activity","content":"\ud800","\ud800":"\ud800"},{"id":"b","role":"user","content":"x","k":"\ud800","\udc00":0}`,
			[]string{"u1/user: Hi", "b/user: x"}, []string{"role_outside_subset #1 /messages/1", "key_outside_subset #1 /messages/1/\uFFFD", "key_outside_subset #1 /messages/2/k", "key_outside_subset #1 /messages/2/\uFFFD"}, nil},
		{"half pairs in what is taken", `{"id":"\ud800","role":"user","content":"x"},{"id":"b","role":"user","content":"\ud800"},{"id":"c","role":"user","content":"x","name":"\ud800"},{"id":"d","role":"user","content":[{"type":"text","text":"\ude00"},{"type":"text","text":"\ud83d"}]}`, nil, nil,
			[]string{"lone_surrogate #1 /messages/0/id", "lone_surrogate #1 /messages/1/content", "lone_surrogate #1 /messages/2/name", "lone_surrogate #1 /messages/3/content"}},
		{"ids", `{"role":"user","content":"x"},{"id":null,"role":"user","content":"x"}`, nil, nil, []string{"key_missing #1 /messages/0/id", "wrong_type #1 /messages/1/id"}},
		{"ids repeated", user + `,{"id":"u1 ","role":"tool","content":"x"}`, nil, nil, []string{"message_id_repeated #1 /messages/1/id"}},
		{"place of a later one", `{"id":"x","role":"activity"},{"id":"y"},` + user + `,{"id":"u1","role":"tool","content":"x"}`, nil, nil, []string{"message_id_repeated #1 /messages/3/id"}},
		{"id repeated by one left out", user + `,{"id":"u1","role":"activity"}`, []string{"u1/user: Hi"}, []string{"role_outside_subset #1 /messages/1", "content_missing #1 /messages/1"}, nil},
		{"name of another kind", `{"id":"a","role":"user","content":"x","name":5}`, nil, nil, []string{"wrong_type #1 /messages/0/name"}},
		{"no object", user + `,5`, nil, nil, []string{"snapshot_malformed #1 /messages/1"}},
		{"too long", `{"id":"a","role":"user","content":"x","name":"` + strings.Repeat("n", 129) + `"}`, nil, nil, []string{"too_long #1 /messages/0/name"}},
		{"nothing left", `{"id":"a","role":"activity"},{"id":"b","role":"assistant"}`, nil, nil, []string{"nothing_left"}},
		{"nothing there", ``, nil, nil, []string{"nothing_left"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, text("", ""), "", started, snapshot(c.messages), finished)
			if diff := cmp.Diff(orEmpty(c.want), formatMessages(r.out)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(orEmpty(c.findings), formatFindings(r.findings)); diff != "" {
				t.Error(diff)
			}
			if r.out == nil {
				return
			}
			if diff := cmp.Diff(orEmpty(c.left), formatOmissions(r.out.Omissions)); diff != "" {
				t.Error(diff)
			}
			if _, err := record.New(r.out, r.run, text("", ""), record.Tool{}).Encode(); err != nil {
				t.Error(err)
			}
			if !strings.Contains(string(r.out.Envelope), snapshot(c.messages)) {
				t.Error("the envelope does not contain the snapshot as it was received")
			}
		})
	}
}

// A selection uses one snapshot and records the others as omissions.
func TestSelection(t *testing.T) {
	number := func(i int) string { return snapshot(fmt.Sprintf(`{"id":"m%d","role":"user","content":"x"}`, i)) }
	other := `{"type":"MESSAGES_SNAPSHOT","messages":null}`
	events := []string{started, number(1), other, number(3), finished}
	for _, c := range []struct {
		sel      project.Selection
		events   []string
		messages []string
		left     []string
		want     []string
	}{
		{"first", events, []string{"m1/user: x"}, []string{"snapshot_not_chosen #2", "snapshot_not_chosen #3"}, nil},
		{"last", events, []string{"m3/user: x"}, []string{"snapshot_not_chosen #1", "snapshot_not_chosen #2"}, nil},
		{"1", events, []string{"m1/user: x"}, []string{"snapshot_not_chosen #2", "snapshot_not_chosen #3"}, nil},
		{"3", events, []string{"m3/user: x"}, []string{"snapshot_not_chosen #1", "snapshot_not_chosen #2"}, nil},
		{"2", events, nil, nil, []string{"snapshot_malformed #2 /messages"}},
		{"4", events, nil, nil, []string{"snapshot_out_of_range"}},
		{"only", events, nil, nil, []string{"snapshot_several #2"}},
		{"", events, nil, nil, []string{"snapshot_several #2"}},
		{"only", []string{started, number(1), finished}, []string{"m1/user: x"}, nil, nil},
		{"last", []string{started, number(1), finished}, []string{"m1/user: x"}, nil, nil},
		{"2", []string{started, number(1), finished}, nil, nil, []string{"snapshot_out_of_range"}},
		{"first", []string{started, finished}, nil, nil, []string{"snapshot_missing"}},
		{"last", []string{started, finished}, nil, nil, []string{"snapshot_missing"}},
		{"1", []string{started, finished}, nil, nil, []string{"snapshot_missing"}},
	} {
		t.Run(string(c.sel), func(t *testing.T) {
			r := projectRun(t, text(c.sel, ""), "", c.events...)
			if diff := cmp.Diff(orEmpty(c.messages), formatMessages(r.out)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(orEmpty(c.want), formatFindings(r.findings)); diff != "" {
				t.Error(diff)
			}
			if r.out != nil {
				if diff := cmp.Diff(orEmpty(c.left), formatOmissions(r.out.Omissions)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// Each run of a capture has its own snapshots.
func TestSelectionIsOfTheRun(t *testing.T) {
	s := func(id string) string { return snapshot(`{"id":"` + id + `","role":"user","content":"x"}`) }
	results := projectAll(t, input{Settings: text("last", ""), at: everySecond, raw: testkit.SSE(started, s("a"), s("b"), finished, started, s("c"), failed)})
	if diff := cmp.Diff([]string{"b/user: x", "c/user: x"}, append(formatMessages(results[0].out), formatMessages(results[1].out)...)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"snapshot_not_chosen #1"}, formatOmissions(results[0].out.Omissions)); diff != "" || len(results[1].out.Omissions) != 0 {
		t.Error(diff, formatOmissions(results[1].out.Omissions))
	}
}

// All snapshots that were not selected are counted, even past the caps.
func TestSelectionPastCaps(t *testing.T) {
	t.Parallel()
	one := snapshot(user)
	for _, n := range []int{10_000, 10_001, 10_002, 10_500} {
		raw := testkit.SSE(started) + strings.Repeat(testkit.SSE(one), n) + testkit.SSE(finished)
		for _, sel := range []project.Selection{"first", "last", "10000"} {
			r := projectAll(t, input{Settings: text(sel, ""), raw: raw, at: everySecond})[0]
			if r.out == nil {
				t.Fatal(formatFindings(r.findings))
			}
			total := 0
			for i, o := range r.out.Omissions {
				switch {
				case o.Count == 0 && o.Reason == finding.SnapshotNotChosen:
					total++
				case o.Reason == finding.OmissionsUncounted && i == len(r.out.Omissions)-1:
					total += o.Count
				default:
					t.Errorf("omission %+v", o)
				}
			}
			if total != n-1 {
				t.Errorf("%s of %d: %d accounted for", sel, n, total)
			}
		}
	}
}

// The error fields are cut at the first control character and at the limit of the
// profile. The omitted rest may contain anything.
func TestErrorFields(t *testing.T) {
	x := strings.Repeat
	for _, c := range []struct {
		name, members string
		profile       artifact.Profile
		message, code string
		left          []string
		want          []string
	}{
		{"plain", `"message":"no","code":"E1"`, "", "no", "E1", nil, nil},
		{"traceback", `"message":"boom\nTraceback\n  line 1","code":"E\u0000x"`, "", "boom", "E", []string{"text_shortened #2 /message", "text_shortened #2 /code"}, nil},
		{"every control", `"message":"a\u007fb","code":"a\u0085b"`, "", "a", "a", []string{"text_shortened #2 /message", "text_shortened #2 /code"}, nil},
		{"no control", "\"message\":\"a\u2028b\u00adc\u200bd\"", "", "a\u2028b\u00adc\u200bd", "", nil, nil},
		{"at the limits", `"message":"` + x("é", 1024) + `","code":"` + x("😀", 128) + `"`, "", x("é", 1024), x("😀", 128), nil, nil},
		{"past the limits", `"message":"` + x("é", 1025) + `","code":"` + x("😀", 129) + `"`, "", x("é", 1024), x("😀", 128), []string{"text_shortened #2 /message", "text_shortened #2 /code"}, nil},
		{"at the limits of assay", `"message":"` + x("é", 200) + `","code":"` + x("😀", 48) + `"`, artifact.Assay, x("é", 200), x("😀", 48), nil, nil},
		{"past the limits of assay", `"message":"` + x("é", 201) + `","code":"` + x("😀", 49) + `"`, artifact.Assay, x("é", 200), x("😀", 48), []string{"text_shortened #2 /message", "text_shortened #2 /code"}, nil},
		{"assay counts trimmed text", `"message":"` + x(" ", 10) + x("é", 200) + x(" ", 10) + `"`, artifact.Assay, x(" ", 10) + x("é", 200) + x(" ", 10), "", nil, nil},
		{"assay cuts trimmed text", `"message":"` + x(" ", 10) + x("é", 201) + x(" ", 10) + `"`, artifact.Assay, x(" ", 10) + x("é", 200), "", []string{"text_shortened #2 /message"}, nil},
		{"assay keeps v1", `"message":"` + x(" ", 1000) + x("é", 100) + `"`, artifact.Assay, x(" ", 1000) + x("é", 24), "", []string{"text_shortened #2 /message"}, nil},
		{"half a pair past the cut", `"message":"a\n\ud800","code":"` + x("c", 128) + `\udc00"`, "", "a", x("c", 128), []string{"text_shortened #2 /message", "text_shortened #2 /code"}, nil},
		{"half a pair at the limit", `"message":"a","code":"` + x("c", 127) + `\udc00"`, "", "", "", nil, []string{"lone_surrogate #2 /code"}},
		{"half a pair before the cut", `"message":"\ud800\n"`, "", "", "", nil, []string{"lone_surrogate #2 /message"}},
		{"code null", `"message":"m","code":null`, "", "m", "", []string{"value_null #2 /code"}, nil},
		{"code blank", `"message":"m","code":"  "`, "", "m", "", []string{"value_blank #2 /code"}, nil},
		{"code behind a line end", `"message":"m","code":" \nx"`, "", "m", "x", []string{"text_shortened #2 /code"}, nil},
		{"code blank after cutting", `"message":"m","code":" \n "`, "", "m", "", []string{"text_shortened #2 /code", "value_blank #2 /code"}, nil},
		{"code a number", `"message":"m","code":5`, "", "", "", nil, []string{"wrong_type #2 /code"}},
		{"message absent", `"code":"x"`, "", "", "", nil, []string{"key_missing #2 /message"}},
		{"message null", `"message":null`, "", "", "", nil, []string{"wrong_type #2 /message"}},
		{"message behind a line end", `"message":"\nTraceback"`, "", "Traceback", "", []string{"text_shortened #2 /message"}, nil},
		{"message blank after cutting", `"message":"\u0000x"`, "", "", "", nil, []string{"key_missing #2 /message"}},
		{"other keys", `"message":"m","runId":"r1","usage":[],"timestamp":1`, "", "m", "", []string{"key_outside_subset #2 /usage", "key_outside_subset #2 /timestamp"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := projectRun(t, text("", c.profile), "", started, snapshot(user), `{"type":"RUN_ERROR",`+c.members+`}`)
			var errs []finding.Finding
			for _, f := range r.findings {
				if f.Severity == finding.Error {
					errs = append(errs, f)
				}
			}
			if diff := cmp.Diff(orEmpty(c.want), formatFindings(errs)); diff != "" {
				t.Error(diff)
			}
			if r.out == nil {
				return
			}
			if r.out.Artifact.ErrorMessage != c.message || r.out.Artifact.ErrorCode != c.code {
				t.Errorf("message %q, code %q", r.out.Artifact.ErrorMessage, r.out.Artifact.ErrorCode)
			}
			if diff := cmp.Diff(orEmpty(c.left), formatOmissions(r.out.Omissions)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTextParentRun(t *testing.T) {
	for value, want := range map[string][2]string{`"p"`: {"p", ""}, `null`: {"", "value_null #0 /parentRunId"}, `"\t"`: {"", "value_blank #0 /parentRunId"}} {
		r := projectRun(t, text("", ""), "", strings.Replace(started, "}", `,"parentRunId":`+value+`}`, 1), snapshot(user), finished)
		if r.out == nil || r.out.Artifact.ParentRunIDRef != want[0] || strings.Join(formatOmissions(r.out.Omissions), " ") != want[1] {
			t.Errorf("%s: %v", value, formatFindings(r.findings))
		}
	}
	r := projectRun(t, text("", ""), "", strings.Replace(started, "}", `,"parentRunId":7}`, 1), snapshot(user), finished)
	if diff := cmp.Diff([]string{"wrong_type #0 /parentRunId"}, formatFindings(r.findings)); diff != "" {
		t.Error(diff)
	}
}

// Omissions past maxOmissions are counted. So are omissions whose pointers would
// exceed maxPointerBytes.
func TestOmissionsCap(t *testing.T) {
	t.Parallel()
	keys := func(n int, prefix string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d":0`, prefix, i)
		}
		return snapshot(`{"id":"m","role":"user","content":"x"` + b.String() + `}`)
	}
	for _, n := range []int{10_000, 10_001, 12_345} {
		r := projectRun(t, text("", ""), "", started, keys(n, "k"), finished)
		list := r.out.Omissions
		if n == 10_000 {
			if len(list) != n {
				t.Errorf("%d omissions", len(list))
			}
			continue
		}
		if last := list[len(list)-1]; len(list) != 10_001 || last != (project.Omission{Reason: finding.OmissionsUncounted, Count: n - 10_000}) {
			t.Errorf("%d: %d omissions, last %+v", n, len(list), last)
		}
	}
	// A byte of a pointer takes up to six bytes in the record, and an omission up to
	// 200 bytes in addition to its pointer: 6 × 8 MiB + 10,001 × 200 < 64 MiB.
	r := projectRun(t, text("", ""), "", started, keys(10, strings.Repeat("k", 1<<20)), `{"type":"RUN_FINISHED","a\u0001":0}`)
	list := r.out.Omissions
	if last := list[len(list)-1]; last != (project.Omission{Reason: finding.OmissionsUncounted, Count: 3}) || len(list) != 9 {
		t.Errorf("%d omissions, last %+v", len(list), last)
	}
	bytes := 0
	for _, o := range list {
		bytes += len(o.Pointer)
	}
	data, err := record.New(r.out, r.run, text("", ""), record.Tool{}).Encode()
	if err != nil || bytes > 8<<20 || 6*(8<<20)+200*10_001 > record.MaxBytes || len(data) > bytes+200*len(list)+2_000 {
		t.Errorf("%d bytes of pointers in a record of %d: %v", bytes, len(data), err)
	}
}

// Event types past the cap on families are reported as a count.
func TestUncountedFamiliesAreNamed(t *testing.T) {
	events := []string{started, snapshot(user)}
	for i := range 600 {
		events = append(events, fmt.Sprintf(`{"type":"T%d"}`, i))
	}
	r := projectRun(t, strict, "", append(events, `{"type":"`+strings.Repeat("L", 129)+`"}`, failed)...)
	if r.out == nil {
		t.Fatal(formatFindings(r.findings))
	}
	counted := 0
	for _, n := range r.run.Families.All {
		counted += n
	}
	want := []string{fmt.Sprintf("families_uncounted ×%d", 604-counted)}
	if diff := cmp.Diff(want, formatOmissions(r.out.Omissions)); diff != "" {
		t.Error(diff)
	}
}
