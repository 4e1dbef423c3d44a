package jsonvalue

import "slices"

// indexAt is the number of members from which an object has an index.
const indexAt = 16

// Object is a JSON object. It keeps the order of its members. The zero value is an
// empty object.
type Object struct {
	members []member // some may be marked as deleted
	index   map[string]int
	deleted int
	// Size is for package jsonpatch: the length of the object's text in bytes.
	Size int
}

type member struct {
	name  string
	value Value
}

// gone marks the value of a deleted member.
type gone struct{}

// Len returns the number of members.
func (o *Object) Len() int { return len(o.members) - o.deleted }

// All calls yield for each member, in order.
func (o *Object) All(yield func(name string, v Value) bool) {
	for _, m := range o.members {
		if m.value != (gone{}) && !yield(m.name, m.value) {
			return
		}
	}
}

// Get returns the value of a member, and whether there is one.
func (o *Object) Get(name string) (Value, bool) {
	if i := o.find(name); i >= 0 {
		return o.members[i].value, true
	}
	return nil, false
}

// Set replaces the value of a member or, if there is none, adds the member at the
// end.
func (o *Object) Set(name string, v Value) {
	if i := o.find(name); i >= 0 {
		o.members[i].value = v
		return
	}
	o.members = append(o.members, member{name, v})
	switch {
	case o.index != nil:
		o.index[name] = len(o.members) - 1
	case len(o.members) >= indexAt:
		o.reindex()
	}
}

// Delete removes a member and reports whether there was one.
func (o *Object) Delete(name string) bool {
	_, ok := o.Take(name)
	o.Pack()
	return ok
}

// Take marks a member as deleted and returns its place, and whether there is one.
// Until the next Delete or Pack, Restore can bring the member back to its place.
func (o *Object) Take(name string) (place int, ok bool) {
	i := o.find(name)
	if i < 0 {
		return 0, false
	}
	delete(o.index, name)
	o.members[i].value = gone{}
	o.deleted++
	return i, true
}

// Restore brings back the member that Take removed from the place.
func (o *Object) Restore(place int, v Value) {
	m := &o.members[place]
	m.value = v
	o.deleted--
	if o.index != nil {
		o.index[m.name] = place
	}
}

// Pack removes the traces of deleted members if they are the larger part.
func (o *Object) Pack() {
	if o.deleted <= len(o.members)/2 {
		return
	}
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return m.value == gone{} })
	o.deleted = 0
	if o.index != nil {
		o.reindex()
	}
}

func (o *Object) find(name string) int {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(o.members, func(m member) bool { return m.name == name && m.value != gone{} })
}

func (o *Object) reindex() {
	o.index = make(map[string]int, len(o.members))
	for i, m := range o.members {
		if m.value != (gone{}) {
			o.index[m.name] = i
		}
	}
}
