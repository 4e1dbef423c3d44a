package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
)

// Scenario prints what became of a scenario.
func (p *Printer) Scenario(row scenario.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.line("%s %s", p.verdict(row.Verdict), row.Scenario)
	if row.Note != "" {
		p.line("  not expressible: %s", row.Note)
	}
	if row.Capture != nil {
		p.line("  capture   %s", *row.Capture)
		p.line("  answer    HTTP status %03d, %s%s, end %s", *row.HTTPStatus, events(row.Events), humanize.Bytes(*row.Bytes), string(*row.End))
	}
	if row.Freeze != nil {
		p.line("  terminal  %s", text(row.Terminal))
		p.line("  snapshots %s", snapshots(row.Snapshots))
		for _, name := range project.Names() {
			p.line("  %-21s %s", string(name), outcome(*row.Freeze.Of(name)))
		}
	}
	p.findings(row.Findings)
}

// Discovered prints how many scenarios came out how.
func (p *Printer) Discovered(t *Tally, of int) {
	if p.format != Text {
		return
	}
	p.line("%s: %d captured, %d unexpected, %d failed, %d not expressible", Plural(of, "scenario", "scenarios"),
		t.counts[scenario.Captured], t.counts[scenario.Unexpected], t.counts[project.Failed], t.counts[scenario.Skipped])
	if of -= t.Total(); of > 0 {
		p.line("%s not run", Plural(of, "scenario was", "scenarios were"))
	}
}

// snapshots says how many messages each snapshot has.
func snapshots(messages []int) string {
	if len(messages) == 0 {
		return "none"
	}
	const shown = 8
	var of []string
	for _, n := range messages[:min(shown, len(messages))] {
		of = append(of, Plural(n, "message", "messages"))
	}
	if len(messages) > shown {
		of = append(of, "…")
	}
	return fmt.Sprintf("%d, of %s", len(messages), strings.Join(of, ", "))
}

// outcome says what a projection makes of a run, each reason by its code.
func outcome(o scenario.Outcome) string {
	if o.Verdict == project.Frozen {
		return fmt.Sprintf("%s, %s: %s; %s", o.Verdict, o.Origin, strings.Join(o.Roles, ", "), Plural(len(o.Omissions), "omission", "omissions"))
	}
	var codes []string
	count := make(map[string]int)
	for _, r := range o.Reasons {
		code, _, _ := strings.Cut(r, " ")
		if count[code]++; count[code] == 1 {
			codes = append(codes, code)
		}
	}
	for i, c := range codes {
		if n := count[c]; n > 1 {
			codes[i] = fmt.Sprintf("%s (%d)", c, n)
		}
	}
	return fmt.Sprintf("%s: %s", o.Verdict, strings.Join(codes, ", "))
}

// Log shows what a harness's server wrote to its standard error.
func Log(w io.Writer, name, log string) {
	for line := range strings.Lines(log) {
		fmt.Fprintf(w, "%s: %s\n", name, finding.Printable(strings.TrimRight(line, "\r\n")))
	}
}
