package strictjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the value of a quoted string that a Decoder accepted, and whether
// the value is valid Unicode. The two halves of a surrogate pair become one
// character. A lone half is encoded as three bytes, as in WTF-8, and makes the
// value invalid.
func Unquote(quoted []byte) (text string, valid bool) {
	body := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body), true
	}
	out, valid := AppendUnquoted(make([]byte, 0, len(body)), quoted)
	return string(out), valid
}

// AppendUnquoted appends the value that Unquote returns to dst.
func AppendUnquoted(dst, quoted []byte) (out []byte, valid bool) {
	body := quoted[1 : len(quoted)-1]
	valid = true
	for {
		n := bytes.IndexByte(body, '\\')
		if n < 0 {
			return append(dst, body...), valid
		}
		dst = append(dst, body[:n]...)
		body = body[n:]
		c := body[1]
		if c == 'u' {
			r, _ := hex4(body[2:])
			body = body[6:]
			if utf16.IsSurrogate(r) {
				low, ok := lowSurrogate(body)
				if !ok || r >= 0xdc00 {
					valid = false
					dst = append(dst, byte(0xe0|r>>12), byte(0x80|r>>6&0x3f), byte(0x80|r&0x3f))
					continue
				}
				r = utf16.DecodeRune(r, low)
				body = body[6:]
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		body = body[2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		}
		dst = append(dst, c)
	}
}

// lowSurrogate returns the low surrogate whose escape is at the start of b.
func lowSurrogate(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	r, ok := hex4(b[2:])
	return r, ok && r >= 0xdc00 && r <= 0xdfff
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// JoinSurrogates replaces each pair of adjacent surrogate halves in text by one
// character, and reports whether the result is valid Unicode. Such pairs occur
// where results of Unquote are concatenated.
func JoinSurrogates(text string) (joined string, valid bool) {
	if utf8.ValidString(text) {
		return text, true
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		high, ok := LoneSurrogate(text[i:])
		if !ok {
			_, n := utf8.DecodeRuneInString(text[i:])
			out = append(out, text[i:i+n]...)
			i += n
			continue
		}
		if low, ok := LoneSurrogate(text[i+3:]); ok && high < 0xdc00 && low >= 0xdc00 {
			out = utf8.AppendRune(out, utf16.DecodeRune(high, low))
			i += 6
			continue
		}
		out = append(out, text[i:i+3]...)
		i += 3
	}
	return string(out), utf8.Valid(out)
}

// LoneSurrogate returns the half of a surrogate pair that is encoded at the start of s in
// three bytes, as in WTF-8, and whether there is one.
func LoneSurrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1]>>5 != 0b101 || s[2]>>6 != 0b10 {
		return 0, false
	}
	return rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}
