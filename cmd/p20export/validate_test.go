package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
)

// validation is one invocation of validate in the current directory.
type validation struct {
	name  string
	want  int
	stdin string // a file
	files []string
}

// validations creates files of every kind in a new current directory and returns
// invocations of validate over them.
func validations(t *testing.T) []validation {
	t.Helper()
	sample, err := filepath.Abs(sampleDir)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for _, sub := range []string{"frozen", "malformed"} {
		testkit.CopyDir(t, sub, filepath.Join(sample, sub))
	}
	artifact := testkit.Read(t, "frozen/finished.artifact.json")
	testkit.Write(t, "many.json", []byte(`{"messages": [`+strings.Repeat("\n  {\"a\": 1},", 400)+"\n  {}\n]}"))
	testkit.Write(t, "long.json", []byte(`{"state": "`+strings.Repeat("日", 1000)+`", "x": [], "schema": 1}`))
	testkit.Write(t, "hostile.json", []byte("{\"[a](https://example.org) {0}\": 1, \"\\u001b[31m\u202e\u009b\": \"]]>\ufffe\uffff<&\x00\x1b\xff"))
	testkit.Write(t, "cdata.json", []byte("{\"]]>\ufffe\uffff<&\": 1}"))
	testkit.Write(t, "placed.json", []byte("{\r\n\t\"schema\": 1"))
	testkit.Write(t, "beyond.ndjson", append(bytes.Repeat([]byte(": comment\n"), 1<<20), `{"type":"RAW"}`...))
	testkit.Write(t, "empty", "")
	var accepted, malformed []string
	for pattern, list := range map[string]*[]string{"frozen/*.artifact.json": &accepted, "frozen/*.envelope.ndjson": &accepted, "malformed/*.json": &malformed, "malformed/*.envelope.ndjson": &malformed} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		*list = append(*list, found...)
	}
	odd := []string{"a b.json", "a#b?c%41.json", "a\nb\t.json", "a\xffb.json", "a:b.json", "日本.json", "./-", "a\x1b[31m\u202e.json", "a&<>\"'.json", "../" + filepath.Base(dir) + "/up.json"}
	for _, name := range odd {
		testkit.Write(t, name, replaceOnce(t, artifact, `"terminal_event"`, `"state": {}, "terminal_event"`))
	}
	absolute := filepath.Join(dir, "a b.json")
	return []validation{
		{name: "accepted", want: exitDone, files: accepted},
		{name: "accepted, one of them twice", want: exitDone, files: append(accepted[:1:1], accepted[0])},
		{name: "malformed", want: exitNegative, files: append(malformed, "many.json", "long.json", "hostile.json", "cdata.json", "placed.json", "beyond.ndjson", "empty")},
		{name: "unreadable", want: exitFailed, files: []string{"missing.json", "raw", "missing.json", "missing [a](b) {0}.json"}},
		{name: "odd names", want: exitNegative, files: append(odd, absolute)},
		{name: "standard input", want: exitNegative, stdin: "many.json", files: []string{"-"}},
		{name: "standard input, accepted", want: exitDone, stdin: accepted[0], files: []string{"-"}},
		{name: "everything", want: exitFailed, stdin: "placed.json", files: append(append(append([]string{"-", "missing.json"}, accepted...), malformed...), odd...)},
	}
}

// runValidation runs validate twice in a format and checks that the outputs are equal.
func runValidation(t *testing.T, j validation, f render.Format) []byte {
	t.Helper()
	run := func() []byte {
		if j.stdin != "" {
			in, err := os.Open(j.stdin)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			defer func(old *os.File) { os.Stdin = old }(os.Stdin)
			os.Stdin = in
		}
		return do(t, j.want, append([]string{"validate", "--format", string(f), "--"}, j.files...)...)
	}
	out := run()
	if !bytes.Equal(out, run()) {
		t.Errorf("the second time %s is another", f)
	}
	if i := bytes.IndexFunc(out, unshowable); i >= 0 {
		t.Errorf("%s holds %q", f, out[i:min(len(out), i+8)])
	}
	return out
}

// unshowable reports whether a terminal could act on r.
func unshowable(r rune) bool {
	return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || strings.ContainsRune("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029", r)
}

// Text output is also reproducible, and escaped.
func TestValidateText(t *testing.T) {
	for _, j := range validations(t) {
		t.Run(j.name, func(t *testing.T) {
			for _, f := range []render.Format{render.Text, render.JSON} {
				runValidation(t, j, f)
			}
		})
	}
}

// Each of many findings on a long line has an excerpt around its position.
func TestValidateLongLine(t *testing.T) {
	t.Chdir(t.TempDir())
	testkit.Write(t, "long.json", []byte(`{"messages": [`+strings.Repeat(`{},`, 2_500_000)+`{}]}`))
	out := string(do(t, exitNegative, "validate", "long.json"))
	if n := strings.Count(out, "\n  error   "); n != 100 {
		t.Errorf("%d errors", n)
	}
	if n := strings.Count(out, "\n          | "); n < 20 {
		t.Errorf("%d carets", n)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, " | ") && len([]rune(line)) > 12+76+1 {
			t.Errorf("%d characters: %s", len([]rune(line)), line)
		}
	}
	if len(out) > 60_000 {
		t.Errorf("%d bytes", len(out))
	}
	if want := fmt.Sprintf("  %-7s ", "…"); !strings.Contains(out, want) {
		t.Errorf("no count of the rest:\n%s", out[len(out)-300:])
	}
}
