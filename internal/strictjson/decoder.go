// Package strictjson reads hostile JSON (RFC 8259) token by token.
//
// It is stricter than the grammar where evidence needs it: the text is valid
// UTF-8, no object names a key twice (compared after unescaping), nothing
// follows the value, and nothing nests deeper than MaxDepth. It is no stricter
// elsewhere: half a surrogate pair and a number of any size are legal tokens,
// and it is for the caller to refuse them where they are used.
//
// It knows JSON and must not know what the values mean.
package strictjson

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
)

// MaxDepth is how many arrays and objects may be open at once. Real events
// nest below 20; the bound keeps hostile ones from costing stack or memory.
const MaxDepth = 512

// Kind tells tokens apart. Names and strings are different kinds.
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

// String names the kind as an error message would.
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

// Token is one token: its kind and where its bytes are, 0 <= Start < End <=
// len(data). The bytes of a name or string include its quotes. (A fifth field
// would keep tokens out of registers and halve the decoder's speed.)
type Token struct {
	Kind       Kind
	Start, End int
	// Duplicate says that the name stands in its object already.
	Duplicate bool
}

// Decoder reads the tokens of one JSON text in order. The zero value reads
// nothing; call Reset.
type Decoder struct {
	data  []byte
	pos   int
	open  []level
	names []span    // the names of all open objects, innermost last
	index nameIndex // finds a name again in an object of many
	begun bool
	// escaped says that the name or string read last holds an escape.
	escaped bool
	// loose says that names which stand twice are not told.
	loose bool
	err   error
}

// level is one open array or object.
type level struct {
	object    bool
	wantValue bool // after a name, its value is next
	count     int  // elements or members begun
	first     int  // where the names of the level begin in names
}

// span is where a name is, quotes included. Texts are below 2 GiB, so that a
// text of nothing but names costs eight bytes each.
type span struct {
	start int32
	end   int32 // its complement when the name holds an escape
}

func newSpan(start, end int, escaped bool) span {
	s := span{int32(start), int32(end)}
	if escaped {
		s.end = ^s.end
	}
	return s
}

func (s span) escaped() bool { return s.end < 0 }

// of returns the bytes of the name.
func (s span) of(data []byte) []byte {
	end := s.end
	if end < 0 {
		end = ^end
	}
	return data[s.start:end]
}

// NewDecoder returns a decoder of data.
func NewDecoder(data []byte) *Decoder {
	d := new(Decoder)
	d.Reset(data)
	return d
}

// Reset makes the decoder read data from its beginning, with the memory it has.
func (d *Decoder) Reset(data []byte) {
	d.index.tables = d.index.tables[:0]
	*d = Decoder{data: data, open: d.open[:0], names: d.names[:0], index: d.index}
	if len(data) > math.MaxInt32 {
		d.err = &SyntaxError{Fault: Malformed, Message: "the text is longer than 2 GiB"}
	}
}

// AllowDuplicates makes the decoder not tell names that stand twice, for a look at what a
// text is before it is read: no Token is a Duplicate. It costs a fraction of the
// time and memory where an object has very many names.
func (d *Decoder) AllowDuplicates() { d.loose = true }

// Depth returns how many arrays and objects are open.
func (d *Decoder) Depth() int { return len(d.open) }

// Bytes returns the bytes of a token.
func (d *Decoder) Bytes(t Token) []byte { return d.data[t.Start:t.End] }

// Text returns the value of a name or string and whether it is valid Unicode:
// false means that it holds half a surrogate pair, encoded as three bytes.
func (d *Decoder) Text(t Token) (text string, valid bool) {
	return Unquote(d.data[t.Start:t.End])
}

// Next returns the next token; io.EOF says that the text ended where it may.
// Any other error is a *SyntaxError with the offset of the offending byte and
// the Pointer at that place; it is returned again by later calls.
// A duplicate name is no error here but marked on its token.
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

