package trace

import "slices"

// A step of an alignment takes an element of one list, or of both.
type step byte

const (
	both step = iota
	onlyA
	onlyB
)

// alignment returns how two lists with a and b elements belong together: so that the elements
// that are taken together are as much alike as possible in all (Needleman and Wunsch 1970).
// Elements that are alike by 0 are never taken together.
func alignment(a, b int, alike func(i, j int) int32) []step {
	width := b + 1
	scores := make([]int32, a*width)
	best := make([]int32, (a+1)*width) // of the elements from i and j on
	for i := a - 1; i >= 0; i-- {
		for j := b - 1; j >= 0; j-- {
			best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1])
			if s := alike(i, j); s > 0 {
				scores[i*width+j] = s
				best[i*width+j] = max(best[i*width+j], s+best[(i+1)*width+j+1])
			}
		}
	}
	var steps []step
	i, j := 0, 0
	for i < a && j < b {
		here, s := best[i*width+j], scores[i*width+j]
		switch {
		case s > 0 && here == s+best[(i+1)*width+j+1]:
			steps, i, j = append(steps, both), i+1, j+1
		case here == best[(i+1)*width+j]:
			steps, i = append(steps, onlyA), i+1
		default:
			steps, j = append(steps, onlyB), j+1
		}
	}
	return append(append(steps, slices.Repeat([]step{onlyA}, a-i)...), slices.Repeat([]step{onlyB}, b-j)...)
}

// pairs returns the alignment of two lists whose elements are taken together in order.
func pairs(a, b int) []step {
	steps := make([]step, min(a, b))
	return append(append(steps, slices.Repeat([]step{onlyA}, max(0, a-b))...), slices.Repeat([]step{onlyB}, max(0, b-a))...)
}
