// Package envelope reads AG-UI events strictly, divides a stream of events into
// runs, and checks bounded run envelopes (P20 §7).
//
// It reads frames from package capture. It must not know how a run is projected, or
// anything about artifacts.
package envelope

import (
	"bytes"
	"strings"
	"time"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/frame"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// The event types that the program interprets. Events of other types are only
// counted.
const (
	RunStarted         = eventnames.RunStarted
	RunFinished        = eventnames.RunFinished
	RunError           = eventnames.RunError
	MessagesSnapshot   = eventnames.MessagesSnapshot
	TextMessageStart   = eventnames.TextMessageStart
	TextMessageContent = eventnames.TextMessageContent
	TextMessageEnd     = eventnames.TextMessageEnd
	TextMessageChunk   = eventnames.TextMessageChunk
)

// Event is one AG-UI event of a capture.
type Event struct {
	// Index is the index of the event in the capture, from 0.
	Index int
	// Offset is the offset of the event's first data byte in the response. Bytes is
	// the number of bytes from there to the event's last data byte.
	Offset, Bytes int64
	// Line is the line of the response that contains Offset, from 1, or 0 if it is
	// not known.
	Line int
	// Arrived is the time of the read that completed the event, or zero if it is
	// not known.
	Arrived time.Time
	// Type is the event's type. It need not be a type that AG-UI defines.
	Type string
	// Data is the event's JSON text.
	Data []byte
	// Object is the event as a JSON object.
	Object
	derived bool // Data is not text of the response
}

// scanner reads frames as events. It reuses its memory.
type scanner struct {
	json  strictjson.Reader
	event Event
	types [strictjson.Shapes]shapeType // at the index shape % Shapes
}

// shapeType is the type of the events with a shape.
type shapeType struct {
	shape     strictjson.Shape
	eventType string
}

// newScanner returns a scanner of successive frames.
func newScanner() *scanner { return &scanner{json: strictjson.Reader{Key: "type"}} }

// scan reads a frame as an event. The event is valid until the next call. The error
// is a finding.Finding that refuses the run that contains the frame.
func (s *scanner) scan(f *frame.Frame) (*Event, error) {
	e := &s.event
	// Assigning an Event as a whole would copy it twice.
	e.Index, e.Offset, e.Bytes, e.Line, e.Data, e.derived = f.Index, f.Offset, f.Bytes, f.Line, f.Data, false
	if f.Arrived != e.Arrived {
		e.Arrived = f.Arrived
	}
	if f.Problem != nil {
		problem, _ := finding.FromError(f.Problem)
		return nil, problem.WithEvent(f.Index)
	}
	kind, err := s.json.Read(&e.Object, f.Data)
	if err != nil {
		if fault, ok := finding.FromSyntax(err); ok {
			return nil, e.place(fault)
		}
		return nil, err
	}
	if kind != strictjson.ObjectStart {
		return nil, e.Finding(finding.EventNotObject, "the event is %s where an object belongs", kind)
	}
	shape := e.Shape()
	known := &s.types[shape%strictjson.Shapes]
	if shape != 0 && shape == known.shape {
		e.Type = known.eventType
		return e, nil
	}
	if err := e.readType(); err != nil {
		return nil, err
	}
	if shape != 0 {
		*known = shapeType{shape, e.Type}
	}
	return e, nil
}

// readType sets the type of the event.
func (e *Event) readType() error {
	kind, ok := e.Get("type")
	if !ok {
		return e.Finding(finding.EventTypeMissing, "the event has no type")
	}
	if e.Type = knownType(kind); e.Type != "" {
		return nil
	}
	name, valid := kind.Text()
	if kind.Kind != strictjson.String || !valid || name == "" {
		return e.FindingAt(kind, finding.EventTypeMissing, "the type of the event must be a string that is not empty").WithPointer("/type")
	}
	e.Type = name
	return nil
}

// knownType returns the AG-UI event type v without allocating, or "".
func knownType(v strictjson.Value) string {
	if v.Kind != strictjson.String {
		return ""
	}
	return eventnames.Intern(v.Raw[1 : len(v.Raw)-1])
}

// Finding returns a finding with the event's place in the response.
func (e *Event) Finding(code finding.Code, format string, args ...any) finding.Finding {
	return e.Ref().Annotate(finding.New(code, format, args...))
}

// FindingAt returns a finding with the place of a value in the event.
func (e *Event) FindingAt(v Value, code finding.Code, format string, args ...any) finding.Finding {
	return e.place(finding.New(code, format, args...).WithOffset(int64(v.Start)))
}

// Place returns f with the place of a value in the event.
func (e *Event) Place(f finding.Finding, v Value) finding.Finding {
	return e.place(f.WithOffset(int64(v.Start)))
}

// violation returns a finding which says that the value v, at pointer in the event,
// violates a rule of the contract.
func (e *Event) violation(v strictjson.Value, rule string, pointer finding.Pointer, format string, args ...any) finding.Finding {
	return e.place(finding.Violation(rule, format, args...).WithOffset(int64(v.Start))).WithPointer(pointer)
}

// whole returns the event as a value.
func (e *Event) whole() strictjson.Value {
	return strictjson.Value{Kind: strictjson.ObjectStart, Raw: e.Data}
}

// place converts the offset of a finding from the event's JSON text to the
// response. If the text was joined from several data lines or is not text of the
// response, place uses the offset of the event.
func (e *Event) place(f finding.Finding) finding.Finding {
	at := e.Ref()
	if int64(len(e.Data)) == e.Bytes && !e.derived && f.Offset != nil {
		if at.Offset += *f.Offset; at.Line > 0 {
			at.Line += bytes.Count(e.Data[:*f.Offset], lineFeed)
		}
	}
	return at.Annotate(f).WithPointer(finding.Pointer(strings.ToValidUTF8(string(f.Pointer), "\uFFFD")))
}

// Clone returns a copy of e that shares no memory with e.
func (e *Event) Clone() *Event {
	c := *e
	c.Data = append([]byte(nil), e.Data...)
	c.Object = strictjson.CloneObject(&e.Object, c.Data)
	return &c
}

// Derive makes e an event with the given type, text and members that takes the place
// of another event of the capture. Findings about e have the place of that event.
func (e *Event) Derive(from *Event, eventType string, text []byte, object Object) {
	*e = Event{Index: from.Index, Offset: from.Offset, Bytes: from.Bytes, Line: from.Line, Arrived: from.Arrived, Type: eventType, Data: text, Object: object, derived: true}
}

// Ref returns the place of the event.
func (e *Event) Ref() Ref { return Ref{Index: e.Index, Offset: e.Offset, Bytes: e.Bytes, Line: e.Line} }

// Ref is the place of an event in its capture.
type Ref struct {
	Index  int   `json:"index"`
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
	// Line is the line of the response that contains Offset. It is not encoded.
	Line int `json:"-"`
}

// Annotate returns f with the offset, line and index of the event.
func (r Ref) Annotate(f finding.Finding) finding.Finding {
	return f.WithOffset(r.Offset).WithResponseLine(r.Line).WithEvent(r.Index)
}

var lineFeed = []byte{'\n'}

// ReadEvent reads a JSON text as an event. The index and offset of the event are 0.
func ReadEvent(data []byte) (*Event, error) {
	return ReadFrame(&frame.Frame{Data: data, Bytes: int64(len(data))})
}

// ReadFrame reads a frame as an event. If the frame is not an event, the error is the
// finding that says why.
func ReadFrame(f *frame.Frame) (*Event, error) { return newScanner().scan(f) }

// A Reader reads successive JSON texts as events. It reuses its memory, so it is faster
// than ReadEvent.
type Reader struct{ scanner *scanner }

// NewReader returns a Reader.
func NewReader() *Reader { return &Reader{newScanner()} }

// Read reads a JSON text as ReadEvent does. The event is valid until the next call.
func (r *Reader) Read(data []byte) (*Event, error) {
	return r.scanner.scan(&frame.Frame{Data: data, Bytes: int64(len(data))})
}
