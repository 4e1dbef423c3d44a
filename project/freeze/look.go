package freeze

import (
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Looker is told what projections make of a capture's runs.
type Looker interface {
	// Event is called for each readable event of a run. The event is valid
	// during the call.
	Event(run *envelope.Run, e *envelope.Event)
	// End is called when a run is complete, with what each projection made of
	// it. An error ends the reading.
	End(run *envelope.Run, made []Projected) error
}

// Projected is what a projection made of a run; Output is nil when it refused.
type Projected struct {
	Settings project.Settings
	Output   *project.Output
	Findings []finding.Finding
	// Folding is there for FoldedStream.
	Folding project.Folding
}

// Look reads a capture once and applies several projections to each of its
// runs, in memory: nothing is written. The request is the capture's own. An
// error among the findings of the totals refuses every run, whatever was made
// of it; err says that the capture could not be read to its end.
func Look(c *capture.Capture, request []byte, settings []project.Settings, v Looker, progress Progress) (envelope.Totals, error) {
	for i := range settings {
		if err := settings[i].Check(); err != nil {
			return envelope.Totals{}, err
		}
	}
	return scan(c, &looking{settings: settings, request: request, looker: v}, progress)
}

type looking struct {
	settings   []project.Settings
	request    []byte
	looker     Looker
	collectors []*project.Collector
}

// Event implements envelope.Visitor.
func (l *looking) Event(run *envelope.Run, e *envelope.Event) {
	if e.Type == envelope.RunStarted {
		l.collectors = l.collectors[:0]
		for _, s := range l.settings {
			l.collectors = append(l.collectors, project.NewCollector(s))
		}
	}
	for _, c := range l.collectors {
		c.Observe(e)
	}
	l.looker.Event(run, e)
}

// End implements envelope.Visitor.
func (l *looking) End(run *envelope.Run) error {
	if run.Number > maxRuns {
		return tooMany(run)
	}
	made := make([]Projected, len(l.settings))
	for i, c := range l.collectors {
		made[i].Settings = l.settings[i]
		made[i].Output, made[i].Findings = c.Project(run, l.request)
		if l.settings[i].Projection == project.FoldedStream {
			made[i].Folding = c.Fold(run, l.request)
		}
	}
	return l.looker.End(run, made)
}
