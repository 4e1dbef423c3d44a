package project_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

// line is one message of a conversation.
type line struct{ role, text string }

// quoteJSON returns text as a JSON string.
func quoteJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// message returns the line as a message of a snapshot or a request.
func (l line) message(id string) string {
	return fmt.Sprintf(`{"id":%q,"role":%q,"content":%s}`, id, l.role, quoteJSON(l.text))
}

func messages(prefix string, lines ...line) []string {
	list := make([]string, len(lines))
	for i, l := range lines {
		list[i] = l.message(fmt.Sprint(prefix, i))
	}
	return list
}

// stream returns the lines as text events, one event per line.
func stream(lines ...line) []string {
	var events []string
	for i, l := range lines {
		events = append(events, chunk(fmt.Sprintf(`"messageId":"s%d"`, i), fmt.Sprintf(`"role":%q`, l.role), `"delta":`+quoteJSON(l.text)))
	}
	return events
}

// lacks projects a run. It returns the warning about missing text and, from the
// omissions, the indexes of the events that begin the missing messages.
func lacks(t tester, request string, events ...string) (warning string, at []int) {
	t.Helper()
	r := projectRun(t, text("last", ""), request, events...)
	if r.out == nil {
		t.Fatalf("%v", formatFindings(r.findings))
	}
	for _, o := range r.out.Omissions {
		if o.Reason != finding.SnapshotLacksText {
			continue
		}
		if o.Pointer != "" || o.File != "" || o.Count != 0 {
			t.Errorf("omission %+v", o)
		}
		at = append(at, *o.EventIndex)
	}
	for _, f := range r.findings {
		if f.Code == finding.SnapshotLacksText {
			if f.Severity != finding.Warning || len(at) == 0 || *f.EventIndex != at[0] {
				t.Errorf("%+v of %v", f, at)
			}
			warning = f.Message
		}
	}
	if (warning == "") != (len(at) == 0) {
		t.Errorf("%q and %v", warning, at)
	}
	return warning, at
}

