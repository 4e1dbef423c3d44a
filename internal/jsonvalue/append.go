package jsonvalue

import (
	"unicode/utf8"

	"github.com/p20export/p20export/internal/strictjson"
)

// Append appends the JSON text of v to dst, without white space.
func Append(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case Number:
		return append(dst, v...)
	case string:
		return AppendString(dst, v)
	case *Array:
		dst = append(dst, '[')
		for i, e := range v.All {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, e)
		}
		return append(dst, ']')
	case *Object:
		dst = append(dst, '{')
		first := true
		for name, m := range v.All {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(AppendString(dst, name), ':')
			dst = Append(dst, m)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// AppendString appends s as a JSON string. It escapes only what RFC 8785 escapes, and
// halves of surrogate pairs. A byte that is part of neither UTF-8 nor such a half is
// written as U+FFFD, as encoding/json does.
func AppendString(dst []byte, s string) []byte { return appendText(dst, s) }

// AppendBytes is like AppendString, and does not copy s.
func AppendBytes(dst, s []byte) []byte { return appendText(dst, s) }

func appendText[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	for {
		var n int
		if dst, n = strictjson.AppendASCII(dst, s); n == len(s) {
			return append(dst, '"')
		}
		// Characters that are not escaped are copied together.
		s = s[n:]
		end := 0
		for end < len(s) && s[end] >= 0x7f {
			r, n := utf8.DecodeRuneInString(string(s[end:min(end+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && n == 1 {
				break
			}
			end += n
		}
		dst, s = append(dst, s[:end]...), s[end:]
		if end > 0 {
			continue
		}
		if half, ok := strictjson.LoneSurrogate(string(s[:min(utf8.UTFMax, len(s))])); ok {
			dst, s = appendEscape(dst, half), s[3:]
		} else {
			dst, s = utf8.AppendRune(dst, utf8.RuneError), s[1:]
		}
	}
}

// appendEscape appends a code unit as \uXXXX.
func appendEscape(dst []byte, unit rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[unit>>12&15], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
}
