package gate

import (
	"github.com/p20export/p20export/discovery/analysis"
)

// RebuiltSummary sums up how the messages rebuilt from the events of runs agree with those
// of their last snapshots.
type RebuiltSummary struct {
	// Runs counts the runs. Agreeing and Identical count those whose comparison says so.
	Runs      int
	Agreeing  int
	Identical int
	// Same counts the pairs of messages that are the same, OtherID and OtherName those
	// of them with another id or name.
	Same      int
	OtherID   int
	OtherName int
	// Deviations has the counts of the deviations that occur.
	Deviations map[analysis.Deviation]DeviationCount
}

// DeviationCount says how often messages deviate in one way.
type DeviationCount struct {
	Runs  int
	Times int
	// First is the capture of the first such run.
	First string
}

// Add adds the comparison of a run.
func (s *RebuiltSummary) Add(capture string, r analysis.Rebuilt) {
	s.Runs++
	if r.Agrees() {
		s.Agreeing++
	}
	if r.Identical() {
		s.Identical++
	}
	s.Same += r.Same
	s.OtherID += r.OtherID
	s.OtherName += r.OtherName
	if s.Deviations == nil {
		s.Deviations = make(map[analysis.Deviation]DeviationCount)
	}
	for d, n := range r.Deviations {
		c := s.Deviations[d]
		if c.Runs == 0 {
			c.First = capture
		}
		c.Runs++
		c.Times += n
		s.Deviations[d] = c
	}
}
