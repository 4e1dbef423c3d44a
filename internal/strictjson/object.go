package strictjson

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// Value is a JSON value and its place in the text.
type Value struct {
	Kind Kind
	// Raw is the text of the value; for a string it includes the quotes.
	Raw []byte
	// Start is the byte offset of the value in the text.
	Start int
}

// Text returns the value of a string or name, and whether it is valid Unicode.
// If v is of another kind, Text returns "" and true.
func (v Value) Text() (text string, valid bool) {
	if v.Kind != String && v.Kind != Name {
		return "", true
	}
	return Unquote(v.Raw)
}

// Is reports whether v is a string, or the name of a member, with the value s.
func (v Value) Is(s string) bool {
	return (v.Kind == String || v.Kind == Name) && equalsQuoted(v.Raw, s)
}

// Member returns the value of a member of v, and whether v is an object that has one. It
// reads the whole object, so it is for small ones.
func (v Value) Member(name string) (Value, bool) {
	if v.Kind != ObjectStart {
		return Value{}, false
	}
	var o Object
	if _, err := ReadText(&o, new(Decoder), v.Raw); err != nil {
		return Value{}, false
	}
	return o.Get(name)
}

// Member is a member of an object.
type Member struct {
	Name  Value
	Value Value
}

// Is reports whether the name of m is one of names.
func (m Member) Is(names ...string) bool {
	for _, name := range names {
		if equalsQuoted(m.Name.Raw, name) {
			return true
		}
	}
	return false
}

// Object is a JSON object: its members in order. The zero value is an empty object.
// It stores the places of the members in the text, 20 bytes each, because a hostile
// object can have millions of members.
type Object struct {
	text    []byte
	base    int // offset of text in the whole text, to which Value.Start refers
	members []member
	shape   Shape
}

// A Shape identifies the members of objects that a Reader has read. Objects from one
// Reader with the same shape, if it is not 0, have the same names in the same order and
// values of the same kinds, and the value of the Reader's Key is the same text. Shapes
// that are in use at the same time differ modulo Shapes, so a caller can keep what it
// knows about them in an array of that size.
type Shape uint64

// Shapes is the number of shapes that a Reader remembers.
const Shapes = 16

type member struct {
	name, nameEnd, value, valueEnd int32
	kind                           Kind
	plain                          bool // the value is known to have no escapes, if it is a string
}

// Len returns the number of members.
func (o *Object) Len() int { return len(o.members) }

// All calls yield for each member, in order.
func (o *Object) All(yield func(m Member) bool) {
	for i := range o.members {
		m := &o.members[i]
		if !yield(Member{Name: o.at(Name, m.name, m.nameEnd), Value: o.at(m.kind, m.value, m.valueEnd)}) {
			return
		}
	}
}

// Get returns the value of the member with the given name, and whether there is one.
func (o *Object) Get(name string) (Value, bool) {
	if i := o.Index(name); i >= 0 {
		return o.At(i), true
	}
	return Value{}, false
}

// Index returns the index of the member with the given name, or -1 if there is none.
func (o *Object) Index(name string) int {
	for i := range o.members {
		if m := &o.members[i]; equalsQuoted(o.text[m.name:m.nameEnd], name) {
			return i
		}
	}
	return -1
}

// At returns the value of the i-th member, where 0 <= i < o.Len().
func (o *Object) At(i int) Value {
	m := &o.members[i]
	return o.at(m.kind, m.value, m.valueEnd)
}

// NameAt returns the name of the i-th member, where 0 <= i < o.Len().
func (o *Object) NameAt(i int) Value {
	m := &o.members[i]
	return o.at(Name, m.name, m.nameEnd)
}

// Raw returns the text of the i-th member's value, where 0 <= i < o.Len(). It is faster than
// At.
func (o *Object) Raw(i int) []byte {
	m := &o.members[i]
	return o.text[m.value:m.valueEnd]
}

// Plain reports whether the i-th member is known to be a string without escapes, so that
// its value is its text without the quotes.
func (o *Object) Plain(i int) bool { return o.members[i].plain && o.members[i].kind == String }

// Shape returns the shape of the object, or 0 if it has none.
func (o *Object) Shape() Shape { return o.shape }

// Text returns the value of the named member if it is a string, and otherwise "".
func (o *Object) Text(name string) string {
	v, _ := o.Get(name)
	text, _ := v.Text()
	return text
}

// Names calls yield for the name of each member, in order.
func (o *Object) Names(yield func(name string) bool) {
	for m := range o.All {
		if name, _ := m.Name.Text(); !yield(name) {
			return
		}
	}
}

// CloneObject returns a copy of o that refers to text, a copy of o's text.
func CloneObject(o *Object, text []byte) Object {
	return Object{text: text, base: o.base, members: slices.Clone(o.members)}
}

