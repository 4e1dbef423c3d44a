package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/p20export/p20export/artifact"
	agui "github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/project"
)

// A message is a text message. Its strings are JSON text without quotes.
type message struct {
	id, role string
	name     string   // empty if absent
	pieces   []string // joined, the text of the message
}

func (m message) text() string { return strings.Join(m.pieces, "") }

func quoted(s string) string { return `"` + s + `"` }

// run generates a run and its request, which may be nil.
func (g *streams) run(number int) (events []string, request []byte) {
	thread, run := g.ref(fmt.Sprintf("thread-%d", number)), g.ref(fmt.Sprintf("run-%d", number))
	g.requested, g.streamed = nil, nil
	for range g.IntN(4) {
		g.requested = append(g.requested, g.message(pick(g.generator, []string{"user", "user", "assistant", "system", "developer"})))
	}
	for range 1 + g.IntN(4) {
		if g.chance(0.1) {
			break
		}
		g.streamed = append(g.streamed, g.message("assistant"))
	}
	if g.chance(0.15) && len(g.requested) > 0 && len(g.streamed) > 0 {
		g.streamed[0].pieces = g.requested[0].pieces // the reply repeats the request
	}
	if len(g.requested)+len(g.streamed) == 0 {
		g.streamed = append(g.streamed, g.message("assistant"))
	}
	g.limits()
	request = g.request(thread, run)
	body := g.textEvents()
	body = g.withSnapshots(body)
	for range g.IntN(3) {
		body = slices.Insert(body, g.IntN(len(body)+1), g.noise())
	}
	if g.chance(0.004) {
		body = slices.Insert(body, g.IntN(len(body)+1), g.junk())
		g.record("events left out or repeated")
	}
	if g.chance(0.001) {
		for i := range 600 {
			body = append(body, fmt.Sprintf(`{"type":"TYPE_%d"}`, i))
		}
		g.record("more types than are counted")
	}
	if g.chance(0.002) {
		for range pick(g.generator, []int{99, 100, 101, 150}) {
			body = append(body, pick(g.generator, []string{"{}", `{"type":"TEXT_MESSAGE_CONTENT","messageId":"none"}`}))
		}
		g.record("more faults than are listed")
	}
	events = append([]string{g.begin(thread, run)}, body...)
	return g.end(events, thread, run), request
}

// begin returns the RUN_STARTED of a run.
func (g *streams) begin(thread, run string) string {
	members := []member{{`"threadId"`, g.value(g.odd/4, thread)}, {`"runId"`, g.value(g.odd/4, run)}}
	members = append(members, g.timestamp(0)...)
	if g.chance(0.15) {
		members = append(members, member{`"parentRunId"`, g.ref("parent")})
		g.record("a parent run")
	} else if g.chance(0.01 + g.odd) {
		odd := []string{"null", `""`, `" "`, `"\ud83d"`}
		if g.chance(0.3) {
			odd = []string{"7", "{}", `"` + strings.Repeat("a", 255+g.IntN(3)) + `"`, `"run-0"`}
		}
		members = append(members, member{`"parentRunId"`, pick(g.generator, odd)})
		g.record("an odd parent run")
	}
	if g.chance(0.25) && !g.large() {
		input := g.input(thread, run)
		switch {
		case g.chance(0.1):
			input = pick(g.generator, []string{"null", "null", "null", "7", "[]", "{}", `{"messages":null}`})
			g.record("no object as input in RUN_STARTED")
		case g.chance(0.15):
			input = g.input(thread, `"another"`)
			g.record("another run's input in RUN_STARTED")
		default:
			g.record("its input in RUN_STARTED")
		}
		members = append(members, member{`"input"`, input})
	}
	if g.chance(0.3) {
		members = append(members, member{`"protocolVersion"`, `"1.0"`})
	}
	return g.event(agui.RunStarted, members...)
}

