package render

import (
	"strings"

	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/finding"
)

// gateRow is the last row of a command that answers the discovery gate.
type gateRow struct {
	Gate gate.Gate `json:"gate"`
}

// Gate prints the answer to the discovery gate (P20 §14.3).
func (p *Printer) Gate(g gate.Gate) {
	if p.format == JSON {
		p.json(gateRow{g})
		return
	}
	good, says, colour := 0, "an integration qualifies", green
	for _, a := range g.Answers {
		if a.Favorable {
			good++
		}
	}
	if !g.Met {
		says, colour = g.Why, yellow
	}
	p.line("discovery gate (P20 §14.3), by these captures alone: %s; %d of %d answers speak for it", p.paint(colour, says), good, len(g.Answers))
	for _, a := range g.Answers {
		colour := ""
		if !a.Favorable {
			colour = yellow
		}
		p.line("  %s %s", a.Question, p.paint(colour, a.Word))
		p.line("    %s", painted(finding.Printable(a.Text)))
		for _, e := range a.Evidence {
			p.line("    %s, bytes %d to %d: %s", e.File, e.Offset, e.Offset+e.Bytes-1, e.Part)
		}
	}
	for _, s := range g.Summaries {
		p.needs("what stands between a run and an artifact of one usable snapshot", s.Obstacles)
		p.needs("what artifacts leave out of the last snapshot", s.ExtraContent)
	}
}

// needs says what runs would have to change, and for what.
func (p *Printer) needs(what string, list []gate.Problem) {
	if len(list) == 0 {
		return
	}
	p.line("  %s, and what would change it", strings.ToUpper(what[:1])+what[1:])
	for _, n := range list {
		p.line("    %s (%s)", n.Advice(), strings.Join(n.Runs, ", "))
	}
}
