package strictjson

import (
	"encoding/binary"
	"math/bits"
)

// A Reader reads texts that resemble each other, such as successive events, faster than
// ReadText. The zero value is ready for use.
//
// The law: Read returns the value, members, offsets and error that ReadText returns for
// the text, whatever was read before.
//
// A Reader remembers some texts that ReadText accepted, its templates. The holes of a
// template are the strings and numbers that differed in later texts; the rest of it is
// literal. A text that has the literal bytes of a template, and a valid string for each
// hole that is a string and a valid number for each hole that is a number, is accepted
// for the same reasons as the template: after each hole the grammar is in the same state,
// and all names, kinds and depths are the same. Its offsets are those of the template
// plus the growth of the holes before them. Every other text is read by ReadText.
//
// Read allocates only when it remembers a text, and the memory of a Reader is bounded. So
// is the time for attempts that fail, even if the texts were made to fail: see shelf.
type Reader struct {
	// Key is the name of a member that tells the kinds of texts apart, such as "type".
	// Texts with different values of it never share a template.
	Key string

	decoder   Decoder
	templates [Shapes]template
	small     shelf
	large     shelf
	stored    int // number of texts remembered so far
	cursor    cursor
	draft     []hole
}

// The limits of a Reader. They bound the memory of its templates to 1 MiB.
const (
	maxSmall   = 4 << 10   // bytes of a small text
	maxLarge   = 128 << 10 // bytes of a large text; longer texts have no templates
	smallCount = 12        // templates of small texts; the other templates are of large ones
	maxMembers = 256       // members of a template
	maxHoles   = 64        // holes of a template
)

// template is a text that ReadText accepted and whose value is an object.
type template struct {
	shape      Shape
	text       []byte
	start, end int // the place of the object
	members    []member
	holes      []hole
	first      int // length of the text before the first hole
	literal    int // length of the text outside holes
}

// hole is the place of a string or number in a template.
type hole struct {
	start, end int32
	member     int32 // index of the member that is or contains the hole
	kind       Kind
}

// shelf has the templates of small or of large texts.
//
// Attempts to fit a text to templates, and to remember a text, are made only while credit
// is positive. A failed attempt costs its time, and a text that fits adds less than the
// time it saved. A text that is read by ReadText adds about a hundredth of that time, so
// texts that never fit are read at most that much slower.
type shelf struct {
	order  []uint8 // indices of the templates, the last one used first
	begun  bool    // a text has been read
	credit int     // the unit is the time in which ReadText reads a byte
}

const (
	firstCredit = 1 << 21 // the credit of a new shelf: about 16 µs
	maxCredit   = 1 << 23
	perNs       = 128 // the cost of a nanosecond; ReadText reads about 1 to 7 bytes in it
	perLiteral  = 8   // what a byte outside holes adds when a text fits: 1/16 ns
)

// Read reads data as one JSON text, as ReadText does. If data fits a template, o has the
// template's shape, and otherwise none.
func (r *Reader) Read(o *Object, data []byte) (Value, error) {
	if len(data) > maxLarge {
		return ReadText(o, &r.decoder, data)
	}
	s := &r.small
	if len(data) > maxSmall {
		s = &r.large
	}
	if s.credit > 0 {
		if t := r.find(s, o, data); t != nil {
			return Value{Kind: ObjectStart, Raw: data[t.start : t.end+len(data)-len(t.text)], Start: t.start}, nil
		}
	}
	v, err := ReadText(o, &r.decoder, data)
	if err == nil && v.Kind == ObjectStart {
		r.remember(s, o, v)
	}
	s.credit = min(s.credit+len(data), maxCredit)
	return v, err
}

