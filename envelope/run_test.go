package envelope_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

func TestSegmentation(t *testing.T) {
	other := strings.ReplaceAll(started, "r1", "r2")
	otherEnd := strings.ReplaceAll(finished, "r1", "r2")
	for _, c := range []struct {
		name   string
		events []string
		runs   []string // number, thread, run, families of each
		totals []string
	}{
		{"nothing", nil, nil, []string{"no_run"}},
		{"no run", []string{custom, failed}, nil, []string{"no_run", "frames_before_run #0 @6"}},
		{"damaged alone", []string{`{`}, nil, []string{"no_run", "frames_before_run #0 @6"}},
		{"one run", []string{started, snapshot, finished}, []string{"1 t1 r1 RUN_STARTED=1 MESSAGES_SNAPSHOT=1 RUN_FINISHED=1"}, nil},
		{"events before", []string{`!`, finished, started, finished}, []string{"1 t1 r1 RUN_STARTED=1 RUN_FINISHED=1"}, []string{"frames_before_run #0 @6"}},
		{"several runs", []string{started, finished, other, custom, custom, otherEnd},
			[]string{"1 t1 r1 RUN_STARTED=1 RUN_FINISHED=1", "2 t1 r2 RUN_STARTED=1 CUSTOM=2 RUN_FINISHED=1"}, nil},
		{"run id repeated", []string{started, finished, started, failed, started, finished},
			[]string{"1 t1 r1 RUN_STARTED=1 RUN_FINISHED=1", "2 t1 r1 RUN_STARTED=1 RUN_ERROR=1", "3 t1 r1 RUN_STARTED=1 RUN_FINISHED=1"}, nil},
		{"started twice", []string{started, other, otherEnd},
			[]string{"1 t1 r1 RUN_STARTED=1", "2 t1 r2 RUN_STARTED=1 RUN_FINISHED=1"}, nil},
		{"damaged RUN_STARTED begins no run", []string{started, finished, other + "!", otherEnd},
			[]string{"1 t1 r1 RUN_STARTED=1 RUN_FINISHED=2"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, framing := range []capture.Framing{capture.SSE, capture.NDJSON} {
				raw := testkit.SSE(c.events...)
				if framing == capture.NDJSON {
					raw = strings.ReplaceAll(strings.ReplaceAll(raw, "\n\n", "\n"), "data: ", "      ")
				}
				runs, totals := scanAll(t, raw, framing)
				var got []string
				for _, r := range runs {
					s := fmt.Sprintf("%d %s %s", r.Number, r.ThreadID, r.RunID)
					for name, n := range r.Families.All {
						s += fmt.Sprintf(" %s=%d", name, n)
					}
					got = append(got, s)
				}
				if diff := cmp.Diff(c.runs, got); diff != "" {
					t.Errorf("%s: %s", framing, diff)
				}
				if diff := cmp.Diff(append([]string{}, c.totals...), brief(totals.Findings)); diff != "" {
					t.Errorf("%s: %s", framing, diff)
				}
				if totals.Events != len(c.events) || totals.Runs != len(c.runs) {
					t.Errorf("%s: %d events, %d runs", framing, totals.Events, totals.Runs)
				}
			}
		})
	}
}

