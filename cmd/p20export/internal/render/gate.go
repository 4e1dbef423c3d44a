package render

import (
	"strings"

	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/finding"
)

// gateRow is the row with the answers to the discovery gate, which is the last one.
type gateRow struct {
	Gate gate.Gate `json:"gate"`
}

// Gate prints the answers to the discovery gate (P20 §14.3).
func (p *Printer) Gate(g gate.Gate) {
	if p.format == JSON {
		p.json(gateRow{g})
		return
	}
	favorable, summary, colour := 0, "an integration qualifies", green
	for _, a := range g.Answers {
		if a.Favorable {
			favorable++
		}
	}
	if !g.Met {
		summary, colour = g.Why, yellow
	}
	p.Line("discovery gate (P20 §14.3), based only on these captures: %s; %d of %d answers are favorable", p.Paint(colour, summary), favorable, len(g.Answers))
	for _, a := range g.Answers {
		colour := ""
		if !a.Favorable {
			colour = yellow
		}
		p.Line("  %s %s", a.Question, p.Paint(colour, a.Word))
		p.Line("    %s", painted(finding.Printable(a.Text)))
		for _, e := range a.Evidence {
			p.Line("    %s, bytes %d to %d: %s", e.File, e.Offset, e.Offset+e.Bytes-1, e.Part)
		}
	}
	for _, s := range g.Summaries {
		p.needs("Obstacles to an artifact with one usable snapshot, and how to remove them", s.Obstacles)
		p.needs("Content of the last snapshot that artifacts leave out, and how to avoid it", s.ExtraContent)
	}
}

// needs prints the changes that runs need, below a heading.
func (p *Printer) needs(heading string, list []gate.Problem) {
	if len(list) == 0 {
		return
	}
	p.Line("  %s", heading)
	for _, n := range list {
		p.Line("    %s (%s)", n.Advice(), strings.Join(n.Runs, ", "))
	}
}
