// Package jsonvalue holds JSON values as trees that can be changed and written
// again.
//
// It keeps what encoding/json loses: numbers as they were written, the order of
// members, and halves of surrogate pairs. It must not know what the values mean.
package jsonvalue

import (
	"slices"

	"github.com/p20export/p20export/internal/strictjson"
)

// A Value is nil, a bool, a Number, a string, an *Array or an *Object. Strings are
// valid UTF-8, except that half a surrogate pair is encoded as three bytes (WTF-8).
// Two halves that form a pair are never adjacent.
type Value = any

// Number is the text of a number.
type Number string

// Array is a JSON array.
type Array struct{ Elements []Value }

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// indexAt is the number of members from which an object has an index.
const indexAt = 16

// Object is a JSON object. It keeps the order of its members. The zero value is an
// empty object.
type Object struct {
	members []Member // a deleted member is removed at once while there is no index
	index   map[string]int
	deleted int // members with an index that are marked as deleted
}

// gone marks the value of a deleted member.
type gone struct{}

// Len returns the number of members.
func (o *Object) Len() int { return len(o.members) - o.deleted }

// All calls yield for each member, in order.
func (o *Object) All(yield func(name string, v Value) bool) {
	for _, m := range o.members {
		if _, ok := m.Value.(gone); !ok && !yield(m.Name, m.Value) {
			return
		}
	}
}

// Get returns the value of a member, and whether there is one.
func (o *Object) Get(name string) (Value, bool) {
	if i := o.find(name); i >= 0 {
		return o.members[i].Value, true
	}
	return nil, false
}

// Set replaces the value of a member or, if there is none, adds the member at the
// end.
func (o *Object) Set(name string, v Value) {
	if i := o.find(name); i >= 0 {
		o.members[i].Value = v
		return
	}
	o.members = append(o.members, Member{name, v})
	switch {
	case o.index != nil:
		o.index[name] = len(o.members) - 1
	case len(o.members) >= indexAt:
		o.reindex()
	}
}

// Delete removes a member and reports whether there was one.
func (o *Object) Delete(name string) bool {
	i := o.find(name)
	switch {
	case i < 0:
		return false
	case o.index == nil:
		o.members = slices.Delete(o.members, i, i+1)
		return true
	}
	delete(o.index, name)
	o.members[i].Value = gone{}
	if o.deleted++; o.deleted > len(o.members)/2 {
		o.members = slices.DeleteFunc(o.members, func(m Member) bool {
			_, ok := m.Value.(gone)
			return ok
		})
		o.deleted = 0
		o.reindex()
	}
	return true
}

func (o *Object) find(name string) int {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(o.members, func(m Member) bool { return m.Name == name })
}

func (o *Object) reindex() {
	o.index = make(map[string]int, len(o.members))
	for i, m := range o.members {
		o.index[m.Name] = i
	}
}

// Parse returns the tree of a value that strictjson has read. It shares no memory
// with the text. Parse panics if the text is not valid.
func Parse(v strictjson.Value) Value {
	d := strictjson.NewDecoder(v.Raw)
	return read(d, next(d))
}

func next(d *strictjson.Decoder) strictjson.Token {
	t, err := d.Next()
	if err != nil {
		panic("jsonvalue: " + err.Error())
	}
	return t
}

func read(d *strictjson.Decoder, t strictjson.Token) Value {
	switch t.Kind {
	case strictjson.ObjectStart:
		o := new(Object)
		for name := next(d); name.Kind != strictjson.ObjectEnd; name = next(d) {
			key, _ := d.Text(name)
			o.Set(key, read(d, next(d)))
		}
		return o
	case strictjson.ArrayStart:
		a := new(Array)
		for e := next(d); e.Kind != strictjson.ArrayEnd; e = next(d) {
			a.Elements = append(a.Elements, read(d, e))
		}
		return a
	case strictjson.String:
		text, _ := d.Text(t)
		return text
	case strictjson.Number:
		return Number(d.Bytes(t))
	case strictjson.True, strictjson.False:
		return t.Kind == strictjson.True
	}
	return nil
}

// Clone returns a copy of v that shares no arrays and objects with it.
func Clone(v Value) Value {
	switch v := v.(type) {
	case *Array:
		a := &Array{Elements: make([]Value, len(v.Elements))}
		for i, e := range v.Elements {
			a.Elements[i] = Clone(e)
		}
		return a
	case *Object:
		o := new(Object)
		for name, m := range v.All {
			o.Set(name, Clone(m))
		}
		return o
	}
	return v
}