// The finding about frames before the first run says why one cannot be read.
func TestBeforeFirstRun(t *testing.T) {
	tooLarge := finding.New(finding.EventTooLarge, "the event has more than 9 bytes").WithOffset(100)
	for _, c := range []struct {
		name   string
		frames []capture.Frame
		want   string
	}{
		{"readable", framesOf(custom, finished, started, finished), "2 events precede the first RUN_STARTED"},
		{"one that is not", framesOf(`{"a":tru}`, started), "1 event precedes the first RUN_STARTED; event 0 cannot be read: json_syntax at byte 8: true is misspelled"},
		{"a damaged start", framesOf(custom, `{"type":"RUN_STARTED"`, `7`, started), fmt.Sprintf("3 events precede the first RUN_STARTED; 2 of them cannot be read; the first is event 1: json_syntax at byte %d: } or , is missing", 1000+len(`{"type":"RUN_STARTED"`))},
		{"a key twice", framesOf(`{"type":"CUSTOM","a":1,"a":2}`), `1 event precedes the first RUN_STARTED; event 0 cannot be read: json_duplicate_key at byte 23: the key "a" appears twice in one object`},
		{"no object", framesOf(`7`), "1 event precedes the first RUN_STARTED; event 0 cannot be read: event_not_object at byte 0: the event is a number where an object belongs"},
		{"no type", framesOf(`{}`), "1 event precedes the first RUN_STARTED; event 0 cannot be read: event_type_missing at byte 0: the event has no type"},
		{"too large", append([]capture.Frame{{Offset: 100, Problem: tooLarge}}, framesOf(started)...), "1 event precedes the first RUN_STARTED; event 0 cannot be read: event_too_large at byte 100: the event has more than 9 bytes"},
	} {
		totals, err := envelope.Scan(&given{frames: c.frames}, &recorder{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(totals.Findings, func(f finding.Finding) bool { return f.Code == finding.FramesBeforeRun })
		if i < 0 || totals.Findings[i].Message != c.want || totals.Findings[i].Severity != finding.Warning {
			t.Errorf("%s: %+v", c.name, totals.Findings)
		}
	}
}

// framesOf returns events as frames, with offsets a thousand bytes apart.
func framesOf(events ...string) (list []capture.Frame) {
	for i, e := range events {
		list = append(list, capture.Frame{Index: i, Offset: int64(1000 * i), Bytes: int64(len(e)), Data: []byte(e)})
	}
	return list
}

// given is a source of the given frames.
type given struct{ frames []capture.Frame }

func (g *given) Next() (*capture.Frame, error) {
	if len(g.frames) == 0 {
		return nil, io.EOF
	}
	f := &g.frames[0]
	g.frames = g.frames[1:]
	return f, nil
}

// Runs that keep and that violate each rule of the bounded envelope. The findings
// are those of the first run.
func TestEnvelopeRules(t *testing.T) {
	const before = len("data: ") // of the first event's offset
	at := func(n int, events ...string) int { return len(testkit.SSE(events[:n]...)) + before }
	on := func(data, part string) int { return strings.Index(data, part) }
	type test struct {
		name   string
		events []string
		want   []string
		other  string // the warning that the terminal event names another run
	}
	tests := []test{
		{"finished", []string{started, finished}, nil, ""},
		{"failed", []string{started, failed}, nil, ""},
		{"finished names nothing", []string{started, `{"type":"RUN_FINISHED"}`}, nil, ""},
		{"failed names its own run", []string{started, `{"type":"RUN_ERROR","message":"no","runId":"r1","threadId":"t1"}`}, nil, ""},
		{"names by escape", []string{started, `{"type":"RUN_FINISHED","runId":"\u00721","threadId":"t\u0031"}`}, nil, ""},
		{"empty names", []string{`{"type":"RUN_STARTED","threadId":"","runId":""}`, `{"type":"RUN_FINISHED","threadId":"","runId":""}`}, nil, ""},
		{"damage before and after", []string{`!`, started, finished}, nil, ""},
		{"no terminal", []string{started, custom}, []string{fmt.Sprintf("run_not_terminated #1 @%d", at(1, started))}, ""},
		{"nothing but the start", []string{started}, []string{"run_not_terminated #0 @6"}, ""},
		{"no terminal, last frame damaged", []string{started, `!`}, []string{
			fmt.Sprintf("json_syntax #1 @%d", at(1, started)), fmt.Sprintf("run_not_terminated #1 @%d", at(1, started))}, ""},
		{"two terminals", []string{started, finished, finished}, []string{fmt.Sprintf("terminal_several #2 @%d", at(2, started, finished))}, ""},
		{"finished, then failed", []string{started, finished, failed}, []string{fmt.Sprintf("terminal_several #2 @%d", at(2, started, finished))}, ""},
		{"failed, then finished", []string{started, failed, finished}, []string{fmt.Sprintf("terminal_several #2 @%d", at(2, started, failed))}, ""},
		{"three terminals", []string{started, failed, finished, failed}, []string{
			fmt.Sprintf("terminal_several #2 @%d", at(2, started, failed)), fmt.Sprintf("terminal_several #3 @%d", at(3, started, failed, finished))}, ""},
		{"an event after the terminal", []string{started, finished, custom, custom}, []string{fmt.Sprintf("events_after_terminal #2 @%d", at(2, started, finished))}, ""},
		{"a snapshot after the terminal", []string{started, failed, snapshot}, []string{fmt.Sprintf("events_after_terminal #2 @%d", at(2, started, failed))}, ""},
		{"an unknown event after the terminal", []string{started, failed, `{"type":"META"}`}, []string{fmt.Sprintf("events_after_terminal #2 @%d", at(2, started, failed))}, ""},
		{"damage after the terminal", []string{started, finished, `{"type":}`}, []string{fmt.Sprintf("json_syntax #2 /type @%d", at(2, started, finished)+8)}, ""},
		{"after the terminal and a second one", []string{started, finished, custom, failed}, []string{
			fmt.Sprintf("events_after_terminal #2 @%d", at(2, started, finished)), fmt.Sprintf("terminal_several #3 @%d", at(3, started, finished, custom))}, ""},
	}
	for _, names := range []struct{ key, code, own string }{{"runId", "terminal_names_other_run", "r1"}, {"threadId", "terminal_names_other_thread", "t1"}} {
		for _, terminal := range []string{"RUN_FINISHED", "RUN_ERROR"} {
			for value, code := range map[string]string{
				`"other"`:               names.code,
				`"` + names.own + ` "`:  names.code,
				`""`:                    names.code,
				`null`:                  "event_field_malformed",
				`1`:                     "event_field_malformed",
				`["` + names.own + `"]`: "event_field_malformed",
			} {
				end := `{"type":"` + terminal + `","message":"m","` + names.key + `":` + value + `}`
				found := fmt.Sprintf("%s #1 /%s @%d", code, names.key, at(1, started)+on(end, value))
				if code == "terminal_names_other_run" {
					tests = append(tests, test{terminal + " " + names.key + " " + value, []string{started, end}, nil, "(" + found + ")"})
					continue
				}
				tests = append(tests, test{terminal + " " + names.key + " " + value, []string{started, end}, []string{found}, ""})
			}
			end := `{"type":"` + terminal + `","` + names.key + `":"\ud800"}`
			place := fmt.Sprintf("#1 /%s @%d", names.key, at(1, started)+on(end, `"\ud800"`))
			tests = append(tests, test{terminal + " " + names.key + " half a pair", []string{started, end},
				[]string{"lone_surrogate " + place}, ""})
		}
		for value, code := range map[string]string{`null`: "event_field_malformed", `7`: "event_field_malformed", `{}`: "event_field_malformed", `"\udc00x"`: "lone_surrogate"} {
			start := strings.Replace(started, `"`+names.own+`"`, value, 1)
			tests = append(tests, test{"RUN_STARTED " + names.key + " " + value, []string{start, failed},
				[]string{fmt.Sprintf("%s #0 /%s @%d", code, names.key, before+on(start, value))}, ""})
		}
		start := strings.Replace(started, `"`+names.key+`"`, `"x"`, 1)
		tests = append(tests, test{"RUN_STARTED without " + names.key, []string{start, failed}, []string{fmt.Sprintf("event_field_malformed #0 /%s @%d", names.key, before)}, ""})
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			// The faults of a run do not affect the next one.
			runs, _ := scanAll(t, testkit.SSE(append(c.events, started, finished)...), capture.SSE)
			if len(runs) != 2 {
				t.Fatalf("%d runs", len(runs))
			}
			if diff := cmp.Diff(append([]string{}, c.want...), brief(runs[0].Findings)); diff != "" {
				t.Error(diff)
			}
			if finding.Failed(runs[0].Findings) != (len(c.want) > 0) {
				t.Error("a broken rule must be an error")
			}
			var other string
			if f := runs[0].TerminalOtherRun; f != nil {
				other = brief([]finding.Finding{*f})[0]
				if f.Severity == finding.Warning {
					other = "(" + other + ")"
				}
			}
			if other != c.other {
				t.Errorf("another run: %q, want %q", other, c.other)
			}
			if len(runs[1].Findings) != 0 || runs[1].TerminalOtherRun != nil {
				t.Errorf("the next run: %v %v", brief(runs[1].Findings), runs[1].TerminalOtherRun)
			}
		})
	}
}

