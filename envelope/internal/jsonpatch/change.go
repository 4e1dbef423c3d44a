package jsonpatch

import "github.com/p20export/p20export/internal/jsonvalue"

// change is a change that can be undone. Changes are undone in reverse order.
type change struct {
	kind   changeKind
	object *jsonvalue.Object
	array  *jsonvalue.Array
	name   string
	place  int             // the index of an element; the place of a removed member
	old    jsonvalue.Value // the value before the change
}

type changeKind byte

const (
	rootSet changeKind = iota
	memberSet
	memberAdded
	memberRemoved
	elementSet
	elementInserted
	elementRemoved
)

// growth is a change of the size of an array or object.
type growth struct {
	size *int
	by   int
}

func (d *Document) rollBack() {
	for i := len(d.undo) - 1; i >= 0; i-- {
		switch c := &d.undo[i]; c.kind {
		case rootSet:
			d.root = c.old
		case memberSet:
			c.object.Set(c.name, c.old)
		case memberAdded:
			c.object.Take(c.name)
		case memberRemoved:
			c.object.Restore(c.place, c.old)
		case elementSet:
			c.array.Set(c.place, c.old)
		case elementInserted:
			c.array.Remove(c.place)
		case elementRemoved:
			c.array.Insert(c.place, c.old)
		}
	}
	for _, g := range d.growth {
		*g.size -= g.by
	}
}

// setRoot replaces the document.
func (d *Document) setRoot(v jsonvalue.Value) {
	d.undo = append(d.undo, change{kind: rootSet, old: d.root})
	d.root = v
}

// setMember adds or replaces a member of the object to which d.open leads.
func (d *Document) setMember(o *jsonvalue.Object, name string, v jsonvalue.Value) {
	by := sizeOf(v)
	if old, ok := o.Get(name); ok {
		d.undo = append(d.undo, change{kind: memberSet, object: o, name: name, old: old})
		by -= sizeOf(old)
	} else {
		d.undo = append(d.undo, change{kind: memberAdded, object: o, name: name})
		by += jsonvalue.SizeString(name) + 1 + comma(o.Len())
	}
	o.Set(name, v)
	d.grow(by)
}

// removeMember removes a member, which exists, and returns its value.
func (d *Document) removeMember(o *jsonvalue.Object, name string) jsonvalue.Value {
	old, _ := o.Get(name)
	place, _ := o.Take(name)
	d.undo = append(d.undo, change{kind: memberRemoved, object: o, place: place, old: old})
	d.grow(-sizeOf(old) - jsonvalue.SizeString(name) - 1 - comma(o.Len()))
	return old
}

func (d *Document) setElement(a *jsonvalue.Array, i int, v jsonvalue.Value) {
	old := a.At(i)
	d.undo = append(d.undo, change{kind: elementSet, array: a, place: i, old: old})
	a.Set(i, v)
	d.grow(sizeOf(v) - sizeOf(old))
}

func (d *Document) insertElement(a *jsonvalue.Array, i int, v jsonvalue.Value) {
	d.undo = append(d.undo, change{kind: elementInserted, array: a, place: i})
	d.grow(sizeOf(v) + comma(a.Len()))
	a.Insert(i, v)
}

func (d *Document) removeElement(a *jsonvalue.Array, i int) jsonvalue.Value {
	old := a.Remove(i)
	d.undo = append(d.undo, change{kind: elementRemoved, array: a, place: i, old: old})
	d.grow(-sizeOf(old) - comma(a.Len()))
	return old
}

// comma returns the length of the comma between another member or element and the n
// that there are.
func comma(n int) int { return min(n, 1) }

// grow records that the innermost open array or object grew.
func (d *Document) grow(by int) {
	if by == 0 {
		return
	}
	for _, size := range d.open {
		*size += by
		d.growth = append(d.growth, growth{size, by})
	}
}
