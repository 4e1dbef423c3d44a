package lint

import (
	"iter"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// evidence returns a consumer that notes which runs freeze does not accept with its default
// settings (W20).
func (l *Linter) evidence(request []byte) scan.Consumer {
	settings := project.Settings{}
	if err := settings.Normalize(); err != nil {
		panic("lint: " + err.Error()) // the defaults are valid
	}
	return &scan.Projector{
		Request:  request,
		Settings: func(*envelope.Run) []project.Settings { return []project.Settings{settings} },
		Handle: func(run *envelope.Run, projections iter.Seq[*scan.Projection]) error {
			for p := range projections {
				if p.Output == nil {
					l.noteLacking(run, p.Findings)
				}
			}
			return nil
		},
	}
}

// noteLacking notes the first reason why a run is not evidence.
func (l *Linter) noteLacking(run *envelope.Run, reasons []finding.Finding) {
	for _, why := range reasons {
		if why.Severity != finding.Error {
			continue
		}
		f := finding.Violation("W20", "freeze makes no artifact of the run: %s (%s)", why.Message, why.Code)
		f.Offset, f.EventIndex, f.Pointer, f.ResponseLine = why.Offset, why.EventIndex, why.Pointer, why.ResponseLine
		if f.EventIndex == nil {
			f = run.Started.Ref().Annotate(f)
		}
		l.note(noteKey{"W20", string(why.Code)}, run.Started.Index, func() finding.Finding { return f })
		return
	}
}
