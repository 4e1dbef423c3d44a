package page

import (
	"slices"
	"testing"
)

func TestBetween(t *testing.T) {
	t.Parallel()
	const old = "before\n<!-- bench: x -->\nold\n<!-- end: x -->\nafter\n"
	const want = "before\n<!-- bench: x -->\n\nnew\n\n<!-- end: x -->\nafter\n"
	got, err := Between(old, "bench", "x", "new\n")
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if again, err := Between(got, "bench", "x", "new\n"); err != nil || again != want {
		t.Errorf("the second time got %q, %v", again, err)
	}
	for _, other := range [][2]string{{"bench", "y"}, {"benches", "x"}} {
		if _, err := Between(old, other[0], other[1], "new\n"); err == nil {
			t.Errorf("table %s of %s has no place, and is accepted", other[1], other[0])
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	if got := Median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("the median is %v, want 2.5", got)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{123.4: "123", 12.34: "12.3", 1.234: "1.23", 0.1234: "0.12", 0.01234: "0.012"} {
		if got := Number(f); got != want {
			t.Errorf("Number(%v) = %q, want %q", f, got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c"}
	if got, err := Choose("", all); err != nil || !slices.Equal(got, all) {
		t.Errorf("without a list: %q, %v", got, err)
	}
	if got, err := Choose("c,a", all); err != nil || !slices.Equal(got, []string{"c", "a"}) {
		t.Errorf("with a list: %q, %v", got, err)
	}
	if _, err := Choose("d", all); err == nil {
		t.Error("an unknown name is accepted")
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]float64{0: 1, 0.5: 2, 1: 3} {
		if got := Percentile([]int64{1, 2, 3}, share); got != want {
			t.Errorf("the percentile %v of 1, 2 and 3 is %v, want %v", share, got, want)
		}
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	if got := Range([]float64{3, 1, 2}); got != "**2.00** (1.00 to 3.00)" {
		t.Errorf("got %s", got)
	}
	if got := Range([]float64{3}); got != "**3.00**" {
		t.Errorf("got %s", got)
	}
}
