package sequence

import (
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// step is the steps of one name. Each owner may have one of them open.
type step struct {
	open map[owner]int // the owners with an open step, and when it was opened
	// order lists them in that order. It may also list steps that are closed.
	order []begun
}

// begun is an owner and when it opened its step.
type begun struct {
	owner owner
	since int
}

// isClosed reports whether the step of an entry of order is closed.
func (s *step) isClosed(b begun) bool {
	since, open := s.open[b.owner]
	return !open || since != b.since
}

// first returns the owner who opened its step first of those that are open.
func (s *step) first() (owner, bool) {
	for len(s.order) > 0 && s.isClosed(s.order[0]) {
		s.order = s.order[1:]
	}
	if len(s.order) == 0 {
		return owner{}, false
	}
	return s.order[0].owner, true
}

func (c *Checker) startStep(e *envelope.Event, tag owner) {
	name, v, ok := c.idOf(e, "stepName")
	if !ok {
		return
	}
	s := c.run.steps[name]
	if s != nil {
		if _, open := s.open[tag]; open {
			c.breach(e, "G14", v, "/stepName", "STEP_STARTED names step %s, which is already open for %s", finding.Quote(name), tag)
			return
		}
	}
	if !c.remember(e, name+tag.name) {
		return
	}
	if s == nil {
		if c.run.steps == nil {
			c.run.steps = make(map[string]*step)
		}
		s = &step{open: make(map[owner]int)}
		c.run.steps[name] = s
	}
	c.run.sequence++
	s.open[tag] = c.run.sequence
	if len(s.order) > 2*len(s.open)+16 {
		s.order = slices.DeleteFunc(s.order, s.isClosed)
	}
	s.order = append(s.order, begun{tag, c.run.sequence})
}

func (c *Checker) finishStep(e *envelope.Event, tag owner) {
	name, v, ok := c.idOf(e, "stepName")
	if !ok {
		return
	}
	s := c.run.steps[name]
	closes := tag
	if s == nil {
		s = new(step)
	}
	if _, open := s.open[tag]; !open && !c.run.full {
		other, found := s.first()
		switch {
		case found && tag.unknown:
		case found:
			c.breach(e, "G15", v, "/stepName", "STEP_FINISHED of %s names step %s, which is open for %s", tag, finding.Quote(name), other)
		default:
			c.breach(e, "G15", v, "/stepName", "STEP_FINISHED names step %s, which is not open; STEP_STARTED opens it", finding.Quote(name))
		}
		closes = other
	}
	if _, open := s.open[closes]; open {
		delete(s.open, closes)
		c.forget(name + closes.name)
	}
	if len(s.open) == 0 {
		delete(c.run.steps, name)
	}
}

// openSteps returns the open steps.
func (c *Checker) openSteps() (list []*opened) {
	for name, s := range c.run.steps {
		for who, since := range s.open {
			list = append(list, &opened{name, who, since})
		}
	}
	return list
}
