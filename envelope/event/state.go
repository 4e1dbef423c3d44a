package event

import (
	"slices"

	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// StateSnapshot replaces the state.
type StateSnapshot struct {
	Base
	SubagentRunID Optional[string]
	// Snapshot is the new state, which may be any value, also null.
	Snapshot JSON
}

// Type returns STATE_SNAPSHOT.
func (*StateSnapshot) Type() string { return eventnames.StateSnapshot }

func (e *StateSnapshot) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	payload(f, f.drafted("snapshot", "state"), &e.Snapshot)
}

// StateDelta changes the state.
type StateDelta struct {
	Base
	SubagentRunID Optional[string]
	Delta         []Operation
}

// Type returns STATE_DELTA.
func (*StateDelta) Type() string { return eventnames.StateDelta }

func (e *StateDelta) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, f.drafted("delta", "patch"), &e.Delta, patch)
}

// Operation is an operation of a JSON Patch (RFC 6902 §4).
type Operation struct {
	// Op is add, remove, replace, move, copy or test.
	Op string
	// Path and From are JSON Pointers. Move and copy have From.
	Path, From string
	// Value is the operand of add, replace and test, which may be null.
	Value JSON
	// Extra has the other members. RFC 6902 says to ignore them.
	Extra JSON
	// JSON is the operation itself if it is not valid, after a tolerant decode. The
	// other fields are then empty.
	JSON JSON
}

// operationKind is an operation of a JSON Patch.
type operationKind struct{ notNull }

// patchKind is a JSON Patch, or one operation as in a draft of AG-UI.
type patchKind struct{ *listKind[Operation] }

var patch kind[[]Operation] = patchKind{&listKind[Operation]{of: operationKind{}, what: "Operation"}}

func (k patchKind) read(d *decoder, v strictjson.Value) ([]Operation, bool) {
	if v.Kind != strictjson.ObjectStart {
		return k.listKind.read(d, v)
	}
	d.report(SingleOperation, "", v.Start, "is an object where an array belongs")
	o, ok := k.of.read(d, v)
	return []Operation{o}, ok
}

func (operationKind) String() string { return "Operation" }

func (operationKind) read(d *decoder, v strictjson.Value) (o Operation, ok bool) {
	mark := d.mark()
	if f := d.enter(v); f != nil {
		defer f.leave()
		if op, _ := f.object.Get("op"); !slices.ContainsFunc(operations, op.Is) {
			d.report(UnknownMember, "", v.Start, "is not an operation that JSON Patch defines")
			d.setFatal(false, op.Kind != strictjson.String)
			return Operation{JSON: v.Raw}, true
		}
		before := d.refused
		o.visit(f)
		o.Extra = f.rest(false)
		ok = d.refused == before
	}
	if !ok && d.absorb(mark, MalformedMember, v.Start) {
		return Operation{JSON: v.Raw}, true
	}
	return o, ok
}

func (operationKind) append(dst []byte, o Operation) []byte {
	if o.JSON != nil {
		return append(dst, o.JSON...)
	}
	f := fields{out: append(dst, '{')}
	o.visit(&f)
	return append(appendMembers(f.out, f.more, o.Extra), '}')
}

var (
	operations                 = []string{"add", "remove", "replace", "move", "copy", "test"}
	operationName kind[string] = openKind{textKind{values: operations}}
)

func (o *Operation) visit(f *fields) {
	must(f, "op", &o.Op, operationName)
	must(f, "path", &o.Path, pointer)
	switch o.Op {
	case "move", "copy":
		must(f, "from", &o.From, pointer)
	case "add", "replace", "test":
		must(f, "value", &o.Value, anyJSON)
	}
	if f.table != nil {
		*f.table = append(*f.table, field{name: "from", kind: pointer.String()}, field{name: "value", kind: anyJSON.String()})
	}
}

// MessagesSnapshot has all messages of the conversation that the agent knows, in order.
type MessagesSnapshot struct {
	Base
	Messages []Message
}

// Type returns MESSAGES_SNAPSHOT.
func (*MessagesSnapshot) Type() string { return eventnames.MessagesSnapshot }

func (e *MessagesSnapshot) visit(f *fields) { must(f, "messages", &e.Messages, messageList) }

// ActivitySnapshot makes or replaces an activity message, which shows progress and is not
// sent to the model.
type ActivitySnapshot struct {
	Base
	SubagentRunID Optional[string]
	MessageID     string
	// ActivityType is defined by the application, such as PLAN.
	ActivityType string
	// Content is an object. After a tolerant decode it can be any value.
	Content JSON
	// Replace says whether the event replaces the message if it exists. Absent means
	// true.
	Replace Optional[bool]
}

// Type returns ACTIVITY_SNAPSHOT.
func (*ActivitySnapshot) Type() string { return eventnames.ActivitySnapshot }

func (e *ActivitySnapshot) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
	must(f, "activityType", &e.ActivityType, text)
	must(f, "content", &e.Content, activityContent)
	may(f, "replace", &e.Replace, boolKind{})
}

var activityContent kind[JSON] = activityKind{jsonKind{object: true}}

// activityKind is an object, or any value in AG-UI 0.x.
type activityKind struct{ jsonKind }

func (k activityKind) read(d *decoder, v strictjson.Value) (JSON, bool) {
	if v.Kind != strictjson.ObjectStart {
		d.report(ActivityContent, "", v.Start, "is %s where an object belongs", v.Kind)
		return anyJSON.read(d, v)
	}
	return k.jsonKind.read(d, v)
}

// ActivityDelta changes the content of an activity message.
type ActivityDelta struct {
	Base
	SubagentRunID           Optional[string]
	MessageID, ActivityType string
	Patch                   []Operation
}

// Type returns ACTIVITY_DELTA.
func (*ActivityDelta) Type() string { return eventnames.ActivityDelta }

func (e *ActivityDelta) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
	must(f, "activityType", &e.ActivityType, text)
	must(f, f.drafted("patch", "delta"), &e.Patch, patch)
}

// Raw is an event of another protocol.
type Raw struct {
	Base
	SubagentRunID Optional[string]
	// Event is the event, which may be any value, also null.
	Event JSON
	// Source names the other protocol.
	Source Optional[string]
}

// Type returns RAW.
func (*Raw) Type() string { return eventnames.Raw }

func (e *Raw) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	payload(f, "event", &e.Event)
	may(f, "source", &e.Source, text)
}

// Custom is an event that the application defines.
type Custom struct {
	Base
	SubagentRunID Optional[string]
	Name          string
	// Value may be any value, also null.
	Value JSON
}

// Type returns CUSTOM.
func (*Custom) Type() string { return eventnames.Custom }

func (e *Custom) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "name", &e.Name, text)
	payload(f, "value", &e.Value)
}

// Meta is an annotation, such as a rating, that may be anywhere in a stream. It was
// drafted, but no release of AG-UI has it.
type Meta struct {
	Base
	// MetaType is defined by the application, such as thumbs_up.
	MetaType string
	// Payload is an object.
	Payload JSON
}

// Type returns META.
func (*Meta) Type() string { return eventnames.Meta }

func (e *Meta) visit(f *fields) {
	must(f, "metaType", &e.MetaType, text)
	must(f, "payload", &e.Payload, anyObject)
}
