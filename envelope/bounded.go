package envelope

import (
	"io"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
)

// The places of a bounded envelope, in order (P20 §7).
const (
	placeStarted = iota
	placeSnapshot
	placeTerminal
	places
)

var placeNames = [places]string{"RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED or RUN_ERROR"}

// Check reads frames as a bounded envelope: exactly RUN_STARTED, one
// MESSAGES_SNAPSHOT and one terminal event, in that order, on one thread. The
// terminal event may name another run: an envelope does not say which projection
// made it, and some accept that. One more event of any family is malformed
// (P20 §7). The messages of the snapshot are not held to the text subset. The
// error is one of the frames'; what is wrong with the envelope are findings.
func Check(frames Frames) ([]finding.Finding, error) {
	var (
		s    scanner
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
				f = f.WithHint("correct the JSON at the caret; in JSON lines each event stands on one line, and alone on it")
			}
			c.found.Add(f)
			continue
		}
		c.event(e)
	}
	next := hint.FreezeEnvelope
	if read == 0 {
		next = "the file holds no event at all: it is neither JSON lines, nor a JSON array, nor an event stream"
	}
	if c.seen[placeStarted] && c.terminal != nil {
		c.terminal.sameRun(c.started, c.found.Add) // another run may be named
	}
	for place, ok := range c.seen {
		if !ok {
			c.found.Add(finding.Violation("E6", "%s is missing", placeNames[place]).WithHint("%s", next))
		}
	}
	return c.found.Findings(), nil
}

// checker reads the events of one bounded envelope.
type checker struct {
	found    finding.List
	seen     [places]bool
	latest   int // the latest place seen
	started  identity
	terminal *Event
}

func (c *checker) event(e *Event) {
	place := placeOf(e.Type)
	kind, _ := e.Get("type")
	switch {
	case place < 0:
		c.found.Add(e.breach(kind, "E3", "/type", "%s is no part of a bounded envelope", finding.Quote(e.Type)).WithHint(hint.FreezeEnvelope))
		return
	case c.seen[place]:
		c.found.Add(e.breach(kind, "E4", "/type", "%s is there already", placeNames[place]))
		return
	case place < c.latest:
		c.found.Add(e.breach(kind, "E5", "/type", "%s stands after %s", e.Type, placeNames[c.latest]))
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

// snapshot reports messages that are no list of objects.
func (c *checker) snapshot(e *Event) {
	list, ok := e.Get("messages")
	if !ok {
		list = e.whole()
	}
	if !ok || list.Kind != strictjson.ArrayStart {
		c.found.Add(e.breach(list, "E12", "/messages", "the snapshot has no list of messages"))
		return
	}
	_ = strictjson.Elements(list, func(i int, v strictjson.Value, _ *strictjson.Object) error {
		if v.Kind != strictjson.ObjectStart {
			c.found.Add(e.breach(v, "E13", finding.Pointer("/messages").Index(i), "message %d is %s where an object belongs", i, v.Kind))
		}
		return nil
	})
}
