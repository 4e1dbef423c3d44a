package main

import "strings"

// What references and error texts are made of near the rules A27 to A29 and A26,
// as they stand in JSON.
var (
	refPieces = []string{"a", "x1", "9", "é", "ſ", "\u212a", "😀", "٣", ".", ".", ".", "-", "_", "%", "@", ":", ":80", ":8x", "/", "/", `\\`, "?", "#", "[", "]", "::", "[::1]", "[1:2:f.3]",
		"//", "www.", "WWW.", "localhost", "LocalHost", "10.0.0.1", "010.0.0.255", "256.0.0.1", "1.2", "example.com", "mailto:", "DATA:", "javascript", "thread:", "file", "view-source:", "s3:", "://", " ", `\u0000`}
	gaps = []string{" ", " ", "  ", "    ", `\n`, `\t`, `\r\n`, `\\n`, `\\t`, `\\n    `, `\\\\n`, `\\\\r\\\\n\\\\t`, `\\`, "\u00a0", "", ", "}
	// Frames of stack traces, whole ones and parts of them.
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

// ref is a reference: plain, odd, or near the rules about what resolves.
func (g generator) ref(odd float64) string {
	if g.chance(odd) {
		return g.joined(refPieces, 1+g.IntN(6))
	}
	return g.value(odd, g.plain())
}

// errorText is an error text: plain, odd, or near the shapes of stack traces.
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
