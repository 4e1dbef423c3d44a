package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// Folding is what the request and the stream of a run say of its messages,
// whether or not the run emitted a snapshot. It is for comparing the two; an
// artifact is made by Project alone.
type Folding struct {
	Messages []artifact.Message
	// Streamed are the ids of the messages that the run streamed itself, in the
	// order of their start and as they are; those without text are among them.
	Streamed []string
	// Findings say what Project refuses the folding for.
	Findings []finding.Finding
}

// Fold returns the folding of a run whose events a FoldedStream collector has
// seen. The request is as Project takes it.
func (c *Collector) Fold(run *envelope.Run, request []byte) Folding {
	d := &draft{run: run, settings: Settings{Projection: FoldedStream}, artifact: artifact.New()}
	d.folded(c.fold, request)
	f := Folding{Messages: d.artifact.Messages, Findings: d.sorted()}
	for _, m := range c.fold.messages {
		f.Streamed = append(f.Streamed, m.id)
	}
	return f
}
