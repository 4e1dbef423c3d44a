package rows

import (
	"bufio"
	"encoding/binary"
	"unicode/utf8"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// Escaper writes JSON to W. It escapes characters that a terminal could act on,
// which JSON allows anywhere in a string.
type Escaper struct {
	W    *bufio.Writer // stores its first error
	held []byte        // the beginning of an incomplete character
}

func (s *Escaper) Write(text []byte) (int, error) {
	data := text
	if len(s.held) > 0 {
		s.held = append(s.held, text...)
		data = s.held
	}
	done, i := 0, 0
	for {
		if i += plainLength(data[i:]); !utf8.FullRune(data[i:]) {
			break
		}
		r, w := utf8.DecodeRune(data[i:])
		if i += w; finding.NeedsEscape(r) {
			s.W.Write(data[done : i-w])
			done = i
			s.W.Write(strictjson.AppendEscaped(s.W.AvailableBuffer(), r))
		}
	}
	s.W.Write(data[done:i])
	s.held = append(s.held[:0], data[i:]...)
	return len(text), nil
}

// plainLength returns the length of the ASCII prefix of JSON text without DEL.
func plainLength(text []byte) (n int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(text); n += 8 {
		x := binary.LittleEndian.Uint64(text[n:])
		if (x|(x+ones))&high != 0 { // a byte is 0x7f or more
			break
		}
	}
	for n < len(text) && text[n] < 0x7f {
		n++
	}
	return n
}
