package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/record"
)

// hostile has texts that are difficult to wrap: wide characters, combining marks, control
// characters, and very long words.
var hostile = []string{
	"", "short", strings.Repeat("\u4e16\u754c", 100), strings.Repeat("e\u0301\u0308", 200), strings.Repeat("word ", 60),
	strings.Repeat("x", 500), "a\x1b[31m\nb\r\tc\u202e\u200d" + strings.Repeat("\U0001f469\u200d\U0001f680", 70), "\t",
}

// checkWidth reports lines that are wider than 120 columns on a terminal or contain control
// characters.
func checkWidth(t *testing.T, out string) {
	t.Helper()
	if !strings.HasSuffix(out, "\n") {
		t.Errorf("%q does not end a line", out)
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if uniseg.StringWidth(line) > text.LineColumns || strings.ContainsFunc(line, finding.NeedsEscape) || strings.HasSuffix(line, " ") {
			t.Errorf("%d columns: %q", uniseg.StringWidth(line), line)
		}
	}
}

func TestTable(t *testing.T) {
	for _, first := range hostile {
		for _, last := range hostile {
			var out bytes.Buffer
			p := New(&out, Text, record.Tool{})
			p.Table([][]cell{{{Text: "run"}, {Text: "verdict"}, {Text: "missing"}}, {{Text: first}}, {{Text: first}, {Text: "exact", Colour: green}, {Text: last}}, {{Text: "b"}, {Text: "built", Colour: yellow}, {Text: "none"}}})
			if err := p.Close(nil); err != nil {
				t.Fatal(err)
			}
			checkWidth(t, out.String())
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if at := strings.Index(lines[0], "verdict"); strings.Index(lines[len(lines)-1], "built") != at {
				t.Errorf("the columns differ:\n%s", out.String())
			}
		}
	}
}

// The result of a scenario is one line for any response of the endpoint.
func TestScenarioIsOneLine(t *testing.T) {
	for _, said := range hostile {
		var out bytes.Buffer
		p := New(&out, Text, record.Tool{})
		d := &Discovery{Plan: &scenario.Plan{Scenarios: []scenario.Scenario{{Name: "a"}}}}
		f := finding.New(finding.HTTPStatus, "the endpoint answered with status 404 and %s", finding.Quote(said))
		p.Scenario(d, scenario.Row{Scenario: "a", Verdict: scenario.Captured, Findings: []finding.Finding{f}})
		p.Scenario(d, scenario.Row{Scenario: "a", Verdict: scenario.Skipped, Note: said})
		if err := p.Close(nil); err != nil {
			t.Fatal(err)
		}
		checkWidth(t, out.String())
		if lines := strings.Count(out.String(), "\n"); lines != 2 {
			t.Errorf("%d lines: %q", lines, out.String())
		}
	}
}
