package jsonvalue

import (
	"unicode/utf8"

	"github.com/p20export/p20export/internal/strictjson"
)

// Size returns the length of the text that Append writes.
func Size(v Value) int {
	switch v := v.(type) {
	case bool:
		if v {
			return len("true")
		}
		return len("false")
	case Number:
		return len(v)
	case string:
		return SizeString(v)
	case *Array:
		n := 1 + max(v.Len(), 1)
		for _, e := range v.All {
			n += Size(e)
		}
		return n
	case *Object:
		n := 1 + max(v.Len(), 1)
		for name, m := range v.All {
			n += SizeString(name) + 1 + Size(m)
		}
		return n
	}
	return len("null")
}

// SizeString returns the length of the text that AppendString writes.
func SizeString(s string) int {
	n := len(s) + len(`""`)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			if r, width := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || width > 1 {
				i += width - 1
			} else if _, ok := strictjson.LoneSurrogate(s[i:]); ok {
				n += len(`\ud800`) - 3
				i += 2
			} else {
				n += len("\ufffd") - 1
			}
		case c == '"', c == '\\', c == '\b', c == '\t', c == '\n', c == '\f', c == '\r':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// Depth returns the number of nested arrays and objects in v.
func Depth(v Value) int {
	depth := 0
	switch v := v.(type) {
	case *Array:
		for _, e := range v.All {
			depth = max(depth, Depth(e))
		}
	case *Object:
		for _, m := range v.All {
			depth = max(depth, Depth(m))
		}
	default:
		return 0
	}
	return depth + 1
}
