package artifact

import (
	"regexp"
	"strings"
	"sync"
)

// IndexStackTrace returns the byte index of the first stack trace in s, or -1 if there
// is none. White space, escaped line ends and tabs, and backslashes directly before
// the trace belong to it. Only the shapes of rule A26 are recognized, and only in the
// first 8,192 code points of s.
func IndexStackTrace(s string) int { return indexTrace(s, traces()) }

// IndexFirstStackTrace is like IndexStackTrace, but recognizes only the first shapes of
// rule A26. Earlier versions of the projections do not know the shapes that were added.
func IndexFirstStackTrace(s string) int { return indexTrace(s, firstTraces()) }

func indexTrace(s string, traces *regexp.Regexp) int {
	s = Prefix(s, maxTraceText)
	at := traces.FindStringIndex(s)
	if at == nil {
		return -1
	}
	return len(trimGap(s[:at[0]]))
}

// trimGap returns s without trailing white space, escaped line ends and tabs, and
// backslashes.
func trimGap(s string) string {
	for {
		cut := strings.TrimRight(s, "\t\n\v\f\r \\")
		if n := len(cut) - 1; len(cut) == len(s) && n > 0 && cut[n-1] == '\\' && strings.IndexByte("nrt", cut[n]) >= 0 {
			cut = cut[:n]
		}
		if len(cut) == len(s) {
			return s
		}
		s = cut
	}
}

// traces matches any of the shapes, and firstTraces any of the first ones.
var (
	traces      = sync.OnceValue(func() *regexp.Regexp { return anyOf(traceShapes) })
	firstTraces = sync.OnceValue(func() *regexp.Regexp { return anyOf(traceShapes[:firstShapes]) })
)

// firstShapes is the number of shapes that A26 had first. Others were added at the end.
const firstShapes = 25

func anyOf(list [][2]string) *regexp.Regexp {
	var parts, shapes []string
	for _, p := range traceParts {
		parts = append(parts, "<"+p[0]+">", p[1])
	}
	fill := strings.NewReplacer(parts...)
	for _, s := range list {
		shapes = append(shapes, "(?:"+fill.Replace(s[1])+")")
	}
	return regexp.MustCompile(strings.Join(shapes, "|"))
}

// traceParts are named expressions that the shapes share. In a shape, <GAP> stands for
// the expression named GAP.
var traceParts = [][2]string{
	{"GAP", `(?:[\t-\r ]|\\+[nrt])+`},
	{"LINE", `(?:(?:^|[\t\n\r]|\\[nrt])[ ]?|[ ][ ])`},
	{"AT", `(?:\b|\\[nrt])at[ ]`},
	{"NAME", `[^\t-\r ().\\]+(?:\.+[^\t-\r ().\\]+)+`},
	{"PLACE", `[^\t-\r ]*(?:[^\t-\r 0-9]|[/\\][^\t-\r /\\]*):[0-9]+:[0-9]+`},
	{"INNER", `(?:[^()\n\r]*\([^()\n\r]*\))*[^()\n\r]*(?:[^()\n\r0-9]|[/\\][^\t-\r ()/\\]*):[0-9]+:[0-9]+`},
	{"SOURCE", `[^\t-\r ()]+\.(?:java|kt|kts|scala|groovy|clj)`},
	{"FUNC", `[^\t-\r .:\\]+(?:\.[^\t-\r .:\\]+)+`},
	{"GOFILE", `(?:[^\t-\r /]*/)+[^\t-\r /]*\.go:[0-9]+`},
	{"IMAGE", `[0-9]+(?:[\t ]|\\+t)+[^\t-\r \\]+(?:[\t ]|\\+t)+0x[0-9a-f]{9,16} [^\n\r+]{1,256} \+ [0-9]+`},
	{"EXFILE", `[^\t-\r ()\\]{1,256}\.(?:exs?|eex|heex|leex|erl)`},
}