func (o *Object) at(kind Kind, start, end int32) Value {
	return Value{Kind: kind, Raw: o.text[start:end], Start: o.base + int(start)}
}

// reset makes o an object without members. It reuses the memory of the members, unless
// it belongs to a template.
func (o *Object) reset(text []byte, base int) {
	if o.shape != 0 {
		o.members = nil
	}
	o.text, o.base, o.members, o.shape = text, base, o.members[:0], 0
}

// equalsQuoted reports whether a quoted string has the value s. It copies the
// string only if it contains an escape.
func equalsQuoted(quoted []byte, s string) bool {
	body := quoted[1 : len(quoted)-1]
	if len(body) == len(s) {
		// An escape is longer than the character it represents.
		return string(body) == s && bytes.IndexByte(body, '\\') < 0
	}
	if len(body) < len(s) || bytes.IndexByte(body, '\\') < 0 {
		return false
	}
	text, _ := Unquote(quoted)
	return text == s
}

// ReadText uses d to read data as one JSON text, and returns its value. If the value
// is an object, ReadText stores its members in o. ReadText fails if an object at any
// depth has the same key twice.
func ReadText(o *Object, d *Decoder, data []byte) (Value, error) {
	if start, end := d.scanText(o, data); end >= 0 {
		return Value{Kind: ObjectStart, Raw: data[start:end], Start: start}, nil
	}
	return readText(o, d, data)
}

// readText is ReadText for texts that are not objects or have a fault.
func readText(o *Object, d *Decoder, data []byte) (Value, error) {
	o.reset(data, 0)
	d.Reset(data)
	t, err := d.Next()
	if err != nil {
		return Value{}, err
	}
	var end int
	if t.Kind == ObjectStart {
		end, err = o.read(d, t)
	} else {
		end, err = d.Skip(t)
	}
	if err != nil {
		return Value{}, err
	}
	if _, err = d.Next(); err != io.EOF {
		return Value{}, err
	}
	return Value{Kind: t.Kind, Raw: data[t.Start:end], Start: t.Start}, nil
}

// read reads the members of the object that begins with t, and returns the offset of
// the object's end.
func (o *Object) read(d *Decoder, t Token) (end int, err error) {
	if members, ok := d.scan(t, o.members); ok {
		o.members = members
		return d.pos, nil
	}
	for {
		name, err := d.Next()
		if err != nil {
			return 0, err
		}
		if name.Kind == ObjectEnd {
			return name.End, nil
		}
		if name.Duplicate {
			return 0, d.DuplicateError(name)
		}
		value, err := d.Next()
		if err != nil {
			return 0, err
		}
		end, err := d.Skip(value)
		if err != nil {
			return 0, err
		}
		o.members = append(o.members, member{name: int32(name.Start), nameEnd: int32(name.End), value: int32(value.Start), valueEnd: int32(end), kind: value.Kind})
	}
}

// Elements calls each for every element of an array. If the element is an object,
// o has its members; o is valid during the call. Elements stops at the first error
// and returns it.
func Elements(array Value, each func(i int, v Value, o *Object) error) error {
	if array.Kind != ArrayStart {
		return nil
	}
	m := elementMemories.Get().(*elementMemory)
	defer m.release()
	d, o := &m.decoder, &m.object
	d.Reset(array.Raw)
	if _, err := d.Next(); err != nil {
		return err
	}
	for i := 0; ; i++ {
		t, err := d.Next()
		if err != nil {
			return err
		}
		if t.Kind == ArrayEnd {
			return nil
		}
		o.reset(array.Raw, array.Start)
		var end int
		if t.Kind == ObjectStart {
			end, err = o.read(d, t)
		} else {
			end, err = d.Skip(t)
		}
		if err != nil {
			return err
		}
		if err := each(i, Value{Kind: t.Kind, Raw: d.data[t.Start:end], Start: array.Start + t.Start}, o); err != nil {
			return err
		}
	}
}

// elementMemory is the memory of a call of Elements. Allocating it takes as long as
// reading a small array.
type elementMemory struct {
	decoder Decoder
	object  Object
}

var elementMemories = sync.Pool{New: func() any { return new(elementMemory) }}

// maxKept is the number of members, names and levels whose memory is kept for other texts.
const maxKept = 1 << 10

// release makes the memory available to other calls, unless it is large.
func (m *elementMemory) release() {
	m.decoder.Reset(nil)
	m.object.reset(nil, 0)
	if max(cap(m.object.members), cap(m.decoder.names), cap(m.decoder.open), cap(m.decoder.frames)) <= maxKept {
		elementMemories.Put(m)
	}
}