// find returns the template that data fits, or nil, and stores the members of data in o.
func (r *Reader) find(s *shelf, o *Object, data []byte) *template {
	for i, slot := range s.order {
		t := &r.templates[slot]
		if len(data) < t.first || string(data[:t.first]) != string(t.text[:t.first]) {
			continue
		}
		if compared, ok := t.fit(o, data); !ok {
			s.credit -= perNs * (16 + compared/4)
			continue
		}
		s.credit = min(s.credit+perLiteral*t.literal, maxCredit)
		s.use(i)
		return t
	}
	s.credit -= perNs * 4 * len(s.order)
	for i, slot := range s.order {
		t := &r.templates[slot]
		if !r.learn(s, t, data) {
			continue
		}
		if _, ok := t.fit(o, data); ok {
			s.use(i)
			return t
		}
	}
	return nil
}

// fit reports whether data, which has the text of t before its first hole, fits t. If so,
// it stores the members of data in o; otherwise o is undefined. It also returns the number
// of bytes that it compared.
func (t *template) fit(o *Object, data []byte) (compared int, ok bool) {
	o.text, o.base, o.members, o.shape = data, 0, append(o.members[:0], t.members...), t.shape
	var (
		p, q  = t.first, t.first // data[:p] fits t.text[:q]
		shift = int32(0)         // p - q
		next  = 0                // members[next:] have not been shifted
	)
	for i := range t.holes {
		h := &t.holes[i]
		n := int(h.start) - q
		if len(data)-p < n || string(data[p:p+n]) != string(t.text[q:h.start]) {
			return p, false
		}
		end := scalarEnd(h.kind, data, p+n)
		if end < 0 {
			return p, false
		}
		if after := int(h.member) + 1; next < after {
			move(o.members[next:after], shift)
			next = after
		}
		p, q = end, int(h.end)
		o.members[h.member].valueEnd += int32(p-q) - shift
		shift = int32(p - q)
	}
	if string(data[p:]) != string(t.text[q:]) {
		return p, false
	}
	move(o.members[next:], shift)
	return len(data), true
}

// move adds n to the offsets of members.
func move(members []member, n int32) {
	if n == 0 {
		return
	}
	for i := range members {
		m := &members[i]
		m.name, m.nameEnd, m.value, m.valueEnd = m.name+n, m.nameEnd+n, m.value+n, m.valueEnd+n
	}
}

// scalarEnd returns the offset of the end of the string or number at i, or -1 if there is
// none.
func scalarEnd(kind Kind, data []byte, i int) int {
	if kind == Number {
		if end, fault := numberEnd(data, i); fault == "" {
			return end
		}
		return -1
	}
	if i < len(data) && data[i] == '"' {
		if quote, _, ok := stringEnd(data, i+1); ok {
			return quote + 1
		}
	}
	return -1
}

// learn adds holes to t so that data fits it, and reports whether it could.
func (r *Reader) learn(s *shelf, t *template, data []byte) bool {
	r.cursor.reset(t)
	r.draft = r.draft[:0]
	ok := r.extend(t, data)
	s.credit -= perNs * (16 + r.cursor.compared/4 + 2*r.cursor.read)
	if ok {
		t.dig(r.draft)
	}
	return ok
}

// extend lists the holes that t needs to fit data, and reports whether there are such
// holes.
func (r *Reader) extend(t *template, data []byte) bool {
	for p, q, known := 0, 0, 0; ; {
		limit := len(t.text)
		if known < len(t.holes) {
			limit = int(t.holes[known].start)
		}
		n := commonPrefix(data[p:], t.text[q:limit])
		before := q
		p, q = p+n, q+n
		r.cursor.compared = q
		var h hole
		switch {
		case q < limit:
			var ok bool
			if h, ok = r.cursor.scalar(r.Key, q); !ok || int(h.start) < before {
				return false
			}
			p -= q - int(h.start)
		case known < len(t.holes):
			h = t.holes[known]
			known++
		default:
			return p == len(data)
		}
		if p = scalarEnd(h.kind, data, p); p < 0 || len(r.draft) == maxHoles {
			return false
		}
		q = int(h.end)
		r.draft = append(r.draft, h)
	}
}

// dig gives t the holes.
func (t *template) dig(holes []hole) {
	t.holes = append(t.holes[:0], holes...)
	t.first, t.literal = len(t.text), len(t.text)
	for i, h := range holes {
		if i == 0 {
			t.first = int(h.start)
		}
		t.literal -= int(h.end - h.start)
	}
}