// traceShapes are the shapes of rule A26 and their languages. RE2 and Python's re with
// the flag ASCII interpret both tables in the same way. No text makes a backtracking
// engine slow.
var traceShapes = [][2]string{
	{"Python", `(?:\+ )?(?:Exception Group )?Traceback \(most recent call last\)`},
	{"Python", `(?:Traceback|Stack) (?:for <[^\n\r]*> )?\(most recent call last\)`},
	{"Python", `(?:Current thread|Thread|Stack) (?:0x[0-9a-f]+ )?\(most recent call first\)`},
	{"Python", `File \\*["'][^"'\n\r]+["'], line [0-9]+,? in[ ]`},
	{"Python", `<FrameSummary file[ ]`},
	{"JavaScript", `<AT>(?:async )?(?:new |get |set )?[^\t-\r ()]+(?:(?: [^\t-\r ()]+)? \[as [^\t-\r ()]+\])? \((?:<anonymous>|wasm://[^\t-\r ()]+|<INNER>)\)`},
	{"JavaScript", `<LINE>at (?:async )?<PLACE>`},
	{"JavaScript", `<AT>(?:async )?<PLACE><GAP>at (?:async )?(?:<PLACE>|(?:new )?[^\t-\r ()]+(?: \[as [^\t-\r ()]+\])? \()`},
	{"JavaScript", `@[a-z][a-z0-9+.-]*://[^\t-\r ]+:[0-9]+:[0-9]+`},
	{"Java", `<AT><NAME>\((?:<SOURCE>(?::[0-9]+)?|Native Method|Unknown Source(?::[0-9]+)?|SourceFile(?::[0-9]+)?|<generated>)\)`},
	{"Java", `\[[^\t-\r ()\[,.]+(?:\.[^\t-\r ()\[,.]+)+\(<SOURCE>:[0-9]+\)[\],]`},
	{"Go", `goroutine [0-9]+ (?:[a-z]+=[^\t-\r ]+ )*\[[^\]\n\r]+\]:`},
	{"Go", `[^\t-\r \\]{0,256}\.(?:go|s):[0-9]+ \+0x[0-9a-f]+`},
	{"Go", `(?:<LINE>|[\t-\r "'])<FUNC>(?:[\n\r]+|\\+[nr])(?:[\t ]|\\+t)+<GOFILE>`},
	{"Go", `(?:<LINE>|[\t-\r ])<FUNC>[\t-\r ]+<GOFILE>[\t-\r ]*<FUNC>[\t-\r ]+<GOFILE>`},
	{"Rust", `[Ss]tack backtrace:`},
	{"Rust", `<LINE>at [^\t-\r ()]+\.rs:[0-9]+`},
	{"Rust", `(?:\b|\\[nrt])[0-9]+: +0x[0-9a-f]{9,16} -[ ]`},
	{"Rust", `(?:\b|\\[nrt])[0-9]+: [^\t-\r \\]+(?: as [^\t-\r \\]+)?<GAP>at [^\t-\r ()]+\.rs:[0-9]+:[0-9]+`},
	{"Rust", `Backtrace \[(?:<GAP>)?\{ fn:[ ]`},
	{".NET", `<AT>(?:[^\t-\r ()]+ ){0,3}[^\t-\r ()]+\([^()\n\r]*\) in [^\n\r]*:line [0-9]+`},
	{".NET", `<LINE>at <NAME>\([^()\n\r]*\)`},
	{".NET", `<AT><NAME>\([^()\n\r]*\)<GAP>at <NAME>\(`},
	{".NET", `<AT>[^\t-\r ()]+ ?\([^()\n\r]*\) \[0x[0-9a-f]+\] in[ ]`},
	{".NET", `--- End of (?:inner exception )?stack trace`},
	{"Rust", `thread \\*'[^'\n\r]*' (?:\([0-9]+\) )?panicked at [^\n\r]*\.rs:[0-9]+:[0-9]+`},
	{"Java", `[^\t-\r ()\[,;\\]{1,256}\.[^\t-\r ()\[,;.\\]{1,256}\(<SOURCE>:[0-9]+\)(?:,|;)(?:<GAP>)?[^\t-\r ()\[,;\\]+\(<SOURCE>:[0-9]+\)`},
	{".NET", `<AT><NAME>\([^()\n\r]*\)(?:<GAP>)?(?:,|;|\|)(?:<GAP>)?at <NAME>\(`},
	{"PHP", `(?:PHP )?Fatal error: +Uncaught [^\n\r]*\.php:[0-9]+`},
	{"PHP", `Stack trace:<GAP>#0[ ]`},
	{"PHP", `#[0-9]+ +(?:[^\t-\r ()]+\.php\([0-9]+\)|\[internal function\]): [^\t-\r ()]+\(`},
	{"PHP", `#[0-9]+ +[^\t-\r ()]+\([^()\n\r]*\) called at \[[^\]\n\r]+:[0-9]+\]`},
	{"Ruby", `(?:[^\t-\r \\]{0,256}\.(?:rb|erb|rake|ru)|-e|<internal:[^\t-\r <>]+>|\(eval[^()\n\r]*\)):[0-9]+:in \\*[\x60']`},
	{"Swift", `[^\t-\r \\]{0,256}\.swift:[0-9]+: (?:Fatal error|Assertion failed|Precondition failed)\b`},
	{"Swift", `(?:Fatal error|Assertion failed|Precondition failed): (?:[^\n\r]*: )?file [^\t-\r "]+\.swift, line [0-9]+`},
	{"Swift", `<LINE><IMAGE>`},
	{"Swift", `(?:\b|\\[nrt])<IMAGE>(?: \([^()\n\r]*\))?(?:<GAP>|\\*", \\*")<IMAGE>`},
	{"Swift", `(?:\b|\\[nrt])[0-9]+ +(?:\[[a-z]+\] +)?(?:0x[0-9a-f]{9,16} )?[^\t-\r ()]+\([^()\n\r]*\)(?: \+ [0-9]+)? in [^\t-\r ]+ at [^\t-\r ]+\.swift:[0-9]+`},
	{"Elixir", `\([a-z][a-z0-9_]* [0-9]+\.[^\t-\r ()]+\) <EXFILE>:[0-9]+:[ ]`},
	{"Elixir", `(?:\([a-z][^()\n\r]{0,64}\) )?<EXFILE>:[0-9]+: (?:anonymous fn/[0-9]+ in )?[^\t-\r ()]+/[0-9]+<GAP>(?:\([a-z][^()\n\r]{0,64}\) )?<EXFILE>:[0-9]+:[ ]`},
	{"Elixir", `\[file: (?:~c)?\\*["'][^"'\n\r]+["'], line: [0-9]+`},
}