// ref returns a reference: a usual one, or one that may break a rule of references.
func (g *streams) ref(usual string) string {
	if g.chance(0.97 - g.odd) {
		if g.chance(0.3) {
			usual = pick(g.generator, []string{"thread:7", "thread:7/1", "urn:uuid:6f1c", "git:abc", "a/b", "v1.2/run", "thread.7", "thread.x", "session:1/2", "01JH", "é-1", `r\u00e9f`, "0", "-", "a%20b", "a@b", "x:80"})
		}
		return quoted(usual)
	}
	g.record("a reference that may break a rule")
	pieces := func(list ...string) string {
		if g.chance(0.2) {
			return strings.ToUpper(pick(g.generator, list))
		}
		return pick(g.generator, list)
	}
	switch g.IntN(5) {
	case 0:
		return quoted(pick(g.generator, []string{"https://a.example/x", "x://", "a b", " a", `a\u0000`, `a\u00a0b`, `\ud83d`, "a\u2028b", strings.Repeat("é", 255+g.IntN(3)), strings.Repeat("a", 95+g.IntN(3)), "", " "}))
	case 1:
		return quoted(pieces("//", `\\\\`, `/\\`, `\/\/`, "/", "www.", "ww.", "www") + pieces("host/path", "a.example", ""))
	case 2:
		return quoted(pieces("javascript", "vbscript", "data", "blob", "file", "mailto", "tel", "about", "view-source", "cid", "mid", "magnet", "vscode", "s3", "sip", "xmpp", "http", "ws", "ftp", "ssh",
			"java", "datas", "thread", "urn", "git", "jar", "geo", "news", "irc", "intent", "slack") + pieces(":", ":", "", `\u003a`, ";") + pieces("x", "//x", "alert(1)", "a@b.example", "1"))
	default:
		return quoted(pieces("", "", "", "user@", "user:pass@", "@", "u:@") +
			pieces("localhost", "localhost.", "example.com", "example.com.", "ex-ample.co_m", "a.b.c", "b\u00fccher.example", "10.0.0.1", "256.0.0.1", "1.2.3", "1.2.3.4.5", "010.1.1.1", "[::1]", "[::ffff:1.2.3.4]", "[x]", "[]", "a.1b", "a.b1", "a..b", ".a", "%41.com", "host", "v1.2", "a.-b", "EXAMPLE.c\u0130m") +
			pieces("", "", ":80", ":", ":x", ":65536", ":080") + pieces("", "/", "/x", `\\x`, "?q", "#f", ".", "x", "/1"))
	}
}

// timestamp returns the timestamp of an event, some seconds into the run, or no member.
func (g *streams) timestamp(seconds int) []member {
	at := g.started.Add(time.Duration(seconds)*time.Second + time.Duration(g.IntN(2000))*time.Millisecond)
	value := strconv.FormatInt(at.UnixMilli(), 10)
	switch {
	case g.chance(0.15):
		return nil
	case g.chance(0.06 + g.odd):
		days := func(n int) string { return strconv.FormatInt(at.AddDate(0, 0, n).UnixMilli(), 10) }
		value = pick(g.generator, []string{"null", quoted(value), value + ".0", value + ".5", value + "e0", strconv.FormatInt(at.Unix(), 10), value + "000", "-" + value, "0", "-0", "1e13", "true", "[]", "{}", `""`,
			days(1), days(2), days(-1), days(-500), days(40_000), "1735689600000", "1735689599999", "4102444800000", "4102444800001", "9223372036854775807", "9223372036854775808"})
		g.record("an odd timestamp")
	}
	return []member{{`"timestamp"`, value}}
}

// end appends the end of a run.
func (g *streams) end(events []string, thread, run string) []string {
	if g.chance(0.005 + g.odd/4) {
		g.record("no terminal event")
		return events
	}
	events = append(events, g.terminal(thread, run))
	if g.chance(0.005 + g.odd/4) {
		events = append(events, g.terminal(thread, run))
		g.record("two terminal events")
	}
	if g.chance(0.005 + g.odd/4) {
		events = append(events, g.noise())
		g.record("events after the terminal event")
	}
	return events
}

// terminal returns a terminal event.
func (g *streams) terminal(thread, run string) string {
	var members []member
	if g.chance(0.8) {
		other := 0.03
		if g.target == project.EmittedSnapshot {
			other = 0.005
		}
		switch {
		case g.chance(other):
			run = pick(g.generator, []string{`"engine-run"`, `"lc_run--01a1"`, `""`})
			g.record("a terminal event of another run")
		case g.chance(0.01):
			thread = `"another-thread"`
			g.record("a terminal event of another thread")
		case g.chance(g.odd):
			run = pick(g.generator, []string{"null", "7", `"\ud83d"`, `"\u0072un"`})
			g.record("an odd terminal event")
		}
		for _, id := range []member{{`"threadId"`, thread}, {`"runId"`, run}} {
			if g.chance(0.9) {
				members = append(members, id)
			}
		}
	}
	later := 2 + g.IntN(3)
	if g.chance(0.01 + g.odd) {
		later = -5
	}
	members = append(members, g.timestamp(later)...)
	failed := 0.35
	if g.target == project.EmittedSnapshot {
		failed = 0.2
	}
	if g.chance(failed) {
		g.record("a failed run")
		return g.event(agui.RunError, append(members, g.failure()...)...)
	}
	if g.chance(0.2) {
		members = append(members, member{pick(g.generator, []string{`"result"`, `"outcome"`, `"message"`, `"code"`}), pick(g.generator, values)})
	}
	return g.event(agui.RunFinished, members...)
}

