//go:build peer

package peer_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kinds are the kinds of streams.
var kinds = []string{"captures", "responses", "vectors", "mutants"}

// A tally counts findings, by the kind of stream.
type tally struct {
	streams, theirs, both, inCase, ours, only map[string]int
	// cases has the findings of theirs by case and rule, and alone those of ours by rule and
	// kind of stream.
	cases, alone map[pair]int
	used         map[pair]bool
	unexplained  int
}

func newTally() *tally {
	return &tally{
		streams: map[string]int{}, theirs: map[string]int{}, both: map[string]int{}, inCase: map[string]int{}, ours: map[string]int{}, only: map[string]int{},
		cases: map[pair]int{}, alone: map[pair]int{}, used: map[pair]bool{},
	}
}

// counts returns the table of all counts.
func (r *tally) counts() string {
	var b strings.Builder
	b.WriteString("| | captures | responses | vectors | mutants |\n|---|--:|--:|--:|--:|\n")
	for _, row := range []struct {
		name string
		of   map[string]int
	}{
		{"streams", r.streams}, {"findings of ag-ui-validate", r.theirs}, {"of these, also ours", r.both}, {"of these, only theirs", r.inCase},
		{"findings of `lint`", r.ours}, {"of these, only ours", r.only},
	} {
		b.WriteString(line(row.name, row.of))
	}
	return b.String()
}

func line(name string, of map[string]int) string {
	text := "| " + name
	for _, kind := range kinds {
		text += fmt.Sprintf(" | %d", of[kind])
	}
	return text + " |\n"
}

// onlyTheirs returns the table of the findings in each case.
func (r *tally) onlyTheirs() string {
	rows := map[string][]string{}
	total := map[string]int{}
	for _, p := range slices.SortedFunc(maps.Keys(r.cases), func(a, b pair) int { return cmp.Compare(a.second, b.second) }) {
		rows[p.first] = append(rows[p.first], fmt.Sprintf("`%s` %d", p.second, r.cases[p]))
		total[p.first] += r.cases[p]
	}
	var b strings.Builder
	b.WriteString("| case | findings | by rule |\n|---|--:|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", name, total[name], strings.Join(rows[name], ", "))
	}
	return b.String()
}

// onlyOurs returns the table of the findings that only lint has.
func (r *tally) onlyOurs() string {
	rows := map[string][]string{}
	for _, p := range slices.SortedFunc(maps.Keys(r.alone), func(a, b pair) int { return byNumber(a.first, b.first) }) {
		rows[p.second] = append(rows[p.second], fmt.Sprintf("%s %d", linked(p.first), r.alone[p]))
	}
	var b strings.Builder
	b.WriteString("| streams | findings | by rule or code |\n|---|--:|---|\n")
	for _, kind := range kinds {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", kind, r.only[kind], strings.Join(rows[kind], ", "))
	}
	return b.String()
}

// byNumber sorts rules by letter and number, and codes after them.
func byNumber(a, b string) int {
	isRule := func(s string) bool { return s[0] < 'a' }
	if isRule(a) != isRule(b) {
		return map[bool]int{true: -1, false: 1}[isRule(a)]
	}
	if isRule(a) && a[0] == b[0] {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

func linked(name string) string {
	switch name[0] {
	case 'G':
		return "[" + name + "](sequence.md#" + name + ")"
	case 'W', 'N':
		return "[" + name + "](lint.md#" + name + ")"
	}
	return "[`" + name + "`](findings.md#" + name + ")"
}
