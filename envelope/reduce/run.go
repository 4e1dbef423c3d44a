package reduce

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// run is what a Reducer knows of the current run.
type run struct {
	calls runCalls

	interrupts     []rawJSON // pending; these outlive the run
	interruptBytes int
}

// runCalls are the tool calls of a run, or those that its RUN_FINISHED names.
type runCalls struct {
	started []string
	byID    map[string]*progress
	bytes   int // of the ids
}

// progress is how far a tool call is.
type progress struct{ started, answered bool }

// start records that a tool call began.
func (r *Reducer) start(e *envelope.Event, id string) {
	if c := r.progress(e, id); c != nil && !c.started {
		c.started = true
		r.run.calls.started = append(r.run.calls.started, id)
	}
}

// answer records that a tool call has a result.
func (r *Reducer) answer(e *envelope.Event, id string) {
	if c := r.progress(e, id); c != nil {
		c.answered = true
	}
}

// progress returns the progress of a tool call, or nil if its id does not fit.
func (r *Reducer) progress(e *envelope.Event, id string) *progress {
	calls := &r.run.calls
	c := calls.byID[id]
	if n := entryBytes + len(id); c == nil && r.reserve(e, n) {
		if calls.byID == nil {
			calls.byID = make(map[string]*progress)
		}
		calls.bytes += n
		c = new(progress)
		calls.byID[id] = c
	}
	return c
}

// dropCalls forgets the tool calls of the run.
func (r *Reducer) dropCalls() {
	r.conversation.bytes -= r.run.calls.bytes
	r.run.calls = runCalls{}
}

// runStarted handles RUN_STARTED. Messages of its input are added if their ids are new.
func (r *Reducer) runStarted(e *envelope.Event) {
	r.dropCalls()
	r.conversation.runs++
	input, _ := e.Get("input")
	if !r.requested {
		v, ok := input.Member("state")
		r.setState(v, ok)
		r.requested = true
	}
	list, _ := input.Member(messagesKey)
	messages, ok := r.readMessages(e, list, "/input/messages", input.Start)
	if ok {
		r.addNew(e, messages)
	}
}

// Exchange begins another exchange with the agent, whose request is not known: the state in
// the input of the next RUN_STARTED replaces the state.
func (r *Reducer) Exchange() { r.requested = false }

// addNew adds the messages whose ids are new.
func (r *Reducer) addNew(e *envelope.Event, messages []*Message) {
	for _, m := range messages {
		if r.conversation.find(m.id) == nil {
			r.add(e, m)
		}
	}
}

// runFinished handles RUN_FINISHED. The tool calls that it names replace those of the run,
// and no tool call of a cancelled run waits for a result.
func (r *Reducer) runFinished(e *envelope.Event) {
	r.conversation.bytes -= r.run.interruptBytes
	r.run.interrupts, r.run.interruptBytes = nil, 0
	outcome, _ := e.Get("outcome")
	switch kind, _ := outcome.Member("type"); {
	case kind.Is("interrupt"):
		list, _ := outcome.Member("interrupts")
		_ = strictjson.Elements(list, func(_ int, v strictjson.Value, o *strictjson.Object) error {
			r.addInterrupt(e, v, o)
			return nil
		})
	case kind.Is("success"):
		list, _ := outcome.Member("pendingToolCallIds")
		first := true
		_ = strictjson.Elements(list, func(_ int, v strictjson.Value, _ *strictjson.Object) error {
			if v.Kind != strictjson.String {
				return nil
			}
			if first {
				r.dropCalls()
				first = false
			}
			id, _ := v.Text()
			r.start(e, id)
			return nil
		})
	case kind.Is("cancelled"):
		r.dropCalls()
	}
}

func (r *Reducer) addInterrupt(e *envelope.Event, v envelope.Value, o *envelope.Object) {
	n := entryBytes + len(v.Raw)
	if v.Kind != envelope.ObjectValue || !r.reserve(e, n) {
		return
	}
	r.run.interruptBytes += n
	r.run.interrupts = append(r.run.interrupts, knownInterrupt(v, o))
}

// AppendInterrupts appends the interrupts that wait for an answer to dst, as a JSON
// array.
func (r *Reducer) AppendInterrupts(dst []byte) []byte {
	dst = append(dst, '[')
	for i, v := range r.run.interrupts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v...)
	}
	return append(dst, ']')
}

// PendingToolCalls returns the ids of the tool calls that wait for a result: those that
// the last RUN_FINISHED named, and those that began since the last RUN_STARTED, if no
// RUN_FINISHED has named any or ended the run as cancelled since then. Tool calls with a
// result are not among them.
func (r *Reducer) PendingToolCalls() []string {
	var pending []string
	for _, id := range r.run.calls.started {
		if !r.run.calls.byID[id].answered {
			pending = append(pending, id)
		}
	}
	return pending
}

// Seed sets the messages and the state to those of a request (a RunAgentInput), as the
// client that sent it has them. It must be called before the first event.
func (r *Reducer) Seed(request []byte) []finding.Finding {
	return r.request(request, r.replaceAll)
}

// Continue adds the messages of a request whose ids are new, as those of the input in
// RUN_STARTED, and replaces the state if the request has one. The request may omit messages
// that the Reducer has.
func (r *Reducer) Continue(request []byte) []finding.Finding {
	return r.request(request, r.addNew)
}

// Merge is Continue, unless the request has the whole conversation with other ids, and would
// add it again: then its messages replace those of the Reducer. That is so if it has each
// message of a user, an assistant or a tool, with the same id or with the same role, content
// and tool calls, and at least one of an assistant only with another id. A request of new
// messages does not repeat what an assistant said; a user may say the same again. The order
// does not count, because some agents reorder and repeat messages in their snapshots.
func (r *Reducer) Merge(request []byte) []finding.Finding {
	return r.request(request, func(e *envelope.Event, messages []*Message) {
		if r.conversation.repeatedBy(messages) {
			r.chunks = chunk.Expander{} // of messages that are replaced
			r.replaceAll(e, messages)
		} else {
			r.addNew(e, messages)
		}
	})
}

// request reads a request, passes its messages to use, and sets the state.
func (r *Reducer) request(request []byte, use func(*envelope.Event, []*Message)) []finding.Finding {
	r.found = nil
	e := &envelope.Event{Type: "the request"}
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, new(strictjson.Decoder), request)
	if fault, ok := finding.FromSyntax(err); ok {
		fault.Message, fault.Offset = "request.json: "+fault.Message, nil
		return []finding.Finding{fault.WithSeverity(finding.Warning)}
	}
	if v.Kind != envelope.ObjectValue {
		return []finding.Finding{finding.New(finding.RequestMalformed, "request.json is %s, not an object", v.Kind).WithSeverity(finding.Warning)}
	}
	r.requested = true
	list, _ := o.Get(messagesKey)
	if messages, ok := r.readMessages(e, list, "/messages", 0); ok {
		use(e, messages)
	}
	v, ok := o.Get("state")
	r.setState(v, ok)
	return r.found
}

// setState sets the state to that of a request, if it has one. Null is none (AG-UI 1.0).
func (r *Reducer) setState(v envelope.Value, ok bool) {
	if ok && v.Kind != envelope.NullValue {
		r.state = state{raw: compact(v.Raw), known: true}
	}
}
