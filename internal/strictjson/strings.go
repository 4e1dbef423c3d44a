package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// string reads a string (RFC 8259 §7) and checks that it is valid UTF-8.
func (d *Decoder) string(kind Kind) (Token, error) {
	start := d.pos
	end, escaped, ok := stringEnd(d.data, start+1)
	if !ok {
		d.pos = end
		return Token{}, d.badString()
	}
	d.pos, d.escaped = end+1, escaped
	return Token{Kind: kind, Start: start, End: d.pos}, nil
}

// badString returns the error for a string whose first fault is at the current
// position.
func (d *Decoder) badString() error {
	c, ok := d.peek()
	switch {
	case !ok:
		return d.syntax("a string is not closed")
	case c >= utf8.RuneSelf:
		return d.fail(InvalidUTF8, d.pos, "byte 0x%02x is not UTF-8", c)
	case c == '\\':
		return d.syntax("a bad escape in a string")
	}
	return d.syntax("control character 0x%02x in a string", c)
}

// stringEnd returns the offset of the quote that ends the string whose first character
// is at i, and whether the string contains an escape. If the string is invalid, ok is
// false and end is the offset of its first fault, i <= end <= len(data).
func stringEnd(data []byte, i int) (end int, escaped, ok bool) {
	for {
		// The compiler needs i >= 0 to see that word reads inside data.
		for i >= 0 && i < len(data)-7 {
			found := special(word(data, i))
			if found != 0 {
				i += bits.TrailingZeros64(found) / 8
				goto found
			}
			i += 8
		}
		// Fewer than eight bytes are left. Shifting them down adds zeros, which are special.
		if i < len(data) && len(data) >= 8 {
			w := binary.LittleEndian.Uint64(data[len(data)-8:])
			i += bits.TrailingZeros64(special(w>>(8*(i+8-len(data))))) / 8
		}
		if i >= len(data) {
			return i, escaped, false
		}
	found:
		n := 1
		switch c := data[i]; {
		case c == '"':
			return i, escaped, true
		case c == '\\':
			escaped = true
			if n = 2; i+1 == len(data) || !simpleEscape[data[i+1]] {
				n = escapeLen(data[i:])
			}
		case c >= utf8.RuneSelf:
			n = multibyteLen(data[i:])
		case c < 0x20:
			n = 0
		}
		if n == 0 {
			return i, escaped, false
		}
		i += n
	}
}

// word returns the eight bytes of data at i, the first lowest. It is faster than
// binary.LittleEndian.Uint64(data[i:]), which makes a slice.
func word(data []byte, i int) uint64 {
	_ = data[i+7]
	return uint64(data[i]) | uint64(data[i+1])<<8 | uint64(data[i+2])<<16 | uint64(data[i+3])<<24 |
		uint64(data[i+4])<<32 | uint64(data[i+5])<<40 | uint64(data[i+6])<<48 | uint64(data[i+7])<<56
}

// special finds control characters, double quotes, backslashes and bytes that are not
// ASCII in w. It returns 0 if there are none; otherwise the lowest bit it sets is the
// highest bit of the first of them. A subtraction borrows only from the bytes above a
// match, so the bits below are correct.
func special(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	// With bit 1 inverted, the quote is 0x20, and the other bytes below 0x21 are the
	// control characters.
	low := w ^ ones*0x02
	slash := w ^ ones*'\\'
	return (w | (low - ones*0x21) | (slash - ones)) & highs
}

// nonDigit finds bytes that are not decimal digits in w, as special does.
func nonDigit(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	d := w ^ ones*'0'
	return (d | (d + ones*(0x80-10))) & highs
}

// multibyteLen returns the length of the characters that are not ASCII at the start of
// b, or 0 if the first is not valid UTF-8 (RFC 3629 §4). It reads each character as one
// word, first byte lowest.
func multibyteLen(b []byte) int {
	i := 0
	for i+4 <= len(b) {
		w := binary.LittleEndian.Uint32(b[i:])
		switch {
		case w&0x80 == 0:
			return i
		case w&0xc0c0f0 == 0x8080e0: // 1110xxxx 10xxxxxx 10xxxxxx
			// The highest five bits of the code point: neither overlong nor a surrogate.
			if high := w&0x0f<<1 | w>>13&1; high == 0 || high == 0xd800>>11 {
				return i
			}
			i += 3
		case w&0xc0e0 == 0x80c0: // 110xxxxx 10xxxxxx
			if w&0x1e == 0 { // overlong
				return i
			}
			i += 2
		case w&0xc0c0c0f8 == 0x808080f0: // 11110xxx 10xxxxxx 10xxxxxx 10xxxxxx
			// The highest five bits: neither overlong nor past U+10FFFF.
			if high := w&0x07<<2 | w>>12&3; high == 0 || high > 0x10 {
				return i
			}
			i += 4
		default:
			return i
		}
	}
	for i < len(b) && b[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return i
}

// simpleEscape has the characters that are an escape after a backslash.
var simpleEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// escapeLen returns the length of the escape at the start of b, or 0 if it is
// invalid.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if simpleEscape[b[1]] {
		return 2
	}
	if _, ok := hex4(b[2:]); ok && b[1] == 'u' {
		return 6
	}
	return 0
}
