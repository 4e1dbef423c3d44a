package sequence

import (
	"fmt"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// place is a place in the stream relative to its runs.
type place int

const (
	beforeEvents place = iota
	// beforeRun is after events that no RUN_STARTED precedes.
	beforeRun
	inRun
	afterFinished
	afterError
)

// order is the state of the rules on the order of runs.
type order struct {
	place    place
	reported bool // an event after the end of the run
	nested   bool // the run began before the one before it had ended, as far as is known
	lost     bool // an event could not be read since the run began
}

// skip takes account of an event that could not be read. It may have begun or ended a
// run.
func (o *order) skip() { *o = order{place: beforeRun, lost: true} }

// checkOrder checks the place of an event relative to runs, and begins a run. It reports
// whether the other rules apply: they do not between runs.
func (c *Checker) checkOrder(e *envelope.Event) bool {
	o := &c.order
	starts := e.Type == eventnames.RunStarted
	switch {
	case o.place == afterError && !starts:
		c.outside(e, "G3", "RUN_ERROR")
		return false
	case o.place == afterFinished && !starts && e.Type != eventnames.RunError:
		c.outside(e, "G2", "RUN_FINISHED")
		return false
	case o.place == beforeEvents && !starts && e.Type != eventnames.RunError:
		c.breach(e, "G1", noPlace(), "", "the stream begins with %s; the first event must be RUN_STARTED or RUN_ERROR", e.Type)
		o.place = beforeRun
		c.quiet = true
	case o.place == inRun && starts:
		c.breach(e, "G4", noPlace(), "", "RUN_STARTED follows, but the run before it has no RUN_FINISHED or RUN_ERROR")
	}
	switch e.Type {
	case eventnames.RunStarted:
		*o = order{place: inRun, nested: o.place == inRun || o.lost}
		c.run = run{}
		clear(c.faulty)
		c.thinking.stepOpen, c.thinking.messageOpen = false, false
	case eventnames.RunError:
		*o = order{place: afterError}
		c.identity.thread, c.identity.run = name{}, name{}
		c.endRun()
	}
	return true
}

// outside reports the first event after the end of a run.
func (c *Checker) outside(e *envelope.Event, rule, end string) {
	if !c.order.reported {
		c.breach(e, rule, noPlace(), "", "%s follows %s; only a new run may follow", c.subject(e), end)
	}
	c.order.reported = true
}

// endRun forgets what is known of the run, so that no later event searches it again.
func (c *Checker) endRun() { c.run = run{lost: c.run.lost} }

// finish checks what is open at RUN_FINISHED, and ends the run.
func (c *Checker) finish(e *envelope.Event) {
	c.order = order{place: afterFinished}
	c.identity.thread, c.identity.run = name{}, name{}
	defer c.endRun()
	if c.run.full {
		return
	}
	for _, kind := range []struct {
		noun, nouns string
		open        []*opened
	}{
		{"step", "steps", c.openSteps()},
		{textMessage.noun, textMessage.noun + "s", c.openEntities(textMessage)},
		{reasoningMessage.noun, reasoningMessage.noun + "s", c.openEntities(reasoningMessage)},
		{reasoningSpan.noun, reasoningSpan.noun + "s", c.openEntities(reasoningSpan)},
		{toolCall.noun, toolCall.noun + "s", c.openEntities(toolCall)},
		{"subagent", "subagents", c.openSubagents()},
	} {
		if n := len(kind.open); n > 0 && (kind.noun != reasoningMessage.noun && kind.noun != reasoningSpan.noun || c.protocol != event.V0) {
			c.breach(e, "G23", noPlace(), "", "RUN_FINISHED leaves %s open: %s", counted(n, kind.noun, kind.nouns), listOpened(kind.open))
		}
	}
}

// noPlace returns the value for a finding about the whole event.
func noPlace() envelope.Value { return envelope.Value{} }

// remember counts an id of the run. It reports whether there is room for it, and the
// first time that there is none, it reports that the run is not checked further.
func (c *Checker) remember(e *envelope.Event, id string) bool {
	r := &c.run
	if r.full {
		return false
	}
	if r.ids == c.maxIDs || r.bytes+len(id) > c.maxBytes {
		c.unchecked(e, fmt.Sprintf("the run has more than %d ids, or its ids have more than %d bytes", c.maxIDs, c.maxBytes))
		return false
	}
	r.ids++
	r.bytes += len(id)
	return true
}

// unchecked reports that the run exceeds a limit, once.
func (c *Checker) unchecked(e *envelope.Event, limit string) {
	if !c.run.full {
		c.report(e, finding.New(finding.SequenceUnchecked, "%s; the rest of the run is not checked by all rules", limit), envelope.Value{}, "")
	}
	c.run.full = true
}

// forget is the opposite of remember.
func (c *Checker) forget(id string) {
	c.run.ids--
	c.run.bytes -= len(id)
}
