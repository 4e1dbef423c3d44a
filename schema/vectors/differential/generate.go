package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/project/validate"
)

// A testCase is one file to validate.
type testCase struct {
	kind    string
	profile artifact.Profile
	data    []byte
}

// newCase generates case i of a seed. Three of four cases are artifacts.
func newCase(seed uint64, i int) testCase {
	g := generator{rand.New(rand.NewPCG(seed, uint64(i)))}
	c := testCase{kind: string(validate.Artifact), profile: artifact.Profiles()[g.IntN(2)]}
	odd := [...]float64{0, 0.02, 0.1, 0.3}[g.IntN(4)]
	if g.IntN(4) > 0 {
		c.data = g.style(g.artifact(odd))
	} else {
		c.kind = string(validate.Envelope)
		c.data = g.envelope(odd)
	}
	if g.chance(0.4) {
		c.data = g.damage(c.data)
	}
	if c.kind == string(validate.Envelope) && !hasRules(c.data) {
		c.data = append([]byte{'{'}, c.data...)
	}
	return c
}

// hasRules reports whether the contract states an outcome for an envelope file that
// begins in this way (section 7).
func hasRules(data []byte) bool {
	rest := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	return len(rest) == 0 || rest[0] == '{'
}

type generator struct{ *rand.Rand }

func (g generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](g generator, list []T) T { return list[g.IntN(len(list))] }

// A member is a name and its value, both as JSON text.
type member struct{ name, value string }

func object(members []member) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m.name + ":" + m.value)
	}
	b.WriteByte('}')
	return b.String()
}

var (
	words = []string{"a", "m1", "Hello", "é", "e\u0301", "😀", " ", "\u00a0", "\u2028", "\u3000", "\u200b", "\ufeff", "\u0085", `\n`, `\t`, `\u0000`, `\u001c`, `\u007f`, "\x7f",
		`\"`, `\\`, `\/`, `\u0041`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `\ud800\ud800`, "://", ":", "/", "-", "0", "RUN_ERROR", "state", "\u0080", `\b`, `\f`, `\r`, "<", "&"}
	names = []string{"schema", "framework", "surface", "thread_id_ref", "run_id_ref", "parent_run_id_ref", "started_at", "finished_at", "messages", "terminal_event", "error_code", "error_message",
		"id", "role", "content", "name", "type", "x", "", "state", "toolCalls", "tool_calls", "RAW", "STATE-DELTA", "events", "event", "metadata", "a/b", "a~b", `s\u0074ate`, `\ud800`, `\udc00\udc00`, "thin\u212aing", "State_", "İ"}
	times = []string{"2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5Z", "2026-01-31T12:00:01.123456+05:30", "2024-02-29T23:59:59-08:00", "2026-02-29T00:00:00Z", "2026-01-31T24:00:00Z", "2016-12-31T23:59:60Z",
		"0001-01-01T00:00:00+00:01", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-00:01", "2026-01-31t12:00:00Z", "2026-01-31T12:00:00z", "2026-01-31T12:00:00.1234567Z", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z",
		"2026-01-31T12:00:00+24:00", "1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-31T11:59:59.999999Z", ""}
	scalars = []string{"null", "true", "false", "0", "-1", "1e400", "1.50E-3", "12345678901234567890", `""`, `"x"`, "[]", "{}", `[{}]`, `{"state":{}}`, `{"a":{"events":[1]},"a":2}`, `[{"raw":1,"raw":{"delta":2}}]`, `{"toolCalls":{"step":1}}`}
	roles   = []string{"developer", "system", "assistant", "user", "tool", "User", "reasoning", "activity", "model", " user", "STATE_DELTA"}
	types   = []string{"RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED", "RUN_ERROR", "STATE_SNAPSHOT", "RAW", "", "run_started", "UNHEARD_OF", `RUN\u005fERROR`}
)

