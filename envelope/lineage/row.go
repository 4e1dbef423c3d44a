package lineage

import "github.com/p20export/p20export/internal/timetext"

// RunRow is a run of a thread.
type RunRow struct {
	// Number is the number of the run in the thread, counted from 1.
	Number int `json:"number"`
	// RunID is empty if RUN_STARTED has none.
	RunID string `json:"run_id"`
	// ParentRunID is the parentRunId of RUN_STARTED or of the request, or null.
	ParentRunID *string `json:"parent_run_id"`
	// Parent is the number of the run that this run continues, or null for a root.
	Parent *int `json:"parent"`
	// Edge says why the run has its parent.
	Edge Edge `json:"edge"`
	// Branch is the number of the branch that the run belongs to.
	Branch int `json:"branch"`
	// Depth is the number of runs before it on its path.
	Depth int `json:"depth"`
	// Source is the path of the capture, or the id of the stream in a log.
	Source string `json:"source"`
	// Position is the position of RUN_STARTED in the log, or its index in the capture.
	Position int64 `json:"position"`
	// Events is the number of events of the run.
	Events int64 `json:"events"`
	// StartedAt is the time at which the first event arrived, or null.
	StartedAt *string `json:"started_at"`
	// LastAt is the time at which the last event arrived, or null.
	LastAt *string `json:"last_at"`
	End    End     `json:"end"`
}

// BranchRow is a branch of a thread: runs that continue each other.
type BranchRow struct {
	// Number is the number of the branch in the thread, counted from 1.
	Number int `json:"number"`
	// From is the number of the run that the branch leaves, or null if it begins with a root.
	From *int `json:"from"`
	// Level is the number of branches that the branch descends from.
	Level int `json:"level"`
	// Runs is the number of runs of the branch.
	Runs int `json:"runs"`
	// First is the number of its first run.
	First int `json:"first"`
	// Last is the number of its last run.
	Last int `json:"last"`
}

// Rows returns the rows of the runs of the thread and of its branches, in order. The numbers
// of runs are those in the thread, also if the graph has other threads.
func (t *Thread) Rows() (runs []RunRow, branches []BranchRow) {
	number := make(map[*Node]int, len(t.Nodes))
	numberOf := func(n *Node) *int {
		if n == nil {
			return nil
		}
		i := number[n]
		return &i
	}
	runs, branches = make([]RunRow, 0, len(t.Nodes)), make([]BranchRow, 0, len(t.Branches))
	for i, n := range t.Nodes {
		number[n] = i + 1
		row := RunRow{
			Number: i + 1, RunID: n.ID, Parent: numberOf(n.Parent), Edge: n.Edge, Branch: n.Branch.Number, Depth: n.Depth, Source: n.Source,
			Position: n.Position, Events: n.Events, StartedAt: timetext.Optional(n.StartedAt), LastAt: timetext.Optional(n.LastAt), End: n.End,
		}
		if n.ParentID != "" {
			row.ParentRunID = &n.ParentID
		}
		runs = append(runs, row)
	}
	for _, b := range t.Branches {
		branches = append(branches, BranchRow{b.Number, numberOf(b.From), b.Level, len(b.Runs), number[b.Runs[0]], number[b.Head()]})
	}
	return runs, branches
}
