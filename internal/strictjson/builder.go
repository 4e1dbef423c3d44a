package strictjson

// Builder builds an object from names and from values that a Decoder accepted. The
// zero value is an object without members.
type Builder struct {
	object Object
}

// Reset removes all members. It reuses the memory of the object.
func (b *Builder) Reset() {
	b.object.reset(b.object.text[:0], 0)
}

// Add adds a member whose name needs no escapes.
func (b *Builder) Add(name string, v Value) {
	b.open()
	start := len(b.object.text)
	b.object.text = append(b.object.text, '"')
	b.object.text = append(b.object.text, name...)
	b.object.text = append(b.object.text, '"')
	b.value(start, v)
}

// AddMember adds a copy of a member.
func (b *Builder) AddMember(m Member) {
	b.open()
	start := len(b.object.text)
	b.object.text = append(b.object.text, m.Name.Raw...)
	b.value(start, m.Value)
}

func (b *Builder) open() {
	next := byte(',')
	if len(b.object.members) == 0 {
		next = '{'
	}
	b.object.text = append(b.object.text, next)
}

func (b *Builder) value(name int, v Value) {
	nameEnd := len(b.object.text)
	b.object.text = append(append(b.object.text, ':'), v.Raw...)
	b.object.members = append(b.object.members, member{name: int32(name), nameEnd: int32(nameEnd), value: int32(nameEnd + 1), valueEnd: int32(len(b.object.text)), kind: v.Kind})
}

// Object ends the object and returns it and its text. Both are valid until the next
// call of Reset.
func (b *Builder) Object() (text []byte, o Object) {
	if len(b.object.members) == 0 {
		b.object.text = append(b.object.text, '{')
	}
	b.object.text = append(b.object.text, '}')
	return b.object.text, b.object
}
