package gate

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
)

// StateCounts counts runs by whether they have a STATE_* or ACTIVITY_* event.
type StateCounts struct {
	// WithState counts the runs with such an event.
	WithState int `json:"carrying"`
	// Qualifying counts the runs of all scenarios that qualify by the Rule.
	Qualifying int `json:"qualifying"`
	// QualifyingWithoutState counts the qualifying runs without such an event.
	QualifyingWithoutState int `json:"qualifying_without"`
}

func (c *StateCounts) add(run analysis.Run) {
	carries := HasState(run)
	if carries {
		c.WithState++
	}
	if RunQualifies(run) {
		c.Qualifying++
		if !carries {
			c.QualifyingWithoutState++
		}
	}
}

// HasState reports whether a run has a STATE_* or ACTIVITY_* event.
func HasState(run analysis.Run) bool {
	for name := range run.Families.All {
		if IsStateEvent(name) {
			return true
		}
	}
	return false
}

// IsStateEvent reports whether an event type begins with STATE_ or ACTIVITY_.
func IsStateEvent(eventType string) bool {
	return strings.HasPrefix(eventType, "STATE_") || strings.HasPrefix(eventType, "ACTIVITY_")
}

func (g *Gate) state(runs []analysis.Run, all Summary) Answer {
	if all.Runs == 0 {
		return unanswerable(QuestionState)
	}
	c := all.State
	a := Answer{Question: QuestionState, Favorable: c.QualifyingWithoutState > 0, Word: "not shown"}
	if a.Favorable {
		a.Word = "yes"
	}
	var names []string
	for _, s := range g.Summaries {
		if n := s.State.QualifyingWithoutState; n > 0 && s.Integration.Name != "" {
			names = append(names, fmt.Sprintf("%d of %s", n, s.Integration.Name))
		}
	}
	a.Text = fmt.Sprintf("Runs with a STATE_* or ACTIVITY_* event: %d of %d. Runs of all scenarios that qualify by the same rule: %d, %d of them without such an event", c.WithState, all.Runs, c.Qualifying, c.QualifyingWithoutState)
	if len(names) > 0 {
		a.Text += " (" + strings.Join(names, ", ") + ")"
	}
	a.Text += "."
	for _, run := range firstOf(runs, func(e analysis.Run) bool { return RunQualifies(e) && !HasState(e) }) {
		a.Evidence = append(a.Evidence, evidence(run, "")...)
	}
	return a
}
