package jsonvalue

import (
	"unicode/utf16"
	"unicode/utf8"
)

// AppendText appends s to a string. If the string ends with the first half of a
// surrogate pair and s begins with the second, they become one character.
func AppendText(dst []byte, s string) []byte {
	if n := len(dst) - 3; n >= 0 && len(s) >= 3 {
		if high, low := surrogate(dst[n:]), surrogate([]byte(s[:3])); high != 0 && high < 0xdc00 && low >= 0xdc00 {
			dst = utf8.AppendRune(dst[:n], utf16.DecodeRune(high, low))
			s = s[3:]
		}
	}
	return append(dst, s...)
}

// surrogate returns the half of a surrogate pair that the three bytes encode, or 0.
func surrogate(b []byte) rune {
	if b[0] != 0xed || b[1] < 0xa0 {
		return 0
	}
	return rune(b[0]&0x0f)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
}

// Fold returns an object with the members of a and b, which may be nil. A member of b
// replaces the whole member of a with the same name. Fold changes neither a nor b; the
// result shares their values. It returns nil if both are nil.
//
// It is how metadata of several events becomes the metadata of one.
func Fold(a, b *Object) *Object {
	if b == nil {
		return a
	}
	o := new(Object)
	if a != nil {
		for name, v := range a.All {
			o.Set(name, v)
		}
	}
	for name, v := range b.All {
		o.Set(name, v)
	}
	return o
}
