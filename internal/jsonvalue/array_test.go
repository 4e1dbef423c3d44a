package jsonvalue

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestArray compares an array with a slice, while both grow, change and shrink in pieces
// up to the length of a block.
func TestArray(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a Array
	var want []int32
	next := int32(0)
	for round := range 22 {
		count := []int{1, 3, maxBlock / 2, maxBlock}[r.IntN(4)]
		change := r.IntN(4)
		if round < 5 || round > 15 {
			count, change = maxBlock, 1+round/10 // insert at first, and remove in the end
		}
		for range count {
			next++
			switch i := r.IntN(len(want) + 1); {
			case change == 0:
				a.Append(next)
				want = append(want, next)
			case change == 1:
				a.Insert(i, next)
				want = slices.Insert(want, i, next)
			case i == len(want):
			case change == 2:
				if got := a.Remove(i); got != want[i] {
					t.Fatalf("Remove(%d) = %v, want %v", i, got, want[i])
				}
				want = slices.Delete(want, i, i+1)
			case change == 3:
				a.Set(i, next)
				want[i] = next
			}
		}
		checkArray(t, &a, want)
	}
	if len(want) > maxBlock {
		t.Errorf("%d elements are left", len(want))
	}
}

func checkArray(t *testing.T, a *Array, want []int32) {
	t.Helper()
	if a.Len() != len(want) {
		t.Fatalf("the array has %d elements, want %d", a.Len(), len(want))
	}
	same := new(Array)
	i := 0
	for j, v := range a.All {
		if i != j || v != want[i] || a.At(i) != v {
			t.Fatalf("element %d is %v, want %v", j, v, want[i])
		}
		same.Append(v)
		i++
	}
	for b, block := range a.blocks {
		if len(block) == 0 || len(block) > maxBlock || b > 0 && len(block)+len(a.blocks[b-1]) <= maxBlock/2 {
			t.Fatalf("block %d has %d elements", b, len(block))
		}
	}
	if !Equal(a, same) || !Equal(same, Clone(a)) {
		t.Fatal("an array with other blocks is not equal")
	}
	if i > 0 {
		if same.Set(i-1, nil); Equal(a, same) {
			t.Fatal("another array is equal")
		}
	}
}