func TestLackingText(t *testing.T) {
	u, a, b := line{"user", "Hi"}, line{"assistant", "Hello"}, line{"assistant", "And you?"}
	asking, earlier := request(u.message("u")), request(messages("m", u, a, u)...)
	long := line{"assistant", "A longer answer"}
	run := func(streamed []string, held ...string) []string {
		return append(append([]string{started}, streamed...), snapshot(held...), finished)
	}
	for _, c := range []struct {
		name    string
		request string
		events  []string
		want    []int
		warning string
	}{
		{"nothing streamed", asking, run(nil, u.message("u")), nil, ""},
		{"all there", asking, run(stream(a, b), messages("m", u, a, b)...), nil, ""},
		{"in another order", asking, run(stream(a, b), messages("m", b, a, u)...), nil, ""},
		{"in another order past the echo", asking, run(stream(a, b), messages("m", u, b, a)...), nil, ""},
		{"the request alone", asking, run(stream(a), u.message("u")), []int{1}, "the snapshot lacks the only text message the run streamed (it begins at event 1)"},
		{"the last is lacking", asking, run(stream(a, b, long), messages("m", u, a, b)...), []int{3}, "the snapshot lacks 1 of the 3 text messages the run streamed (it begins at event 3)"},
		{"two are lacking", asking, run(stream(a, b, long), messages("m", u, b)...), []int{1, 3}, "the snapshot lacks 2 of the 3 text messages the run streamed (the first begins at event 1)"},
		{"as often as streamed", asking, run(stream(a, a), messages("m", u, a, a)...), nil, ""},
		{"less often than streamed", asking, run(stream(a, a, a), messages("m", u, a, a)...), []int{3}, "the snapshot lacks 1 of the 3 text messages the run streamed (it begins at event 3)"},
		{"in another role", asking, run(stream(a), messages("m", u, line{"developer", a.text})...), []int{1}, "the snapshot lacks the only text message the run streamed (it begins at event 1)"},

		{"no request", "", run(stream(a), messages("m", u, a)...), nil, ""},
		{"an earlier reply", earlier, run(stream(a), messages("m", u, a, u)...), []int{1}, "the snapshot lacks the only text message the run streamed (it begins at event 1)"},
		{"an earlier reply again", earlier, run(stream(a), messages("m", u, a, u, a)...), nil, ""},
		{"asked with a reply last", request(messages("m", u, a)...), run(stream(a), messages("m", u, a)...), []int{1}, "the snapshot lacks the only text message the run streamed (it begins at event 1)"},
		{"asked with a reply last, again", request(messages("m", u, a)...), run(stream(a), messages("m", u, a, a)...), nil, ""},
		{"more of it within the echo than asked", request(messages("m", u, a)...), run(stream(a), messages("m", u, a, a, b)...), nil, ""},
		{"the echo is not there", asking, run(stream(a), messages("m", a)...), nil, ""},
		{"the last is asked with again", asking, run(stream(u, a), messages("m", u, u, a)...), nil, ""},
		{"asked with blank messages last", request(append(messages("m", u, a, u), `{"role":"user","content":" "}`, `{"role":"user"}`, `7`)...), run(stream(a), messages("m", u, a, u)...), []int{1}, "the snapshot lacks the only text message the run streamed (it begins at event 1)"},
		{"a request of another run", strings.Replace(earlier, "r1", "r2", 1), run(stream(a), messages("m", u, a, u)...), nil, ""},
		{"a request of another thread", strings.Replace(earlier, "t1", "t2", 1), run(stream(a), messages("m", u, a, u)...), nil, ""},
		{"a request that names none", `{"messages":[` + strings.Join(messages("m", u, a, u), ",") + `]}`, run(stream(a), messages("m", u, a, u)...), []int{1}, "the snapshot lacks the only text message the run streamed (it begins at event 1)"},
		{"a request that is none", `{"messages":`, run(stream(a), messages("m", a, u)...), nil, ""},
		{"a request without a list", `{"messages":{}}`, run(stream(a), messages("m", a, u)...), nil, ""},

		{"white space", asking, run(stream(line{"assistant", " \n A long\u2003er\x1fanswer "}), messages("m", u, long)...), nil, ""},
		{"white space alone", asking, run(stream(line{"assistant", " \u0085\x1c"}), u.message("u")), nil, ""},
		{"joined", asking, run(stream(a, b, long), messages("m", u, line{"assistant", a.text + "\n" + b.text + long.text})...), nil, ""},
		{"divided", asking, run(stream(long), messages("m", u, line{"assistant", "A longer"}, line{"assistant", "answer"})...), nil, ""},
		{"joined after what was not streamed", asking, run(stream(a, b), messages("m", u, long, line{"assistant", a.text + b.text})...), nil, ""},
		{"joined with more", asking, run(stream(a, b), messages("m", u, line{"assistant", "So: " + a.text + b.text + "."})...), []int{1, 2}, "the snapshot lacks 2 of the 2 text messages the run streamed (the first begins at event 1)"},
		{"within another message", "", run(stream(line{"assistant", "Yes"}), messages("m", u, line{"assistant", "Yesterday it rained"})...), []int{1}, "the snapshot lacks the only text message the run streamed (it begins at event 1)"},
		{"joined within the echo", request(messages("m", line{"assistant", a.text + b.text}, u)...), run(stream(a, b), messages("m", line{"assistant", a.text + b.text}, u)...), []int{1, 2}, "the snapshot lacks 2 of the 2 text messages the run streamed (the first begins at event 1)"},
		{"joined in another order", asking, run(stream(a, b), messages("m", u, line{"assistant", b.text + a.text})...), []int{1, 2}, "the snapshot lacks 2 of the 2 text messages the run streamed (the first begins at event 1)"},
		{"joined in one role, lacking in another", asking, run(stream(a, line{"system", "Be kind"}, b), messages("m", u, line{"assistant", a.text + b.text})...), []int{2}, "the snapshot lacks 1 of the 3 text messages the run streamed (it begins at event 2)"},

		{"text parts", asking, run(stream(long), u.message("u"), `{"id":"p","role":"assistant","content":[{"type":"text","text":"A longer "},{"type":"image","text":"no"},7,{"type":"text","text":"answer"},{"type":"text","text":1}]}`), nil, ""},
		{"no text", asking, run(stream(a), u.message("u"), `{"id":"p","role":"assistant","content":{"text":"Hello"}}`, `{"id":"q","role":["assistant"],"content":"Hello"}`), []int{1}, "the snapshot lacks the only text message the run streamed (it begins at event 1)"},
		{"a message that is left out", asking, run(stream(a), u.message("u"), `{"id":"q","role":"assistant","content":"Hello","name":null,"toolCalls":[]}`), nil, ""},
		{"half pairs in two events", asking, run([]string{textStart("s"), textContent("s", `\ud83d`), textContent("s", `\ude00`), textEnd("s")}, u.message("u"), `{"id":"q","role":"assistant","content":"😀"}`), nil, ""},
		{"half pairs in two parts", asking, run(stream(line{"assistant", "😀"}), u.message("u"), `{"id":"q","role":"assistant","content":[{"type":"text","text":"\ud83d"},{"type":"text","text":"\ude00"}]}`), nil, ""},

		{"a subagent's", asking, run([]string{textStart("s", `"subagentRunId":"x"`), textContent("s", "Hello")}, u.message("u")), nil, ""},
		{"a role outside the subset", asking, run([]string{chunk(`"messageId":"s"`, `"role":"reasoning"`, `"delta":"Hello"`)}, u.message("u")), nil, ""},
		{"a stream with faults", asking, run([]string{textContent("s", "Hello"), textStart("s"), textContent("s", "Hel"), textEnd("s"), textContent("s", "lo")}, u.message("u"), line{"assistant", "Hel"}.message("a")), nil, ""},
		{"begun and begun again", asking, run([]string{textStart("s"), textStart("z"), textContent("z", "zzz"), textContent("s", "Hel"), textEnd("s"), textStart("s"), textContent("s", "lo")}, u.message("u")), []int{1, 2}, "the snapshot lacks 2 of the 2 text messages the run streamed (the first begins at event 1)"},
		{"streamed after the snapshot", asking, append(append([]string{started, snapshot(u.message("u"))}, stream(a)...), finished), []int{2}, "the snapshot lacks the only text message the run streamed (it begins at event 2)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			warning, at := lacks(t, c.request, c.events...)
			if !slices.Equal(at, c.want) || warning != c.warning {
				t.Errorf("%v %q, want %v %q", at, warning, c.want, c.warning)
			}
		})
	}
}

