package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/cmd/p20export/internal/render/document"
	"github.com/p20export/p20export/project"
)

// junitSchema has the used elements of the schema of Jenkins's xUnit plugin (junit-10.xsd):
// the child elements and attributes of each. Required attributes are in capitals.
var junitSchema = map[string]struct{ in, attributes []string }{
	"testsuites": {in: []string{""}},
	"testsuite":  {in: []string{"testsuites"}, attributes: []string{"NAME", "TESTS", "FAILURES", "ERRORS"}},
	"testcase":   {in: []string{"testsuite"}, attributes: []string{"NAME", "classname"}},
	"error":      {in: []string{"testcase"}, attributes: []string{"message", "type"}},
	"failure":    {in: []string{"testcase"}, attributes: []string{"message", "type"}},
	"system-out": {in: []string{"testcase"}},
}

func TestJUnit(t *testing.T) {
	for _, j := range validations(t) {
		t.Run(j.name, func(t *testing.T) {
			out := runValidation(t, j, render.JUnit)
			checkJUnitNames(t, out)
			var suites document.JUnitSuites
			if err := xml.Unmarshal(out, &suites); err != nil {
				t.Fatal(err)
			}
			s := suites.Suite
			verdicts := map[string]int{}
			for _, c := range s.Cases {
				switch {
				case c.Failure != nil && c.Error == nil:
					verdicts[c.Failure.Type]++
					if c.Failure.Message == "" || !strings.Contains(c.Failure.Text, c.Failure.Message) {
						t.Errorf("%s: the text lacks the message %q\n%s", c.Name, c.Failure.Message, c.Failure.Text)
					}
				case c.Error != nil && c.Failure == nil:
					verdicts[c.Error.Type]++
				default:
					verdicts[string(project.Accepted)]++
				}
			}
			if s.Tests != len(j.files) || len(s.Cases) != s.Tests || s.Failures != verdicts["malformed"] || s.Errors != verdicts["error"] {
				t.Errorf("%d files: %d tests, %d failures, %d errors, %v", len(j.files), s.Tests, s.Failures, s.Errors, verdicts)
			}
			want := map[string]int{}
			for line := range strings.Lines(string(runValidation(t, j, render.JSON))) {
				for _, v := range []string{"accepted", "malformed", "error"} {
					want[v] += strings.Count(line, `"verdict":`+strconv.Quote(v))
				}
			}
			for v, n := range want {
				if verdicts[v] != n {
					t.Errorf("%d are %s, want %d", verdicts[v], v, n)
				}
			}
		})
	}
}

// checkJUnitNames parses XML strictly and checks its names against the schema.
func checkJUnitNames(t *testing.T, out []byte) {
	t.Helper()
	if !utf8.Valid(out) {
		t.Error("not UTF-8")
	}
	open := []string{""}
	for d := xml.NewDecoder(bytes.NewReader(out)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			about, known := junitSchema[e.Name.Local]
			if !known || about.in[0] != open[len(open)-1] {
				t.Fatalf("%s in %q", e.Name.Local, open[len(open)-1])
			}
			has := map[string]bool{}
			for _, a := range e.Attr {
				has[a.Name.Local] = true
			}
			for _, a := range about.attributes {
				if name := strings.ToLower(a); a != name && !has[name] {
					t.Errorf("%s lacks %s", e.Name.Local, name)
				} else {
					delete(has, name)
				}
			}
			for name := range has {
				t.Errorf("%s has %s", e.Name.Local, name)
			}
			open = append(open, e.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}
