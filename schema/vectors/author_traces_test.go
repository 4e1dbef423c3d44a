package vectors_test

import (
	"fmt"
	"strings"
)

// realTraces were printed by Python 3.11, Node.js 20, Java 17, Go 1.26, Rust 1.95, PHP 8.2,
// Ruby 3.1 and Elixir 1.14, and then shortened and given other directories; or they follow
// the documentation of .NET, Mono, Kotlin, Firefox, Safari, Swift, earlier versions of PHP
// and later ones of Ruby and Elixir.
var realTraces = []struct{ name, trace string }{
	{"python", "Traceback (most recent call last):\n  File \"/app/p.py\", line 5, in <module>\n    try: f()\n         ^^^\n  File \"/app/p.py\", line 3, in g\n    def g(): raise ValueError(\"boom\")\nValueError: boom\n"},
	{"python-cause", "Traceback (most recent call last):\n  File \"/app/p.py\", line 8, in <module>\n    try: f()\nValueError: boom\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n  File \"/app/p.py\", line 9, in <module>\n    except ValueError as e: raise RuntimeError(\"worse\") from e\nRuntimeError: worse\n"},
	{"python-group", "  + Exception Group Traceback (most recent call last):\n  |   File \"/app/p.py\", line 16, in <module>\n  |     try: asyncio.run(main())\n  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/app/p.py\", line 12, in one\n    |     async def one(): raise ValueError(\"one\")\n    | ValueError: one\n"},
	{"python-task", "Stack for <Task pending name='Task-7' coro=<st.<locals>.sl() running at /app/p.py:20> wait_for=<Future pending cb=[Task.task_wakeup()]>> (most recent call last):\n  File \"/app/p.py\", line 20, in sl\n    async def sl(): await asyncio.sleep(5)\n"},
	{"python-frames", "  File \"/app/p.py\", line 24, in <module>\n    try: f()\n         ^^^\n  File \"/app/p.py\", line 3, in g\n    def g(): raise ValueError(\"boom\")\n"},
	{"python-list", `['Traceback (most recent call last):\n', '  File "/app/p.py", line 24, in <module>\n    try: f()\n', 'ValueError: boom\n']`},
	{"python-extract", "[<FrameSummary file /app/p.py, line 24 in <module>>, <FrameSummary file /app/p.py, line 3 in g>]"},
	{"python-fault", "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f4e19c1cb80 (most recent call first):\n  File \"<string>\", line 1 in <module>\n"},

	{"node", "TypeError: boom\n    at a (file:///app/j.mjs:3:21)\n    at t (file:///app/j.mjs:5:21)\n    at file:///app/j.mjs:6:1\n    at ModuleJob.run (node:internal/modules/esm/module_job:325:25)\n    at async ModuleLoader.import (node:internal/modules/esm/loader:606:24)"},
	{"node-async", "TypeError: boom\n    at async as2 (file:///app/j.mjs:11:62)\n    at async Promise.all (index 0)\n    at async file:///app/j.mjs:13:5"},
	{"node-eval", "TypeError: boom\n    at eval (eval at <anonymous> (file:///app/j.mjs:7:16), <anonymous>:1:1)\n    at file:///app/j.mjs:7:16"},
	{"node-names", "TypeError: boom\n    at new K (/app/j.js:4:24)\n    at get x [as x] (/app/j.js:4:37)\n    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)"},
	{"node-parse", "SyntaxError: Expected property name or '}' in JSON at position 1\n    at JSON.parse (<anonymous>)\n    at t (/app/j.js:5:21)"},
	{"node-groups", "Error: boom\n    at POST (webpack-internal:///(rsc)/./app/(chat)/api/route.ts:10:11)\n    at POST (/app/my app/(chat)/page.js?v=12:1:23)"},
	{"node-script", "[eval]:1\nthrow new Error(\"boom\")\n^\n\nError: boom\n    at [eval]:1:7\n    at runScriptInThisContext (node:internal/vm:209:10)\n    at node:internal/process/execution:118:14\n\nNode.js v20.20.2\n"},
	{"node-inspect", "{\n  e: TypeError: boom\n      at as (file:///app/j.mjs:11:34)\n      at async file:///app/j.mjs:12:5\n}"},
	{"node-module", "Error: boom\n    at file:///app/j.mjs:3:13\n    at ModuleJob.run (node:internal/modules/esm/module_job:325:25)"},
	{"firefox", "trace@file:///C:/example.html:9:17\nb@file:///C:/example.html:16:13\n@file:///C:/example.html:21:9\n"},
	{"safari", "a@https://example.org/assets/index-4f2a.js:1:2334\n[native code]\nglobal code@https://example.org/:12:8\n"},

	{"java", "java.lang.RuntimeException: worse\n\tat Main.f(Main.java:4)\n\tat Main.main(Main.java:7)\nCaused by: java.lang.IllegalStateException: boom\n\tat Main.g(Main.java:3)\n\t... 2 more\n"},
	{"java-module", "java.lang.NumberFormatException: For input string: \"x\"\n\tat java.base/java.lang.NumberFormatException.forInputString(NumberFormatException.java:67)\n\tat java.base/java.lang.Integer.parseInt(Integer.java:668)\n\tat Main.main(Main.java:10)\n"},
	{"java-native", "java.lang.reflect.InvocationTargetException\n\tat java.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\n\tat Main$$Lambda$14/0x0000000800c03000.run(Unknown Source)\n\tat Main.main(Main.java:9)\n"},
	{"java-list", "[Main.f(Main.java:4), Main.main(Main.java:7)]"},
	{"kotlin", "kotlin.KotlinNullPointerException\n\tat com.example.MainKt$main$1.invokeSuspend(Main.kt:12)\n\tat kotlin.coroutines.jvm.internal.BaseContinuationImpl.resumeWith(ContinuationImpl.kt:33)\n"},

	{"go-panic", "panic: runtime error: index out of range [3] with length 0\n\ngoroutine 19 [running]:\nmain.p(...)\n\t/app/main.go:7\nmain.main.func3()\n\t/app/main.go:12 +0xa\ncreated by main.main in goroutine 1\n\t/app/main.go:12 +0x136\nexit status 2\n"},
	{"go-debug", "runtime error: index out of range [3] with length 0\ngoroutine 1 gp=0x2a86efe9c1e0 m=nil [chan receive, 2 minutes]:\nruntime/debug.Stack()\n\t/usr/local/go/src/runtime/debug/stack.go:26 +0x5e\n"},
	{"go-errors", "boom\nmain.(*T).M\n\t/app/main.go:4\nmain.f\n\t/app/main.go:5\nruntime.main\n\t/usr/local/go/src/runtime/proc.go:290\nruntime.goexit\n\t/usr/local/go/src/runtime/asm_amd64.s:1771\nouter\n"},
	{"go-zap", `{"level":"error","msg":"boom","stacktrace":"main.f\n\t/app/main.go:12"}`},
	{"go-trimpath", "boom\nexample.com/m/store.Open\n\texample.com/m/store/open.go:31\nmain.main\n\texample.com/m/main.go:12\n"},

	{"rust", "\nthread 'main' (25290) panicked at src/main.rs:4:81:\nindex out of bounds: the len is 0 but the index is 2\nstack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/59807616/library/std/src/panicking.rs:689:5\n   1: t::main\n             at ./src/main.rs:4:81\nnote: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n"},
	{"rust-trait", "boom\n   0: rust_begin_unwind\n             at /rustc/05f/library/std/src/panicking.rs:697:5\n   1: <t::A as t::B>::f\n             at ./src/main.rs:3:5\n"},
	{"rust-full", "stack backtrace:\n   0:     0x558abfae451a - std[e28293b1aa0f68bd]::backtrace_rs::backtrace::libunwind::trace\n                               at /rustc/59807616/library/std/src/../../backtrace/src/backtrace/libunwind.rs:117:9\n"},
	{"rust-anyhow", "boom\n\nStack backtrace:\n   0: anyhow::error::<impl anyhow::Error>::msg\n             at /usr/local/cargo/registry/src/anyhow-1.0.104/src/backtrace.rs:10:14\n   1: t::g\n             at ./src/main.rs:1:32\n"},
	{"rust-display", "boom\n   0: t::bt\n             at ./src/main.rs:2:40\n   1: t::main\n             at ./src/main.rs:7:55\n"},
	{"rust-debug", `boom Backtrace [{ fn: "t::bt", file: "./src/main.rs", line: 2 }, { fn: "t::main", file: "./src/main.rs", line: 8 }]`},
	{"rust-alternate", "boom Backtrace [\n    { fn: \"t::bt\", file: \"./src/main.rs\", line: 2 },\n    { fn: \"t::main\", file: \"./src/main.rs\", line: 9 },\n]"},

	{"rust-panic", "boom: thread 'main' panicked at src/main.rs:4:5: index out of bounds"},
	{"rust-panic-id", "thread 'tokio-runtime-worker' (25290) panicked at /app/my agent/src/main.rs:4:81:\nindex out of bounds"},
	{"rust-panic-old", "thread '<unnamed>' panicked at 'index out of bounds: the len is 0', src/main.rs:4:5"},

	{"java-commas", "java.lang.IllegalStateException: boom, com.example.Main.f(Main.java:4), com.example.Main.main(Main.java:7)"},
	{"dotnet-commas", "System.Exception: boom, at Example.Store.Open(String name), at Example.Program.Main()"},
	{"dotnet-bars", "System.Exception: boom | at Example.Store.Open(String name) | at Example.Program.Main()"},
	{"dotnet", "System.NullReferenceException: Object reference not set to an instance of an object.\n   at Example.Store.Open(String name) in C:\\Example\\Store.cs:line 28\n   at Example.Program.<Main>$(String[] args) in C:\\Example\\Program.cs:line 10\n"},
	{"dotnet-inner", "System.ApplicationException: worse\n ---> System.InvalidOperationException: boom\n   at System.Collections.Generic.List`1.Enumerator.MoveNextRare()\n   at Example.Inner`1.Second[T](T& value) in /app/Inner.cs:line 67\n   --- End of inner exception stack trace ---\n   at Example.Program.Main()\n"},
	{"dotnet-async", "System.Exception: boom\n   at Example.Program.<Load>d__2.MoveNext()\n--- End of stack trace from previous location where exception was thrown ---\n   at System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw()\n   at System.Runtime.CompilerServices.TaskAwaiter.HandleNonSuccessAndDebuggerNotification(Task task)\n"},
	{"dotnet-enhanced", "System.Exception: boom\n   at async Task<string> Example.Store.Load(string name) in /app/Store.cs:line 12\n"},
	{"mono", "System.NullReferenceException: boom\n  at Example.Store.Open (System.String name) [0x00012] in <3c1e0d>:0 \n"},

	{"php", "PHP Fatal error:  Uncaught RuntimeException: boom in /app/a.php:3\nStack trace:\n#0 /app/a.php(3): App\\Store->open('x')\n#1 /app/a.php(4): App\\Store::make()\n#2 [internal function]: App\\{closure}(1)\n#3 /app/a.php(4): array_map(Object(Closure), Array)\n#4 /app/a.php(5): App\\f()\n#5 {main}\n  thrown in /app/a.php on line 3\n"},
	{"php-main", "Error: top in /app/b.php:6\nStack trace:\n#0 {main}\n"},
	{"php-frames", "#0 /app/b.php(3): f()\n#1 {main}"},
	{"php-internal", "boom\n#0 [internal function]: App\\{closure}(1)\n#1 /app/bin/run(4): array_map(Object(Closure), Array)"},
	{"php-log", `{"exception":"[object] (RuntimeException(code: 0): boom at /app/Store.php:3)\n[stacktrace]\n#0 /app/Store.php(7): App\\Store->open('x')\n#1 {main}\n"}`},
	{"php-print", "#0  f() called at [/app/a.php:3]\n#1  g(1, Array) called at [/app/a.php:7]\n"},

	{"ruby", "/app/a.rb:2:in `bar': boom (ArgumentError)\n\tfrom /app/a.rb:3:in `block in baz'\n\tfrom /app/a.rb:3:in `each'\n\tfrom /app/a.rb:6:in `<main>'\n"},
	{"ruby-list", "[\"a.rb:2:in `bar'\", \"a.rb:3:in `block in baz'\", \"a.rb:6:in `<main>'\"]"},
	{"ruby-eval", "boom\n(eval):1:in `<main>'\n<internal:kernel>:187:in `loop'\n"},
	{"ruby-quotes", "/app/a.rb:2:in 'Foo#bar': boom (ArgumentError)\n\tfrom /app/a.rb:3:in 'block in Foo#baz'\n\tfrom <internal:array>:42:in 'Array#each'\n\tfrom /app/a.rb:6:in '<main>'\n"},

	{"swift", "App/main.swift:3: Fatal error: Index out of range\n"},
	{"swift-old", "Fatal error: Index out of range: file /app/main.swift, line 3\n"},
	{"swift-symbols", `["0   App                                 0x000000010a2b3c4d $s3App4mainyyF + 12", "1   App                                 0x000000010a2b3d10 main + 20", "2   dyld                                0x00000001a0b1c2d3 start + 2432"]`},
	{"swift-report", "Thread 0 Crashed:\n0   libswiftCore.dylib            \t0x18e1a2b3c closure #1 in _assertionFailure(_:_:file:line:flags:) + 228\n1   App                           \t0x100003f40 f() + 36 (main.swift:3)\n2   App                           \t0x100003f98 main + 12 (main.swift:7)\n"},
	{"swift-backtrace", "Program crashed: Illegal instruction at 0x000055d0c2a3b4c5\n\nThread 0 \"App\" crashed:\n\n0 f() + 44 in App at /app/main.swift:3:5\n1 [ra] g(_:) + 12 in App at /app/main.swift:7:1\n"},
	{"swift-addresses", "Thread 0 \"App\" crashed:\n\n0               0x000055d0c2a3b4c5 f() + 44 in App at /app/main.swift:3:5\n1 [ra]          0x000055d0c2a3b4f0 main() + 12 in App at /app/main.swift:7:1\n"},

	{"elixir", "** (RuntimeError) boom\n    (app 0.1.0) lib/app.ex:2: anonymous fn/1 in App.run/1\n    (elixir 1.14.0) lib/enum.ex:1658: Enum.\"-map/2-lists^map/1-0-\"/2\n    (app 0.1.0) lib/app.ex:4: App.go/1\n    (stdlib 4.2) proc_lib.erl:240: :proc_lib.init_p_do_apply/3\n"},
	{"elixir-script", "** (RuntimeError) boom\n    a.exs:2: anonymous fn/1 in App.run/1\n    a.exs:4: App.go/1\n    a.exs:8: (file)\n"},
	{"elixir-old", "** (RuntimeError) boom\n    (app) lib/app.ex:4: App.go/1\n    (stdlib) proc_lib.erl:249: :proc_lib.init_p_do_apply/3\n"},
	{"elixir-terms", "boom [{App, :go, 1, [file: 'lib/app.ex', line: 4]}, {App, :\"-run/1-fun-0-\", 1, [file: ~c\"lib/app.ex\", line: 2]}]"},
}