// The messages of the request are read from the input in RUN_STARTED if there is no
// request or if it names another run.
func TestLackingTextInput(t *testing.T) {
	u, a := line{"user", "Hi"}, line{"assistant", "Hello"}
	own := request(messages("m", u, a, u)...)
	for _, c := range []struct {
		name, request, input string
		want                 int
	}{
		{"no request", "", own, 1},
		{"a request of another run", `{"runId":"r2","messages":[]}`, own, 1},
		{"a request that cannot be read", `{`, own, 1},
		{"a request", `{"messages":[]}`, own, 0},
		{"an input of another run", "", strings.Replace(own, "r1", "r2", 1), 0},
		{"an input of another thread", "", strings.Replace(own, "t1", "t2", 1), 0},
		{"no object", "", `[` + own + `]`, 0},
		{"null", "", `null`, 0},
	} {
		events := append([]string{startedWithInput(c.input)}, stream(a)...)
		_, at := lacks(t, c.request, append(events, snapshot(messages("m", u, a, u)...), finished)...)
		if len(at) != c.want {
			t.Errorf("%s: %v", c.name, at)
		}
	}
}

// The strict projection warns too; first versions and a built snapshot do not.
func TestLackingTextVersions(t *testing.T) {
	events := append(append([]string{started}, stream(line{"assistant", "Hello"})...), snapshot(user), finished)
	for _, c := range []struct {
		project.Settings
		want []string
		left []string
	}{
		{project.Settings{Projection: project.EmittedSnapshot}, []string{"(snapshot_lacks_streamed_text #1)"}, []string{"snapshot_lacks_streamed_text #1"}},
		{project.Settings{Projection: project.EmittedSnapshot, Version: 1}, []string{}, []string{}},
		{project.Settings{Projection: project.EmittedSnapshotText}, []string{"(snapshot_lacks_streamed_text #1)"}, []string{"snapshot_lacks_streamed_text #1"}},
		{project.Settings{Projection: project.EmittedSnapshotText, Version: 1}, []string{}, []string{}},
	} {
		r := projectRun(t, c.Settings, request(user), events...)
		if r.out == nil {
			t.Fatalf("%v", formatFindings(r.findings))
		}
		if diff := cmp.Diff(c.want, formatFindings(r.findings)); diff != "" {
			t.Errorf("%s@%d: %s", c.Projection, c.Version, diff)
		}
		if diff := cmp.Diff(c.left, formatOmissions(r.out.Omissions)); diff != "" {
			t.Errorf("%s@%d: %s", c.Projection, c.Version, diff)
		}
	}
}

