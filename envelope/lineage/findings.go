package lineage

import (
	"github.com/p20export/p20export/finding"
)

// fault is what is wrong with the parentRunId of a run.
type fault struct {
	code finding.Code // empty if nothing is
	// other is a run with the id that is not the parent: one that starts later, or the run
	// itself, or one of another thread.
	other *Node
}

// judge finds out why the parents of runs were not found.
func (g *Graph) judge() {
	var lost []*Node
	for _, n := range g.Nodes {
		if n.ParentID != "" && n.Parent == nil {
			lost = append(lost, n)
		}
	}
	if lost == nil {
		return
	}
	anywhere := make(map[string]*Node)
	for _, n := range g.Nodes {
		if anywhere[n.ID] == nil {
			anywhere[n.ID] = n
		}
	}
	for _, n := range lost {
		if later := g.byID[runID{n.Thread, n.ParentID}]; later != nil {
			n.fault = fault{finding.ParentRunLater, later[0]}
		} else if other := anywhere[n.ParentID]; other != nil {
			n.fault = fault{finding.ParentRunElsewhere, other}
		} else {
			n.fault = fault{code: finding.ParentRunUnknown}
		}
	}
	g.findCycles(lost)
}

// findCycles finds the runs that continue themselves, if parents that start later count.
// Each cycle has such a run.
func (g *Graph) findCycles(lost []*Node) {
	next := func(n *Node) *Node {
		if n.fault.code == finding.ParentRunLater || n.fault.code == finding.ParentRunCycle {
			return n.fault.other
		}
		return n.Parent
	}
	seen := make([]int, len(g.Nodes)) // by which walk, from 1
	for i, start := range lost {
		walk := i + 1
		n := start
		for n != nil && seen[n.Index] == 0 {
			seen[n.Index] = walk
			n = next(n)
		}
		if n == nil || seen[n.Index] != walk {
			continue
		}
		for end := n; ; {
			if n.fault.code == finding.ParentRunLater {
				n.fault.code = finding.ParentRunCycle
			}
			if n = next(n); n == end {
				break
			}
		}
	}
}

// Findings returns what is wrong with the ids of the run. All are warnings, because a graph
// exists nevertheless.
func (n *Node) Findings() (found []finding.Finding) {
	if n.ID != "" && n.same == nil && n.fault.code == "" {
		return nil
	}
	add := func(code finding.Code, format string, args ...any) {
		name := "a run"
		if n.ID != "" {
			name = "run " + finding.Quote(n.ID)
		}
		found = append(found, finding.New(code, "%s of thread %s "+format, append([]any{name, finding.Quote(n.Thread)}, args...)...))
	}
	if n.ID == "" {
		add(finding.RunIDMissing, "has no runId")
	}
	if n.same != nil {
		add(finding.RunStartedTwice, "started before")
	}
	parent := finding.Quote(n.ParentID)
	switch f := n.fault; {
	case f.other == n:
		add(f.code, "names itself as its parent")
	case f.code == finding.ParentRunCycle:
		add(f.code, "names %s as its parent, which continues it", parent)
	case f.code == finding.ParentRunLater:
		add(f.code, "names %s as its parent, which starts later", parent)
	case f.code == finding.ParentRunElsewhere:
		add(f.code, "names %s as its parent, which is a run of thread %s", parent, finding.Quote(f.other.Thread))
	case f.code != "":
		add(f.code, "names %s as its parent, which is not known", parent)
	}
	return found
}

// Findings returns the findings of all runs, in order. Beyond finding.MaxListed they are
// only counted.
func (g *Graph) Findings() []finding.Finding { return listed(g.Nodes) }

// Findings is like that of Graph, for the runs of the thread.
func (t *Thread) Findings() []finding.Finding { return listed(t.Nodes) }

// listed returns the findings of runs. The list is never nil.
func listed(nodes []*Node) []finding.Finding {
	found := []finding.Finding{}
	more := 0
	for _, n := range nodes {
		list := n.Findings()
		if keep := finding.MaxListed - len(found); len(list) > keep {
			more += len(list) - keep
			list = list[:keep]
		}
		found = append(found, list...)
	}
	if more > 0 {
		found = append(found, finding.New(finding.FindingsUnlisted, "%d more findings are not listed", more))
	}
	return found
}