// Pieces, as JSON text, of references and error texts that almost break A27 to A29 and
// A26, or break them.
var (
	refPieces = []string{"a", "x1", "9", "é", "ſ", "\u212a", "😀", "٣", ".", ".", ".", "-", "_", "%", "@", ":", ":80", ":8x", "/", "/", `\\`, "?", "#", "[", "]", "::", "[::1]", "[1:2:f.3]",
		"//", "www.", "WWW.", "localhost", "LocalHost", "10.0.0.1", "010.0.0.255", "256.0.0.1", "1.2", "example.com", "mailto:", "DATA:", "javascript", "thread:", "file", "view-source:", "s3:", "://", " ", `\u0000`}
	gaps = []string{" ", " ", "  ", "    ", `\n`, `\t`, `\r\n`, `\\n`, `\\t`, `\\n    `, `\\\\n`, `\\\\r\\\\n\\\\t`, `\\`, "\u00a0", "", ", "}
	// Complete and partial frames of stack traces.
	frames = []string{
		"Traceback (most recent call last):", "Exception Group Traceback (most recent call last):", "+ ", "Stack for <Task x> (most recent call last):", "Stack ", "Thread 0x7f ", "(most recent call first)", "(most recent call last)",
		`File \"a.py\", line 3, in f`, `File \\\"a.py\\\", line 3 in f`, "File 'a.py', line 3,", "<FrameSummary file a.py", "File ", `\"`, "'", ", line 3", ", in ",
		"at f (/a/b.js:3:5)", "at async f (file:///b.mjs:3:5)", "at new F (<anonymous>)", "at F.get x [as x] (a (b) c/d.js:3:5)", "at /a/b.js:3:5", "at async b.js:3:5", "at 10:15:30", "f@https://a/b.js:3:5", "at wasm (wasm://x)",
		"at ", "async ", "new ", "get ", "f ", "[as f] ", "(", ")", "/a/b.js", "<anonymous>", ":3:5", ":3", ":٣:5", "@", "a://", "é",
		"at a.B.c(B.java:3)", "at a.b/c.D.e(Native Method)", "at a..c(<generated>)", "[a.B.c(B.kt:3), d.e(F.kt:4)]", "at Main.main(Main.scala)", "(B.java:3)", "a.B.c",
		"goroutine 1 [running]:", "goroutine 7 gp=0x1 m=nil [select, 2 minutes]:", "goroutine 1 ", "[running]", "main.f", "a/b.(*T).F", "/a/b.go:3", "b/c.go:4", "c.go:5", " +0x1d", "main.f(...)",
		"stack backtrace:", "Stack backtrace:", "0: a::b", "17: ", "0x55ab - ", "at ./src/a.rs:3:5", "at a.rs:3", "Backtrace [", "{ fn: ", "::",
		"at A.B(String c) in d.cs:line 3", "at A..ctor()", "at async T<U> A.B(C d)", "at A.B (C d) [0x00012] in <x>:0", " in ", ":line 3", "--- End of stack trace", "--- End of inner exception stack trace", "at A.B()",
	}
)

// text returns a string of up to n words.
func (g generator) text(n int) string { return g.joined(words, g.IntN(n+1)) }

// joined returns a string of n pieces.
func (g generator) joined(pieces []string, n int) string {
	var b strings.Builder
	b.WriteByte('"')
	for range n {
		b.WriteString(pick(g, pieces))
	}
	b.WriteByte('"')
	return b.String()
}

// plain returns a string that breaks no rule.
func (g generator) plain() string { return fmt.Sprintf(`"v%x"`, g.Uint32()) }

// long returns a string about as long as a limit.
func (g generator) long() string {
	n := pick(g, []int{48, 60, 96, 128, 200, 256, 400, 1024}) + g.IntN(5) - 2
	return `"` + strings.Repeat(" ", g.IntN(3)) + strings.Repeat(pick(g, []string{"a", "é", "😀", `\u0061`, "e\u0301"}), n) + strings.Repeat("\u00a0", g.IntN(3)) + `"`
}