// If the stream exceeds maxFoldedBytes, its first messages are compared.
func TestLackingTextOfLongStream(t *testing.T) {
	part := line{"assistant", strings.Repeat("x", 4<<20)}
	events := []string{started}
	for i := range 13 { // the eleventh is the last that is folded
		events = append(events, chunk(fmt.Sprintf(`"messageId":"s%d"`, i), fmt.Sprintf(`"delta":"%d%s"`, i, part.text)))
	}
	warning, at := lacks(t, "", append(events, snapshot(user), finished)...)
	if len(at) != 11 || !strings.Contains(warning, "lacks 11 of the first 11 text messages") {
		t.Errorf("%v %q", at, warning)
	}
}

// alphabet has only a few texts so that conversations have repetitions.
var alphabet = []string{"a", "b", "ab", "ba", "aa", " a", "a\u2003b", "", " ", "😀"}

func drawLines(t *rapid.T, label string, most int) []line {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) line {
		return line{rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"), rapid.SampledFrom(alphabet).Draw(t, "text")}
	}), 0, most).Draw(t, label)
}

// The comparison matches a slow, direct implementation of rules X1 to X7 in
// docs/projections.md.
func TestLackingTextDefinition(t *testing.T) {
	compared := func(lines []line) (all []line) {
		for _, l := range lines {
			l.text = strings.Join(strings.FieldsFunc(l.text, unicode.IsSpace), "")
			if l.text != "" {
				all = append(all, l)
			}
		}
		return all
	}
	count := func(of line, lines []line) (n int) {
		for _, l := range lines {
			if l == of {
				n++
			}
		}
		return n
	}
	joined := func(role string, lines []line) (text string) {
		for _, l := range lines {
			if l.role == role {
				text += l.text
			}
		}
		return text
	}
	ends := func(role string, held, streamed []line) bool {
		for from := range held {
			if joined(role, held[from:]) == joined(role, streamed) {
				return true
			}
		}
		return false
	}
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		requested, held, streamed := drawLines(t, "asked", 4), drawLines(t, "held", 6), drawLines(t, "streamed", 5)
		if rapid.Bool().Draw(t, "echoes") {
			held = append(slices.Clone(requested), held...)
		}
		events := append([]string{started}, stream(streamed...)...)
		// There is always at least one message, so that there is an artifact.
		events = append(events, snapshot(append([]string{`{"id":"x","role":"system","content":"x"}`}, messages("h", held...)...)...), finished)
		_, got := lacks(t, request(messages("q", requested...)...), events...)

		A, H, S := compared(requested), compared(held), compared(streamed)
		echo := 0
		for i := range H {
			if len(A) > 0 && H[i] == A[len(A)-1] {
				echo = i + 1
			}
		}
		var want []int
		for i, l := range streamed {
			c := compared([]line{l})
			if len(c) == 0 {
				continue
			}
			have := count(c[0], H[echo:]) + max(0, count(c[0], H[:echo])-count(c[0], A))
			before := count(c[0], compared(streamed[:i+1]))
			if before > have && !ends(l.role, H[echo:], S) {
				want = append(want, i+1)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if len(got) > 0 {
			found++
		}
	})
	if found == 0 {
		t.Error("nothing was lacking")
	}
}

