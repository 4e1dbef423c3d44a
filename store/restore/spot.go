package restore

import (
	"slices"
	"sort"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// A spot is a replay of a branch that can go on.
type spot struct {
	base
	// replay has the conversation. Its last is the run of the last entry, or nil before the
	// first one, and its findings are those about entries.
	replay
	applied int64 // the position of the last entry, or 0
	check   check // of that entry
	through int64 // up to here, there are no further entries of the last run
	bound   int64 // up to here, the parent of the last run was applied before it
	bytes   int64 // about how much memory a checkpoint takes, without what the one before has
}

// A base is where a replay begins: a run, and up to where earlier runs are compared with its
// request.
type base struct {
	first int   // the index of the run
	to    int64 // 0 if the run is a root
}

// step applies an entry of a run, on the way to a position.
func (s *spot) step(n *lineage.Node, e *store.Entry, position int64) {
	if n != s.last {
		s.last, s.started, s.finished, s.input = n, false, false, nil
		s.bound = min(position, s.runs[n.Index].Start-1)
	}
	_ = s.apply(n, e) // there is no error
	s.applied, s.through = e.Position, e.Position
	if s.entries == 1 {
		s.merged, s.history = nil, nil // they were for the first request
	}
}

// copy returns a copy, which goes on independently.
func (s *spot) copy() *spot {
	c := *s
	c.reducer = s.reducer.Clone()
	c.findings.kept = slices.Clip(s.findings.kept)
	return &c
}

// join makes the spot one of a thread that has grown.
func (s *spot) join(t *Thread) {
	s.Thread, s.used = t, nil
	if s.last != nil {
		s.last = t.Graph.Nodes[s.last.Index]
	}
}

// runIn returns the index of the last run in runs that continue each other, or 0 if there is
// none yet. It returns -1 if the runs do not have it.
func (s *spot) runIn(used []*lineage.Node) int {
	if s.last == nil {
		return 0
	}
	i := sort.Search(len(used), func(i int) bool { return used[i].Index >= s.last.Index })
	if i == len(used) || used[i].Index != s.last.Index {
		return -1
	}
	return i
}

// leadsTo reports whether the spot has only entries that a replay with the same base of runs
// that continue each other has, as of a position, and has them first.
func (s *spot) leadsTo(used []*lineage.Node, position int64) bool {
	i := s.runIn(used)
	if s.last == nil || i < 0 {
		return s.last == nil
	}
	to, start := position, s.runs[s.last.Index].Start
	if i > 0 && s.applied < start && s.bound != min(position, start-1) {
		return false // the parent has entries between the request and the run
	}
	if i+1 < len(used) {
		to = min(to, s.runs[used[i+1].Index].Start-1)
	}
	return s.applied <= to
}

// rest returns what has to be read of a plan that begins with the last run, after the last
// entry. The first segment is that entry, and has no run.
func (s *spot) rest(plan []segment) []segment {
	rest := []segment{{from: s.applied, to: s.applied}}
	for _, p := range plan {
		if p.run == s.last {
			if p.start == 0 || p.to <= s.through {
				continue
			}
			p.from = max(p.from, s.applied+1, s.through+1)
		}
		rest = append(rest, p)
	}
	return rest
}

// findingsOf returns the findings about the used runs and their entries.
func (s *spot) findingsOf() []finding.Finding {
	all := replay{used: s.used}
	all.addRuns()
	all.findings.join(&s.findings)
	return all.findings.list()
}

// findingBytes is about what a finding takes.
const findingBytes = 512

// memory returns about how much memory the spot takes beyond another one, which may be nil.
func (s *spot) memory(than *spot) int64 {
	var other *reduce.Reducer
	n := int64(len(s.findings.kept)) * findingBytes
	if than != nil {
		other = than.reducer
	}
	if than == nil || len(s.input) > 0 && (len(than.input) == 0 || &than.input[0] != &s.input[0]) {
		n += int64(len(s.input))
	}
	return n + int64(s.reducer.Memory(other)+len(s.merged)+len(s.history))
}
