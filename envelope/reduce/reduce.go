// Package reduce turns AG-UI events into the messages and the state that a client has
// after them, by the rules of the reference client 1.0.0.
//
// It does not judge the order of events: it applies every event that it can, and
// reports the others as warnings. It must not know how messages are projected, shown
// or compacted. Its results are not evidence.
//
// Events come from the JSON text of an event, or from a value of package event:
//
//	e, err := envelope.ReadEvent(event.Append(nil, started))
//	if err != nil {
//		return err
//	}
//	for _, f := range reducer.Event(e) {
//		log.Print(f)
//	}
//
// An envelope.Event that is made otherwise has no fields. The Index and Offset that
// ReadEvent leaves at 0 are for the caller to set, and only matter in warnings.
//
// # Differences from the reference client
//
// The client refuses events that are not valid AG-UI 1.0, and what follows. A Reducer
// goes on:
//   - Messages of snapshots and inputs keep numbers and strings as they are written, and
//     the encryptedValueType of AG-UI 1.1.
//   - A null subagentRunId of a message or interrupt is absent.
//   - Events of AG-UI 0.x and of drafts, and damaged ones, are read as a tolerant decode of
//     package event reads them, with a warning for each kind. A message of THINKING events
//     has the id of event.Upgrader, while the client invents one. Binary parts of tool
//     results are converted like those of messages; the client drops them.
//   - An event without the fields that it needs, which package event refuses, is ignored.
//   - If a patch in the client's dialect leaves no value, there is no state until the
//     next event that sets it. The client shows the previous state until then.
package reduce

import (
	"errors"
	"fmt"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// Options are the settings of a Reducer. The zero value is ready to use.
type Options struct {
	// Dialect is the dialect of JSON Patch. The default is RFC6902.
	Dialect Dialect
}

// A Reducer applies events to messages and a state. At first there are no messages, and
// the state is an empty object.
//
// The state of a run is that of its request, which Seed, Continue and Merge take. If there is
// no request, it is the state in the input of the first RUN_STARTED. Otherwise it is the state
// so far (AG-UI 1.1, State). The reference client has sent the request itself, so it does not
// read the input.
type Reducer struct {
	options      Options
	chunks       chunk.Expander
	upgrades     upgrades
	conversation Conversation
	state        state
	run          run
	requested    bool             // the request of the exchange is known, or a run has started
	patches      jsonpatch.Budget // of the state and all activities
	merges       int              // how many messages snapshots may still be merged with
	changes      Changes
	removed      removed
	full         bool
	found        []finding.Finding
}

// New returns a Reducer.
func New(options Options) *Reducer {
	return &Reducer{options: options, conversation: Conversation{limit: MaxBytes}, merges: freeMerges}
}

// Event applies an event, and returns warnings about it: that it has no effect, or
// not all the effect that it should have. It expands chunks. It does not retain e.
func (r *Reducer) Event(e *envelope.Event) []finding.Finding {
	r.found = nil
	e = r.upgrade(e)
	switch fault := r.chunks.Expand(e, r.apply); {
	case fault == nil:
	case fault.Reason == chunk.TooLarge:
		r.full = true
		r.warn(e, finding.ConversationTooLarge, "%s; the chunk is ignored, and chunks that continue it", fault.Text)
	case r.full && fault.Reason == chunk.Incomplete: // it may continue a chunk that was too large
	default:
		r.warn(e, finding.EventFieldMalformed, "%s; the chunk is ignored", fault.Text)
	}
	return r.found
}

// apply applies an event that is not a chunk.
func (r *Reducer) apply(e *envelope.Event) {
	switch e.Type {
	case eventnames.TextMessageStart:
		r.textStart(e)
	case eventnames.TextMessageContent, eventnames.TextMessageEnd, eventnames.ReasoningMessageContent, eventnames.ReasoningMessageEnd:
		r.textContinue(e)
	case eventnames.ToolCallStart:
		r.callStart(e)
	case eventnames.ToolCallArgs, eventnames.ToolCallEnd:
		r.callContinue(e)
	case eventnames.ToolCallResult:
		r.callResult(e)
	case eventnames.ReasoningMessageStart:
		r.reasoningStart(e)
	case eventnames.ReasoningEncryptedValue:
		r.encryptedValue(e)
	case eventnames.ActivitySnapshot:
		r.activitySnapshot(e)
	case eventnames.ActivityDelta:
		r.activityDelta(e)
	case eventnames.MessagesSnapshot:
		r.messagesSnapshot(e)
	case eventnames.StateSnapshot:
		r.stateSnapshot(e)
	case eventnames.StateDelta:
		r.stateDelta(e)
	case eventnames.RunStarted:
		r.runStarted(e)
	case eventnames.RunFinished:
		r.runFinished(e)
	}
}

// Messages returns the messages as package event reads them tolerantly: a message that
// AG-UI does not define is an *event.UnknownMessage.
func (r *Reducer) Messages() []event.Message {
	list := make([]event.Message, 0, r.conversation.Len())
	for m := range r.conversation.All {
		decoded, err := event.DecodeMessage(m.append(nil), event.Tolerant(nil))
		if err != nil {
			panic("reduce: " + err.Error()) // a tolerant decode accepts every object
		}
		list = append(list, decoded)
	}
	return list
}

// AppendMessages appends the messages to dst, as a JSON array. A message that an event
// created has its members in the order in which the client sets them.
func (r *Reducer) AppendMessages(dst []byte) []byte {
	dst = append(slices.Grow(dst, max(0, min(r.conversation.bytes, MaxBytes))), '[')
	for n := range r.conversation.messages.all {
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = n.append(dst)
	}
	return append(dst, ']')
}

// All calls yield for each message, in order. The messages must not be kept.
func (r *Reducer) All(yield func(*Message) bool) { r.conversation.All(yield) }

// Full reports whether an event was ignored because of a limit.
func (r *Reducer) Full() bool { return r.full }

// Restore replaces the messages and the state by those that AppendMessages and
// AppendState wrote. If the JSON text of the state is nil, the state is unknown again. The
// Reducer is not changed if there is an error.
func (r *Reducer) Restore(messages, stateText []byte) error {
	var o strictjson.Object
	value, err := strictjson.ReadText(&o, new(strictjson.Decoder), messages)
	if err != nil {
		return fmt.Errorf("reduce: the messages: %w", err)
	}
	list, skipped := readMessages(value)
	if skipped || value.Kind != envelope.ArrayValue {
		return errors.New("reduce: the messages are not an array of objects")
	}
	restored := state{}
	if stateText != nil {
		if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), stateText); err != nil {
			return fmt.Errorf("reduce: the state: %w", err)
		}
		restored = state{raw: compact(stateText), known: true}
	}
	r.conversation.replaceAll(list)
	r.state = restored
	r.chunks = chunk.Expander{}
	return nil
}