// A snapshot with the messages of the request and the streamed messages lacks nothing.
// Ids, names and white space do not matter, nor does joining or splitting messages.
// Without one message, the snapshot lacks only that one. With the request's messages
// only, it lacks all streamed messages.
func TestLackingTextProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var requested, streamed []line
		for i := range rapid.IntRange(0, 4).Draw(t, "asked") {
			requested = append(requested, line{rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"), fmt.Sprint("asked ", i)})
		}
		requested = append(requested, line{"user", "the question"})
		for i := range rapid.IntRange(1, 5).Draw(t, "streamed") {
			text := fmt.Sprint("reply ", i, ".")
			if repeated := rapid.IntRange(0, len(requested)-1).Draw(t, "repeated"); requested[repeated].role == "assistant" && i == 0 {
				text = requested[repeated].text // a reply may repeat an earlier one
			}
			streamed = append(streamed, line{"assistant", text})
		}
		asking := request(messages("q", requested...)...)
		spell := func(l line) string {
			text := l.text
			if rapid.Bool().Draw(t, "spaced") {
				text = "\n " + strings.ReplaceAll(text, " ", "\u00a0 ") + "\t"
			}
			m := line{l.role, text}.message(rapid.StringMatching(`[a-z]{8}[0-9]{8}`).Draw(t, "id"))
			if rapid.Bool().Draw(t, "named") {
				m = strings.TrimSuffix(m, "}") + `,"name":"n"}`
			}
			return m
		}
		run := func(lines []line) []int {
			held := make([]string, len(lines))
			for i, l := range lines {
				held[i] = spell(l)
			}
			_, at := lacks(t, asking, append(append([]string{started}, stream(streamed...)...), snapshot(held...), finished)...)
			return at
		}
		whole := slices.Concat(requested, streamed)
		if at := run(whole); at != nil {
			t.Fatalf("all is there, and %v lack", at)
		}
		var all string
		for _, l := range streamed {
			all += l.text
		}
		cut := rapid.IntRange(1, len(all)-1).Draw(t, "cut")
		if at := run(append(slices.Clone(requested), line{"assistant", all[:cut]}, line{"assistant", all[cut:]})); at != nil {
			t.Fatalf("all is there, divided elsewhere, and %v lack", at)
		}
		without := rapid.IntRange(0, len(streamed)-1).Draw(t, "without")
		if at := run(slices.Delete(slices.Clone(whole), len(requested)+without, len(requested)+without+1)); !slices.Equal(at, []int{1 + without}) {
			t.Fatalf("event %d is missing; reported %v", 1+without, at)
		}
		if at := run(requested); len(at) != len(streamed) {
			t.Fatalf("%d were streamed, and of an echo %v lack", len(streamed), at)
		}
	})
}

// BenchmarkLackingText compares a snapshot and a stream that are almost equal, which
// is the slowest case.
func BenchmarkLackingText(b *testing.B) {
	settings := text("last", "")
	unit := "aa" + strings.Repeat("x", 14)
	text := strings.Repeat(unit, 1<<16)
	events := []string{started}
	for i := range 20 {
		events = append(events, chunk(fmt.Sprintf(`"messageId":"s%d"`, i), `"delta":"`+text+`"`))
	}
	events = append(events, chunk(`"messageId":"last"`, `"delta":"b"`))
	// They are compared, but are too long for an artifact and therefore omitted.
	held := slices.Repeat([]string{`{"role":"assistant","content":[{"type":"text","text":"` + text + `"},{"type":"image"}]}`}, 40)
	raw := testkit.SSE(append(events, snapshot(append(held, user)...), finished)...)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if r := projectAll(b, input{Settings: settings, raw: raw, at: everySecond}); r[0].out == nil {
			b.Fatal(formatFindings(r[0].findings))
		}
	}
}
