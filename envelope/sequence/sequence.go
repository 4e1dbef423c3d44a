// Package sequence checks the order of AG-UI events: which events may follow which, as
// the reference client requires (docs/sequence.md).
//
// It knows what is open in a run and who owns it. It must not know what messages
// contain, and it does not check the form of events beyond the rules of that page:
// package event does that. If an event lacks a member that a rule reads, or the member
// is not a string, the rule does not apply to it.
//
// A Checker takes events as *envelope.Event, which envelope.ReadEvent makes from JSON
// text:
//
//	e, err := envelope.ReadEvent(event.Append(nil, &event.StepStarted{StepName: "plan"}))
//	if err != nil {
//		return err
//	}
//	e.Index = i
//	for _, f := range checker.Event(e) {
//		fmt.Println(f)
//	}
//
// ReadEvent leaves Index and Offset 0. The caller sets them, so that findings have the
// place of the event in the stream. An envelope.Event that is composed of a Type and Data
// has no members, so most rules do not apply to it.
package sequence

import (
	"cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// Options are the settings of a Checker.
type Options struct {
	// Protocol is the version of the rules. The default is event.V1. Under event.Auto,
	// each run is checked by the version that its RUN_STARTED declares.
	Protocol event.Protocol
	// Client limits the checks to the rules that the published client of the protocol
	// enforces. See event.Protocol.Client and finding.SourceOf.
	Client bool
}

// A Checker checks the events of one stream, in order. It reports every breach of a
// rule, and after a breach it continues with the state that the producer most likely
// had in mind, so that one mistake is reported once.
type Checker struct {
	protocol event.Protocol // of the current run
	auto     bool           // RUN_STARTED chooses the protocol
	client   bool           // only rules that the client enforces
	// version is what RUN_STARTED declared, and declaration how it is read.
	version     string
	declaration event.Declaration
	// maxIDs and maxBytes are MaxIDs and MaxIDBytes, except in tests.
	maxIDs, maxBytes int

	expander chunk.Expander
	faulty   map[string]fault // the last fault of each type of chunk
	order    order
	identity identity
	run      run
	thinking thinking
	found    []finding.Finding

	last   envelope.Ref    // the last event
	origin *envelope.Event // the event of the stream that is being checked
	quiet  bool            // a breach of the order of runs was reported for it
	tagged bool            // its null subagentRunId was reported
}

// run is what is known of the current run.
type run struct {
	messages, tools, reasoning, activities entities

	steps     map[string]*step
	subagents map[string]*subagent
	tagged    map[string]bool // the subagents that events belong to
	// sequence counts what was opened, so that findings list it in order.
	sequence int
	// ids and bytes count what is remembered, for the limits.
	ids, bytes int
	full       bool // a limit was exceeded
	// lost means that an event could not be read, or exceeds a limit of package chunk.
	// Until the next run, a breach is reported only if that event cannot explain it.
	lost bool
}

// New returns a Checker for a stream. It panics if there are no rules for the protocol;
// event.ParseProtocol returns an error instead.
func New(o Options) *Checker {
	c := &Checker{protocol: cmp.Or(o.Protocol, event.V1), client: o.Client, declaration: event.Undeclared, maxIDs: MaxIDs, maxBytes: MaxIDBytes}
	if _, err := event.ParseProtocol(string(c.protocol)); err != nil {
		panic("sequence: there is no protocol " + string(c.protocol) + "; " + err.Error())
	}
	if c.protocol == event.Auto {
		c.protocol, c.auto = event.Current, true
	}
	return c
}

// Event checks the next event and returns its breaches, in the order of the client's
// checks. The event may be changed after the call.
//
// Events of types that AG-UI 1.0 does not define are ignored, because the client drops
// them; the THINKING types of AG-UI 0.x are not.
func (c *Checker) Event(e *envelope.Event) []finding.Finding {
	c.found, c.origin, c.quiet, c.tagged = nil, e, false, false
	c.last = e.Ref()
	if !eventnames.IsReleased(e.Type) {
		return nil
	}
	if e.Type == eventnames.RunStarted {
		c.declare(e)
	}
	if c.protocol == event.V0 && isThinking(e) {
		c.endChunks(e)
	}
	e = c.upgrade(e)
	if fault := c.expander.Expand(e, c.check); fault != nil {
		c.chunkFault(e, fault)
	} else {
		delete(c.faulty, e.Type)
	}
	return c.found
}

// Skip tells the Checker that the next event could not be read. It could have been any
// event, so until the next run only breaches are reported that it cannot explain.
func (c *Checker) Skip() {
	c.order.skip()
	c.run.lost = true
	c.identity.thread, c.identity.run = name{}, name{}
	c.forgetInterrupts()
}

// End returns whether no run is open. The published clients accept a stream that ends in
// an open run. Truncated returns the finding if the protocol refuses it.
func (c *Checker) End() (closed bool) { return c.order.place != inRun }

// check checks an event after the expansion of chunks.
func (c *Checker) check(e *envelope.Event) {
	if !c.checkOrder(e) {
		return
	}
	tag := c.tagOf(e)
	switch e.Type {
	case eventnames.SubagentStarted, eventnames.SubagentFinished, eventnames.SubagentError:
		c.checkSubagentForm(e)
	case eventnames.RunStarted:
		c.beginIdentity(e)
	case eventnames.RunFinished:
		c.endIdentity(e)
		c.checkInterrupts(e)
		c.checkPending(e)
	default:
		c.noteTag(e, tag)
	}
	switch e.Type {
	case eventnames.TextMessageStart:
		c.open(e, textMessage, tag)
	case eventnames.TextMessageContent:
		c.proceed(e, textMessage, tag, false)
	case eventnames.TextMessageEnd:
		c.proceed(e, textMessage, tag, true)
	case eventnames.ToolCallStart:
		c.openToolCall(e, tag)
	case eventnames.ToolCallArgs:
		c.proceed(e, toolCall, tag, false)
	case eventnames.ToolCallEnd:
		c.proceed(e, toolCall, tag, true)
	case eventnames.ToolCallResult:
		c.own(&c.run.messages, e, "messageId", tag)
		c.answer(e)
	case eventnames.ReasoningStart:
		c.open(e, reasoningSpan, tag)
	case eventnames.ReasoningEnd:
		c.proceed(e, reasoningSpan, tag, true)
	case eventnames.ReasoningMessageStart:
		c.open(e, reasoningMessage, tag)
	case eventnames.ReasoningMessageContent:
		c.proceed(e, reasoningMessage, tag, false)
	case eventnames.ReasoningMessageEnd:
		c.proceed(e, reasoningMessage, tag, true)
	case eventnames.ReasoningEncryptedValue:
		c.checkEncryptedValue(e, tag)
	case eventnames.ActivitySnapshot:
		c.activitySnapshot(e, tag)
	case eventnames.ActivityDelta:
		c.activityDelta(e, tag)
	case eventnames.StepStarted:
		c.startStep(e, tag)
	case eventnames.StepFinished:
		c.finishStep(e, tag)
	case eventnames.SubagentStarted:
		c.startSubagent(e)
	case eventnames.SubagentFinished, eventnames.SubagentError:
		c.endSubagent(e)
	case eventnames.MessagesSnapshot:
		if list, ok := e.Get("messages"); ok {
			c.seed(e, list, "/messages", true)
		}
	case eventnames.RunStarted:
		c.seedInput(e)
		c.checkResume(e)
	case eventnames.RunFinished:
		c.finish(e)
	case eventnames.ThinkingStart, eventnames.ThinkingEnd, eventnames.ThinkingTextMessageStart, eventnames.ThinkingTextMessageContent, eventnames.ThinkingTextMessageEnd:
		c.think(e)
	}
}

// breach reports a breach of a rule by the value v, at pointer in the event e. If the
// event stands for another one of the stream, the place is that event.
func (c *Checker) breach(e *envelope.Event, rule string, v envelope.Value, pointer finding.Pointer, format string, args ...any) {
	if c.quiet || c.run.lost && !independent(rule) {
		return
	}
	c.report(e, finding.Violation(rule, format, args...), v, pointer)
}

// report adds a finding about the value v, at pointer in the event e.
func (c *Checker) report(e *envelope.Event, f finding.Finding, v envelope.Value, pointer finding.Pointer) {
	at := c.origin
	if own := len(e.Data) > 0 && len(at.Data) > 0 && &e.Data[0] == &at.Data[0]; own {
		f = at.Place(f, v).WithPointer(pointer)
	} else {
		f = at.Ref().Annotate(f)
	}
	c.found = append(c.found, f)
}

// independent reports whether the breaches of a rule do not depend on earlier events of
// the run.
func independent(rule string) bool {
	switch rule {
	case "G1", "G2", "G3", "G5", "G6", "G7", "G8", "G19", "G33", "G38":
		return true
	}
	return false
}

// subject names an event in a finding.
func (c *Checker) subject(e *envelope.Event) string {
	if e.Type == c.origin.Type {
		return e.Type
	}
	return e.Type + " (from " + c.origin.Type + ")"
}
