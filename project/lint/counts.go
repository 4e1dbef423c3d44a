package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/p20export/p20export/finding"
)

// RuleCount is how often a rule was broken in a capture.
type RuleCount struct {
	// Rule is the number of the rule, or nil for findings without a rule.
	Rule     *string          `json:"rule"`
	Code     finding.Code     `json:"code"`
	Severity finding.Severity `json:"severity"`
	// Count is the number of breaches, including those that are not among the findings.
	Count int `json:"count"`
}

// counts counts findings by rule, code and severity.
type counts map[countKey]int

type countKey struct {
	rule     string
	code     finding.Code
	severity finding.Severity
}

func (c *counts) add(f finding.Finding, n int) {
	if *c == nil {
		*c = make(counts)
	}
	(*c)[countKey{f.Rule, f.Code, f.Severity}] += n
}

// list returns the counts, the gravest first.
func (c counts) list() []RuleCount {
	list := make([]RuleCount, 0, len(c))
	for key, n := range c {
		count := RuleCount{Code: key.code, Severity: key.severity, Count: n}
		if key.rule != "" {
			count.Rule = &key.rule
		}
		list = append(list, count)
	}
	slices.SortFunc(list, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(b.Severity.Grade(), a.Severity.Grade()), cmp.Compare(a.Code, b.Code), cmp.Compare(nameOrEmpty(a.Rule), nameOrEmpty(b.Rule)))
	})
	return list
}

func nameOrEmpty(rule *string) string {
	if rule == nil {
		return ""
	}
	return *rule
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// noteKey is a kind of mistake: a rule or code, and what it is about.
type noteKey struct{ name, kind string }

// note is the first event with a mistake, and the number of all of them.
type note struct {
	first  finding.Finding
	events int
	last   int // the index of the last of them
}

// maxNotes is the maximum number of kinds of mistakes that are listed. Real captures have a
// few.
const maxNotes = 1000

// note counts an event with a mistake. The make function makes the finding about the first.
func (l *Linter) note(key noteKey, index int, make func() finding.Finding) {
	n := l.notes[key]
	switch {
	case n == nil && len(l.notes) == maxNotes:
		return
	case n == nil:
		n = &note{first: make(), last: -1}
		l.addNote(key, n)
	}
	if n.last != index {
		n.events++
	}
	n.last = index
}

func (l *Linter) addNote(key noteKey, n *note) {
	if l.notes == nil {
		l.notes = make(map[noteKey]*note)
	}
	l.notes[key] = n
}

// addNotes adds the findings about all mistakes that were noted, in an order that does not
// depend on the map: findings at one place keep it.
func (l *Linter) addNotes() {
	keys := slices.SortedFunc(maps.Keys(l.notes), func(a, b noteKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind))
	})
	for _, key := range keys {
		n := l.notes[key]
		f, reported := l.policy.apply(n.first)
		if !reported {
			continue
		}
		switch {
		case n.events == 2:
			f.Message += "; 1 more event has the same"
		case n.events > 2:
			f.Message += fmt.Sprintf("; %d more events have the same", n.events-1)
		}
		if f.Severity == finding.Error && f.EventIndex != nil {
			l.breaches += n.events
		}
		l.counts.add(f, n.events)
		l.found.Add(f)
	}
}
