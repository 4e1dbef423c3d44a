// Package lineage finds out which run continues which: the graph of the runs of threads.
//
// A run has at most one parent, so the runs of a thread are one or more trees. The parent
// of a run with a parentRunId is the last run before it in the thread that has this id. A
// run without parentRunId continues the run before it in the thread. The first run of a
// thread, and a run whose parent is not found, is a root. Runs are never merged.
//
// The package does no I/O. It knows runs, not where they are stored or what was said in
// them. A graph is not evidence.
package lineage

import (
	"time"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
)

// A Run is a run of a Graph.
type Run struct {
	// Thread and ID are the threadId and the runId of RUN_STARTED.
	Thread, ID string
	// ParentID is the parentRunId of RUN_STARTED or, if it has none, that of the request.
	ParentID string
	// Source names the capture or the stream of the run. It is not interpreted.
	Source string
	// Position is the place of RUN_STARTED in the log or the capture. It is not
	// interpreted either: runs are given in order.
	Position int64
	// Events is the number of events of the run.
	Events int64
	// StartedAt and LastAt are the times of its first and last event, if they are known.
	StartedAt, LastAt time.Time
	End               End
}

// End says how a run ended. The words are those of package store.
type End string

// The ends of runs.
const (
	Open        End = "open"
	Finished    End = "finished"
	Interrupted End = "interrupted"
	Cancelled   End = "cancelled"
	Failed      End = "failed"
	Cut         End = "cut"
)

// OfCapture returns a run of a capture. The request is that of the capture if the run is
// its first, or nil.
func OfCapture(source string, r *envelope.Run, request []byte) Run {
	run := Run{Thread: r.ThreadID, ID: r.RunID, ParentID: r.ParentRunID, Source: source, End: Cut}
	if e := r.Started; e != nil {
		run.Position, run.StartedAt, run.LastAt = int64(e.Index), e.Arrived, e.Arrived
	}
	if run.ParentID == "" {
		run.ParentID = ParentOf(request)
	}
	for _, n := range r.Families.All {
		run.Events += int64(n)
	}
	run.Events += int64(r.Families.Uncounted())
	if e := r.Terminal; e != nil {
		run.LastAt = e.Arrived
		run.End = endOf(e)
	}
	return run
}

// ParentOf returns the parentRunId of a request, or "" if it has none.
func ParentOf(request []byte) string {
	var o strictjson.Object
	if v, err := strictjson.ReadText(&o, new(strictjson.Decoder), request); err != nil || v.Kind != strictjson.ObjectStart {
		return ""
	}
	return (&envelope.Event{Object: o}).Text("parentRunId")
}

// endOf returns the end that a terminal event is.
func endOf(e *envelope.Event) End {
	if e.Type == envelope.RunError {
		return Failed
	}
	outcome, _ := e.Get("outcome")
	kind, _ := outcome.Member("type")
	switch { // a draft of AG-UI has a string
	case kind.Is("interrupt") || outcome.Is("interrupt"):
		return Interrupted
	case kind.Is("cancelled") || outcome.Is("cancelled"):
		return Cancelled
	}
	return Finished
}

// Edge says why a run has its parent.
type Edge string

// The edges.
const (
	// Root is that of a run without a parent.
	Root Edge = "root"
	// Named is the edge to a parent that the parentRunId names.
	Named Edge = "named"
	// Implied is the edge to the run before it in the thread.
	Implied Edge = "implied"
)

// A Node is a run in a Graph. Its fields must not be changed.
type Node struct {
	Run
	// Index is the index of the run in Graph.Nodes.
	Index int
	// Parent is the run that the run continues, or nil.
	Parent *Node
	Edge   Edge
	// Children are the runs that continue the run, in order.
	Children []*Node
	// Depth is the number of runs before the run on its path.
	Depth int
	// Branch is the branch that has the run.
	Branch *Branch

	fault fault
	same  *Node // the first run of the thread with the same id, if it is another
}

// Path returns the runs from the root to the run.
func (n *Node) Path() []*Node {
	path := make([]*Node, n.Depth+1)
	for ; n != nil; n = n.Parent {
		path[n.Depth] = n
	}
	return path
}

// CommonAncestor returns the last run that the paths of two runs have in common, or nil if
// there is none. It is one of the two if the other continues it.
func CommonAncestor(a, b *Node) *Node {
	for a != b {
		if a == nil || b == nil {
			return nil
		}
		if a.Depth >= b.Depth {
			a = a.Parent
		} else {
			b = b.Parent
		}
	}
	return a
}

// A Branch is a sequence of runs that continue each other. Each run belongs to one branch:
// the first run that continues another belongs to its branch, and each further one begins a
// branch.
type Branch struct {
	// Number is the number of the branch in its thread, from 1.
	Number int
	// From is the run that the first run continues, or nil if that is a root.
	From *Node
	// Level is the number of branches that the branch descends from.
	Level int
	// Runs are the runs of the branch, in order. There is at least one.
	Runs []*Node
}

// Head returns the last run of the branch. No run continues it.
func (b *Branch) Head() *Node { return b.Runs[len(b.Runs)-1] }
