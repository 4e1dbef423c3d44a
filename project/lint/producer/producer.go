// Package producer checks what clients accept in a stream of AG-UI events, and a producer
// most likely did not mean: the rules W1 to W19 and W21 of docs/lint.md.
//
// It does not judge what AG-UI requires: packages sequence and event do. It must not know
// how findings are listed.
package producer

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// A Report gets a finding and the kind of what it is about. Findings with the same rule and
// kind are about the same mistake of the producer.
type Report func(kind string, f finding.Finding)

// A Checker checks the events of one stream, in order. It reads THINKING events of AG-UI 0.x
// only for W9 and W16 to W18, because they have no ids.
type Checker struct {
	report   Report
	reducer  *reduce.Reducer
	open     open
	known    known
	streamed streamed
	calls    arguments
	chunks   chunk.Expander
	times    times
	// lost means that an event of the run could not be read.
	lost bool
	// unchecked means that the finding about a limit was reported.
	unchecked bool
}

// New returns a Checker for a stream.
func New(report Report) *Checker {
	return &Checker{report: report, reducer: reduce.New(reduce.Options{}), known: known{maxIDs: MaxIDs, maxBytes: MaxIDBytes}}
}

// Seed sets the messages and the state that the first run begins with to those of a
// request. It must be called before the first event.
func (c *Checker) Seed(request []byte) { c.reducer.Seed(request) }

// Event checks the next event. It does not retain e.
func (c *Checker) Event(e *envelope.Event) {
	if !eventnames.IsReleased(e.Type) {
		c.checkType(e)
		return
	}
	c.checkTime(e)
	switch e.Type {
	case eventnames.RunStarted:
		c.startRun(e)
	case eventnames.RunFinished:
		c.checkUsage(e)
		c.open.clear()
	case eventnames.RunError:
		c.checkUsage(e)
		c.neverEnded(e.Ref(), finding.Info, "before RUN_ERROR")
	case eventnames.ToolCallResult:
		c.checkResult(e)
	case eventnames.MessagesSnapshot:
		c.checkSnapshot(e)
	default:
		c.checkDelta(e)
		c.track(e)
	}
	c.expandArguments(e)
	c.apply(e)
}

// Skip tells the Checker that the next event could not be read.
func (c *Checker) Skip() { c.lost = true }

// End checks the end of the stream, whose last event is at the given place.
func (c *Checker) End(last envelope.Ref) {
	c.neverEnded(last, finding.Warning, "before the end of the stream")
}

// startRun handles RUN_STARTED.
func (c *Checker) startRun(e *envelope.Event) {
	c.lost = false
	c.open.clear()
	c.streamed.clear()
	c.calls.clear()
	id, ok := text(e, "runId")
	if !ok {
		return
	}
	switch c.known.add(c.key(runID, id)) {
	case again:
		c.found(e, "W13", "runId", string(runID), "RUN_STARTED has the runId %s of an earlier run of the stream", finding.Quote(id))
	case full:
		c.limit(e)
	}
}

// apply applies an event to the messages and the state, and reports patches that do not
// apply.
func (c *Checker) apply(e *envelope.Event) {
	for _, f := range c.reducer.Event(e) {
		if f.Code == finding.ConversationTooLarge {
			c.limit(e)
		}
		if c.lost || c.reducer.Full() || f.Code != finding.PatchFailed && f.Code != finding.MessageUnknown {
			continue
		}
		switch e.Type {
		case eventnames.StateDelta:
			c.report("", e.Place(finding.Violation("W7", "%s", f.Message), member(e, "delta")).WithPointer("/delta"))
		case eventnames.ActivityDelta:
			c.report("", e.Place(finding.Violation("W8", "%s", f.Message), member(e, "patch")).WithPointer("/patch"))
		}
	}
}

// found reports a finding about a member of an event.
func (c *Checker) found(e *envelope.Event, rule, name, kind, format string, args ...any) {
	c.report(kind, e.Place(finding.Violation(rule, format, args...), member(e, name)).WithPointer(finding.Pointer("").Name(name)))
}

// limit reports once that a limit was reached.
func (c *Checker) limit(e *envelope.Event) {
	if !c.unchecked {
		c.unchecked = true
		c.report("", e.Finding(finding.ProducerUnchecked, "a limit is reached at this event (docs/lint.md, section 5); from here on, some rules are not checked"))
	}
}

// member returns a member of an event, or its type if there is no such member.
func member(e *envelope.Event, name string) envelope.Value {
	v, ok := e.Get(name)
	if !ok {
		v, _ = e.Get("type")
	}
	return v
}

// text returns a member of an event that is a string.
func text(e *envelope.Event, name string) (string, bool) {
	v, _ := e.Get(name)
	if v.Kind != envelope.StringValue {
		return "", false
	}
	s, _ := v.Text()
	return s, true
}
