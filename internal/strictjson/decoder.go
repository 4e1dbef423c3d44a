// Package strictjson reads untrusted JSON (RFC 8259): token by token with a Decoder, the
// members of one object with ReadText, and successive texts with a Reader.
//
// It is stricter than the grammar. The text must be valid UTF-8, an object must not
// have the same key twice (compared after unescaping), nothing may follow the
// value, and values must not nest deeper than MaxDepth. Otherwise it accepts all of
// JSON: half a surrogate pair and a number of any size are valid tokens. Callers
// that use such tokens must reject them.
//
// It knows JSON and must not know what the values mean.
package strictjson

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
)

// MaxDepth is the maximum number of nested arrays and objects. Real events nest
// less than 20 levels; the limit bounds the stack and memory for hostile events.
const MaxDepth = 512

// Kind is the kind of a token. The name of a member is a Name, not a String.
type Kind byte

// The kinds of token.
const (
	ObjectStart Kind = '{'
	ObjectEnd   Kind = '}'
	ArrayStart  Kind = '['
	ArrayEnd    Kind = ']'
	Name        Kind = ':'
	String      Kind = '"'
	Number      Kind = '0'
	True        Kind = 't'
	False       Kind = 'f'
	Null        Kind = 'n'
)

// String returns the kind with its article, for error messages.
func (k Kind) String() string {
	switch k {
	case ObjectStart:
		return "an object"
	case ArrayStart:
		return "an array"
	case String, Name:
		return "a string"
	case Number:
		return "a number"
	case True, False:
		return "a boolean"
	case Null:
		return "null"
	}
	return "the end of a value"
}

// Token is the kind and the place of a token, 0 <= Start < End <= len(data). The
// bytes of a name or string include the quotes. A fifth field would keep tokens out
// of registers and halve the decoder's speed.
type Token struct {
	Kind       Kind
	Start, End int
	// Duplicate reports that the object already has this name.
	Duplicate bool
}

// A Decoder reads the tokens of one JSON text in order. The zero value is an empty
// text; call Reset before use.
type Decoder struct {
	data  []byte
	pos   int
	open  []level
	names []span    // the names of all open objects, innermost last
	index nameIndex // finds duplicates in objects with many names
	// frames has the arrays and objects around the innermost one during a scan.
	frames []frame
	begun  bool // the value of the text has begun
	// escaped reports that the last name or string contains an escape.
	escaped bool
	// allowDuplicates reports that duplicate names are not marked.
	allowDuplicates bool
	err             error
}

// level is one open array or object.
type level struct {
	object    bool
	wantValue bool // the value of a member is next
	count     int  // elements or members begun
	first     int  // index of the level's first name in names
}

// span is the place of a name, including the quotes. Texts are shorter than 2 GiB,
// so a name costs eight bytes.
type span struct {
	start int32
	end   int32 // the offset of the end; its complement if the name contains an escape
}

func newSpan(start, end int, escaped bool) span {
	s := span{int32(start), int32(end)}
	if escaped {
		s.end = ^s.end
	}
	return s
}

func (s span) escaped() bool { return s.end < 0 }

// bytes returns the bytes of the name in data.
func (s span) bytes(data []byte) []byte {
	end := s.end
	if end < 0 {
		end = ^end
	}
	return data[s.start:end]
}

// NewDecoder returns a Decoder that reads data.
func NewDecoder(data []byte) *Decoder {
	d := new(Decoder)
	d.Reset(data)
	return d
}

// Reset makes d read data from the beginning. It reuses d's memory.
func (d *Decoder) Reset(data []byte) {
	d.data, d.pos, d.begun, d.escaped, d.allowDuplicates, d.err = data, 0, false, false, false, nil
	d.open, d.names, d.frames, d.index.tables = d.open[:0], d.names[:0], d.frames[:0], d.index.tables[:0]
	if len(data) > math.MaxInt32 {
		d.err = &SyntaxError{Fault: Malformed, Message: "the text is longer than 2 GiB"}
	}
}

// AllowDuplicates makes d not mark duplicate names, until the next Reset. This
// needs much less time and memory for objects with very many names. It is for
// detecting the kind of a text before reading it.
func (d *Decoder) AllowDuplicates() { d.allowDuplicates = true }

// Depth returns the number of open arrays and objects.
func (d *Decoder) Depth() int { return len(d.open) }

// Bytes returns the bytes of a token.
func (d *Decoder) Bytes(t Token) []byte { return d.data[t.Start:t.End] }

// Text returns the value of a name or string, and whether it is valid Unicode. A
// value with half a surrogate pair is not; see Unquote.
func (d *Decoder) Text(t Token) (text string, valid bool) {
	return Unquote(d.data[t.Start:t.End])
}