// commonPrefix returns the length of the longest common prefix of a and b.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// cursor finds the strings and numbers of a template by ascending offsets.
type cursor struct {
	template *template
	member   int     // index of the current member
	inside   bool    // token is in the current member
	token    Token   // the last token read by decoder
	decoder  Decoder // reads the value of the current member
	compared int     // bytes of the template that were compared
	read     int     // bytes of the template that decoder read
}

func (c *cursor) reset(t *template) {
	c.template, c.member, c.inside, c.compared, c.read = t, 0, false, 0, 0
}

// scalar returns the place of the string or number that contains the byte at offset, or
// that is a number and ends there. It does not return the value of the member key.
func (c *cursor) scalar(key string, offset int) (h hole, ok bool) {
	t := c.template
	for ; c.member < len(t.members) && int(t.members[c.member].valueEnd) < offset; c.member++ {
		c.inside = false
	}
	if c.member == len(t.members) || offset < int(t.members[c.member].value) {
		return hole{}, false
	}
	m := &t.members[c.member]
	token := Token{Kind: m.kind, Start: int(m.value), End: int(m.valueEnd)}
	switch m.kind {
	case ObjectStart, ArrayStart:
		if token, ok = c.nested(m, offset); !ok {
			return hole{}, false
		}
	default:
		if key != "" && equalsQuoted(t.text[m.name:m.nameEnd], key) {
			return hole{}, false
		}
	}
	if token.Start > offset || !reaches(token, offset) || token.Kind != String && token.Kind != Number {
		return hole{}, false
	}
	return hole{start: int32(token.Start), end: int32(token.End), member: int32(c.member), kind: token.Kind}, true
}

// nested returns the first token of the array or object m that reaches offset.
func (c *cursor) nested(m *member, offset int) (Token, bool) {
	if !c.inside {
		c.inside, c.token = true, Token{}
		c.decoder.Reset(c.template.text[m.value:m.valueEnd])
		c.decoder.AllowDuplicates()
	}
	for at := offset - int(m.value); !reaches(c.token, at); {
		before := c.token.End
		var err error
		if c.token, err = c.decoder.Next(); err != nil {
			return Token{}, false
		}
		c.read += c.token.End - before
	}
	t := c.token
	t.Start, t.End = t.Start+int(m.value), t.End+int(m.value)
	return t, true
}

// reaches reports whether t ends after offset, or is a number, which could be longer, and
// ends there.
func reaches(t Token, offset int) bool {
	return t.End > offset || t.End == offset && t.Kind == Number
}

// remember makes the text of o, whose value is v, a template, in place of the one that
// was not used for the longest time. The first text of a Reader is not remembered,
// because it may be the only one.
func (r *Reader) remember(s *shelf, o *Object, v Value) {
	if !s.begun {
		s.begun, s.credit = true, firstCredit
		return
	}
	if s.credit <= 0 || len(o.members) > maxMembers {
		return
	}
	s.credit -= perNs * (64 + len(o.text)/8)
	n := len(s.order)
	switch {
	case s == &r.small && n < smallCount:
		s.order = append(s.order, uint8(n))
	case s == &r.large && n < Shapes-smallCount:
		s.order = append(s.order, uint8(smallCount+n))
	default:
		n--
	}
	slot := s.order[n]
	s.use(n)
	r.stored++
	t := &r.templates[slot]
	t.shape = Shape(r.stored*Shapes + int(slot))
	t.text = append(t.text[:0], o.text...)
	t.start, t.end = v.Start, v.Start+len(v.Raw)
	t.members = append(t.members[:0], o.members...)
	t.dig(nil)
}

// use moves the i-th template in the order to the front.
func (s *shelf) use(i int) {
	if i == 0 {
		return
	}
	slot := s.order[i]
	copy(s.order[1:i+1], s.order[:i])
	s.order[0] = slot
}