// value returns usual or, with probability odd, another value.
func (g generator) value(odd float64, usual string) string {
	if !g.chance(odd) {
		return usual
	}
	switch g.IntN(5) {
	case 0:
		return pick(g, scalars)
	case 1:
		return g.long()
	case 2:
		return `"` + pick(g, times) + `"`
	}
	return g.text(6)
}

// ref returns a reference: plain, odd, or similar to a link.
func (g generator) ref(odd float64) string {
	if g.chance(odd) {
		return g.joined(refPieces, 1+g.IntN(6))
	}
	return g.value(odd, g.plain())
}

// errorText returns an error text: plain, odd, or similar to a stack trace.
func (g generator) errorText(odd float64) string {
	if !g.chance(odd) {
		return g.value(odd, g.plain())
	}
	var b strings.Builder
	if g.chance(0.02) {
		b.WriteString(strings.Repeat(pick(g, []string{"é", "at ", ".", `\\`, " ", "x"}), pick(g, []int{200, 1_000, 8_192})-g.IntN(40)))
	}
	for range 1 + g.IntN(6) {
		b.WriteString(pick(g, frames) + pick(g, gaps))
	}
	return `"` + b.String() + `"`
}

func (g generator) artifact(odd float64) string {
	end := pick(g, []string{artifact.RunFinished, artifact.RunError})
	all := []member{
		{`"schema"`, g.value(odd, `"`+artifact.Schema+`"`)},
		{`"framework"`, g.value(odd, `"`+artifact.Framework+`"`)},
		{`"surface"`, g.value(odd, `"`+artifact.Surface+`"`)},
		{`"thread_id_ref"`, g.ref(odd)},
		{`"run_id_ref"`, g.ref(odd)},
		{`"started_at"`, g.value(odd, `"2026-01-31T12:00:00Z"`)},
		{`"messages"`, g.value(odd/2, g.messages(odd))},
		{`"terminal_event"`, g.value(odd, `"`+end+`"`)},
	}
	if g.chance(0.3) {
		all = append(all, member{`"parent_run_id_ref"`, g.ref(odd)})
	}
	if g.chance(0.5) {
		all = append(all, member{`"finished_at"`, g.value(odd, `"`+pick(g, times[:4])+`"`)})
	}
	if end == artifact.RunError || g.chance(odd) {
		all = append(all, member{`"error_message"`, g.errorText(odd)})
		if g.chance(0.5) {
			all = append(all, member{`"error_code"`, g.errorText(odd)})
		}
	}
	all = g.disturb(all, odd)
	if g.chance(odd / 20) {
		for range 80 + g.IntN(60) {
			all = append(all, member{fmt.Sprintf(`"k%d"`, g.IntN(1000)), pick(g, scalars)})
		}
	}
	return object(all)
}

