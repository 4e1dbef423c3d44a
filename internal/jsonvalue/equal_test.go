package jsonvalue

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEqualNumber(t *testing.T) {
	long := strings.Repeat("0", 1<<20)
	for _, c := range []struct {
		a, b           Number
		exact, float64 bool
	}{
		{"1", "1.0", true, true},
		{"1", "10e-1", true, true},
		{"100", "1E+2", true, true},
		{"0.00120", "12e-4", true, true},
		{"10.50", "1.05e1", true, true},
		{"1.05", "10.5", false, false},
		{"101", "11", false, false},
		{"1", "-1", false, false},
		{"0", "-0.0e5", true, true},
		{"0e99999999999999999999", "0", true, true},
		{"9007199254740993", "9007199254740992", false, true},
		{"0.1", "0.1000000000000000055511151231257827", false, true},
		{"1e400", "10e399", true, true},
		{"1e400", "1e401", false, true},
		{"1e400", "-1e400", false, false},
		{"1e-400", "0", false, true},
		{"1e99999999999999999999", "10e99999999999999999998", true, true},
		{"1e99999999999999999999", "10e99999999999999999999", false, true},
		{"1e-99999999999999999999", "0.1e-99999999999999999998", true, true},
		{"1e99999999999999999999", "1e-99999999999999999999", false, false},
		{"1e1000000000", "1e1000000001", false, true},
		{Number("1" + long), "1e1048576", true, true},
		{Number("0." + long + "1"), "1e-1048577", true, true},
		{Number("1e" + long + "1"), "1.0e1", true, true},
		{Number("1e1" + long), Number("10e" + strings.Repeat("9", 1<<20)), true, true},
	} {
		for range 2 {
			if got := EqualNumber(c.a, c.b); got != c.exact {
				t.Errorf("EqualNumber(%.30s, %.30s) = %v", c.a, c.b, got)
			}
			if got := EqualFloat64(c.a, c.b); got != c.float64 {
				t.Errorf("EqualFloat64(%.30s, %.30s) = %v", c.a, c.b, got)
			}
			c.a, c.b = c.b, c.a
		}
	}
}

// TestEqualNumberRandom compares EqualNumber with rational numbers.
func TestEqualNumberRandom(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if rapid.Bool().Draw(t, "same digits") {
			shift := rapid.IntRange(0, 3).Draw(t, "zeros")
			b = a
			if !strings.ContainsAny(a, ".eE") {
				b = a + strings.Repeat("0", shift) + "e-" + string(rune('0'+shift))
			}
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := EqualNumber(Number(a), Number(b)), x.Cmp(y) == 0; got != want {
			t.Fatalf("EqualNumber(%s, %s) = %v", a, b, got)
		}
	})
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`null`, `null`, true},
		{`null`, `false`, false},
		{`1`, `"1"`, false},
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, true},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{"a":1,"b":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`[]`, `{}`, false},
		{`"\ud83d"`, `"\ud83d"`, true},
		{`"\ud83d"`, `"\ud83c"`, false},
	} {
		if got := Equal(parse(t, c.a), parse(t, c.b)); got != c.want || Equal(parse(t, c.b), parse(t, c.a)) != c.want {
			t.Errorf("Equal(%s, %s) = %v", c.a, c.b, got)
		}
	}
}
