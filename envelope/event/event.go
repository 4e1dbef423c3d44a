// Package event is the vocabulary of AG-UI: a Go type for each event, message and
// other object that AG-UI 1.0 and 1.1 define, and for those of AG-UI 0.x and of the drafts
// that are still found in logs.
//
// Decode reads an event from its JSON text, and Append writes it again:
//
//	e, err := event.Decode(text)
//	switch e := e.(type) {
//	case *event.TextMessageContent:
//		fmt.Println(e.MessageID, e.Delta)
//	case *event.Unknown:
//		fmt.Println("a newer type:", e.Type())
//	}
//
// A strict decode, which is the default, accepts what the schemas of AG-UI 1.1 accept,
// and events of unknown types. Under chooses another version. A tolerant decode (see Tolerant) also reads older,
// drafted and damaged events, and lists what it tolerated. Append writes AG-UI 1.0. For
// an event that a strict decode accepts, the written event has the same JSON value as
// the text. For other events, the differences are those that the list of tolerances
// names, and decoding and writing once more changes nothing.
//
// The package knows single events. It must not know in which order events may follow
// each other, or what a client does with them. It reads JSON as package envelope does:
// the text must be valid UTF-8, and no object may have the same key twice. Half a
// surrogate pair is valid; in a Go string it is encoded as three bytes, as in WTF-8.
package event

import (
	"bytes"
	"unicode/utf8"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// Event is an event of AG-UI: a pointer to one of the types of this package.
type Event interface {
	// Type returns the type of the event as it is written, such as RUN_STARTED.
	Type() string
	// Common returns the fields that all events have.
	Common() *Base

	visit(f *fields)
}

// Option changes how a text is decoded.
type Option func(*decoder)

// Tolerant makes a decode accept deviations from AG-UI 1.0, and append them to list in
// the order in which they were found. The list may be nil. If the decode fails, nothing is
// appended: the error has the faults. Tolerances describes what is accepted.
func Tolerant(list *[]Fault) Option {
	return func(d *decoder) { d.strict, d.tolerated = false, list }
}

// Under makes a decode read the fields of a version of AG-UI. Auto, which is the default,
// means Current. Fields that a later version added are then unknown keys.
func Under(p Protocol) Option {
	return func(d *decoder) {
		if d.protocol = p; p == Auto || p == "" {
			d.protocol = Current
		}
	}
}

// Decode reads a JSON text as an event. If AG-UI does not define its type, Decode
// returns an *Unknown.
//
// The error is an *Error if the event is not valid. Its faults are those of Check, without
// unknown types and keys after a strict decode. If the text is not JSON, not an
// object, or has no type, the error is a finding.Finding.
//
// The event refers to text, which must not be changed afterwards.
func Decode(text []byte, options ...Option) (Event, error) {
	d := newDecoder(options)
	defer d.free(text)
	e, err := d.event(text)
	if err != nil {
		return nil, err
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	return e, nil
}

// Check returns all deviations of an event from a version of AG-UI, at most MaxFaults. V0
// is checked as V1, which refuses what clients of 0.x may accept. Check also reports that the
// state of an input is null, which the reference client accepts. The error is that of Decode
// for a text that is not JSON, not an object, or has no type.
func Check(text []byte, p Protocol) ([]Fault, error) {
	d := newDecoder([]Option{Under(p)})
	defer d.free(text)
	d.strict, d.checks = false, true
	if _, err := d.event(text); err != nil {
		return nil, err
	}
	return d.list, nil
}

// Append appends the JSON text of e to dst, as AG-UI 1.0 writes it: absent fields are
// left out. Append does not check e, which must not be nil; a strict Decode of the result
// does. In strings, a byte that is neither UTF-8 nor part of half a surrogate pair is
// written as U+FFFD. A nil Message or Part is written as null.
func Append(dst []byte, e Event) []byte {
	f := fields{out: append(dst, `{"type":`...), more: true}
	f.out = append(f.out, quote(e.Type())...)
	base := e.Common()
	if _, ok := e.(*Unknown); !ok {
		base.visit(&f)
	}
	e.visit(&f)
	return append(appendMembers(f.out, true, base.Extra), '}')
}

// Optional is a field that a JSON object may lack. The zero value is an absent field.
//
// An optional field of AG-UI 1.0 is never null; the state of a RunAgentInput, which is
// JSON, is the only exception. AG-UI 0.x also wrote null. A strict decode refuses it, and a
// tolerant one reports it as NullOptional and leaves the field absent.
type Optional[T any] struct {
	// Value is the field's value, or the zero value of T if the field is absent.
	Value T
	// Present reports that the object has the field.
	Present bool
}

// Some returns a field with the value v.
func Some[T any](v T) Optional[T] { return Optional[T]{v, true} }

// Or returns the field's value, or v if the field is absent.
func (o Optional[T]) Or(v T) T {
	if o.Present {
		return o.Value
	}
	return v
}

// JSON is the text of a JSON value that AG-UI carries without interpreting it, such
// as the state. Nil means that there is no value, which is different from
// JSON("null"). Numbers and the order of members are as they were written.
//
// A JSON that was decoded refers to the text from which it was decoded.
type JSON []byte

// String returns the text.
func (j JSON) String() string { return string(j) }

// Members iterates over the names and values of the members of an object, in order.
// It does nothing if j is not an object.
func (j JSON) Members(yield func(name string, value JSON) bool) {
	var o strictjson.Object
	// Text that is not JSON has no members.
	if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), j); err != nil {
		return
	}
	for m := range o.All {
		if name, _ := m.Name.Text(); !yield(name, m.Value.Raw) {
			return
		}
	}
}

