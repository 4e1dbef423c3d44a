package strictjson

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// AppendASCII appends the ASCII characters at the beginning of s to dst, as they are written
// between the quotes of a JSON string in the form of RFC 8785 §3.2.2.2, and returns the number
// of them. It stops before DEL and before a byte that is not ASCII. Like append, it uses the
// capacity of dst if there is enough. It may overwrite a few bytes of it after the result.
//
// Only the double quote, the backslash and control characters below U+0020 are escaped. A
// control character is escaped by its short form if JSON has one, and otherwise as \u00xx in
// lower case.
func AppendASCII[T string | []byte](dst []byte, s T) ([]byte, int) {
	const escape = 6 // the length of the longest escape
	i := 0
	for i < len(s) {
		dst = slices.Grow(dst, len(s)-i+8+escape)
		buf, n := dst[:cap(dst)], len(dst)
		for i < len(s) && n < len(buf)-(8+escape) {
			// Eight bytes are copied at once. Those after a character that ends the
			// prefix are overwritten by what follows.
			if i >= 0 && i < len(s)-7 {
				w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
					uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
				binary.LittleEndian.PutUint64(buf[n:], w)
				const ones, highs = 0x0101010101010101, 0x8080808080808080
				found := special(w) | (w+ones)&highs // DEL + 1 is 0x80
				if found == 0 {
					i, n = i+8, n+8
					continue
				}
				k := bits.TrailingZeros64(found) / 8
				i, n = i+k, n+k
			}
			c := s[i]
			switch {
			case c >= 0x7f:
				return buf[:n], i
			case c == '"' || c == '\\':
				buf[n], buf[n+1] = '\\', c
				n += 2
			case c >= 0x20:
				buf[n] = c
				n++
			case shortEscapes[c] != 0:
				buf[n], buf[n+1] = '\\', shortEscapes[c]
				n += 2
			default:
				n += copy(buf[n:], `\u00`)
				buf[n], buf[n+1] = '0'+c>>4, "0123456789abcdef"[c&0xf]
				n += 2
			}
			i++
		}
		dst = buf[:n]
	}
	return dst, i
}

// shortEscapes has the letters of the short escapes of control characters.
var shortEscapes = [0x20]byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}