// name reads a member's name and the colon after it.
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
	if !d.loose {
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

// valueSeen notes that the value a name or the text waited for has begun.
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
		if !d.loose {
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

// number reads RFC 8259 §6.
func (d *Decoder) number() (Token, error) {
	start := d.pos
	if c, _ := d.peek(); c == '-' {
		d.pos++
	}
	if c, _ := d.peek(); c == '0' {
		d.pos++
	} else if !d.digits() {
		if d.pos == start {
			return Token{}, d.notValue()
		}
		return Token{}, d.syntax("a digit is missing")
	}
	if c, _ := d.peek(); c == '.' {
		d.pos++
		if !d.digits() {
			return Token{}, d.syntax("a digit is missing after the decimal point")
		}
	}
	if c, _ := d.peek(); c == 'e' || c == 'E' {
		d.pos++
		if c, _ := d.peek(); c == '+' || c == '-' {
			d.pos++
		}
		if !d.digits() {
			return Token{}, d.syntax("a digit is missing in the exponent")
		}
	}
	d.valueSeen()
	return Token{Kind: Number, Start: start, End: d.pos}, nil
}

// beginnings are what files that are not JSON often begin with.
var beginnings = []struct{ bytes, says, advice string }{
	{"\xef\xbb\xbf", "a byte order mark stands before the value", "save the file as UTF-8 without a byte order mark"},
	{"\xff\xfe", "the text begins as UTF-16", "save the file as UTF-8"},
	{"\xfe\xff", "the text begins as UTF-16", "save the file as UTF-8"},
	{gzipMagic, "the text begins as gzip", DecompressHint},
	{zstdMagic, "the text begins as zstd", DecompressHint},
	{"<", "the text begins as HTML or XML", "look at where the file came from; an error page was perhaps saved for it"},
}

// What compressed files begin with (RFC 1952 §2.3.1, RFC 8878 §3.1.1), and what to
// do about one.
const (
	gzipMagic      = "\x1f\x8b"
	zstdMagic      = "\x28\xb5\x2f\xfd"
	DecompressHint = "decompress the file first"
)

// DetectCompression names the compression that the first bytes of a file are of: gzip,
// zstd, or "" for none of them.
func DetectCompression(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return "gzip"
	case bytes.HasPrefix(head, []byte(zstdMagic)):
		return "zstd"
	}
	return ""
}

// notValue is the error that no value begins at the decoder's place.
func (d *Decoder) notValue() error {
	if !d.begun {
		for _, b := range beginnings {
			if bytes.HasPrefix(d.data[d.pos:], []byte(b.bytes)) {
				return &SyntaxError{Fault: Malformed, Message: b.says, Advice: b.advice, Offset: int64(d.pos)}
			}
		}
	}
	return d.syntax("not a JSON value")
}

func (d *Decoder) digits() bool {
	start := d.pos
	for d.pos < len(d.data) && d.data[d.pos]-'0' <= 9 {
		d.pos++
	}
	return d.pos > start
}

func (d *Decoder) space() {
	if d.pos < len(d.data) && d.data[d.pos] > ' ' {
		return
	}
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
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

// Pointer returns the RFC 6901 pointer to the value read last, or to the one
// the decoder is in. Where that would pass MaxPointer it points to the nearest
// value around it.
func (d *Decoder) Pointer() string {
	var p string
	for i, l := range d.open {
		around := p
		switch {
		case l.count == 0:
		case l.object:
			end := len(d.names)
			if i+1 < len(d.open) {
				end = d.open[i+1].first
			}
			s := d.names[end-1]
			if len(s.of(d.data)) > 6*MaxPointer {
				return around
			}
			name, _ := Unquote(s.of(d.data))
			p += "/" + EscapePointer(name)
		default:
			p += "/" + strconv.Itoa(l.count-1)
		}
		if len(p) > MaxPointer {
			return around
		}
	}
	return p
}

// Skip reads past the value that t begins, so that the next token is the one
// after it, and returns where the value ends. A name repeated inside is
// a DuplicateKey error.
func (d *Decoder) Skip(t Token) (end int, err error) {
	if t.Kind != ObjectStart && t.Kind != ArrayStart {
		return t.End, nil
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

// DuplicateError is the error that a name stands in its object twice.
func (d *Decoder) DuplicateError(t Token) error {
	name, _ := d.Text(t)
	return &SyntaxError{Fault: DuplicateKey, Message: "a key appears twice in one object", Key: name, Offset: int64(t.Start), Pointer: d.Pointer()}
}