// The ids and the place of a run.
func TestRunDescription(t *testing.T) {
	start := `{"type":"RUN_STARTED","threadId":"t\n1","runId":"r1","parentRunId":"p1"}`
	raw := testkit.SSE(custom) + ": ping\r\n\r\n" + testkit.SSE(start, custom, failed) + ": ping\n\n" + testkit.SSE(started, finished)
	runs, _ := scanAll(t, raw, capture.SSE)
	r := runs[0]
	if r.ThreadID != "t\n1" || r.RunID != "r1" || r.ParentRunID != "p1" || r.Number != 1 || runs[1].Number != 2 || runs[1].ParentRunID != "" {
		t.Errorf("%+v", r.Run)
	}
	if from, to := strings.Index(raw, start), strings.Index(raw, failed)+len(failed); r.Bytes != int64(to-from) || r.Started.Offset != int64(from) {
		t.Errorf("%d bytes from %d, want %d from %d", r.Bytes, r.Started.Offset, to-from, from)
	}
	if r.Started.Index != 1 || r.Terminal.Index != 3 || r.Terminal.Type != "RUN_ERROR" || string(r.Terminal.Data) != failed || string(r.Started.Data) != start {
		t.Errorf("started %+v, terminal %+v", r.Started, r.Terminal)
	}
	for value, want := range map[string]string{`null`: "", `5`: "", `"\ud800p"`: "\uFFFDp", `""`: "", `["p"]`: ""} {
		runs, _ := scanAll(t, testkit.SSE(strings.Replace(start, `"p1"`, value, 1), failed), capture.SSE)
		if got := runs[0].ParentRunID; got != want {
			t.Errorf("parentRunId %s: %q, want %q", value, got, want)
		}
		if len(runs[0].Findings) != 0 {
			t.Errorf("parentRunId %s: %v", value, brief(runs[0].Findings))
		}
	}
}

