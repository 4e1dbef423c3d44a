package strictjson

import (
	"bytes"
	"fmt"
	"unicode/utf16"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendEscaped appends r to b as one \u escape, or as two if r needs a surrogate
// pair (RFC 8259 §7).
func AppendEscaped(b []byte, r rune) []byte {
	for _, unit := range utf16.AppendRune(nil, r) {
		b = fmt.Appendf(b, `\u%04x`, unit)
	}
	return b
}

// EscapeNonASCII returns a JSON text in which every character that is not printable
// ASCII is escaped, so that all of its text is visible. Only strings of a JSON text
// contain such characters.
func EscapeNonASCII(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r < 0x7f {
			out = append(out, byte(r))
		} else {
			out = AppendEscaped(out, r)
		}
	}
	return out
}

// MarshalFile returns the JSON encoding of v in the format of the program's files:
// two-space indent, ASCII only, one line feed at the end.
func MarshalFile(v any) ([]byte, error) {
	var buf bytes.Buffer
	if err := json.MarshalWrite(&buf, v, jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	return append(EscapeNonASCII(buf.Bytes()), '\n'), nil
}
