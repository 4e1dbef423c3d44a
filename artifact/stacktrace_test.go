package artifact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
)

// The contract lists the same shapes.
func TestShapesAreTheContracts(t *testing.T) {
	list := func(width int, rows [][2]string) string {
		var b strings.Builder
		for _, r := range rows {
			fmt.Fprintf(&b, "%-*s%s\n", width, r[0], r[1])
		}
		return b.String()
	}
	want := []string{list(8, artifact.TraceParts), list(12, artifact.TraceShapes)}
	if diff := cmp.Diff(want, blocks(t, "A26")); diff != "" {
		t.Error(diff)
	}
}

// Each text begins like a trace of its language. The vectors of A26 have complete
// traces.
func TestStackTrace(t *testing.T) {
	const before = "it is gone"
	for _, gap := range []string{" ", "\n", "\r\n\t", `\n`, `\r\n\t`, `\\n    `, "\n\n  ", ` \n \\\\r`} {
		for _, trace := range []string{
			"Traceback (most recent call last):", "+ Exception Group Traceback (most recent call last):", "Stack for <Task-7> (most recent call last):",
			`File "/a/b.py", line 3, in f`, `File '/a/b.py', line 3, in f`, `File \"/a/b.py\", line 3, in f`, `File \\\"/a/b.py\\\", line 3, in f`,
			"at f (/a/b.js:3:5)", "at async f (file:///a/b.mjs:3:5)", "at new F (/a/b c/(d)/e.js:3:5)", "at /a/b.js:3:5 at /a/c.js:3:5", "@https://a.b/c.js:3:5",
			"at a.B.c(B.java:3)", "at a.b/c.D.e(Native Method)", "[a.B.c(B.kt:3), d.E.f(E.kt:4)]",
			"at file:///a/b.mjs:3:5 at F.g (node:internal/a:3:5)", "at /a/b.js:3:5 at new F (/a/c.js:3:5)",
			"/home/a/main.go:3 +0x1d", "goroutine 1 [running]:", "a/b.(*T).F /a/b.go:3 a/b.main /a/b.go:5",
			"stack backtrace:", "0: a::b at ./src/main.rs:3:5", "0: begin_unwind at /rustc/a.rs:3:5", "0: <A as B>::f at a.rs:3:5", "0: 0x558abfae451a - a::b", `Backtrace [{ fn: "a::b"`,
			"thread 'main' panicked at src/main.rs:4:5: boom", "thread 'main' (7) panicked at src/main.rs:4:5:", "thread 'a b' panicked at 'boom', src/main.rs:4:5", `thread \'main\' panicked at src/main.rs:4:5`,
			"a.B.c(B.java:3), d.E.f(E.kt:4)", "a.b/c.D.e(D.java:3);d.E.f(E.kt:4)", "at A.B(), at C.D(Int32 n)", "at A.B() | at C.D(Int32 n)",
			"at A.B(String x) in /a/b.cs:line 3", "at A.B() at C.D(Int32 n)", "--- End of stack trace from previous location ---",
			"PHP Fatal error:  Uncaught E: boom in /a/b.php:3", `#0 /a/b.php(3): A\B->f('x')`, "#12 [internal function]: {closure}(1)", "Stack trace:\n#0 {main}", `Stack trace:\n#0 {main}`, "#0  f(1) called at [/a/b.php:3]",
			"/a/b.rb:3:in `f'", "b.rb:3:in 'A#f'", `b.rb:3:in \'f\'`, "-e:1:in `<main>'", "(eval at /a/b.rb:3):1:in 'f'", "<internal:kernel>:187:in `loop'",
			"A/main.swift:3: Fatal error: boom", "Precondition failed: boom: file /a/main.swift, line 3", "0   A   0x000000010a2b3c4d main + 12 1   B   0x000000010a2b3d10 start + 3", `0   A   0x000000010a2b3c4d main + 12", "1   B   0x000000010a2b3d10 start + 3`, "3 [ra] 0x000055d0c2a3b4f0 f(_:) + 12 in A at /a/main.swift:7:1", "0 f() in A at /a/main.swift:7:1",
			"(app 0.1.0) lib/a.ex:3: A.f/1", `(stdlib 4.2) gen_server.erl:3: :gen_server.init/3`, "lib/a.ex:3: A.f/1 test/b.exs:5: anonymous fn/0 in A.g/2", `(app) lib/a.ex:3: A.f/1\n(elixir) lib/enum.ex:5: Enum.map/2`, "[file: 'lib/a.ex', line: 3]", `[file: ~c\"lib/a.ex\", line: 3]`,
		} {
			if got := artifact.IndexStackTrace(before + gap + trace); got != len(before) {
				t.Errorf("%q: %d, want %d", before+gap+trace, got, len(before))
			}
			if got := artifact.IndexStackTrace(trace); got != 0 {
				t.Errorf("%q: %d, want 0", trace, got)
			}
		}
	}
}

// The first 8,192 code points are searched, independent of their size in bytes.
func TestStackTraceLimit(t *testing.T) {
	const trace = "stack backtrace:"
	for _, char := range []string{"a", "é", "😀"} {
		before := strings.Repeat(char, 8_192-len(trace))
		if got := artifact.IndexStackTrace(before + trace); got != len(before) {
			t.Errorf("%s: %d, want %d", char, got, len(before))
		}
		if got := artifact.IndexStackTrace(before + char + trace); got != -1 {
			t.Errorf("%s: %d past the limit", char, got)
		}
	}
	if got := artifact.IndexStackTrace(""); got != -1 {
		t.Errorf("%d in nothing", got)
	}
}

// One line of a known shape is sufficient. A text that only names a file and a line
// does not match. The examples are those of docs/contract.md.
func TestStackTraceExamples(t *testing.T) {
	if artifact.IndexStackTrace("unexpected token at key (config.json:3:7)") < 0 {
		t.Error("a line of a known shape is not found")
	}
	if got := artifact.IndexStackTrace("error in main.go:12"); got >= 0 {
		t.Errorf("a file and a line: %d", got)
	}
}
