package assay

import (
	"bytes"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The reference's fixed limits for JSON (json_strict/errors.rs).
const (
	maxKeys   = 10_000    // of an object
	maxString = 1_048_576 // Unicode code points of a string or key
)

// Errors of jsonReader. errDepth has its own refusal code.
var (
	errDepth    = errors.New("nests too deep")
	errKeys     = errors.New("an object has too many keys")
	errString   = errors.New("a string is too long")
	errTrailing = errors.New("something follows the value")
)

// jsonMember is a member of an object, or an element of an array.
type jsonMember struct {
	name  string // empty in an array
	value jsontext.Value
	huge  bool // contains a number that is out of range for IEEE doubles
}

// jsonReader checks JSON texts and splits them into members. It reuses its memory.
type jsonReader struct {
	decoder jsontext.Decoder
	members []jsonMember
}

// read checks raw, which must be valid UTF-8. It returns the kind and the members or
// elements of the outermost value. They are valid until the next call.
//
// The reference first checks the depth with a scanner that accepts other white space
// than JSON, and control characters in strings. Its parser refuses both afterwards. So
// if a text is refused, read checks the depth again without these characters.
func (j *jsonReader) read(raw []byte, depth int) (jsontext.Kind, []jsonMember, error) {
	kind, err := j.scan(raw, depth)
	if err != nil && err != errDepth {
		if plain := plainText(raw); !bytes.Equal(plain, raw) {
			if _, again := j.scan(plain, depth); again == errDepth {
				return 0, nil, errDepth
			}
		}
	}
	return kind, j.members, err
}

func (j *jsonReader) scan(raw []byte, depth int) (kind jsontext.Kind, err error) {
	j.members = j.members[:0]
	d := &j.decoder
	d.Reset(bytes.NewBuffer(raw))
	var name string
	var huge bool // the current member contains a huge number
	begin, end := 0, 0
	for done := false; !done; {
		token, err := d.ReadToken()
		if err != nil {
			return 0, err
		}
		start := end
		for start < len(raw) && bytes.IndexByte([]byte(" \t\r\n,:"), raw[start]) >= 0 {
			start++
		}
		end = int(d.InputOffset())
		if kind == 0 {
			kind = token.Kind()
		}
		level := d.StackDepth()
		switch token.Kind() {
		case '{', '[':
			if level > depth {
				return 0, errDepth
			}
			if level == 2 {
				begin = start
			}
			continue
		case '}', ']':
			start = begin
		case '"':
			if end-start > maxString && utf8.RuneCountInString(token.String()) > maxString {
				return 0, errString
			}
			if in, length := d.StackIndex(level); in == '{' && length%2 == 1 {
				if length/2 >= maxKeys {
					return 0, errKeys
				}
				if level == 1 {
					name = token.String()
				}
				continue
			}
		case '0':
			huge = huge || !finite(raw[start:end])
		}
		if level == 1 {
			j.members = append(j.members, jsonMember{name, raw[start:end], huge})
			name, huge = "", false
		}
		done = level == 0
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return 0, errTrailing
	}
	return kind, nil
}

// plainText replaces all Unicode white space outside strings with spaces and escapes
// control characters in strings.
func plainText(raw []byte) []byte {
	var out []byte
	inside, escaped := false, false
	for _, r := range string(raw) {
		switch {
		case inside && !escaped && r < ' ':
			out = append(out, "\\u00"...)
			out = append(out, "0123456789abcdef"[r>>4], "0123456789abcdef"[r&15])
			continue
		case !inside && unicode.IsSpace(r):
			r = ' '
		case r == '"' && !escaped:
			inside = !inside
		}
		escaped = inside && r == '\\' && !escaped
		out = utf8.AppendRune(out, r)
	}
	return out
}
