package strictjson

import (
	"bytes"
	"slices"

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

// Nests reports whether a text is JSON that can be a member of an object. Package jsontext
// limits the depth of values.
func Nests(text []byte, options ...jsontext.Options) bool {
	if !jsontext.Value(text).IsValid(options...) {
		return false
	}
	return len(text) < 2*maxJSONTextDepth || jsontext.Value(slices.Concat([]byte{'['}, text, []byte{']'})).IsValid(options...)
}

// maxJSONTextDepth is the depth of values that package jsontext accepts.
const maxJSONTextDepth = 10000

// OneLine returns a JSON text, which must be valid, on one line. It trims white space
// around the text and, if the text spans several lines, also removes the white
// space between tokens.
func OneLine(text []byte) []byte {
	text = bytes.Trim(text, " \t\r\n")
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 { // faster than ContainsAny
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