// shapes has a short text for each line of the contract's list that matches only that
// line.
var shapes = []string{
	"+ Exception Group Traceback (most recent call last)", "Stack for <Task> (most recent call last)", "Thread 0x7f (most recent call first)", `File "a.py", line 3, in f`, "<FrameSummary file a.py>",
	"it failed at new F (/a/b.js:3:5)", "at file:///a/b.js:3:5", "it failed at /a.js:3:5 at /b.js:3:5", "f@app://a/b.js:3:5",
	"it failed at a.B.c(B.java:3)", "[a.B.c(B.kt:3)]",
	"goroutine 7 [select]:", "proc.go:290 +0x1d", `main.f\n\t/a/b.go:3`, "main.f /a/b.go:3 main.g /a/b.go:5",
	"Stack backtrace:", `boom\n at src/a.rs:3`, "7:   0x558abfae451a - a", "7: a::b at a.rs:3:5", "Backtrace [{ fn: x",
	"it failed at async T C.D(E f) in g.cs:line 3", "at A.B(C d)", "it failed at A.B() at C.D(E f)", "it failed at A.B (C d) [0x00012] in g", "--- End of stack trace",
	"thread 'a' panicked at a.rs:3:5", "a.B(C.java:3),d(E.kt:5)", "it failed at A.B(C d); at C.D(E f)",
	"Fatal error: Uncaught E in /a.php:3", "Stack trace: #0 {main}", "#1 [internal function]: f(", "#0 f() called at [/a:3]",
	"a.rb:3:in `f'",
	"a.swift:3: Fatal error", "Fatal error: file a.swift, line 3", "0 A 0x000000001 f + 1", "it failed 0 A 0x000000001 f + 1 1 B 0x000000001 g + 1", "0 f() in A at a.swift:3",
	"(a 0.1) b.ex:3: f", "b.ex:3: A.f/1 c.exs:5: A.g/2", "[file: 'a.ex', line: 3",
}