// Get returns the value of the named member of an object, and whether there is one.
func (j JSON) Get(name string) (value JSON, ok bool) {
	for n, v := range j.Members {
		if n == name {
			return v, true
		}
	}
	return nil, false
}

// Text returns the value of a string, and whether j is a string. Half a surrogate
// pair is encoded as three bytes, as in WTF-8.
func (j JSON) Text() (text string, ok bool) {
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, new(strictjson.Decoder), j)
	if err != nil || v.Kind != strictjson.String {
		return "", false
	}
	text, _ = v.Text()
	return text, true
}

// Base has the fields of every event. All are optional.
type Base struct {
	// Timestamp is the time when the event was created. AG-UI does not define the
	// unit; the known producers use Unix milliseconds. It is between -(2^53-1) and
	// 2^53-1.
	Timestamp Optional[int64]
	// RawEvent is the event of another protocol from which this one was made. It is
	// not null.
	RawEvent JSON
	// Metadata is an object with extra information. The key "ag-ui" is reserved for
	// the protocol.
	Metadata JSON
	// Extra is an object with the members that AG-UI does not define for the type,
	// or nil if there are none. Append writes them again.
	Extra JSON
	// Raw is the text that was decoded, or nil if the event was not decoded. Append
	// ignores it.
	Raw []byte
}

// Common returns the fields that all events have.
func (b *Base) Common() *Base { return b }

func (b *Base) visit(f *fields) {
	may(f, "timestamp", &b.Timestamp, timestampKind{})
	mayList(f, "rawEvent", &b.RawEvent, anyJSON)
	mayList(f, "metadata", &b.Metadata, anyObject)
}

// Unknown is an event of a type that AG-UI does not define. Base.Extra has all of its
// members except the type; the other fields of Base are not used.
type Unknown struct {
	Base
	// Name is the type of the event.
	Name string
}

// Type returns e.Name.
func (e *Unknown) Type() string { return e.Name }

func (e *Unknown) visit(*fields) {}

// event reads a text as an event.
func (d *decoder) event(text []byte) (Event, error) {
	f, err := d.object(text)
	if err != nil {
		return nil, err
	}
	name, err := f.eventType()
	if err != nil {
		return nil, err
	}
	d.kind = name
	e := newEvent(name)
	known := len(f.known)
	switch e.(type) {
	case *Unknown:
		d.report(UnknownType, "", f.start, "has the type %s, which AG-UI does not define", finding.Quote(name))
		return unknown(f, name, text), nil
	case *Meta:
		d.report(DraftType, "", f.start, "has the type META, which was drafted but never released")
	case *ThinkingStart, *ThinkingEnd, *ThinkingTextMessageStart, *ThinkingTextMessageContent, *ThinkingTextMessageEnd:
		d.report(RetiredType, "", f.start, "has the type %s, which AG-UI 1.0 removed", name)
	}
	base := e.Common()
	base.visit(f)
	e.visit(f)
	if _, draft := e.(*Meta); draft && d.refused > 0 {
		f.known = f.known[:known]
		d.list, d.refused, d.full = d.list[:1], 0, false
		return unknown(f, name, text), nil
	}
	base.Extra = f.rest(true)
	base.Raw = text
	for i := range d.list {
		// The reference client drops the event, or the title of a span of reasoning.
		if name == eventnames.Meta || name == eventnames.ThinkingStart && d.list[i].Pointer == "/title" {
			d.list[i].Fatal, d.list[i].SpecFatal = false, false
		}
	}
	return e, nil
}

