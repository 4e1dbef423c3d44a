package lineage

import (
	"iter"
	"slices"
)

// A Graph has the runs of one or more threads. It must not be changed.
type Graph struct {
	// Nodes are all runs, in the order in which they were given.
	Nodes []*Node
	// Threads are the threads, in the order of their first runs.
	Threads []*Thread

	byID map[runID][]*Node
}

// A Thread has the runs of a thread, in order.
type Thread struct {
	ID    string
	Nodes []*Node
	// Roots are the runs without a parent.
	Roots []*Node
	// Branches are the branches in the order of their first runs.
	Branches []*Branch
}

// runID identifies the runs of a thread with the same id.
type runID struct{ thread, id string }

// New returns the graph of runs, which are given in the order in which they started. Its
// time and memory are linear in the number of runs.
func New(runs []Run) *Graph {
	g := &Graph{Nodes: make([]*Node, len(runs)), byID: make(map[runID][]*Node, len(runs))}
	nodes := make([]Node, len(runs))
	threads := make(map[string]*Thread)
	for i, r := range runs {
		n := &nodes[i]
		*n = Node{Run: r, Index: i, Edge: Root}
		g.Nodes[i] = n
		t := threads[r.Thread]
		if t == nil {
			t = &Thread{ID: r.Thread}
			threads[r.Thread] = t
			g.Threads = append(g.Threads, t)
		}
		g.connect(t, n)
		t.Nodes = append(t.Nodes, n)
		g.index(n)
	}
	g.judge()
	return g
}

// index makes a run known by its id.
func (g *Graph) index(n *Node) {
	if n.ID == "" {
		return
	}
	id := runID{n.Thread, n.ID}
	if list := g.byID[id]; list != nil {
		n.same = list[0]
	}
	g.byID[id] = append(g.byID[id], n)
}

// connect adds a run to its thread, which has the runs before it.
func (g *Graph) connect(t *Thread, n *Node) {
	switch {
	case n.ParentID != "":
		if before := g.byID[runID{t.ID, n.ParentID}]; before != nil {
			n.Parent, n.Edge = before[len(before)-1], Named
		}
	case len(t.Nodes) > 0:
		n.Parent, n.Edge = t.Nodes[len(t.Nodes)-1], Implied
	}
	p := n.Parent
	if p == nil {
		t.Roots = append(t.Roots, n)
		t.begin(n, 0)
		return
	}
	n.Depth = p.Depth + 1
	if len(p.Children) == 0 {
		n.Branch = p.Branch
		n.Branch.Runs = append(n.Branch.Runs, n)
	} else {
		t.begin(n, p.Branch.Level+1)
	}
	p.Children = append(p.Children, n)
}

// begin begins a branch.
func (t *Thread) begin(n *Node, level int) {
	n.Branch = &Branch{Number: len(t.Branches) + 1, From: n.Parent, Level: level, Runs: []*Node{n}}
	t.Branches = append(t.Branches, n.Branch)
}

// Find returns the runs of a thread with an id, in order. Usually there is at most one.
func (g *Graph) Find(thread, id string) []*Node {
	if id == "" {
		return nil
	}
	return slices.Clone(g.byID[runID{thread, id}])
}

// Thread returns the thread with an id, or nil.
func (g *Graph) Thread(id string) *Thread {
	if i := slices.IndexFunc(g.Threads, func(t *Thread) bool { return t.ID == id }); i >= 0 {
		return g.Threads[i]
	}
	return nil
}

// Walk returns the runs of the thread so that each branch can be drawn as a column: a run
// precedes those that continue it, and the branches that leave a run precede the next run
// of its own branch.
func (t *Thread) Walk() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		var stack []*Node
		for _, root := range t.Roots {
			stack = append(stack[:0], root)
			for len(stack) > 0 {
				n := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if !yield(n) {
					return
				}
				if len(n.Children) == 0 {
					continue
				}
				stack = append(stack, n.Children[0])
				for _, c := range slices.Backward(n.Children[1:]) {
					stack = append(stack, c)
				}
			}
		}
	}
}
