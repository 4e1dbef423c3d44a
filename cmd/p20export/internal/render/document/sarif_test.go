package document

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/finding"
)

func TestFileURI(t *testing.T) {
	for path, want := range map[string]string{
		"a.json":        "a.json",
		"a/b c.json":    "a/b%20c.json",
		"../a#b?c%.x":   "../a%23b%3Fc%25.x",
		"a:b":           "./a:b",
		"a\nb\xff":      "a%0Ab%FF",
		"/tmp/a b.json": "file:///tmp/a%20b.json",
		"//tmp/a":       "file:////tmp/a",
		"-":             "-",
		"./-":           "./-",
		"日":             "%E6%97%A5",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// Text quoted from an input is neither a placeholder nor a link.
func TestSARIFMessage(t *testing.T) {
	for text, want := range map[string]string{
		"plain [1]":               "plain [1]",
		`the key "{0}" is not`:    `the key "{{0}}" is not`,
		`"[a](https://b) [c](1)"`: `"\[a](https://b) \[c](1)"`,
		"\x1b[31m":                `\u001b[31m`,
	} {
		if got := newSARIFMessage(text).Text; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Every format has the rule of a finding, with one link.
func TestRuleShown(t *testing.T) {
	f := finding.Violation("M4", "m")
	if got, want := text.Sentence(f), "wrong_type: m (rule M4)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const m4 = "https://github.com/p20export/p20export/blob/main/docs/contract.md#M4"
	if p := newSARIFProperties(f); p == nil || p.Rule != "M4" || p.See != m4 {
		t.Errorf("%+v", p)
	}
	a2 := finding.Violation("A2", "m")
	want := "  see     " + m4 + "\n  see     " + strings.Replace(m4, "#M4", "#A2", 1) + "\n"
	if plain := plainFindings([]finding.Finding{f, a2, f, f}); !strings.HasSuffix(plain, want) || strings.Count(plain, "see ") != 2 {
		t.Errorf("the rules are not linked to once each:\n%s", plain)
	}
	plain := finding.New(finding.KeyOutsideSubset, "m")
	if plain := plainFindings([]finding.Finding{plain}); strings.Contains(plain, "see ") || strings.Contains(plain, "P20") {
		t.Errorf("a finding without a rule:\n%s", plain)
	}
}

// A code has a link to its entry in the table of codes.
func TestSARIFHelp(t *testing.T) {
	var about sarifCodes
	about.add(finding.TooLong)
	if want := "https://github.com/p20export/p20export/blob/main/docs/findings.md#too_long"; len(about.list) != 1 || about.list[0].HelpURI != want {
		t.Errorf("%+v, want the help at %s", about.list, want)
	}
}

// The spooled results are indented like the rest of the log.
func TestSARIFIndent(t *testing.T) {
	for n := range 3 {
		var s sarifLog
		for range n {
			if err := s.Add(Result{File: "é", Findings: []finding.Finding{finding.New(finding.KeyUnknown, `"results": [] é`)}}); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		w := bufio.NewWriterSize(&out, 16)
		if err := s.Write(w); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		indented := jsontext.Value(bytes.Clone(out.Bytes()))
		if err := indented.Indent(jsontext.WithIndent("  ")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(indented)+"\n", out.String()); diff != "" {
			t.Errorf("%d results: %s", n, diff)
		}
	}
}
