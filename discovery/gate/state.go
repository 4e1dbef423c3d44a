package gate

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
)

// StateCounts counts runs by whether they have a STATE_* or ACTIVITY_* event.
type StateCounts struct {
	// Carrying counts those that have one.
	Carrying int `json:"carrying"`
	// Qualifying counts the runs that qualify by the Rule, of any scenario.
	Qualifying int `json:"qualifying"`
	// QualifyingWithout counts those of them that have no such event.
	QualifyingWithout int `json:"qualifying_without"`
}

func (c *StateCounts) add(run analysis.Run) {
	carries := CarriesState(run)
	if carries {
		c.Carrying++
	}
	if Qualifying(run) {
		c.Qualifying++
		if !carries {
			c.QualifyingWithout++
		}
	}
}

// CarriesState reports whether a run has a STATE_* or ACTIVITY_* event.
func CarriesState(run analysis.Run) bool {
	for name := range run.Families.All {
		if IsState(name) {
			return true
		}
	}
	return false
}

// IsState reports whether an event type is one of state or activity.
func IsState(eventType string) bool {
	return strings.HasPrefix(eventType, "STATE_") || strings.HasPrefix(eventType, "ACTIVITY_")
}

func (g *Gate) state(runs []analysis.Run, all Summary) Answer {
	if all.Runs == 0 {
		return unknown(AskState)
	}
	c := all.State
	a := Answer{Question: AskState, Good: c.QualifyingWithout > 0, Word: "not shown"}
	if a.Good {
		a.Word = "yes"
	}
	var names []string
	for _, s := range g.Summaries {
		if n := s.State.QualifyingWithout; n > 0 && s.Integration.Name != "" {
			names = append(names, fmt.Sprintf("%d of %s", n, s.Integration.Name))
		}
	}
	a.Text = fmt.Sprintf("Runs with a STATE_* or ACTIVITY_* event: %d of %d. Runs of any scenario that qualify, by the same rule: %d, %d of them without such an event", c.Carrying, all.Runs, c.Qualifying, c.QualifyingWithout)
	if len(names) > 0 {
		a.Text += " (" + strings.Join(names, ", ") + ")"
	}
	a.Text += "."
	for _, run := range firstOf(runs, func(e analysis.Run) bool { return Qualifying(e) && !CarriesState(e) }) {
		a.Evidence = append(a.Evidence, evidence(run, "")...)
	}
	return a
}