func TestSnapshots(t *testing.T) {
	roles := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, `{"role":`+n+`}`)
		}
		return `{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(list, ",") + `]}`
	}
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf(`"role%d"`, i))
	}
	for _, c := range []struct {
		name, event string
		messages    int
		roles       string
		problem     string
	}{
		{"plain", snapshot, 1, "user=1", ""},
		{"empty", roles(), 0, "", ""},
		{"several", roles(`"user"`, `"assistant"`, `"user"`, `"tool"`), 4, "user=2 assistant=1 tool=1", ""},
		{"roles of any kind", roles(`"new one"`, `null`, `5`, `"\u0075ser"`, `""`), 5, "new one=1 user=1 =1", ""},
		{"half a pair", roles(`"\ud800"`, `"x\udc00"`), 2, "\uFFFD=1 x\uFFFD=1", ""},
		{"no objects", `{"type":"MESSAGES_SNAPSHOT","messages":[null,"a",{},[{"role":"user"}]]}`, 4, "", ""},
		{"past the limit of roles", roles(append(many, `"role3"`, `"role19"`)...), 22,
			"role0=1 role1=1 role2=1 role3=2 role4=1 role5=1 role6=1 role7=1 role8=1 role9=1 role10=1 role11=1 role12=1 role13=1 role14=1 role15=1", ""},
		{"no messages", `{"type":"MESSAGES_SNAPSHOT"}`, 0, "", "snapshot_malformed"},
		{"null", `{"type":"MESSAGES_SNAPSHOT","messages":null}`, 0, "", "snapshot_malformed"},
		{"an object", `{"type":"MESSAGES_SNAPSHOT","messages":{"role":"user"}}`, 0, "", "snapshot_malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := testkit.SSE(started, custom, c.event, finished)
			runs, _ := scanAll(t, raw, capture.SSE)
			if len(runs[0].Findings) != 0 {
				t.Errorf("the run is refused for a snapshot that is not used: %v", brief(runs[0].Findings))
			}
			if runs[0].SnapshotCount != 1 || len(runs[0].Snapshots) != 1 {
				t.Fatalf("%d snapshots, %d places", runs[0].SnapshotCount, len(runs[0].Snapshots))
			}
			s := runs[0].snapshots[0]
			if s.Ref != runs[0].Snapshots[0] {
				t.Errorf("the place is %v and in the description %v", runs[0].Snapshots[0], s.Ref)
			}
			var got []string
			for name, n := range s.Roles.All {
				got = append(got, fmt.Sprintf("%s=%d", name, n))
			}
			at := int64(strings.Index(raw, c.event))
			if strings.Join(got, " ") != c.roles || s.Messages != c.messages || s.Ref != (envelope.Ref{Index: 2, Offset: at, Bytes: int64(len(c.event)), Line: 5}) {
				t.Errorf("%d messages, roles %q, %+v", s.Messages, got, s.Ref)
			}
			switch {
			case c.problem == "":
				if s.Problem != nil {
					t.Errorf("%v", s.Problem)
				}
			case s.Problem == nil:
				t.Error("no problem")
			default:
				want := fmt.Sprintf("%s #2 /messages @%d", c.problem, at)
				if got := brief([]finding.Finding{*s.Problem}); got[0] != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
}

// repeat is a source that returns first, then n times again, then last.
type repeat struct {
	first, last string
	again       func(i int) string
	n, index    int
}

func (r *repeat) Next() (*capture.Frame, error) {
	data := r.last
	switch {
	case r.index == 0:
		data = r.first
	case r.index <= r.n:
		data = r.again(r.index - 1)
	case r.index > r.n+1:
		return nil, io.EOF
	}
	r.index++
	return &capture.Frame{Index: r.index - 1, Offset: int64(r.index - 1), Bytes: int64(len(data)), Data: []byte(data)}, nil
}

func same(s string) func(int) string { return func(int) string { return s } }

// Snapshots past the limit are counted, but have no places.
func TestSnapshotsCap(t *testing.T) {
	for _, n := range []int{10_000, 10_001} {
		r := &recorder{}
		if _, err := envelope.Scan(&repeat{first: started, again: same(`{"type":"MESSAGES_SNAPSHOT","messages":[]}`), n: n, last: finished}, r); err != nil {
			t.Fatal(err)
		}
		if run := r.runs[0]; run.SnapshotCount != n || len(run.Snapshots) != 10_000 || run.Families.Count("MESSAGES_SNAPSHOT") != n {
			t.Errorf("%d: count %d, places %d", n, run.SnapshotCount, len(run.Snapshots))
		}
	}
}

// Findings past the limit are counted, and the run is still refused.
func TestFindingsCap(t *testing.T) {
	for _, n := range []int{100, 101, 350} {
		r := &recorder{}
		if _, err := envelope.Scan(&repeat{first: started, again: same(`!`), n: n, last: finished}, r); err != nil {
			t.Fatal(err)
		}
		list := r.runs[0].Findings
		if n == 100 {
			if len(list) != 100 || finding.Has(list, finding.FindingsUnlisted) {
				t.Errorf("%d findings", len(list))
			}
			continue
		}
		last := list[len(list)-1]
		if len(list) != 101 || last.Code != finding.FindingsUnlisted || !strings.HasPrefix(last.Message, fmt.Sprint(n-100, " ")) || !finding.Failed(list) {
			t.Errorf("%d: %d findings, last %v", n, len(list), last)
		}
	}
	// Findings of the end of the run are counted too.
	r := &recorder{}
	if _, err := envelope.Scan(&repeat{first: started, again: same(`!`), n: 100, last: custom}, r); err != nil {
		t.Fatal(err)
	}
	if last := r.runs[0].Findings[100]; !strings.HasPrefix(last.Message, "1 ") {
		t.Errorf("%v", last)
	}
}

// Scan returns errors of the source and of the visitor unchanged.
func TestScanErrors(t *testing.T) {
	cause := errors.New("cause")
	r := &recorder{}
	totals, err := envelope.Scan(&frames{list: []capture.Frame{{Data: []byte(started), Bytes: 1}, {Index: 1, Data: []byte(finished)}}, err: cause}, r)
	if !errors.Is(err, cause) || len(r.runs) != 0 || totals.Events != 2 {
		t.Errorf("%v, %d runs ended, %+v", err, len(r.runs), totals)
	}
	for _, n := range []int{1, 2} {
		ended := 0
		r := &recorder{onEnd: func(*envelope.Run) error {
			if ended++; ended == n {
				return cause
			}
			return nil
		}}
		_, err := envelope.Scan(capture.NewSplitter(strings.NewReader(testkit.SSE(started, finished, started, finished)), capture.SSE), r)
		if !errors.Is(err, cause) || ended != n {
			t.Errorf("%v after %d runs", err, ended)
		}
	}
}

// Messages yields the messages of a snapshot that are objects, until yield returns
// false.
func TestMessages(t *testing.T) {
	e, err := envelope.ReadEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[null,{"id":"a"},5,{"id":"b"},{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, m := range envelope.Messages(e) {
		id, _ := m.Get("id")
		got = append(got, fmt.Sprintf("%d %s", i, id.Raw))
	}
	if diff := cmp.Diff([]string{`1 "a"`, `3 "b"`, "4 "}, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	for i := range envelope.Messages(e) {
		got = append(got, fmt.Sprint(i))
		break
	}
	if diff := cmp.Diff([]string{"1"}, got); diff != "" {
		t.Error(diff)
	}
	for _, data := range []string{`{"type":"MESSAGES_SNAPSHOT"}`, `{"type":"MESSAGES_SNAPSHOT","messages":{"a":{}}}`} {
		e, _ := envelope.ReadEvent([]byte(data))
		for range envelope.Messages(e) {
			t.Errorf("%s has a message", data)
		}
	}
}