// unknown returns an event of a type that AG-UI does not define, or defines differently
// in a draft.
func unknown(f *fields, name string, text []byte) *Unknown {
	return &Unknown{Base: Base{Extra: f.rest(false), Raw: text}, Name: name}
}

// eventType returns the type of an event, which is not empty.
func (f *fields) eventType() (string, error) {
	v, ok := f.find("type")
	if !ok {
		return "", finding.New(finding.EventTypeMissing, "the event has no type").WithOffset(int64(f.start))
	}
	text, valid := v.Text()
	if v.Kind != strictjson.String || !valid || text == "" || !utf8.ValidString(text) {
		return "", finding.New(finding.EventTypeMissing, "the type of the event must be a string that is not empty").WithOffset(int64(v.Start)).WithPointer("/type")
	}
	return text, nil
}

// newEvent returns an empty event of the given type.
func newEvent(name string) Event {
	switch name {
	case eventnames.RunStarted:
		return new(RunStarted)
	case eventnames.RunFinished:
		return new(RunFinished)
	case eventnames.RunError:
		return new(RunError)
	case eventnames.StepStarted:
		return new(StepStarted)
	case eventnames.StepFinished:
		return new(StepFinished)
	case eventnames.TextMessageStart:
		return new(TextMessageStart)
	case eventnames.TextMessageContent:
		return new(TextMessageContent)
	case eventnames.TextMessageEnd:
		return new(TextMessageEnd)
	case eventnames.TextMessageChunk:
		return new(TextMessageChunk)
	case eventnames.ToolCallStart:
		return new(ToolCallStart)
	case eventnames.ToolCallArgs:
		return new(ToolCallArgs)
	case eventnames.ToolCallEnd:
		return new(ToolCallEnd)
	case eventnames.ToolCallChunk:
		return new(ToolCallChunk)
	case eventnames.ToolCallResult:
		return new(ToolCallResult)
	case eventnames.StateSnapshot:
		return new(StateSnapshot)
	case eventnames.StateDelta:
		return new(StateDelta)
	case eventnames.MessagesSnapshot:
		return new(MessagesSnapshot)
	case eventnames.ActivitySnapshot:
		return new(ActivitySnapshot)
	case eventnames.ActivityDelta:
		return new(ActivityDelta)
	case eventnames.Raw:
		return new(Raw)
	case eventnames.Custom:
		return new(Custom)
	case eventnames.ReasoningStart:
		return new(ReasoningStart)
	case eventnames.ReasoningEnd:
		return new(ReasoningEnd)
	case eventnames.ReasoningMessageStart:
		return new(ReasoningMessageStart)
	case eventnames.ReasoningMessageContent:
		return new(ReasoningMessageContent)
	case eventnames.ReasoningMessageEnd:
		return new(ReasoningMessageEnd)
	case eventnames.ReasoningMessageChunk:
		return new(ReasoningMessageChunk)
	case eventnames.ReasoningEncryptedValue:
		return new(ReasoningEncryptedValue)
	case eventnames.SubagentStarted:
		return new(SubagentStarted)
	case eventnames.SubagentFinished:
		return new(SubagentFinished)
	case eventnames.SubagentError:
		return new(SubagentError)
	case eventnames.ThinkingStart:
		return new(ThinkingStart)
	case eventnames.ThinkingEnd:
		return new(ThinkingEnd)
	case eventnames.ThinkingTextMessageStart:
		return new(ThinkingTextMessageStart)
	case eventnames.ThinkingTextMessageContent:
		return new(ThinkingTextMessageContent)
	case eventnames.ThinkingTextMessageEnd:
		return new(ThinkingTextMessageEnd)
	case eventnames.Meta:
		return new(Meta)
	}
	return new(Unknown)
}

// appendMembers appends the members of the object extra to dst, each after a comma if
// dst has members already.
func appendMembers(dst []byte, more bool, extra JSON) []byte {
	body := bytes.TrimSpace(extra)
	if len(body) < 2 || body[0] != '{' {
		return dst
	}
	body = bytes.TrimSpace(body[1 : len(body)-1])
	if len(body) == 0 {
		return dst
	}
	if more {
		dst = append(dst, ',')
	}
	return append(dst, body...)
}

// quote returns s as JSON text.
func quote(s string) JSON { return jsonvalue.AppendString(nil, s) }
