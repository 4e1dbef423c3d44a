package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// MintedCount counts ids of one shape that integrations chose.
type MintedCount struct {
	// Event is RUN_STARTED, or the type of a terminal event with a different id.
	Event string `json:"event"`
	// Key is threadId or runId.
	Key string `json:"key"`
	// Shape is the form of the ids; see analysis.Shape.
	Shape string `json:"shape"`
	Count int    `json:"count"`
	// Valid counts the ids that are valid references under the contract.
	Valid int `json:"taken"`
}

// AnchorCounts counts the ids of runs that integrations chose.
type AnchorCounts struct {
	// OmitID counts the requests without a threadId or runId.
	OmitID int `json:"unnamed"`
	// Answered counts such requests that were answered with a run.
	Answered int `json:"answered"`
	// HTTPErrors counts such requests that were answered with an HTTP error.
	HTTPErrors int `json:"refused_http"`
	// Minted counts the chosen ids by event, key and shape.
	Minted []MintedCount `json:"minted"`
}

func (c *AnchorCounts) add(run analysis.Run) {
	if run.OmitsID {
		c.OmitID++
		switch {
		case run.Run != nil:
			c.Answered++
		case badStatus(run):
			c.HTTPErrors++
		}
	}
	for _, m := range run.Minted {
		at := slices.IndexFunc(c.Minted, func(n MintedCount) bool { return n.Event == m.Event && n.Key == m.Key && n.Shape == m.Shape })
		if at < 0 {
			at = len(c.Minted)
			c.Minted = append(c.Minted, MintedCount{Event: m.Event, Key: m.Key, Shape: m.Shape})
		}
		c.Minted[at].Count++
		if m.Rule == "" {
			c.Minted[at].Valid++
		}
	}
}

// countKey returns the number of ids with a key in RUN_STARTED, or in terminal events if
// started is false.
func (c *AnchorCounts) countKey(started bool, key string) (n int) {
	for _, m := range c.Minted {
		if (m.Event == envelope.RunStarted) == started && m.Key == key {
			n += m.Count
		}
	}
	return n
}

func anchors(runs []analysis.Run, all Summary) Answer {
	if all.Runs == 0 {
		return unanswerable(QuestionAnchors)
	}
	chosen, taken, refused, blank := 0, 0, 0, 0
	for _, run := range runs {
		if run.Run == nil {
			continue
		}
		rich, empty := false, false
		for _, p := range run.Projections { // a projection may refuse the run before it checks the ids
			for _, r := range p.Reasons {
				switch {
				case !isAnchor(r):
				case r.Code == finding.RefNotOpaque || r.Code == finding.TooLong:
					rich = true
				default:
					empty = true
				}
			}
		}
		switch {
		case rich:
			refused++
		case empty:
			blank++
		}
		if !slices.ContainsFunc(run.Minted, func(a analysis.Anchor) bool { return a.Event == envelope.RunStarted }) && !empty {
			chosen++
			if !rich {
				taken++
			}
		}
	}
	c := all.Anchors
	minted, kept, shapes := 0, 0, []string{}
	for _, m := range c.Minted {
		minted += m.Count
		kept += m.Valid
		if !slices.Contains(shapes, m.Shape) {
			shapes = append(shapes, m.Shape)
		}
	}
	a := Answer{Question: QuestionAnchors, Favorable: refused == 0 && minted > 0, Word: "no"}
	switch {
	case refused > 0:
		a.Word = "yes"
	case minted == 0:
		a.Word = "unknown"
	}
	a.Text = fmt.Sprintf("The required ids are threadId and runId. An id contains too much if it contains more than an opaque reference may. Requests without one of the two: %d; answered with a run: %d, with an HTTP error: %d.", c.OmitID, c.Answered, c.HTTPErrors)
	if minted > 0 {
		a.Text += fmt.Sprintf(" Ids that integrations chose: %d threadId and %d runId in RUN_STARTED, %d threadId and %d runId in terminal events that name another thread or run; their shapes: %s. Valid references under the contract: %d of %d.",
			c.countKey(true, "threadId"), c.countKey(true, "runId"), c.countKey(false, "threadId"), c.countKey(false, "runId"), strings.Join(shapes, ", "), kept, minted)
	} else {
		a.Text += " No integration chose an id."
	}
	if blank > 0 {
		a.Text += fmt.Sprintf(" Runs refused because an id in RUN_STARTED is missing or empty: %d.", blank)
	}
	a.Text += fmt.Sprintf(" Other runs, all with the ids of their request: %d, %d of them with valid ids; these ids are the requests' own, so they prove nothing about integrations.", chosen, taken)
	for _, run := range firstOf(runs, func(e analysis.Run) bool { return len(e.Minted) > 0 && len(e.Events) > 0 }) {
		for _, m := range run.Minted {
			part := project.RunStartedPart
			if m.Event != envelope.RunStarted {
				part = project.TerminalPart
			}
			for _, e := range evidence(run, part) {
				if !slices.Contains(a.Evidence, e) {
					a.Evidence = append(a.Evidence, e)
				}
			}
		}
	}
	return a
}

// isAnchor reports whether a reason is about a thread or run id of RUN_STARTED.
func isAnchor(r analysis.Reason) bool {
	return r.Event == envelope.RunStarted && (r.Pointer == "/threadId" || r.Pointer == "/runId")
}