// disturb removes members, adds others, and changes their order.
func (g generator) disturb(all []member, odd float64) []member {
	all = slices.DeleteFunc(all, func(member) bool { return g.chance(odd / 4) })
	for g.chance(odd) {
		all = slices.Insert(all, g.IntN(len(all)+1), member{`"` + pick(g, names) + `"`, pick(g, scalars)})
	}
	if g.chance(0.3) {
		g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}

func (g generator) messages(odd float64) string {
	var list []string
	n := 1 + g.IntN(5)
	if g.chance(odd / 4) {
		n = 0
	}
	if g.chance(odd / 100) {
		n = 2_001
	}
	for i := range n {
		id := fmt.Sprintf(`"m%d"`, i)
		if g.chance(odd / 2) {
			id = `" m0 "`
		}
		m := []member{
			{`"id"`, g.value(odd, id)},
			{`"role"`, g.value(odd/2, `"`+pick(g, roles[:5])+`"`)},
			{`"content"`, g.value(odd, g.plain())},
		}
		if g.chance(odd / 2) {
			m[1].value = `"` + pick(g, roles) + `"`
		}
		if g.chance(0.3) {
			m = append(m, member{`"name"`, g.value(odd, g.plain())})
		}
		message := object(g.disturb(m, odd/2))
		if g.chance(odd / 8) {
			message = pick(g, scalars)
		}
		list = append(list, message)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// style returns an artifact in canonical form, with white space around its tokens, or
// unchanged on one line.
func (g generator) style(text string) []byte {
	switch g.IntN(3) {
	case 0:
		if a, _ := artifact.Decode([]byte(text), artifact.V1); a != nil {
			return artifact.Encode(a)
		}
	case 1:
		space := pick(g, []string{" ", "\n", "\r\n\t"})
		return []byte(strings.NewReplacer(",\"", ","+space+"\"", "{", "{"+space, "]", space+"]").Replace(text))
	}
	return []byte(text)
}

func (g generator) envelope(odd float64) []byte {
	ids := func(odd float64) []member {
		return []member{{`"threadId"`, g.value(odd, `"t"`)}, {`"runId"`, g.value(odd, `"r"`)}}
	}
	kind := func(usual string) member {
		if g.chance(odd / 2) {
			return member{`"type"`, g.value(odd, `"`+pick(g, types)+`"`)}
		}
		return member{`"type"`, `"` + usual + `"`}
	}
	var list []string
	for range 1 + g.IntN(3) {
		list = append(list, pick(g, []string{"{}", `{"id":"m1","toolCalls":[]}`, `{"content":"` + pick(g, words) + `"}`}))
	}
	if g.chance(odd) {
		list = append(list, pick(g, scalars))
	}
	events := []string{
		object(g.disturb(append([]member{kind("RUN_STARTED")}, ids(odd/2)...), odd)),
		object(g.disturb([]member{kind("MESSAGES_SNAPSHOT"), {`"messages"`, g.value(odd, "["+strings.Join(list, ",")+"]")}}, odd)),
		object(g.disturb(append([]member{kind(pick(g, types[2:4]))}, ids(odd)[g.IntN(3):]...), odd)),
	}
	for g.chance(odd) {
		extra := object(g.disturb([]member{kind(pick(g, types))}, odd))
		if g.chance(0.2) {
			extra = pick(g, scalars)
		}
		events = slices.Insert(events, g.IntN(len(events)+1), extra)
	}
	if g.chance(odd) {
		g.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	}
	if g.chance(odd / 2) {
		events = events[:g.IntN(len(events)+1)]
	}
	ends := []string{"\n"}
	if g.chance(0.2) {
		ends = []string{"\n", "\r\n", " \n", "\n\n", "\n \t", ""}
	}
	var b bytes.Buffer
	if g.chance(0.03) {
		b.WriteString("\ufeff")
	}
	for _, e := range events {
		b.WriteString(e + pick(g, ends))
	}
	return b.Bytes()
}

// damage changes a few bytes.
func (g generator) damage(data []byte) []byte {
	data = slices.Clone(data)
	for range 1 + g.IntN(3) {
		at := g.IntN(len(data) + 1)
		end := min(len(data), at+g.IntN(20))
		switch g.IntN(7) {
		case 0:
			data = slices.Insert(data, at, byte(g.IntN(256)))
		case 1:
			if at < len(data) {
				data[at] = byte(g.IntN(256))
			}
		case 2:
			data = slices.Delete(data, at, end)
		case 3:
			data = slices.Insert(data, at, slices.Clone(data[at:end])...)
		case 4:
			piece := pick(g, slices.Concat(words, scalars, []string{`"`, ",", ":", "{", "}", "[", "]", "\\", "\n", "\xff", "\xed\xa0\x80", "\xc0\xaf", "\ufeff", `\u12`,
				":tru", ":trux", ":fals", "[nul", ":-", ":1e", ":1.", "n", "t"}))
			if g.chance(0.03) {
				piece = strings.Repeat(pick(g, []string{"[", `{"a":`}), 520)
			}
			data = slices.Insert(data, at, []byte(piece)...)
		case 5:
			data = data[:at]
		case 6:
			name := fmt.Sprintf(`"%s":%s,`, pick(g, names), pick(g, scalars))
			if open := bytes.IndexByte(data[at:], '{'); open >= 0 {
				data = slices.Insert(data, at+open+1, []byte(name)...)
			}
		}
	}
	return data
}
