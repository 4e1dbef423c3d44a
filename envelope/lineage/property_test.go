package lineage_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
)

// TestRules compares graphs with the rules, which are checked run by run without an index.
func TestRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"", "", "a", "b", "c", "d", "e"})
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lineage.Run {
			return lineage.Run{Thread: rapid.SampledFrom([]string{"t", "u"}).Draw(t, "thread"), ID: id.Draw(t, "id"), ParentID: id.Draw(t, "parent")}
		}), 0, 12).Draw(t, "runs")
		g := lineage.New(list)
		for i, n := range g.Nodes {
			if n.Index != i || n.Run != list[i] {
				t.Fatalf("node %d is %+v", i, n)
			}
			checkParent(t, g, list, n)
			checkBranch(t, n)
		}
		for _, a := range g.Nodes {
			for _, b := range g.Nodes {
				if got, want := lineage.CommonAncestor(a, b), commonAncestor(a, b); got != want {
					t.Fatalf("the common ancestor of %d and %d is %v, want %v", a.Index, b.Index, got, want)
				}
			}
		}
		for _, th := range g.Threads {
			walked := slices.Collect(th.Walk())
			slices.SortFunc(walked, func(a, b *lineage.Node) int { return a.Index - b.Index })
			if !slices.Equal(walked, th.Nodes) {
				t.Fatalf("Walk of thread %s returns other runs", th.ID)
			}
		}
	})
}

// checkParent checks the parent of a run and what is found about it.
func checkParent(t *rapid.T, g *lineage.Graph, list []lineage.Run, n *lineage.Node) {
	same := func(i int) bool { return list[i].Thread == n.Thread }
	parent, edge := -1, lineage.Root
	var want []finding.Code
	for i := range n.Index {
		if same(i) && (n.ParentID == "" || list[i].ID == n.ParentID) {
			parent, edge = i, lineage.Implied
			if n.ParentID != "" {
				edge = lineage.Named
			}
		}
	}
	if n.ID == "" {
		want = append(want, finding.RunIDMissing)
	} else if slices.ContainsFunc(list[:n.Index], func(r lineage.Run) bool { return r.Thread == n.Thread && r.ID == n.ID }) {
		want = append(want, finding.RunStartedTwice)
	}
	if parent < 0 && n.ParentID != "" {
		want = append(want, parentCode(g, list, n))
	}
	got := -1
	if n.Parent != nil {
		got = n.Parent.Index
		if !slices.Contains(n.Parent.Children, n) {
			t.Fatalf("run %d is not a child of its parent", n.Index)
		}
	}
	if got != parent || n.Edge != edge {
		t.Fatalf("run %d: parent %d by %s, want %d by %s", n.Index, got, n.Edge, parent, edge)
	}
	var codes []finding.Code
	for _, f := range n.Findings() {
		codes = append(codes, f.Code)
	}
	if !slices.Equal(codes, want) {
		t.Fatalf("run %d: findings %v, want %v", n.Index, codes, want)
	}
}

// parentCode returns what is wrong with a parentRunId that names no earlier run.
func parentCode(g *lineage.Graph, list []lineage.Run, n *lineage.Node) finding.Code {
	// claimed returns the first run of the thread that a run names, which is not before it.
	claimed := func(n *lineage.Node) *lineage.Node {
		for i := n.Index; i < len(list); i++ {
			if list[i].Thread == n.Thread && list[i].ID == n.ParentID {
				return g.Nodes[i]
			}
		}
		return nil
	}
	at := claimed(n)
	if at == nil {
		if slices.ContainsFunc(list, func(r lineage.Run) bool { return r.ID == n.ParentID }) {
			return finding.ParentRunElsewhere
		}
		return finding.ParentRunUnknown
	}
	for range list {
		if at == n {
			return finding.ParentRunCycle
		}
		switch {
		case at == nil:
			return finding.ParentRunLater
		case at.Parent == nil && at.ParentID != "":
			at = claimed(at)
		default:
			at = at.Parent
		}
	}
	return finding.ParentRunLater // it leads to a cycle of others
}

// checkBranch checks the branch and the path of a run.
func checkBranch(t *rapid.T, n *lineage.Node) {
	path := n.Path()
	if len(path) != n.Depth+1 || path[n.Depth] != n || path[0].Parent != nil {
		t.Fatalf("the path of run %d is %v", n.Index, path)
	}
	first := n.Branch.Runs[0]
	if n.Branch.From != first.Parent {
		t.Fatalf("the branch of run %d begins at another run than its first", n.Index)
	}
	if at := slices.Index(n.Branch.Runs, n); at < 0 || at > 0 && n.Branch.Runs[at-1] != n.Parent {
		t.Fatalf("run %d has place %d in its branch", n.Index, at)
	}
	if (n == first) != (n.Parent == nil || n.Parent.Children[0] != n) {
		t.Fatalf("run %d is in the wrong branch", n.Index)
	}
	level := 0
	for b := n.Branch; b.From != nil; b = b.From.Branch {
		level++
	}
	if level != n.Branch.Level {
		t.Fatalf("the branch of run %d has level %d, want %d", n.Index, n.Branch.Level, level)
	}
}

// commonAncestor compares the paths of two runs.
func commonAncestor(a, b *lineage.Node) (common *lineage.Node) {
	p, q := a.Path(), b.Path()
	for i := 0; i < len(p) && i < len(q) && p[i] == q[i]; i++ {
		common = p[i]
	}
	return common
}

func ExampleNew() {
	g := lineage.New([]lineage.Run{
		{Thread: "t", ID: "r1"},
		{Thread: "t", ID: "r2"},
		{Thread: "t", ID: "r3", ParentID: "r1"},
	})
	for _, b := range g.Threads[0].Branches {
		fmt.Printf("branch %d:", b.Number)
		for _, n := range b.Head().Path() {
			fmt.Printf(" %s", n.ID)
		}
		fmt.Println()
	}
	// Output:
	// branch 1: r1 r2
	// branch 2: r1 r3
}
