package lint

import (
	"cmp"
	"slices"

	"github.com/p20export/p20export/finding"
)

// Group is what all captures have of one rule, or of one code without a rule.
type Group struct {
	Rule     *string          `json:"rule"`
	Code     finding.Code     `json:"code"`
	Severity finding.Severity `json:"severity"`
	// Count is the number of breaches.
	Count int `json:"count"`
	// Captures is the number of captures that have them.
	Captures int `json:"captures"`
	// First are the first findings, at most MaxPlaces.
	First []GroupPlace `json:"first"`
}

// GroupPlace is a finding and its capture.
type GroupPlace struct {
	Capture string          `json:"capture"`
	Finding finding.Finding `json:"finding"`
}

// MaxPlaces is the number of findings that a group lists.
const MaxPlaces = 3

// Groups groups the findings of captures. The zero value has no captures.
type Groups struct{ groups map[countKey]*Group }

// Add adds the findings of a capture.
func (g *Groups) Add(row Row) {
	if g.groups == nil {
		g.groups = make(map[countKey]*Group)
	}
	for _, c := range row.Rules {
		key := countKey{nameOrEmpty(c.Rule), c.Code, c.Severity}
		group := g.groups[key]
		if group == nil {
			group = &Group{Rule: c.Rule, Code: c.Code, Severity: c.Severity, First: []GroupPlace{}}
			g.groups[key] = group
		}
		group.Count += c.Count
		group.Captures++
	}
	for _, f := range row.Findings {
		group := g.groups[countKey{f.Rule, f.Code, f.Severity}]
		if group != nil && len(group.First) < MaxPlaces {
			group.First = append(group.First, GroupPlace{row.Capture, f})
		}
	}
}

// List returns the groups: the gravest first, then the most frequent.
func (g *Groups) List() []Group {
	list := make([]Group, 0, len(g.groups))
	for _, group := range g.groups {
		list = append(list, *group)
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Severity.Grade(), a.Severity.Grade()), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Code, b.Code), cmp.Compare(nameOrEmpty(a.Rule), nameOrEmpty(b.Rule)))
	})
	return list
}
