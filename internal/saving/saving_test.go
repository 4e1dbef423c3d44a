package saving_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/internal/saving"
)

// values are one of each kind.
type values struct {
	n     int
	large int64
	is    bool
	text  []byte
	s     string
	list  []string
}

func (v *values) code(c *saving.Coder) {
	c.Int(&v.n)
	c.Int64(&v.large)
	c.Bool(&v.is)
	c.Text(&v.text)
	c.String(&v.s)
	saving.List(c, &v.list, maxList, c.String)
}

const maxList = 1000

// TestListLimit reads a list with as many elements as it may have, and with one more.
func TestListLimit(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{2: true, 3: false} {
		list := make([]int, n)
		var w saving.Coder
		saving.List(&w, &list, 0, w.Int)
		c := saving.Read(w.Bytes)
		if saving.List(c, &list, 2, c.Int); c.Done() != want || len(list) != n && want {
			t.Errorf("%d elements: %v", n, list)
		}
	}
}

// TestCoder reads what was written, and reads no part of it.
func TestCoder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := values{
			n: rapid.Int().Draw(t, "n"), large: rapid.SampledFrom([]int64{0, -1, math.MinInt64, math.MaxInt64}).Draw(t, "large"), is: rapid.Bool().Draw(t, "is"),
			text: rapid.SliceOf(rapid.Byte()).Draw(t, "text"), s: rapid.String().Draw(t, "s"), list: rapid.SliceOf(rapid.String()).Draw(t, "list"),
		}
		var w saving.Coder
		want.code(&w)
		var got values
		c := saving.Read(w.Bytes)
		got.code(c)
		if !c.Done() || got.n != want.n || got.large != want.large || got.is != want.is || string(got.text) != string(want.text) || got.s != want.s || !slices.Equal(got.list, want.list) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if cap(got.text) != len(got.text) {
			t.Fatal("the text can be appended to in place")
		}
		c = saving.Read(w.Bytes[:rapid.IntRange(0, len(w.Bytes)-1).Draw(t, "length")])
		if new(values).code(c); c.Done() || !c.Failed() {
			t.Fatal("a part was read")
		}
		c = saving.Read(append(w.Bytes, 0))
		if new(values).code(c); c.Done() || c.Failed() {
			t.Fatal("one byte is left")
		}
	})
}

// TestCoderHostile reads bytes that nobody wrote.
func TestCoderHostile(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		text := make([]byte, random.IntN(20))
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		var v values
		c := saving.Read(text)
		if v.code(c); len(v.text)+len(v.s)+len(v.list) > len(text) {
			t.Fatalf("%q has %+v", text, v)
		}
		if c.Failed() && (c.Len(0) != 0 || c.Done()) {
			t.Fatalf("%q goes on after it failed", text)
		}
	}
}
