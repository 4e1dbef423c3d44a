package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/envelope"
)

// boundaries says which rules of AG-UI's specification about the two ends of a run the
// run breaks.
type boundaries struct {
	// otherRun and otherThread report that RUN_FINISHED has an id that RUN_STARTED does
	// not have.
	otherRun, otherThread bool
	// otherRequest reports that RUN_STARTED lacks an id that the request has.
	otherRequest bool
	// withoutID reports that RUN_STARTED has no threadId or no runId.
	withoutID bool
	// afterEnd reports an event after the end of the run that may not be there.
	afterEnd bool
}

// boundaryReader reads the boundaries of a run from its events.
type boundaryReader struct {
	request, started struct {
		ThreadID string `json:"threadId"`
		RunID    string `json:"runId"`
	}
	ended string // the type of the last event that ended the run
	found boundaries
}

func newBoundaryReader(request []byte) (*boundaryReader, error) {
	r := &boundaryReader{}
	if request == nil {
		return r, nil
	}
	return r, json.Unmarshal(request, &r.request)
}

// event reads one event. The first is RUN_STARTED.
func (r *boundaryReader) event(e *envelope.Event) {
	thread, run := e.Object.Text("threadId"), e.Object.Text("runId")
	f := &r.found
	switch {
	case e.Type == envelope.RunStarted:
		r.started.ThreadID, r.started.RunID = thread, run
		f.otherRequest = r.request.ThreadID != "" && thread != r.request.ThreadID || r.request.RunID != "" && run != r.request.RunID
		for _, key := range []string{"threadId", "runId"} {
			if v, ok := e.Get(key); !ok || v.Kind != envelope.StringValue {
				f.withoutID = true
			}
		}
	case r.ended == envelope.RunError, r.ended != "" && e.Type != envelope.RunError:
		f.afterEnd = true
	case e.Type == envelope.RunFinished:
		f.otherRun = run != r.started.RunID
		f.otherThread = thread != r.started.ThreadID
	}
	if e.Type == envelope.RunFinished || e.Type == envelope.RunError {
		r.ended = e.Type
	}
}

// boundaryCounts counts the runs of an integration that break each rule.
type boundaryCounts struct {
	runs, otherRun, otherThread, otherRequest, withoutID, afterEnd int
}

func (c *boundaryCounts) add(b boundaries) {
	c.runs++
	for _, one := range []struct {
		is bool
		to *int
	}{{b.otherRun, &c.otherRun}, {b.otherThread, &c.otherThread}, {b.otherRequest, &c.otherRequest}, {b.withoutID, &c.withoutID}, {b.afterEnd, &c.afterEnd}} {
		if one.is {
			*one.to++
		}
	}
}

// breaches describes what the runs break, or is "".
func (c *boundaryCounts) breaches() string {
	var parts []string
	for _, one := range []struct {
		n    int
		what string
	}{
		{c.otherRun, "end under another run id"},
		{c.otherThread, "end in another thread"},
		{c.otherRequest, "begin under another id than the request's"},
		{c.withoutID, "begin without an id"},
		{c.afterEnd, "have events after their end"},
	} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d runs %s", one.n, c.runs, one.what))
		}
	}
	return strings.Join(parts, ", ")
}

// specificationRules is the text about the rules of AG-UI's specification.
const specificationRules = `## What AG-UI's specification changes

AG-UI has published a specification since September 2026: [1.0](https://docs.ag-ui.com/spec/1.0), and [1.1](https://docs.ag-ui.com/spec/1.1), which only adds a field to reasoning, messages and tool calls. Neither changes a verdict on this page or a version of a projection. The specification has rules for the events of the bounded envelope. Its pages are named by their path:

| AG-UI 1.0 and 1.1 | page | here |
|---|---|---|
| RUN_STARTED and RUN_FINISHED of a run MUST have the same ` + "`runId`" + ` | basic/run-input, Identity | ` + "`emitted-snapshot`" + ` refuses a run that ends under another id ([R11](../docs/projections.md#R11)). The other projections freeze it under the id of RUN_STARTED, with a warning ([R12](../docs/projections.md#R12)) |
| both have the ` + "`threadId`" + ` of the request | basic/run-input, Identity | every projection refuses a run that ends in another thread ([E11](../docs/contract.md#E11)). The request is not compared |
| RUN_STARTED of the requested run has the ` + "`runId`" + ` of the request | basic/run-input, Identity | not compared: the artifact has the id of the run |
| RUN_STARTED has both ids | schema | every projection refuses a run without them ([E7](../docs/contract.md#E7)) |
| after RUN_FINISHED only RUN_ERROR or another run MAY follow, and after RUN_ERROR only another run | events/lifecycle, After a run closes | every projection refuses any event after the end of the run, including such a RUN_ERROR ([R6](../docs/projections.md#R6), [R7](../docs/projections.md#R7)) |

The rules bind agents. The published client 1.0.0 does not check the first three; the clients of the draft of 2026-11-23 refuse a RUN_FINISHED that names another run or thread. This section counts breaches of these five rules. ` + "`p20export lint`" + ` checks the other rules.

`

// specification writes which integrations break the rules of AG-UI's specification about
// the two ends of a run.
func specification(b *bytes.Buffer, harnesses []harness, g gate.Gate) {
	b.WriteString(specificationRules)
	var qualified, others, rows []string
	qualifying := 0
	for _, s := range g.Summaries {
		var c boundaryCounts
		for _, h := range harnesses {
			for _, one := range h.details {
				if one.run.Integration == s.Integration {
					c.add(one.boundaries)
				}
			}
		}
		if s.Qualifies {
			qualifying++
		}
		if what := c.breaches(); what != "" {
			named := fmt.Sprintf("%s (%s)", s.Integration, what)
			if s.Qualifies {
				qualified = append(qualified, named)
			} else {
				others = append(others, named)
			}
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d |\n", s.Integration.Name, s.Qualification.Qualifies, c.runs, c.otherRun, c.otherThread, c.otherRequest, c.withoutID, c.afterEnd))
	}
	fmt.Fprintf(b, "Qualified integrations that break one of these rules: %d of %d: %s. Integrations that do not qualify and break one: %d of %d: %s.\n\n",
		len(qualified), qualifying, orNone(qualified), len(others), len(g.Summaries)-qualifying, orNone(others))
	b.WriteString("| integration | qualifies | runs | end under another run id | end in another thread | begin under another id than the request's | begin without an id | have events after their end |\n|---|---|---|---|---|---|---|---|\n" + strings.Join(rows, "") + "\n")
}

// orNone joins a list, or returns "none".
func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, "; ")
}

// done returns whether discovery is done by the five conditions of P20 §14.3, which the
// first five answers are about.
func done(answers []gate.Answer) string {
	var missing []string
	for i, a := range answers[:5] {
		if !a.Favorable {
			missing = append(missing, fmt.Sprintf("%d", i+1))
		}
	}
	if missing != nil {
		return fmt.Sprintf("**Discovery is not done in the sense of [P20 §14.3](../docs/p20.md#s14.3).** Its five conditions are what answers 1 to 5 are about; missing: %s.", join(missing))
	}
	return "**Discovery is done in the sense of [P20 §14.3](../docs/p20.md#s14.3).** Its five conditions are what answers 1 to 5 are about. For the fifth, the upstream envelope is the captured run; answer 5 also compares artifacts with the three events alone."
}