// message generates a message.
func (g *streams) message(role string) message {
	g.ids++
	m := message{id: fmt.Sprintf("m-%d", g.ids), role: role}
	switch {
	case g.chance(0.2):
		m.id = fmt.Sprintf("%08x-%04x", g.Uint32(), g.IntN(1<<16))
	case g.chance(g.odd):
		m.id = pick(g.generator, []string{" m ", "m-1", " m-1 ", `m\u002d1`, "", "  ", `\ud83d`, strings.Repeat("é", 255+g.IntN(3)), strings.Repeat("i", 95+g.IntN(3)), `m\u0000`})
		g.record("ids twice")
	}
	if g.chance(0.1) {
		m.name = pick(g.generator, []string{"guide", "Anna", "é"})
		if g.chance(g.rich) {
			m.name = pick(g.generator, []string{" ", `\u00a0`, `\t`})
		}
		if g.chance(g.odd) {
			m.name = pick(g.generator, []string{`\udc00`, strings.Repeat("n", 127+g.IntN(3)), strings.Repeat("n", 59+g.IntN(3)), " a "})
		}
	}
	if g.chance(0.25) {
		// Repeated texts test that X5 counts them.
		m.pieces = []string{pick(g.generator, []string{"ok", "Hello", "Hello world", "Hello  world", "Done."})}
		return m
	}
	m.pieces = append(m.pieces, pick(g.generator, prose[:6]))
	for range g.IntN(5) {
		m.pieces = append(m.pieces, pick(g.generator, prose))
	}
	if g.chance(0.05) {
		m.pieces = append(m.pieces, `\ud83d`, `\ude00`)
		g.record("a surrogate pair over two deltas")
	}
	if g.chance(g.odd) {
		m.pieces = append(m.pieces, pick(g.generator, words))
	}
	if g.chance(0.03) || g.chance(g.rich/3) {
		m.pieces = []string{pick(g.generator, []string{"", " ", `\n`, "\u00a0", `\u3000\u2028`})}
		if g.rich == 0 {
			m.pieces = append(m.pieces, "x")
		}
	}
	return m
}

// prose are pieces of texts that break no rule.
var prose = []string{
	"Hello", "the", " capital", " of ", "France", " is", " Paris.", "\u00e9", "e\u0301", "\U0001f600", `\ud83d\ude00`, "\u00a0", `\n`, `\n\n`, `\t`, `\"`, `\\`, `\/`, "/", "\u2028", `\u0041`, "\u6771\u4eac", "\u200b",
	"\ufeff", `\u00e9`, " ", "  ", "<b>", "&amp;", "\u3000", `\u2003`, `{\"a\":1}`, "```", `\\n`, `\b`, `\f`, "\u0085", "\x7f", `\u0000`, `\u001c`,
}

// traces are stack traces as programs print them. Lines end with LF.
var traces = []string{
	"Traceback (most recent call last):\n  File \"/app/agent.py\", line 12, in run\n    raise ValueError(\"boom\")\nValueError: boom",
	"  File 'agent.py', line 3, in <module>\n    main()",
	"Error: boom\n    at run (/app/agent.js:12:5)\n    at async Agent.step [as next] (file:///app/agent.mjs:3:1)\n    at new Agent (node:internal/main:1:1)",
	"TypeError: x is undefined\n    at /app/agent.js:12:5\n    at async /app/loop.js:1:2",
	"run@https://a.example/agent.js:12:5\nstep@file:///app/agent.js:3:1",
	"java.lang.IllegalStateException: boom\n\tat com.example.Agent.run(Agent.java:12)\n\tat com.example.Agent$1.invoke(Agent.kt:3)\n\tat java.base/java.lang.Thread.run(Native Method)\n\t... 3 more",
	"panic: boom\n\ngoroutine 1 [running]:\nmain.run(...)\n\t/app/main.go:12 +0x1d\nmain.main()\n\t/app/main.go:3",
	"goroutine 18 gp=0xc000 m=3 mp=0x1 [select, 2 minutes]:",
	"thread 'main' panicked at src/main.rs:2:5:\nboom\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/1/library/std/src/panicking.rs:645\n   1: 0x55d0 - main",
	"System.InvalidOperationException: boom\n   at Agent.Run(String name) in /app/Agent.cs:line 12\n   at Program.Main()\n--- End of stack trace from previous location ---\n   at Agent.Step()",
	"thread 'main' panicked at src/main.rs:2:5: boom",
	"boom, com.example.Agent.run(Agent.java:12), Agent.step(Agent.kt:3)",
	"boom at Agent.Run(String name), at Program.Main()",
	"PHP Fatal error:  Uncaught RuntimeException: boom in /app/agent.php:12\nStack trace:\n#0 /app/agent.php(3): Agent->run('x')\n#1 [internal function]: {closure}(1)\n#2 {main}",
	"/app/agent.rb:12:in `run': boom (ArgumentError)\n\tfrom /app/agent.rb:3:in 'block in Agent#step'\n\tfrom -e:1:in `<main>'",
	"App/main.swift:12: Fatal error: boom\n0   App   0x000000010a2b3c4d main + 12\n1   dyld  0x00000001a0b1c2d3 start + 2432",
	"0 run() + 12 in App at /app/main.swift:12:5",
	"** (RuntimeError) boom\n    (app 0.1.0) lib/agent.ex:12: Agent.run/1\n    (stdlib 4.2) proc_lib.erl:240: :proc_lib.init_p/3",
	// These are not stack traces.
	"thread 'main' panicked at startup; see src/main.rs:2:5",
	"Agent.run(Agent.java:12) failed, at Agent.Step() too",
	"agent.rb:12: syntax error; see #3 in agent.php(12): it is fixed",
	"** (CompileError) lib/agent.ex:12: undefined function run/1",
	"look at run (step 12:5)",
	"it failed at agent.js:12:5",
	"File agent.py, line 12, in run",
	"at 12:5 the run stopped",
	"see main.go:12 and Agent.java:12",
	"stack traces are off",
	"meet at 10.0.0.1:80:1",
}