// Next returns the next token, or io.EOF at the end of the text. Any other error
// is a *SyntaxError. Later calls return the same error. A duplicate name is not an
// error: its token is marked.
func (d *Decoder) Next() (Token, error) {
	if d.err != nil {
		return Token{}, d.err
	}
	t, err := d.next()
	if err != nil {
		d.err = err
	}
	return t, err
}

func (d *Decoder) next() (Token, error) {
	d.space()
	if len(d.open) == 0 {
		switch {
		case !d.begun:
			return d.value()
		case d.pos < len(d.data):
			return Token{}, d.fail(Trailing, d.pos, "bytes after the JSON value")
		}
		return Token{}, io.EOF
	}
	top := &d.open[len(d.open)-1]
	if top.wantValue {
		return d.value()
	}
	closer := byte(']')
	if top.object {
		closer = '}'
	}
	c, ok := d.peek()
	switch {
	case ok && c == closer:
		return d.close(closer), nil
	case top.count > 0:
		if !ok || c != ',' {
			return Token{}, d.syntax("%c or , is missing", closer)
		}
		d.pos++
		d.space()
	}
	if top.object {
		return d.name(top)
	}
	top.count++
	return d.value()
}

// name reads the name of a member and the colon.
func (d *Decoder) name(top *level) (Token, error) {
	if c, ok := d.peek(); !ok || c != '"' {
		return Token{}, d.syntax("a member's name in double quotes is missing")
	}
	t, err := d.string(Name)
	if err != nil {
		return t, err
	}
	d.space()
	if c, ok := d.peek(); !ok || c != ':' {
		return Token{}, d.syntax(": is missing after a member's name")
	}
	d.pos++
	top.count++
	top.wantValue = true
	name := newSpan(t.Start, t.End, d.escaped)
	if !d.allowDuplicates {
		t.Duplicate = d.index.add(d.data, d.names, top.first, name)
	}
	d.names = append(d.names, name)
	return t, nil
}

func (d *Decoder) value() (Token, error) {
	c, ok := d.peek()
	switch {
	case !ok && !d.begun && d.pos == 0:
		return Token{}, d.syntax("the text is empty")
	case !ok:
		return Token{}, d.syntax("a value is missing")
	}
	switch c {
	case '{', '[':
		if len(d.open) == MaxDepth {
			return Token{}, d.fail(TooDeep, d.pos, "nested deeper than %d", MaxDepth)
		}
		d.valueSeen()
		d.open = append(d.open, level{object: c == '{', first: len(d.names)})
		d.pos++
		return Token{Kind: Kind(c), Start: d.pos - 1, End: d.pos}, nil
	case '"':
		t, err := d.string(String)
		if err == nil {
			d.valueSeen()
		}
		return t, err
	case 't':
		return d.literal("true", True)
	case 'f':
		return d.literal("false", False)
	case 'n':
		return d.literal("null", Null)
	}
	return d.number()
}

// valueSeen records that the expected value has begun.
func (d *Decoder) valueSeen() {
	if len(d.open) == 0 {
		d.begun = true
		return
	}
	d.open[len(d.open)-1].wantValue = false
}

func (d *Decoder) close(c byte) Token {
	top := d.open[len(d.open)-1]
	if top.object {
		if !d.allowDuplicates {
			d.index.leave(len(d.names) - top.first)
		}
		d.names = d.names[:top.first]
	}
	d.open = d.open[:len(d.open)-1]
	d.pos++
	return Token{Kind: Kind(c), Start: d.pos - 1, End: d.pos}
}

func (d *Decoder) literal(word string, kind Kind) (Token, error) {
	start := d.pos
	for i := range len(word) {
		if c, ok := d.peek(); !ok || c != word[i] {
			return Token{}, d.syntax("%s is misspelled", word)
		}
		d.pos++
	}
	d.valueSeen()
	return Token{Kind: kind, Start: start, End: d.pos}, nil
}

// number reads a number.
func (d *Decoder) number() (Token, error) {
	start := d.pos
	end, fault := numberEnd(d.data, start)
	d.pos = end
	switch {
	case fault == "":
		d.valueSeen()
		return Token{Kind: Number, Start: start, End: end}, nil
	case end == start:
		return Token{}, d.notValue()
	}
	return Token{}, d.syntax("%s", fault)
}

// numberEnd returns the offset of the end of the number at i (RFC 8259 §6). If the
// number is invalid, fault says why, and end is the offset of the fault.
func numberEnd(data []byte, i int) (end int, fault string) {
	if i < len(data) && data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if end = digitsEnd(data, i); end == i {
		return i, "a digit is missing"
	} else {
		i = end
	}
	if i < len(data) && data[i] == '.' {
		i++
		if end = digitsEnd(data, i); end == i {
			return i, "a digit is missing after the decimal point"
		}
		i = end
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if end = digitsEnd(data, i); end == i {
			return i, "a digit is missing in the exponent"
		}
		i = end
	}
	return i, ""
}

