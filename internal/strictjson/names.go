package strictjson

import "hash/maphash"

// fewNames is up to how many names of an object are compared one by one.
const fewNames = 12

// firstSlots is how large a table begins: a power of two, as it stays.
const firstSlots = 128

// nameIndex finds a repeated name. Objects of few names are searched; a larger
// one gets an open-addressing table of indices into the decoder's names, so
// that a million names cost a few bytes each and no hash of an attacker's
// choosing.
type nameIndex struct {
	seed   maphash.Seed
	seeded bool
	// tables holds a table for each open object of many names, innermost last.
	tables []nameTable
}

type nameTable struct {
	first int     // the object's first name
	slots []int32 // 1 + index into names, relative to first; 0 is free
	used  int
}

// add notes the name at s as the next of the object whose names begin at
// first, and reports whether the object has it already.
func (x *nameIndex) add(data []byte, names []span, first int, s span) bool {
	n := len(names) - first
	if n < fewNames {
		for _, other := range names[first:] {
			if sameName(data, other, s) {
				return true
			}
		}
		return false
	}
	if n == fewNames {
		x.enter(data, names, first)
	}
	t := &x.tables[len(x.tables)-1]
	if 2*(t.used+1) > len(t.slots) {
		x.grow(t, data, names)
	}
	return x.put(t, data, names, n, s)
}

// leave forgets the innermost object, which had n names.
func (x *nameIndex) leave(n int) {
	if n > fewNames {
		x.tables = x.tables[:len(x.tables)-1]
	}
}

func (x *nameIndex) enter(data []byte, names []span, first int) {
	if !x.seeded {
		x.seed, x.seeded = maphash.MakeSeed(), true
	}
	x.tables = append(x.tables, nameTable{first: first, slots: make([]int32, firstSlots)})
	t := &x.tables[len(x.tables)-1]
	for i, s := range names[first:] {
		x.put(t, data, names, i, s)
	}
}

func (x *nameIndex) grow(t *nameTable, data []byte, names []span) {
	old := t.slots
	t.slots, t.used = make([]int32, 2*len(old)), 0
	for _, i := range old {
		if i != 0 {
			x.put(t, data, names, int(i)-1, names[t.first+int(i)-1])
		}
	}
}

// put enters s, the i-th name of the object, and reports whether an equal one
// is there already.
func (x *nameIndex) put(t *nameTable, data []byte, names []span, i int, s span) bool {
	mask := len(t.slots) - 1
	slot := int(x.hash(data, s)) & mask
	for ; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if sameName(data, names[t.first+int(t.slots[slot])-1], s) {
			return true
		}
	}
	t.slots[slot] = int32(i + 1)
	t.used++
	return false
}

func (x *nameIndex) hash(data []byte, s span) uint64 {
	if quoted := s.of(data); !s.escaped() {
		return maphash.Bytes(x.seed, quoted[1:len(quoted)-1])
	}
	text, _ := Unquote(s.of(data))
	return maphash.String(x.seed, text)
}

// sameName compares two names after unescaping.
func sameName(data []byte, a, b span) bool {
	qa, qb := a.of(data), b.of(data)
	if !a.escaped() && !b.escaped() {
		return string(qa) == string(qb)
	}
	ta, _ := Unquote(qa)
	tb, _ := Unquote(qb)
	return ta == tb
}
