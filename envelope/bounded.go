package envelope

import (
	"io"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
)

// The positions of the events in a bounded envelope (P20 §7).
const (
	placeStarted = iota
	placeSnapshot
	placeTerminal
	places
)

var placeNames = [places]string{"RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED or RUN_ERROR"}

// Check checks that frames are a bounded envelope: exactly one RUN_STARTED, one
// MESSAGES_SNAPSHOT and one terminal event, in that order, all of one thread. Any
// other event makes the envelope malformed (P20 §7). The terminal event may name
// another run, because some projections accept this and an envelope does not name
// its projection. The messages of the snapshot need not be in the text subset.
//
// Check returns the faults of the envelope as findings. It returns an error only if
// frames returns one.
func Check(frames Frames) ([]finding.Finding, error) {
	var (
		s    = newScanner()
		c    checker
		read = 0
	)
	for {
		frame, err := frames.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		read++
		e, err := s.scan(frame)
		if err != nil {
			f := unreadable(frame, err)
			if f.Code == finding.JSONSyntax || f.Code == finding.JSONTrailing {
				f = f.WithHint("correct the JSON at the caret; in JSON lines, each event is on a line of its own")
			}
			c.found.Add(f)
			continue
		}
		c.event(e)
	}
	next := hint.FreezeEnvelope
	if read == 0 {
		next = "the file contains no events: it is not JSON lines, a JSON array or an event stream"
	}
	if c.seen[placeStarted] && c.terminal != nil {
		c.terminal.checkIdentity(c.started, c.found.Add) // the run may differ
	}
	for place, ok := range c.seen {
		if !ok {
			c.found.Add(finding.Violation("E6", "%s is missing", placeNames[place]).WithHint("%s", next))
		}
	}
	return c.found.Findings(), nil
}

// checker checks the events of a bounded envelope.
type checker struct {
	found    finding.List
	seen     [places]bool
	latest   int // the highest place seen
	started  identity
	terminal *Event
}

func (c *checker) event(e *Event) {
	place := placeOf(e.Type)
	kind, _ := e.Get("type")
	switch {
	case place < 0:
		c.found.Add(e.violation(kind, "E3", "/type", "%s is not allowed in a bounded envelope", finding.Quote(e.Type)).WithHint(hint.FreezeEnvelope))
		return
	case c.seen[place]:
		c.found.Add(e.violation(kind, "E4", "/type", "there is already a %s", placeNames[place]))
		return
	case place < c.latest:
		c.found.Add(e.violation(kind, "E5", "/type", "%s comes after %s", e.Type, placeNames[c.latest]))
	}
	c.seen[place] = true
	c.latest = max(c.latest, place)
	switch place {
	case placeStarted:
		c.started = e.identity(c.found.Add)
	case placeSnapshot:
		c.snapshot(e)
	case placeTerminal:
		c.terminal = e.Clone()
	}
}

func placeOf(eventType string) int {
	switch eventType {
	case RunStarted:
		return placeStarted
	case MessagesSnapshot:
		return placeSnapshot
	case RunFinished, RunError:
		return placeTerminal
	}
	return -1
}

// snapshot reports messages that are not a list of objects.
func (c *checker) snapshot(e *Event) {
	list, ok := e.Get("messages")
	if !ok {
		list = e.whole()
	}
	if !ok || list.Kind != strictjson.ArrayStart {
		c.found.Add(e.violation(list, "E12", "/messages", "the snapshot has no list of messages"))
		return
	}
	_ = strictjson.Elements(list, func(i int, v strictjson.Value, _ *strictjson.Object) error {
		if v.Kind != strictjson.ObjectStart {
			c.found.Add(e.violation(v, "E13", finding.Pointer("/messages").Index(i), "message %d is %s where an object belongs", i, v.Kind))
		}
		return nil
	})
}
