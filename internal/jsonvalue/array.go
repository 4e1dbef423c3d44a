package jsonvalue

import "slices"

// maxBlock is the maximum number of elements in a block. With it, inserting into and
// removing from an array of n elements moves at most maxBlock elements and looks at no
// more than 4n/maxBlock lengths.
const maxBlock = 4096

// Array is a JSON array. The zero value is an empty array. The elements are kept in
// blocks, so that a hostile series of changes at the front of a long array does not
// move all elements each time.
type Array struct {
	blocks [][]Value // none is empty; two neighbors have more than maxBlock/2 elements
	len    int
	// Size is for package jsonpatch: the length of the array's text in bytes.
	Size int
}

// Len returns the number of elements.
func (a *Array) Len() int { return a.len }

// All calls yield for each element, in order.
func (a *Array) All(yield func(i int, v Value) bool) {
	i := 0
	for _, block := range a.blocks {
		for _, v := range block {
			if !yield(i, v) {
				return
			}
			i++
		}
	}
}

// At returns element i, 0 <= i < a.Len().
func (a *Array) At(i int) Value {
	b, i := a.find(i)
	return a.blocks[b][i]
}

// Set replaces element i, 0 <= i < a.Len().
func (a *Array) Set(i int, v Value) {
	b, i := a.find(i)
	a.blocks[b][i] = v
}

// Append adds v at the end.
func (a *Array) Append(v Value) {
	last := len(a.blocks) - 1
	if last < 0 || len(a.blocks[last]) == maxBlock {
		a.blocks = append(a.blocks, nil)
		last++
	}
	a.blocks[last] = append(a.blocks[last], v)
	a.len++
}

// Insert adds v before element i, or at the end if i is a.Len().
func (a *Array) Insert(i int, v Value) {
	if i == a.len {
		a.Append(v)
		return
	}
	b, i := a.find(i)
	if block := a.blocks[b]; len(block) == maxBlock {
		const half = maxBlock / 2
		a.blocks[b] = block[:half:half]
		a.blocks = slices.Insert(a.blocks, b+1, slices.Clone(block[half:]))
		if i >= half {
			b, i = b+1, i-half
		}
	}
	a.blocks[b] = slices.Insert(a.blocks[b], i, v)
	a.len++
}

// Remove removes element i, 0 <= i < a.Len(), and returns it.
func (a *Array) Remove(i int) Value {
	b, i := a.find(i)
	v := a.blocks[b][i]
	a.blocks[b] = slices.Delete(a.blocks[b], i, i+1)
	a.len--
	switch {
	case len(a.blocks[b]) == 0:
		a.blocks = slices.Delete(a.blocks, b, b+1)
	case !a.merge(b):
		a.merge(b - 1)
	}
	return v
}

// merge joins block b and the next one if they are short.
func (a *Array) merge(b int) bool {
	if b < 0 || b+1 >= len(a.blocks) || len(a.blocks[b])+len(a.blocks[b+1]) > maxBlock/2 {
		return false
	}
	a.blocks[b] = append(a.blocks[b], a.blocks[b+1]...)
	a.blocks = slices.Delete(a.blocks, b+1, b+2)
	return true
}

// find returns the block that contains element i, and the element's index in it.
func (a *Array) find(i int) (block, index int) {
	for b := range a.blocks {
		if i < len(a.blocks[b]) {
			return b, i
		}
		i -= len(a.blocks[b])
	}
	panic("jsonvalue: the index is out of range")
}
