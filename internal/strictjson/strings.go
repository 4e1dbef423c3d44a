package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// string reads a string (RFC 8259 §7) and checks that it is valid UTF-8.
func (d *Decoder) string(kind Kind) (Token, error) {
	start := d.pos
	ascii := true
	d.escaped = false
	for i := start + 1; ; {
		for i+8 <= len(d.data) {
			n := plain(binary.LittleEndian.Uint64(d.data[i:]))
			i += n
			if n < 8 {
				break
			}
		}
		if i >= len(d.data) {
			return Token{}, d.badString(start, i, "a string is not closed")
		}
		c := d.data[i]
		switch {
		case c >= utf8.RuneSelf:
			ascii = false
			for i++; i < len(d.data) && d.data[i] >= utf8.RuneSelf; i++ {
			}
		case c == '"':
			if !ascii && !utf8.Valid(d.data[start:i]) {
				return Token{}, d.badString(start, i, "")
			}
			d.pos = i + 1
			return Token{Kind: kind, Start: start, End: d.pos}, nil
		case c == '\\':
			n := escapeLen(d.data[i:])
			if n == 0 {
				return Token{}, d.badString(start, i, "a bad escape in a string")
			}
			d.escaped = true
			i += n
		case c < 0x20:
			return Token{}, d.badString(start, i, "control character 0x%02x in a string", c)
		default:
			i++
		}
	}
}

// badString returns the error for the first fault in the string at start: a byte
// before end that is not UTF-8, or else the given message at end.
func (d *Decoder) badString(start, end int, format string, args ...any) error {
	for d.pos = start; d.pos < end; {
		r, n := utf8.DecodeRune(d.data[d.pos:end])
		if r == utf8.RuneError && n == 1 {
			return d.fail(InvalidUTF8, d.pos, "byte 0x%02x is not UTF-8", d.data[d.pos])
		}
		d.pos += n
	}
	return d.syntax(format, args...)
}

// plain returns the number of plain bytes at the start of w, from the lowest: those
// before the first control character, double quote, backslash or byte that is not
// ASCII. A subtraction borrows only from the bytes above a match, so the lowest bit
// it sets is correct.
func plain(w uint64) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return bits.TrailingZeros64((w|(w-ones*0x20)|(quote-ones)|(slash-ones))&highs) / 8
}

// escapeLen returns the length of the escape at the start of b, or 0 if it is
// invalid.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}