// warn adds a warning about an event.
func (r *Reducer) warn(e *envelope.Event, code finding.Code, format string, args ...any) {
	r.found = append(r.found, e.Finding(code, format, args...).WithSeverity(finding.Warning))
}

// reserve accounts for n more bytes of messages, and reports whether they fit.
func (r *Reducer) reserve(e *envelope.Event, n int) bool {
	return r.fits(e, r.conversation.reserve(n))
}

// add appends a message, if it fits.
func (r *Reducer) add(e *envelope.Event, m *Message) *node {
	r.added(m.id)
	n := r.conversation.add(m)
	r.fits(e, n != nil)
	return n
}

// fits warns if something did not fit.
func (r *Reducer) fits(e *envelope.Event, ok bool) bool {
	if !ok && !r.full {
		r.warn(e, finding.ConversationTooLarge, "the messages are larger than %d bytes: this event, and others that exceed the limit, are ignored", r.conversation.limit)
		r.full = true
	}
	return ok
}

// string returns a field of an event that must be a string.
func (r *Reducer) string(e *envelope.Event, key string) (s string, ok bool) {
	v, _ := e.Get(key)
	if v.Kind != envelope.StringValue {
		r.warn(e, finding.EventFieldMalformed, "the %s of %s is missing or not a string; the event is ignored", key, e.Type)
		return "", false
	}
	s, _ = v.Text()
	return s, true
}

// delta returns the text that an event adds.
func (r *Reducer) delta(e *envelope.Event) (envelope.Value, bool) {
	v, _ := e.Get("delta")
	if v.Kind != envelope.StringValue {
		r.warn(e, finding.EventFieldMalformed, "the delta of %s is missing or not a string; the event is ignored", e.Type)
		return v, false
	}
	return v, true
}

// optional returns a field of an event that may be absent or null.
func (r *Reducer) optional(e *envelope.Event, key string) (s string, ok bool) {
	v, _ := e.Get(key)
	switch v.Kind {
	case 0, envelope.NullValue:
		return "", false
	case envelope.StringValue:
		s, _ = v.Text()
		return s, true
	}
	r.warn(e, finding.EventFieldMalformed, "the %s of %s is not a string and is ignored", key, e.Type)
	return "", false
}