// ends are replacements for the line ends of a trace.
var ends = []string{"\n", "\n", "\r\n", "\r", `\n`, `\n`, `\\n`, `\r\n`, `\\\\n`, " ", "  ", "", `\n\t`, "\u2028"}

// failure returns the members of a RUN_ERROR.
func (g *streams) failure() []member {
	var all []member
	if g.chance(0.97) {
		all = append(all, member{`"message"`, g.errorText(1_024, 200)})
	}
	if g.chance(0.5) {
		all = append(all, member{`"code"`, g.errorText(128, 48)})
	}
	return all
}

// errorText returns an error text. The limits are those of the two profiles.
func (g *streams) errorText(limits ...int) string {
	text := func(s string) string { return string(artifact.AppendString(nil, s)) }
	p := g.Float64()
	if g.rich == 0 && g.odd == 0 {
		p *= 2 // the strict projection refuses most of these texts
	}
	switch {
	case p < 0.05:
		g.record("an odd terminal event")
		return pick(g.generator, []string{"null", `""`, `" "`, `"\u00a0\t"`, `"\n"`, `"\u0000boom"`, "7", "{}", "[]", "true", `"\ud83d"`, `"boom \ud83d\ud83d"`, `"boom\n\ud83d"`})
	case p < 0.4:
		g.record("a stack trace")
		end := pick(g.generator, ends)
		if end != "\n" && end != "\r\n" && end != "\r" {
			g.record("a stack trace with line ends spelled out")
		}
		s := strings.ReplaceAll(pick(g.generator, traces), "\n", end)
		switch g.IntN(6) {
		case 0:
			s = `ScriptedFailure('` + s + `')`
		case 1:
			s = strings.ReplaceAll(strings.ReplaceAll(s, `"`, `\"`), "\t", `\t`)
		case 2:
			s = pick(g.generator, []string{"boom: ", "boom", " ", `\n`, "\u00e9 ", "\x1b[31m", strings.Repeat("\U0001f600", limits[0]-g.IntN(40)), strings.Repeat("a", 8_192-g.IntN(120))}) + s
		case 3:
			s = s[g.IntN(len(s)):]
		case 4:
			s = strings.ToLower(s)
		}
		return text(strings.ToValidUTF8(s, ""))
	case p < 0.5:
		g.record("an error text about as long as its limit")
		n := pick(g.generator, limits) + g.IntN(3) - 1
		return text(strings.Repeat(" ", g.IntN(2)*g.IntN(3)) + strings.Repeat(pick(g.generator, []string{"a", "\u00e9", "\U0001f600", "a "}), n) + strings.Repeat("\u00a0", g.IntN(2)*g.IntN(3)))
	case p < 0.6:
		g.record("control characters in an error text")
		return text(pick(g.generator, []string{"boom", "", " ", "\u00e9"}) + pick(g.generator, []string{"\x00", "\n", "\r\n", "\t", "\x1b[31m", "\x7f", "\u0085", "\u009f", "\u2028", "\u200b"}) + pick(g.generator, []string{"and more", "", "\n\n"}))
	case p < 0.7:
		return g.text(6)
	}
	return text(pick(g.generator, []string{"scripted model failure", "AI SDK stream error", "INCOMPLETE_STREAM", "<class 'script.ScriptedFailure'>", "\u00e9t\u00e9", " trimmed ", "API Error: 429"}))
}
