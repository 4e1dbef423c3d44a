package sequence

import (
	"fmt"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
)

// identity is what the rules on the identity of runs know of the stream.
type identity struct {
	// thread and run are the ids of the open run. They are not known if they are missing,
	// too long or in an event that could not be read.
	thread, run name
	first       name // the thread of the first run
	runs        map[runID]bool
	interrupted interrupted
	// ids and bytes count what is remembered, for the limits.
	ids, bytes int
	full       bool // a limit was exceeded, and that was reported
}

// name is an id that may be unknown.
type name struct {
	text  string
	known bool
}

// differs reports whether two ids are known and are not the same.
func (n name) differs(other name) bool { return n.known && other.known && n.text != other.text }

// runID identifies a run in a stream.
type runID struct{ thread, run string }

// nameOf returns the id of an event in a member, if it can be remembered.
func (c *Checker) nameOf(e *envelope.Event, key string) (name, envelope.Value) {
	text, v, ok := c.idOf(e, key)
	if !ok || len(text) > c.maxBytes {
		return name{}, v
	}
	return name{text, true}, v
}

// has reports whether one of the rules that no published client enforces is checked.
func (c *Checker) has(rule string) bool {
	if c.protocol == event.V0 {
		return false
	}
	switch rule {
	case "G34":
		return c.protocol == event.Draft && !c.client
	case "G38":
		return c.protocol != event.V1 && !c.client
	}
	return !c.client
}

// beginIdentity checks the ids of RUN_STARTED, and remembers them.
func (c *Checker) beginIdentity(e *envelope.Event) {
	if c.client {
		return
	}
	i := &c.identity
	thread, threadValue := c.nameOf(e, "threadId")
	run, runValue := c.nameOf(e, "runId")
	if i.first.differs(thread) && c.has("G32") {
		c.breach(e, "G32", threadValue, "/threadId", "RUN_STARTED names thread %s, but the first run of the stream is of thread %s", finding.Quote(thread.text), finding.Quote(i.first.text))
	}
	if !i.first.known {
		i.first = thread
	}
	i.thread, i.run = thread, run
	if !thread.known || !run.known {
		return
	}
	id := runID{thread.text, run.text}
	switch {
	case i.runs[id] && !c.order.nested && c.has("G35"):
		c.breach(e, "G35", runValue, "/runId", "RUN_STARTED names run %s, which is an earlier run of the thread", finding.Quote(run.text))
	case !i.runs[id] && c.rememberInStream(e, 1, len(thread.text)+len(run.text)):
		if i.runs == nil {
			i.runs = make(map[runID]bool)
		}
		i.runs[id] = true
	}
}

// endIdentity compares the ids of RUN_FINISHED with those of RUN_STARTED.
func (c *Checker) endIdentity(e *envelope.Event) {
	i := &c.identity
	run, v := c.nameOf(e, "runId")
	if run.differs(i.run) && c.has("G30") {
		c.breach(e, "G30", v, "/runId", "RUN_FINISHED names run %s, but RUN_STARTED names run %s", finding.Quote(run.text), finding.Quote(i.run.text))
	}
	thread, v := c.nameOf(e, "threadId")
	if thread.differs(i.thread) && c.has("G31") {
		c.breach(e, "G31", v, "/threadId", "RUN_FINISHED names thread %s, but RUN_STARTED names thread %s", finding.Quote(thread.text), finding.Quote(i.thread.text))
	}
}

// rememberInStream counts ids that are remembered beyond their run. It reports whether there
// is room for them, and the first time that there is none, it reports that.
func (c *Checker) rememberInStream(e *envelope.Event, ids, bytes int) bool {
	i := &c.identity
	if i.ids+ids > c.maxIDs || i.bytes+bytes > c.maxBytes {
		if !i.full && c.protocol != event.V0 {
			c.report(e, finding.New(finding.SequenceUnchecked, "%s", fmt.Sprintf("the stream has more than %d ids of runs and interrupts, or they have more than %d bytes; the rest of them are not compared", c.maxIDs, c.maxBytes)), envelope.Value{}, "")
		}
		i.full = true
		return false
	}
	i.ids += ids
	i.bytes += bytes
	return true
}

// Truncated returns the breach of G34 if the stream may not end here.
func (c *Checker) Truncated() []finding.Finding {
	if c.order.place != inRun || !c.has("G34") {
		return nil
	}
	f := finding.Violation("G34", "the stream ends in a run without RUN_FINISHED or RUN_ERROR")
	return []finding.Finding{c.last.Annotate(f)}
}

// Protocol returns the protocol of the current run, or before the first run, that of the
// first one if it declares none.
func (c *Checker) Protocol() event.Protocol { return c.protocol }

// Declared returns the version that RUN_STARTED of the current run declares, and how it is
// read.
func (c *Checker) Declared() (version string, how event.Declaration) {
	return c.version, c.declaration
}

// declare takes account of the version that RUN_STARTED declares.
func (c *Checker) declare(e *envelope.Event) {
	v, _ := e.Get("protocolVersion")
	declared, how := "", event.Undeclared
	if c.version, c.declaration = "", event.Undeclared; v.Kind == envelope.StringValue {
		// A version that is not one, such as the empty string, cannot be interpreted.
		declared, _ = v.Text()
		how = event.Uninterpretable
	}
	protocol := event.Current
	if declared != "" {
		protocol, how = event.Declared(declared)
	}
	c.version, c.declaration = declared, how
	if c.auto {
		c.protocol = protocol
	}
	newer := finding.New(finding.ProtocolNewer, "RUN_STARTED declares AG-UI %s; the run is read as %s", finding.Quote(declared), c.protocol)
	if how == event.Known && c.protocol == event.V1 && protocol == event.V1Minor1 {
		how, newer = event.Newer, newer.WithHint(hint.ReadAsDeclared)
	}
	if c.protocol == event.V0 || c.client {
		return
	}
	switch how {
	case event.Newer:
		c.report(e, newer, v, "/protocolVersion")
	case event.Uninterpretable:
		c.report(e, finding.New(finding.ProtocolNewer, "RUN_STARTED declares the version %s, which is not of the form MAJOR.MINOR; the run is read as %s", finding.Quote(declared), c.protocol).WithHint(hint.DeclareVersion), v, "/protocolVersion")
	}
}
