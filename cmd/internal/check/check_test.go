package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTally counts the tests of two packages of one suite, one that does not build, and a
// test with subtests, and keeps the output of what failed.
func TestTally(t *testing.T) {
	t.Parallel()
	const output = `installing something
{"Action":"run","Package":"github.com/p20export/p20export/store","Test":"TestA"}
{"Action":"run","Package":"github.com/p20export/p20export/store","Test":"TestA/one"}
{"Action":"output","Package":"github.com/p20export/p20export/store","Test":"TestA/one","Output":"    a_test.go:1: wrong\n"}
{"Action":"fail","Package":"github.com/p20export/p20export/store","Test":"TestA/one","Elapsed":1}
{"Action":"run","Package":"github.com/p20export/p20export/store","Test":"TestA/two"}
{"Action":"pass","Package":"github.com/p20export/p20export/store","Test":"TestA/two","Elapsed":1}
{"Action":"fail","Package":"github.com/p20export/p20export/store","Test":"TestA","Elapsed":2}
{"Action":"fail","Package":"github.com/p20export/p20export/store","Elapsed":2.5}
{"Action":"run","Package":"github.com/p20export/p20export/store/memory","Test":"TestB"}
{"Action":"output","Package":"github.com/p20export/p20export/store/memory","Test":"TestB","Output":"passed, so not shown\n"}
{"Action":"pass","Package":"github.com/p20export/p20export/store/memory","Test":"TestB","Elapsed":0}
{"Action":"run","Package":"github.com/p20export/p20export/store/memory","Test":"TestC"}
{"Action":"skip","Package":"github.com/p20export/p20export/store/memory","Test":"TestC","Elapsed":0}
{"Action":"pass","Package":"github.com/p20export/p20export/store/memory","Elapsed":0.5}
{"ImportPath":"github.com/p20export/p20export/serve","Action":"build-output","Output":"serve.go:1: undefined: x\n"}
{"ImportPath":"github.com/p20export/p20export/serve","Action":"build-fail"}
{"Action":"fail","Package":"github.com/p20export/p20export/serve","Elapsed":0,"FailedBuild":"github.com/p20export/p20export/serve"}
`
	var log bytes.Buffer
	tally := newTally(&log)
	if err := tally.read(strings.NewReader(output)); err != nil {
		t.Fatal(err)
	}
	got := map[string]counts{}
	for _, s := range tally.sorted() {
		got[s.name] = s.counts
	}
	want := map[string]counts{"serve": {failed: 1}, "store": {passed: 2, failed: 1, skipped: 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(counts{})); diff != "" {
		t.Error(diff)
	}
	failures := tally.failures.String()
	for _, shown := range []string{"a_test.go:1: wrong", "undefined: x"} {
		if !strings.Contains(failures, shown) {
			t.Errorf("%q is missing in\n%s", shown, failures)
		}
	}
	if strings.Contains(failures, "not shown") {
		t.Errorf("the output of a test that passed is shown:\n%s", failures)
	}
	if !strings.HasPrefix(log.String(), "installing something\n    a_test.go") {
		t.Errorf("the log is\n%s", &log)
	}
}

// TestLanes checks that each lane and each part is a target of the Makefile, with known tools.
func TestLanes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(lanes)
	for _, p := range parts {
		all = append(all, p.lane)
	}
	for _, l := range all {
		if !strings.Contains(string(text), "\n"+l.name+":") {
			t.Errorf("the Makefile has no target %s", l.name)
		}
		for _, name := range l.tools {
			if !slices.ContainsFunc(tools, func(known tool) bool { return known.name == name }) {
				t.Errorf("the tool %s of %s is unknown", name, l.name)
			}
		}
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version, least string
		want           bool
	}{
		{"1.26", "1.26", false},
		{"1.26.8", "1.26", false},
		{"1.9", "1.26", true},
		{"2", "1.26", false},
		{"1", "1.26", true},
		{"v3", "20", true},
	} {
		if got := older(tt.version, tt.least); got != tt.want {
			t.Errorf("older(%s, %s) = %t", tt.version, tt.least, got)
		}
	}
}

