package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
	"github.com/p20export/p20export/finding"
)

// change is one change and the names of the runs it occurs in.
type change struct {
	finding.Finding
	runs []string
}

// baselineChanges prints the changes since a baseline, each once and those that affect
// the contract first, and then every run with whether it changed.
func (p *Printer) baselineChanges(base *baseline.Baseline, runs []analysis.Run) {
	if was, now := base.Integrations(), integrationsOf(runs); len(was)+len(now) > 0 {
		p.Line("baseline: %s; now: %s", integrations(was), integrations(now))
	}
	affecting, other := groupChanges(runs)
	p.changes(red, "affecting the contract", affecting)
	p.changes("", "not affecting the contract", other)
	for _, run := range runs {
		text := changeOf(run)
		p.Line("%s \t%s: %s", p.runVerdict(run.Verdict), runName(run), text)
		if run.Run == nil && text != unchanged {
			p.Findings(run.Findings)
		}
	}
}

// The results of comparing a run with a baseline.
const (
	unchanged = "unchanged"
	isChanged = "changed"
	minor     = "changed without affecting the contract"
	unread    = "unreadable"
)

func changeOf(run analysis.Run) string {
	switch {
	case run.Verdict == analysis.Failed:
		return unread
	case finding.Failed(run.Changes):
		return isChanged
	case len(run.Changes) > 0:
		return minor
	}
	return unchanged
}

// changeCounts counts runs by whether they changed.
func changeCounts(runs []analysis.Run) string {
	count := map[string]int{}
	for _, run := range runs {
		count[changeOf(run)]++
	}
	return verdictCounts(count, isChanged, minor, unchanged, unread)
}

func integrationsOf(runs []analysis.Run) (list []analysis.Integration) {
	for _, run := range runs {
		if i := run.Integration; run.Verdict != analysis.Missing && i != (analysis.Integration{}) && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

func integrations(list []analysis.Integration) string {
	if len(list) == 0 {
		return "captures without labels"
	}
	var names []string
	for _, i := range list {
		names = append(names, i.String())
	}
	return strings.Join(names, ", ")
}

// runName returns the name that identifies a run in a baseline.
func runName(run analysis.Run) string {
	name := capture.BaseName(run.Capture)
	if run.Run != nil && *run.Run != 1 {
		name += fmt.Sprintf(" run %d", *run.Run)
	}
	return name
}

// groupChanges groups equal changes of several runs. Among changes with the same code,
// the most frequent come first.
func groupChanges(runs []analysis.Run) (affecting, other []change) {
	var all []*change
	at := map[string]*change{}
	for _, run := range runs {
		for _, f := range run.Changes {
			c := at[f.Error()]
			if c == nil {
				c = &change{Finding: f}
				at[f.Error()] = c
				all = append(all, c)
			}
			c.runs = append(c.runs, runName(run))
		}
	}
	order := map[finding.Code]int{}
	for _, c := range all {
		if _, ok := order[c.Code]; !ok {
			order[c.Code] = len(order)
		}
	}
	slices.SortStableFunc(all, func(a, b *change) int {
		return cmp.Or(cmp.Compare(order[a.Code], order[b.Code]), cmp.Compare(len(b.runs), len(a.runs)))
	})
	for _, c := range all {
		if c.Severity == finding.Error {
			affecting = append(affecting, *c)
		} else {
			other = append(other, *c)
		}
	}
	return affecting, other
}

func (p *Printer) changes(colour, what string, list []change) {
	if len(list) == 0 {
		p.Line("%s: nothing changed", what)
		return
	}
	p.Line("%s", p.Paint(colour, what+": "+Plural(len(list), "change", "changes")))
	for _, c := range list {
		p.Line("  %s", painted(text.Sentence(finding.Finding{Code: c.Code, Message: c.Message})))
		p.Line("    in %s: %s", Plural(len(c.runs), "run", "runs"), strings.Join(c.runs, ", "))
	}
}
