package strictjson

import "hash/maphash"

// fewNames is the maximum number of names that are compared one by one.
const fewNames = 12

// firstSlots is the initial size of a table. Sizes are powers of two.
const firstSlots = 128

// keptSlots is the maximum size of a table whose memory is used again.
const keptSlots = 1 << 12

// nameIndex finds duplicate names. It compares the names of small objects one by
// one. For a larger object it has an open-addressing table of indices into the
// decoder's names, which costs a few bytes for each name. The seed of the hash is
// random, so an attacker cannot cause collisions.
type nameIndex struct {
	seed   maphash.Seed
	seeded bool
	// tables has a table for each open object with many names, innermost last.
	tables []nameTable
}

type nameTable struct {
	first int     // the object's first name
	slots []int32 // 1 + index into names, relative to first; 0 if empty
	used  int
}

// add adds the name at s to the object whose names begin at first, and reports
// whether the object already has the name.
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
	return x.insert(t, data, names, n, s)
}

// leave removes the innermost object, which has n names.
func (x *nameIndex) leave(n int) {
	if n > fewNames {
		x.tables = x.tables[:len(x.tables)-1]
	}
}

func (x *nameIndex) enter(data []byte, names []span, first int) {
	if !x.seeded {
		x.seed, x.seeded = maphash.MakeSeed(), true
	}
	t := x.table()
	t.first, t.used = first, 0
	for i, s := range names[first:] {
		x.insert(t, data, names, i, s)
	}
}

// table adds an empty table, whose memory is that of an earlier one if possible.
func (x *nameIndex) table() *nameTable {
	n := len(x.tables)
	if n == cap(x.tables) {
		x.tables = append(x.tables, nameTable{})
	}
	x.tables = x.tables[:n+1]
	t := &x.tables[n]
	if cap(t.slots) < firstSlots || cap(t.slots) > keptSlots {
		t.slots = make([]int32, firstSlots)
		return t
	}
	t.slots = t.slots[:firstSlots]
	clear(t.slots)
	return t
}

func (x *nameIndex) grow(t *nameTable, data []byte, names []span) {
	old := t.slots
	t.slots, t.used = make([]int32, 2*len(old)), 0
	for _, i := range old {
		if i != 0 {
			x.insert(t, data, names, int(i)-1, names[t.first+int(i)-1])
		}
	}
}

// insert inserts s, the i-th name of the object, into t, and reports whether t
// already has an equal name.
func (x *nameIndex) insert(t *nameTable, data []byte, names []span, i int, s span) bool {
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
	if quoted := s.bytes(data); !s.escaped() {
		return maphash.Bytes(x.seed, quoted[1:len(quoted)-1])
	}
	text, _ := Unquote(s.bytes(data))
	return maphash.String(x.seed, text)
}

// sameName compares two names after unescaping.
func sameName(data []byte, a, b span) bool {
	qa, qb := a.bytes(data), b.bytes(data)
	if !a.escaped() && !b.escaped() {
		return string(qa) == string(qb)
	}
	ta, _ := Unquote(qa)
	tb, _ := Unquote(qb)
	return ta == tb
}