// ordinary are error texts with places, times and functions that are not stack traces.
var ordinary = []string{
	"panicked at src/main.rs:2:5", "thread 'main' panicked at startup", "line 3, column 5", "Timeout at 10:15:30", "Timeout  at 10:15:30", "at 10:15:30 the server stopped",
	"Failed at startup (10:15:30)", "Failed at noon (2026/01/31 10:15:30)", "Failed at 2026-01-31T10:15:30Z (UTC 10:15:30)", "Unexpected token } in JSON at position 5", `Unexpected token 'a', "abc" is not valid JSON`,
	"Expected property name or '}' in JSON at position 1 (line 1 column 2)", "yaml: line 3: mapping values are not allowed in this context", `while parsing a block mapping in "config.yaml", line 3, column 5`,
	"bad indentation of a mapping entry (3:5)", "/app/config.yaml:3:5: bad indentation", "./main.go:10:5: undefined: x", "main.go:10: open /etc/x: permission denied", "invalid syntax (app.py, line 3)",
	`ERROR: syntax error at or near "SELECT" LINE 1: SELECT SELECT (SQLSTATE 42601)`, `ORA-06512: at "SYS.DBMS_SQL", line 1721`, "You have an error in your SQL syntax; check the manual near 'x' at line 1",
	"404 Not Found", "HTTP 503 Service Unavailable (upstream at 10.0.0.1:8080)", "connect ECONNREFUSED 127.0.0.1:443", "write to user@example.com at once", "mail from a@b.c failed at smtp://mail.example.com:25",
	"clone of git@github.com:org/repo.git failed at v1.2.3", `File "report.pdf" not found`, `File "a.csv", line 3: bad number`, "no stack trace is available", "Stack overflow", "goroutine 5 is stuck", "goroutine pool [full]: 10 waiting",
	"see main.go:12 and util.go:14", "look at foo.js:10:5 for more", "Unexpected token at a.json:3:5 at startup", "at least one message is needed", "Invalid input at messages[0].content (required)", "failed at com.example.Tool.run(input)",
	"Model returned [tool.call(a.java)]", "error: Foo.java:10: ';' expected", "panic: runtime error: index out of range [3] with length 0", `Exception in thread "main" java.lang.IllegalStateException: boom`,
	"System.InvalidOperationException: Sequence contains no elements", "tests failed: a/b.go:3 c.d e/f.go:4", `errors:\n  a/main.go:10\n  b/util.go:20`, `retry at\n10:15`, `C:\nat\build\app.exe:12:5 failed`,
	"error[E0382]: borrow of moved value --> src/main.rs:5:20", "step 1: a::b failed at src/lib.rs", "Assertion failed: (x > 0), function f, file a.c, line 3.", "Failed to fetch dynamically imported module: http://localhost:5173/src/a.ts?t=1:2:3",
	"amqp://user:pass@broker:5672/vhost closed", "Rate limit reached for gpt-4: Limit 10000 at 2026-01-31 10:15:30",
	// Texts that look similar to a shape.
	"TRACEBACK (MOST RECENT CALL LAST)", "AT f (/a/b.js:3:5)", "traceback (most recent call last)", "cat f (/a/b.js:3:5)", "at f (/a/b.js:٣:٥)", "it failed at f(/a/b.js:3:5)", "boom\u00a0\u00a0at /a/b.js:3:5", "boom\u2028at /a/b.js:3:5",
	"goroutine ٣ [running]:", "goroutine 3 [running]", "main.go:3 + 0x1d", "0: 0x - a", "stack\u00a0backtrace:", "in a.cs:line 3",
	"Checksum mismatch in block 3: 0xdeadbeef - expected 0xcafebabe", "exception 2: 0x83 - illegal data address", "step 3: f at a.rs:3",
	"thread 'main' panicked at src/main.rs:2", "thread main panicked at src/main.rs:2:5", "thread 'main' panicked at 10:15:30", "the thread 'main' panicked; see src/main.rs:2:5", "thread 'main' (the first) panicked at src/main.rs:2:5",
	"errors in build (Foo.java:3), test (Bar.java:5)", "see Foo.run(Foo.java:3) and Foo.stop(Foo.java:5)", "Main.main(Main.java:7) failed twice", "com.example.Main.f(Main.java:4), and 3 more", "javac(Foo.java:3), lint(Bar.java:5)",
	"boom at Example.Program.Main()", "failed at Tool.run(input), at Tool.stop", "failed at Tool.run(input), then at Tool.stop(input)", "failed at run(input), at stop(input)",
	"Fatal error: Allowed memory size of 134217728 bytes exhausted in /app/a.php on line 12", "PHP Warning:  Undefined variable $x in /app/a.php on line 3", "Fatal error: Uncaught exception in worker 3", "Uncaught exception in /app/a.php:3",
	"Too few arguments to function f(), 0 passed in /app/a.php on line 3 and exactly 1 expected", "Stack trace: none", "Stack trace: see #12", "see #3 in a.php(12): it is fixed", "comment #1 /a.php(12): see below", "order #12 (3): refund(1) failed", "#3 (f() called at startup)",
	"a.rb:3: syntax error, unexpected end-of-input", "undefined method `foo' for nil:NilClass (NoMethodError)", "a.rb:3:in the method `f'", "error in `f': boom (ArgumentError)", "config.yml:3:in 'production'", "a.rb:in `f'", "see a.rb:3 in `f'",
	"main.swift:3:5: error: cannot find 'x' in scope", "Fatal error: Index out of range", "a.swift:3: fatal error: boom", "Fatal error: cannot open file a.swift", "file a.swift, line 3", "0 A 0x12 f + 1", "it failed 0 A 0x000000012 f + 1", "3 bytes at 0x000000012 were changed + 2 more", "3 calls of f() in A at a.swift:3", "f() in A at a.swift:3",
	"** (RuntimeError) boom", "** (CompileError) lib/a.ex:3: undefined function foo/1", "warning: lib/a.ex:3: foo/1 is unused", "(error) lib/a.ex:3: foo/1 is undefined", "(app 0.1.0) lib/a.ex is missing", "** (FunctionClauseError) no function clause matching in App.run/1",
	"lib/a.ex:3: App.run/1, lib/b.ex:5: App.stop/1", "see lib/a.ex:3: App.run/1 and lib/b.ex:5: App.stop/1", "[file: a.ex, line: 3]", "[file: 'a.ex']", "function App.run/1 is undefined (module App is not available)",
	// Neither raw failures of a transport on one line nor instructions are recognized.
	`Unexpected token '<', "<!DOCTYPE "... is not valid JSON`, `malformed HTTP response "HTTP/1.1 502 Bad Gateway"`, "connect ECONNREFUSED 127.0.0.1:443 - Local (0.0.0.0:0)", "the run failed; run it again with seed 7",
}

