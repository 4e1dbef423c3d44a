package assay

import (
	"bytes"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What the reference bounds JSON by whatever its limits are set to
// (json_strict/errors.rs).
const (
	maxKeys   = 10_000    // of an object
	maxString = 1_048_576 // Unicode code points of a string or key
)

// Why a JSON text is refused. errDepth has a code of its own.
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
	huge  bool // holds a number that no IEEE double comes near
}

// jsonReader checks JSON texts and takes them apart. It keeps its memory from
// text to text.
type jsonReader struct {
	decoder jsontext.Decoder
	members []jsonMember
}

// read checks the whole of raw, UTF-8, and returns the parts of the outermost
// value, until the next call. The kind is '{' or '[' or that of a bare value.
//
// The reference scans for depth before anything else, and its scan lets two
// things pass which its parser then refuses: white space beyond the four
// characters of JSON, and control characters in strings. So what is refused
// for them is read again without them: it may nest too deep as well.
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
	var huge bool // the member that is read holds a huge number
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

// plainText replaces what the reference's scan takes for white space by spaces
// and escapes control characters in strings.
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
