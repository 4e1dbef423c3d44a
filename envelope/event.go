// Package envelope knows AG-UI events: how one is read strictly, how a stream
// of them divides into runs, and what a bounded run envelope is (P20 §7).
//
// It takes frames from package capture and must not know how a run is
// projected, nor anything of artifacts.
package envelope

import (
	"bytes"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope/event/names"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// Event types the program acts on. Every other type is counted and read over.
const (
	RunStarted         = names.RunStarted
	RunFinished        = names.RunFinished
	RunError           = names.RunError
	MessagesSnapshot   = names.MessagesSnapshot
	TextMessageStart   = names.TextMessageStart
	TextMessageContent = names.TextMessageContent
	TextMessageEnd     = names.TextMessageEnd
	TextMessageChunk   = names.TextMessageChunk
)

// Event is one AG-UI event of a capture.
type Event struct {
	// Index counts the capture's events from 0.
	Index int
	// Offset is that of the event's first data byte in the response, Bytes runs
	// to its last.
	Offset, Bytes int64
	// Line is the line of the response that Offset is on, counted from 1; 0 where
	// it is not known.
	Line int
	// Arrived is when the read that completed the event came in; zero when
	// that is not known.
	Arrived time.Time
	// Type is the event's own, known or not.
	Type string
	// Data is the event's JSON text.
	Data []byte
	// Object has its members.
	Object
}

// scanner reads frames as events, with memory it keeps.
type scanner struct {
	json  strictjson.Decoder
	event Event
}

// scan reads one frame. The event is valid until the next call. The error is a
// finding.Finding that refuses the run that owns the frame.
func (s *scanner) scan(f capture.Frame) (*Event, error) {
	e := &s.event
	*e = Event{Index: f.Index, Offset: f.Offset, Bytes: f.Bytes, Line: f.Line, Arrived: f.Arrived, Data: f.Data, Object: e.Object}
	if f.Problem != nil {
		return nil, f.Problem.WithEvent(f.Index)
	}
	value, err := strictjson.ReadText(&e.Object, &s.json, f.Data)
	if err != nil {
		if fault, ok := finding.FromSyntax(err); ok {
			return nil, e.place(fault)
		}
		return nil, err
	}
	if value.Kind != strictjson.ObjectStart {
		return nil, e.Finding(finding.EventNotObject, "the event is %s where an object belongs", value.Kind)
	}
	kind, ok := e.Get("type")
	if !ok {
		return nil, e.Finding(finding.EventTypeMissing, "the event has no type")
	}
	if e.Type = knownType(kind); e.Type != "" {
		return e, nil
	}
	name, valid := kind.Text()
	if kind.Kind != strictjson.String || !valid || name == "" {
		return nil, e.FindingAt(kind, finding.EventTypeMissing, "the event's type is not a name").WithPointer("/type")
	}
	e.Type = name
	return e, nil
}

// knownType returns an event type of AG-UI without copying it, or "".
func knownType(v strictjson.Value) string {
	if v.Kind != strictjson.String {
		return ""
	}
	return names.Intern(v.Raw[1 : len(v.Raw)-1])
}

// Finding makes a finding about the event, at its place in the response.
func (e *Event) Finding(code finding.Code, format string, args ...any) finding.Finding {
	return e.Ref().Annotate(finding.New(code, format, args...))
}

// FindingAt makes a finding about a value inside the event.
func (e *Event) FindingAt(v Value, code finding.Code, format string, args ...any) finding.Finding {
	return e.place(finding.New(code, format, args...).WithOffset(int64(v.Start)))
}

// breach makes a finding that a rule of the contract is broken by a value
// inside the event, about what pointer names.
func (e *Event) breach(v strictjson.Value, rule string, pointer finding.Pointer, format string, args ...any) finding.Finding {
	return e.place(finding.Violation(rule, format, args...).WithOffset(int64(v.Start))).WithPointer(pointer)
}

// whole is the event itself as a value.
func (e *Event) whole() strictjson.Value {
	return strictjson.Value{Kind: strictjson.ObjectStart, Raw: e.Data}
}

// place turns the offset of a finding within the event's JSON text into one
// within the response. Where the text is joined from several data lines the
// two do not correspond and the event's own offset is given.
func (e *Event) place(f finding.Finding) finding.Finding {
	at := e.Ref()
	if int64(len(e.Data)) == e.Bytes && f.Offset != nil {
		if at.Offset += *f.Offset; at.Line > 0 {
			at.Line += bytes.Count(e.Data[:*f.Offset], lineFeed)
		}
	}
	return at.Annotate(f).WithPointer(finding.Pointer(strings.ToValidUTF8(string(f.Pointer), "\uFFFD")))
}

// Clone returns a copy of e that stays valid.
func (e *Event) Clone() *Event {
	c := *e
	c.Data = append([]byte(nil), e.Data...)
	c.Object = strictjson.CloneObject(&e.Object, c.Data)
	return &c
}

// Ref says where an event is.
func (e *Event) Ref() Ref { return Ref{Index: e.Index, Offset: e.Offset, Bytes: e.Bytes, Line: e.Line} }

// Ref says where an event is in its capture.
type Ref struct {
	Index  int   `json:"index"`
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
	// Line is the line of the response that Offset is on; no file states it.
	Line int `json:"-"`
}

// Annotate returns a finding at the place of the event.
func (r Ref) Annotate(f finding.Finding) finding.Finding {
	return f.WithOffset(r.Offset).OnResponseLine(r.Line).WithEvent(r.Index)
}

var lineFeed = []byte{'\n'}

// ReadEvent reads one JSON text as an event that came from nowhere in
// particular.
func ReadEvent(data []byte) (*Event, error) {
	return new(scanner).scan(capture.Frame{Data: data, Bytes: int64(len(data))})
}
