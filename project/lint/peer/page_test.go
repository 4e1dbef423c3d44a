//go:build peer

package peer_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/lint/peer"
)

const pagePath = "../../../docs/peers.md"

// A page is docs/peers.md.
type page struct {
	text  string
	ours  map[string][]string // our rules and codes, by rule of theirs
	cases []caseRow
}

// A caseRow is a row of the table of cases.
type caseRow struct {
	name  string
	rules []string
}

var (
	ruleRow    = regexp.MustCompile("(?m)^\\| `(AGUI\\d{3}|http_status)` \\| ([^|]*) \\| ([^|]*) \\|$")
	caseLine   = regexp.MustCompile("(?m)^\\| `([a-z0-9.-]+)` \\| (`AGUI[^|]*) \\| ([^|]*) \\| ([^|]*) \\|$")
	theirRules = regexp.MustCompile("`(AGUI\\d{3})`")
	ourNames   = regexp.MustCompile("\\[([GWN]\\d+)\\]|`([a-z_]+)`")
)

func readPage(t *testing.T) *page {
	p := &page{text: string(testkit.Read(t, pagePath)), ours: map[string][]string{}}
	for _, m := range ruleRow.FindAllStringSubmatch(p.text, -1) {
		if _, again := p.ours[m[1]]; again {
			t.Fatalf("docs/peers.md has two rows for %s", m[1])
		}
		p.ours[m[1]] = []string{}
		for _, name := range ourNames.FindAllStringSubmatch(m[3], -1) {
			p.ours[m[1]] = append(p.ours[m[1]], name[1]+name[2])
		}
	}
	for _, m := range caseLine.FindAllStringSubmatch(p.text, -1) {
		row := caseRow{name: m[1]}
		for _, rule := range theirRules.FindAllStringSubmatch(m[2], -1) {
			row.rules = append(row.rules, rule[1])
		}
		if cases[row.name] == nil {
			t.Fatalf("the tests do not know the case %s of docs/peers.md", row.name)
		}
		p.cases = append(p.cases, row)
	}
	if len(p.cases) != len(cases) || len(p.ours) < 47 {
		t.Fatalf("docs/peers.md has %d rules, and %d of %d cases", len(p.ours), len(p.cases), len(cases))
	}
	return p
}

// maps reports whether a finding of ours is the same as one of theirs: a finding of a rule
// that corresponds, at the same event. Some of ours are reported at the first event only.
func (p *page) maps(f peer.Finding, o finding.Finding) bool {
	switch name := nameOf(o); {
	case !slices.Contains(p.ours[f.Rule], name):
		return false
	case f.Event < 0 || o.EventIndex == nil || *o.EventIndex == f.Event:
		return true
	default:
		return reportedOnce(name) && *o.EventIndex < f.Event
	}
}

// reportedOnce reports whether a finding stands for later events, too.
func reportedOnce(name string) bool {
	return strings.HasPrefix(name, "W") || slices.Contains([]string{"G2", "G3", "G18", "G24", "G25", string(finding.EventAltered)}, name)
}

// caseOf returns the first case that a finding of theirs is in.
func (p *page) caseOf(x comparison) string {
	for _, row := range p.cases {
		if slices.Contains(row.rules, x.f.Rule) && cases[row.name](x) {
			return row.name
		}
	}
	return ""
}

// pairs returns what the page says in single pairs.
func (p *page) pairs() (all []pair) {
	for rule, names := range p.ours {
		for _, name := range names {
			all = append(all, pair{rule, name})
		}
	}
	for _, row := range p.cases {
		for _, rule := range row.rules {
			all = append(all, pair{row.name, rule})
		}
	}
	return all
}

// compare compares a part of the page, or writes it with -update.
func (p *page) compare(t *testing.T, name, want string) {
	begin, end := "<!-- "+name+": made by make validate-peer -->\n\n", "\n<!-- end -->"
	before, rest, ok := strings.Cut(p.text, begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/peers.md has no part %s", name)
	}
	if *update {
		p.text = before + begin + want + end + after
		testkit.Write(t, pagePath, p.text)
		return
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("%s: run the test with -update and review the changes: %s", name, diff)
	}
}