// TestRequire names each missing tool with the lanes that need it and its package.
func TestRequire(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	err := require(t.Context(), []lane{{name: "a", tools: []string{"curl"}}, {name: "b", tools: []string{"curl"}}})
	if err == nil {
		t.Fatal("nothing is missing")
	}
	for _, want := range []string{"curl, for a, b: Debian: apt-get install curl", "git, for a, b: Debian: apt-get install git", "go 1.26 or newer, for a, b: https://go.dev/dl/"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

// TestClose checks the closing line, which continuous integration reads.
func TestClose(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := newRunner(&out)
	r.results = []result{{name: "one", note: "passed", counts: counts{passed: 3, skipped: 1}}, {name: "two", note: "skipped: named in SKIP"}}
	if err := r.close(false); err != nil {
		t.Error(err)
	}
	if !strings.HasSuffix(out.String(), "\n3 passed, 0 failed, 1 skipped\n") || !strings.Contains(out.String(), "skipped: named in SKIP") {
		t.Errorf("it prints\n%s", &out)
	}
	r = newRunner(io.Discard)
	r.results = []result{{counts: counts{passed: 3, failed: 1}}}
	if err := r.close(true); err == nil {
		t.Error("a failure is not an error")
	}
}

// TestPage writes two parts, then one of them again, which keeps the other and what was found.
func TestPage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("docs", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		row     row
		figures []string
	}{
		{row{part: "fuzz", does: "fuzzes", commit: "c1", date: "d", load: "0 to 1", duration: "1s", result: "passed", found: "one bug"}, []string{"execs: 1"}},
		{row{part: "mutation", does: "mutates", commit: "c1", date: "d", load: "0 to 1", duration: "1s", result: "passed"}, []string{"mutants: 2"}},
		{row{part: "fuzz", does: "fuzzes", commit: "c2", date: "d", load: "0 to 1", duration: "2s", result: "passed"}, []string{"execs: 3"}},
	} {
		if err := write(w.row, w.figures); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(verification)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "|---|---|---|---|---|---|---|---|\n")
	want := `| mutation | mutates | c1 | d | 0 to 1 | 1s | passed |  |
| fuzz | fuzzes | c2 | d | 0 to 1 | 2s | passed | one bug |

## mutation

` + "```\nmutants: 2\n```\n\n## fuzz\n\n```\nexecs: 3\n```\n"
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
}

// TestFigures chooses the lines of logs that the page has.
func TestFigures(t *testing.T) {
	t.Parallel()
	tests := "=== RUN   TestA\n    a_test.go:1: [rapid] OK, passed 100 tests\n    a_test.go:2: map[" + strings.Repeat("x", maxLine) + "]\n    a_test.go:3: 100 streams\n--- PASS: TestA (1.00s)\n--- FAIL: TestB (1.00s)\nok  \texample.com/a\t1.0s\n"
	for _, test := range []struct {
		log  string
		want []string
	}{
		{tests, []string{"    a_test.go:3: 100 streams", "--- FAIL: TestB (1.00s)"}},
		{strings.Repeat("    a_test.go:1: 5 MiB\n", maxFigures+2), append([]string{"… 2 more lines"}, slices.Repeat([]string{"    a_test.go:1: 5 MiB"}, maxFigures)...)},
	} {
		if diff := cmp.Diff(test.want, part{figures: goTest}.choose(test.log)); diff != "" {
			t.Error(diff)
		}
	}
	fuzz := parts[slices.IndexFunc(parts, func(p part) bool { return p.name == "fuzz" })]
	log := "FuzzA example.com/a\nfuzz: elapsed: 0s, gathering baseline coverage: 0/5 completed\nfuzz: elapsed: 3s, execs: 10 (3/sec)\nfuzz: elapsed: 6s, execs: 25 (5/sec), new interesting: 1 (total: 6)\nFuzzB example.com/b\nfuzz: elapsed: 3s, execs: 7 (2/sec)\n"
	if diff := cmp.Diff([]string{"2 targets, 32 executions"}, fuzz.choose(log)); diff != "" {
		t.Error(diff)
	}
}
