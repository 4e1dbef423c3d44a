package jsonvalue

import (
	"strconv"
	"strings"
)

// Equal reports whether a and b are the same JSON value. Numbers are compared by their
// exact values, and the order of members does not matter.
func Equal(a, b Value) bool { return EqualFunc(a, b, EqualNumber) }

// EqualFunc is like Equal but compares numbers with a function.
func EqualFunc(a, b Value, number func(a, b Number) bool) bool {
	switch a := a.(type) {
	case Number:
		b, ok := b.(Number)
		return ok && number(a, b)
	case *Array:
		b, ok := b.(*Array)
		if !ok || a.Len() != b.Len() {
			return false
		}
		block, at := 0, 0 // in b, whose blocks may be others
		for _, v := range a.All {
			if at == len(b.blocks[block]) {
				block, at = block+1, 0
			}
			if !EqualFunc(v, b.blocks[block][at], number) {
				return false
			}
			at++
		}
		return true
	case *Object:
		b, ok := b.(*Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for name, v := range a.All {
			if other, ok := b.Get(name); !ok || !EqualFunc(v, other, number) {
				return false
			}
		}
		return true
	}
	return a == b
}

// EqualFloat64 reports whether a and b are the same binary64 number, as they are in
// JavaScript. All numbers beyond the range of binary64 are infinite.
func EqualFloat64(a, b Number) bool {
	return a == b || Float64(a) == Float64(b)
}

// Float64 returns the binary64 number nearest to n.
func Float64(n Number) float64 {
	f, _ := strconv.ParseFloat(string(n), 64) // a number out of range gives 0 or ±Inf
	return f
}

// EqualNumber reports whether a and b have exactly the same value. The time is
// proportional to their texts, no matter how large their exponents are.
func EqualNumber(a, b Number) bool {
	if a == b {
		return true
	}
	x, y := newDecimal(a), newDecimal(b)
	if !sameDigits(x.digits, y.digits) || len(x.digits) > 0 && x.negative != y.negative {
		return false
	}
	if len(x.digits) == 0 {
		return true
	}
	d, ok := subtract(x.exponent, y.exponent)
	return ok && d == int64(y.point-x.point)
}

// decimal is the number 0.DIGITS × 10^(point+exponent).
type decimal struct {
	negative bool
	digits   string // from the first to the last digit that is not 0; may contain a point
	point    int
	exponent string // an integer with an optional sign
}

func newDecimal(n Number) decimal {
	text, negative := strings.CutPrefix(string(n), "-")
	d := decimal{negative: negative, exponent: "0"}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		text, d.exponent = text[:i], text[i+1:]
	}
	point := strings.IndexByte(text, '.')
	if point < 0 {
		point = len(text)
	}
	d.digits = strings.TrimLeft(text, "0.")
	first := len(text) - len(d.digits)
	d.point = point - first
	if first > point {
		d.point++ // the point is not a digit
	}
	if point >= first {
		d.digits = strings.TrimRight(d.digits, "0.")
	} else {
		d.digits = strings.TrimRight(d.digits, "0")
	}
	return d
}

// sameDigits compares digits without their points.
func sameDigits(a, b string) bool {
	for {
		a, b = strings.TrimPrefix(a, "."), strings.TrimPrefix(b, ".")
		n := min(run(a), run(b))
		if n == 0 {
			return a == "" && b == ""
		}
		if a[:n] != b[:n] {
			return false
		}
		a, b = a[n:], b[n:]
	}
}

// run returns the number of digits before the first point.
func run(s string) int {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return i
	}
	return len(s)
}

// subtract returns the difference of two integers, and whether it is small.
func subtract(a, b string) (difference int64, ok bool) {
	const small = 1 << 40 // greater than the length of any text
	a, signA := integer(a)
	b, signB := integer(b)
	n := max(len(a), len(b))
	for i := range n {
		difference *= 10
		if j := i - (n - len(a)); j >= 0 {
			difference += signA * int64(a[j]-'0')
		}
		if j := i - (n - len(b)); j >= 0 {
			difference -= signB * int64(b[j]-'0')
		}
		// The digits that follow cannot make a large difference small.
		if difference > small || difference < -small {
			return 0, false
		}
	}
	return difference, true
}

// integer returns the digits of an integer without leading zeros, and its sign.
func integer(s string) (digits string, sign int64) {
	sign = 1
	if s[0] == '-' {
		sign = -1
	}
	return strings.TrimLeft(s, "+-0"), sign
}
