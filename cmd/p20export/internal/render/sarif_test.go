package render

import (
	"testing"

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

// What is quoted from an input is neither a placeholder nor a link.
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

// A finding's rule reaches every format.
func TestRuleShown(t *testing.T) {
	f := finding.New(finding.WrongType, "m")
	f.Rule = "M4"
	if got, want := sentence(f), "wrong_type: m (rule M4, P20 §8)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if p := newSARIFProperties(f); p == nil || p.Rule != "M4" {
		t.Errorf("%+v", p)
	}
}
