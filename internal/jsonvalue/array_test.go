package jsonvalue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestArray compares an array with a slice.
func TestArray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Array
		var want []Value
		check := func(*rapid.T) {
			if a.Len() != len(want) {
				t.Fatalf("the array has %d elements, want %d", a.Len(), len(want))
			}
			for b, block := range a.blocks {
				if len(block) == 0 || len(block) > maxBlock || b > 0 && len(block)+len(a.blocks[b-1]) <= maxBlock/2 {
					t.Fatalf("block %d has %d elements", b, len(block))
				}
			}
			if len(want) > 0 {
				i := rapid.IntRange(0, len(want)-1).Draw(t, "at")
				if a.At(i) != want[i] {
					t.Fatalf("At(%d) = %v, want %v", i, a.At(i), want[i])
				}
			}
		}
		checkAll := func() {
			i := 0
			for j, v := range a.All {
				if i != j || v != want[i] {
					t.Fatalf("element %d is %v, want %v", j, v, want[i])
				}
				i++
			}
		}
		next := 0
		some := func(t *rapid.T, place func(n int) int, change func(i int)) {
			for range rapid.SampledFrom([]int{1, 3, maxBlock / 2, maxBlock}).Draw(t, "n") {
				change(place(len(want)))
				next++
			}
		}
		place := func(t *rapid.T) func(n int) int {
			at := rapid.Uint32().Draw(t, "place")
			return func(n int) int {
				at = at*1664525 + 1013904223
				return int(at) % n
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": check,
			"append": func(t *rapid.T) {
				some(t, func(int) int { return 0 }, func(int) { a.Append(next); want = append(want, next) })
			},
			"insert": func(t *rapid.T) {
				at := place(t)
				some(t, func(n int) int { return at(n + 1) }, func(i int) { a.Insert(i, next); want = slices.Insert(want, i, Value(next)) })
			},
			"remove": func(t *rapid.T) {
				at := place(t)
				for range rapid.SampledFrom([]int{1, 3, maxBlock / 2, maxBlock}).Draw(t, "n") {
					if len(want) == 0 {
						return
					}
					i := at(len(want))
					if got := a.Remove(i); got != want[i] {
						t.Fatalf("Remove(%d) = %v, want %v", i, got, want[i])
					}
					want = slices.Delete(want, i, i+1)
				}
			},
			"set": func(t *rapid.T) {
				if len(want) > 0 {
					i := place(t)(len(want))
					a.Set(i, next)
					want[i] = next
					next++
				}
			},
		})
		checkAll()
		array := func(elements []Value) *Array {
			a := new(Array)
			for _, v := range elements {
				a.Append(v)
			}
			return a
		}
		if !Equal(&a, array(want)) || len(want) > 0 && Equal(&a, array(want[1:])) {
			t.Fatal("Equal is wrong")
		}
	})
}