// digitsEnd returns the offset of the end of the digits at i.
func digitsEnd(data []byte, i int) int {
	// The compiler needs i >= 0 to see that word reads inside data.
	for i >= 0 && i < len(data)-7 {
		if found := nonDigit(word(data, i)); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
		i += 8
	}
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	return i
}

// signatures are the first bytes of files that are often mistaken for JSON.
var signatures = []struct{ bytes, message, advice string }{
	{"\xef\xbb\xbf", "the text begins with a byte order mark", "save the file as UTF-8 without a byte order mark"},
	{"\xff\xfe", "the text looks like UTF-16", "save the file as UTF-8"},
	{"\xfe\xff", "the text looks like UTF-16", "save the file as UTF-8"},
	{gzipMagic, "the text looks like gzip", DecompressHint},
	{zstdMagic, "the text looks like zstd", DecompressHint},
	{"<", "the text looks like HTML or XML", "check the source of the file; it may be a saved error page"},
}

// The first bytes of compressed files (RFC 1952 §2.3.1, RFC 8878 §3.1.1), and the
// advice about such files.
const (
	gzipMagic      = "\x1f\x8b"
	zstdMagic      = "\x28\xb5\x2f\xfd"
	DecompressHint = "decompress the file first"
)

// DetectCompression returns the compression of a file that begins with head: gzip,
// zstd, or "" if it is neither.
func DetectCompression(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return "gzip"
	case bytes.HasPrefix(head, []byte(zstdMagic)):
		return "zstd"
	}
	return ""
}

// notValue returns an error which says that no value begins at the current
// position.
func (d *Decoder) notValue() error {
	if !d.begun {
		for _, s := range signatures {
			if bytes.HasPrefix(d.data[d.pos:], []byte(s.bytes)) {
				return &SyntaxError{Fault: Malformed, Message: s.message, Advice: s.advice, Offset: int64(d.pos)}
			}
		}
	}
	return d.syntax("not a JSON value")
}

func (d *Decoder) space() { d.pos = spaceEnd(d.data, d.pos) }

// spaceEnd returns the offset of the end of the white space at i.
func spaceEnd(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' {
		switch data[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

func (d *Decoder) peek() (byte, bool) {
	if d.pos < len(d.data) {
		return d.data[d.pos], true
	}
	return 0, false
}

func (d *Decoder) syntax(format string, args ...any) error {
	return d.fail(Malformed, d.pos, format, args...)
}

func (d *Decoder) fail(fault Fault, at int, format string, args ...any) error {
	return &SyntaxError{Fault: fault, Message: fmt.Sprintf(format, args...), Offset: int64(at), Pointer: d.Pointer()}
}

// Pointer returns the RFC 6901 pointer to the value that d read last or is
// reading. If the pointer would be longer than MaxPointer, Pointer returns the
// pointer to the nearest enclosing value.
func (d *Decoder) Pointer() string {
	var p string
	for i, l := range d.open {
		parent := p
		switch {
		case l.count == 0:
		case l.object:
			end := len(d.names)
			if i+1 < len(d.open) {
				end = d.open[i+1].first
			}
			s := d.names[end-1]
			if len(s.bytes(d.data)) > 6*MaxPointer {
				return parent
			}
			name, _ := Unquote(s.bytes(d.data))
			p += "/" + EscapePointer(name)
		default:
			p += "/" + strconv.Itoa(l.count-1)
		}
		if len(p) > MaxPointer {
			return parent
		}
	}
	return p
}

// Skip reads to the end of the value that begins with t, and returns the offset of
// its end. It fails if an object in the value has the same key twice.
func (d *Decoder) Skip(t Token) (end int, err error) {
	if t.Kind != ObjectStart && t.Kind != ArrayStart {
		return t.End, nil
	}
	if _, ok := d.scan(t, nil); ok {
		return d.pos, nil
	}
	for depth := d.Depth(); d.Depth() >= depth; {
		if t, err = d.Next(); err != nil {
			return d.pos, err
		}
		if t.Duplicate {
			return t.End, d.DuplicateError(t)
		}
	}
	return t.End, nil
}

// DuplicateError returns the error for a duplicate name.
func (d *Decoder) DuplicateError(t Token) error {
	name, _ := d.Text(t)
	return &SyntaxError{Fault: DuplicateKey, Message: "a key appears twice in one object", Key: name, Offset: int64(t.Start), Pointer: d.Pointer()}
}