// inJSON returns a text as a JSON string in canonical form.
func inJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '"' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteString(canonicalRune(r))
	}
	return `"` + b.String() + `"`
}

func (a *author) traces() {
	message := func(text string) string { return value(failed, "error_message", inJSON(text)) }
	const trace, control = "error_stack_trace /error_message", "control_character /error_message"
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	for _, c := range realTraces {
		one := strings.NewReplacer("\n", " ", "\t", " ").Replace(c.trace)
		a.bad("A26", c.name+"-spaces", "a stack trace on one line, with spaces for line ends and tabs", message(one), trace)
		a.bad("A26", c.name+"-collapsed", "the same, with one space for several", message("it failed: "+strings.Join(strings.Fields(one), " ")), trace)
		a.bad("A26", c.name+"-spelled", "a stack trace with its line ends spelled out", message(escaped.Replace(c.trace)), trace)
		a.bad("A26", c.name+"-twice", "the same in JSON in JSON", message(`{"error":"`+escaped.Replace(escaped.Replace(c.trace))+`"}`), trace)
		if strings.Contains(c.trace, "\n") {
			a.bad("A26", c.name+"-lines", "a stack trace of several lines breaks A25 too", message(c.trace), control, trace)
		}
	}
	code := func(text string) string { return value(failed, "error_code", inJSON(text)) }
	for i, text := range shapes {
		a.bad("A26", fmt.Sprintf("shape-%02d", i+1), "a text of one shape alone, in error_code", code(text), "error_stack_trace /error_code")
	}
	for i, text := range ordinary {
		a.ok("A26", fmt.Sprintf("ordinary-%02d", i+1), "an error text that is no stack trace", message(text))
	}
	a.ok("A26", "ordinary-code", "the same in error_code", code("panicked at src/main.rs:2:5"))
	a.ok("A26", "content", "the content of a message is not searched", first("content", inJSON(realTraces[0].trace)))

	a.bad("A25", "http-response", "an HTTP response with its header fields", message("HTTP/1.1 502 Bad Gateway\r\nServer: example\r\nContent-Length: 0\r\n\r\n"), control)
	a.bad("A26", "both", "a stack trace in both texts", value(message("stack backtrace:"), "error_code", `"stack backtrace:"`), "error_stack_trace /error_code", trace)
	a.bad("A26", "beside-finished", "judged where the key may not stand at all", swap(finished, `"RUN_FINISHED"`, `"RUN_FINISHED","error_message":"stack backtrace:"`), "error_key_forbidden /error_message", trace)
	a.bad("A26", "boundary", "é is no part of a word", message("éat f (/a/b.js:3:5)"), trace)
	a.bad("A26", "escaped", "a stack trace spelled with escapes", value(failed, "error_message", `"\u0073tack\u0020backtrace:"`), trace)
	a.bad("A26", "half-pair", "not judged of a text that holds half of a pair", value(failed, "error_message", `"stack backtrace:\ud800"`), "lone_surrogate /error_message")
	a.bad("A26", "other-controls", "U+0085 is a control character and no line end", message("boom\u0085at a.js:3:5"), control)
	a.bad("A26", "last", "the last of the first 8,192 code points", value(failed, "error_message", `"⟦é*8176⟧stack backtrace:"`), trace, "too_long /error_message")
	a.bad("A26", "past", "one code point further is not searched", value(failed, "error_message", `"⟦é*8177⟧stack backtrace:"`), "too_long /error_message")
	a.bad("A26", "past-control", "control characters are looked for in all of it", value(failed, "error_message", `"⟦é*8177⟧stack backtrace:\n"`), control, "too_long /error_message")
}
