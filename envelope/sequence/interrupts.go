package sequence

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// interrupted is the last run of the stream that ended with an interrupt.
type interrupted struct {
	run, thread name
	ids         []string // its interrupts, in order, each once
	// open means that no run has ended with RUN_FINISHED since.
	open  bool
	bytes int // the length of ids
}

// memberOf returns a member of the object v, with its place in the event.
func memberOf(v envelope.Value, key string) (envelope.Value, bool) {
	if v.Kind != envelope.ObjectValue {
		return envelope.Value{}, false
	}
	var o envelope.Object
	if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), v.Raw); err != nil {
		return envelope.Value{}, false // the event was read before, so this cannot happen
	}
	m, ok := o.Get(key)
	m.Start += v.Start
	return m, ok
}

// checkInterrupts checks the interrupts of RUN_FINISHED, and remembers them.
func (c *Checker) checkInterrupts(e *envelope.Event) {
	last := &c.identity.interrupted
	outcome, _ := e.Get("outcome")
	kind, _ := memberOf(outcome, "type")
	list, ok := memberOf(outcome, "interrupts")
	if !ok || !kind.Is("interrupt") {
		last.open = false
		return
	}
	c.forgetInterrupts()
	found := interrupted{run: c.identity.run, thread: c.identity.thread, open: true}
	seen := make(map[string]bool)
	repeated := false
	// The event was read before, so there is no error.
	_ = strictjson.Elements(list, func(i int, _ envelope.Value, interrupt *envelope.Object) error {
		id, _ := interrupt.Get("id")
		at := finding.Pointer("/outcome/interrupts").Index(i)
		if v, ok := interrupt.Get("subagentRunId"); ok && v.Kind == envelope.NullValue {
			c.breach(e, "G5", v, at.Name("subagentRunId"), "interrupt %s has the subagentRunId null; leave it out", quoted(id))
		}
		if id.Kind != envelope.StringValue {
			return nil
		}
		text, _ := id.Text()
		if seen[text] && !repeated && c.has("G33") {
			repeated = true
			c.breach(e, "G33", id, at.Name("id"), "two interrupts of RUN_FINISHED have the id %s", finding.Quote(text))
		}
		if !seen[text] {
			found.ids = append(found.ids, text)
			found.bytes += len(text)
		}
		seen[text] = true
		return nil
	})
	*last = interrupted{}
	if !c.client && found.thread.known && c.rememberInStream(e, len(found.ids), found.bytes) {
		*last = found
	}
}

// forgetInterrupts forgets the interrupts of the last interrupted run.
func (c *Checker) forgetInterrupts() {
	i := &c.identity
	i.ids -= len(i.interrupted.ids)
	i.bytes -= i.interrupted.bytes
	i.interrupted = interrupted{}
}

// checkResume compares the resume of the input of RUN_STARTED with the interrupts of the last
// interrupted run of the thread.
func (c *Checker) checkResume(e *envelope.Event) {
	last := &c.identity.interrupted
	input, ok := e.Get("input")
	if !ok || input.Kind != envelope.ObjectValue || !last.thread.known || !c.identity.thread.known || last.thread != c.identity.thread {
		return
	}
	resume, has := memberOf(input, "resume")
	if has && resume.Kind != envelope.ArrayValue {
		return
	}
	known := make(map[string]bool, len(last.ids))
	for _, id := range last.ids {
		known[id] = true
	}
	covered := make(map[string]bool)
	unknown := false
	_ = strictjson.Elements(resume, func(i int, _ envelope.Value, entry *envelope.Object) error {
		id, ok := entry.Get("interruptId")
		if !ok || id.Kind != envelope.StringValue {
			return nil
		}
		text, _ := id.Text()
		if known[text] {
			covered[text] = true
		} else if !unknown && c.has("G37") {
			unknown = true
			c.breach(e, "G37", id, finding.Pointer("/input/resume").Index(i).Name("interruptId"), "the resume of RUN_STARTED names interrupt %s, which %s does not have", finding.Quote(text), last)
		}
		return nil
	})
	if len(covered) == len(last.ids) || !last.open || !c.has("G36") {
		return
	}
	var left []string
	for _, id := range last.ids {
		if !covered[id] {
			left = append(left, id)
		}
	}
	at, pointer := resume, finding.Pointer("/input/resume")
	if !has {
		at, pointer = input, "/input"
	}
	c.breach(e, "G36", at, pointer, "the resume of RUN_STARTED leaves out %s of %s: %s", counted(len(left), "interrupt", "interrupts"), last, listQuoted(left))
}

// String returns the run for a finding.
func (i *interrupted) String() string {
	if i.run.known {
		return "run " + finding.Quote(i.run.text)
	}
	return "the interrupted run"
}

// listQuoted names the first of some ids.
func listQuoted(ids []string) string {
	var texts []string
	for _, id := range ids[:min(len(ids), maxNamed)] {
		texts = append(texts, finding.Quote(id))
	}
	if len(ids) > maxNamed {
		texts = append(texts, fmt.Sprintf("and %d more", len(ids)-maxNamed))
	}
	return strings.Join(texts, ", ")
}
