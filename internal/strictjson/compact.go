package strictjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// CompactSize returns the size in bytes of a JSON text without the white space
// around its tokens. If text is not JSON, CompactSize returns its length.
func CompactSize(text []byte) int {
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Compact(); err != nil {
		return len(text)
	}
	return len(v)
}

// OneLine returns a JSON text, which must be valid, on one line. It trims white space
// around the text and, if the text spans several lines, also removes the white
// space between tokens.
func OneLine(text []byte) []byte {
	text = bytes.Trim(text, " \t\r\n")
	if !bytes.ContainsAny(text, "\r\n") {
		return text
	}
	return AppendCompact(make([]byte, 0, len(text)), text)
}

// AppendCompact appends a JSON text, which must be valid, without the white space around
// its tokens.
func AppendCompact(dst, text []byte) []byte {
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\':
			dst = append(dst, c)
			i++
			c = text[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}
