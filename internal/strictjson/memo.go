package strictjson

import (
	"encoding/binary"
	"math/bits"
)

// A Reader reads texts that resemble each other, such as successive events, faster than
// ReadText. The zero value is ready for use.
//
// Read always returns the kind, members, offsets and error that ReadText returns for the
// text. They do not depend on the texts that were read before.
//
// A Reader remembers some texts that ReadText accepted, its templates. A template has
// holes in place of some strings and numbers. A text fits if it equals the template
// outside the holes and has a valid string in each hole of a string and a valid number in
// each hole of a number. Such a text is valid because the template is: after each hole
// the grammar is in the same state, and all names, kinds and depths are the same. Its
// offsets are those of the template plus the growth of the holes before them. Every other
// text is read by ReadText.
//
// Which strings and numbers are holes depends on what differed in earlier texts. It
// affects only the speed.
//
// Read allocates only when it remembers a text, and the memory of a Reader is bounded. The
// time spent on texts that fit no template is bounded too, even if an attacker chose
// them: see shelf.
type Reader struct {
	// Key is the name of a member that tells the kinds of texts apart, such as "type".
	// Texts with different values of it never share a template.
	Key string

	decoder   Decoder
	templates [Shapes]template
	small     shelf
	large     shelf
	stored    int      // number of templates so far
	members   []member // memory for an object whose members are those of a template
	draft     []scalar // used by adapt
}

// The limits of a Reader. They bound the memory of its templates to 1 MiB.
const (
	maxSmall   = 4 << 10   // bytes of a small text
	maxLarge   = 128 << 10 // bytes of a large text; longer texts have no templates
	smallCount = 12        // templates of small texts; the other templates are of large ones
	maxMembers = 256       // members of a template
	maxScalars = 128       // strings and numbers of a template that differed
)

// template is a text that ReadText accepted and whose value is an object.
type template struct {
	shape      Shape
	text       []byte
	start, end int // the place of the object
	members    []member
	scalars    []scalar // the strings and numbers that differed in an earlier text
	holes      []hole   // those of scalars that are holes
	first      int      // length of the text before the first hole
	literal    int      // length of the text outside holes
	fits       int      // number of texts that fit since text was stored

	// fitted has the members of the last text that fit. Those before moving are the same
	// for all texts that fit.
	fitted []member
	moving int
}

// scalar is the place of a string or number in a template.
type scalar struct {
	start, end int32
	member     int32 // index of the member that is or contains the scalar
	kind       Kind
	// steady grows by one with each text in which the scalar is the same, and shrinks by
	// template.cost when it differs. While it is positive, the scalar is literal text,
	// which is faster for an id that is the same in many texts, but the text has to be
	// stored again when it differs. Otherwise the scalar is a hole, until it has been the
	// same in 1-firstHole consecutive samples.
	steady int
}

// hole is the place of a string or number that may differ in texts that fit.
type hole struct {
	from, end int32 // of a string, without the opening quote
	next      int32 // the start of the next hole, or the length of the text
	member    int32 // index of the member that is or contains the hole
	kind      Kind
}

// firstHole is the value of scalar.steady for a new hole. A text is a sample if
// samplePeriod texts have fit since the template was stored.
const (
	firstHole    = -2
	samplePeriod = 128
)

// sample makes the text of o, which fits t, the text of t.
func (r *Reader) sample(t *template, o *Object) {
	if _, ok := r.adapt(t, o.text); ok {
		t.store(o, t.start, t.end+len(o.text)-len(t.text), r.draft)
	}
}

// cost returns the cost of storing a text again, in texts with one more hole.
func (t *template) cost() int { return 24 + len(t.text)/8 }

// shelf has the templates of small or of large texts.
//
// Texts are compared with templates and remembered only while credit is positive. Time
// spent on a text that does not fit reduces it. A text that fits adds less than the time
// it saved. Every other text adds about a hundredth of the time that ReadText needs for
// it, so texts that never fit are read at most that much slower.
type shelf struct {
	order  []uint8 // indices of the templates, the last one used first
	begun  bool    // a text has been read
	credit int     // the unit is 1/perNs of a nanosecond
}

const (
	firstCredit = 1 << 21 // the credit of a new shelf: about 16 µs
	maxCredit   = 1 << 23
	perNs       = 128 // the price of a nanosecond, in which ReadText reads 1 to 7 bytes

	// What a text that fits adds, and each byte of it outside holes: 8 ns and 1/16 ns.
	perText    = 1024
	perLiteral = 8
)

// Read reads data as one JSON text, as ReadText does, and returns the kind of its value.
// The shape of o is that of a template, or 0. The members of o are valid until the next
// call of Read.
func (r *Reader) Read(o *Object, data []byte) (Kind, error) {
	s := &r.small
	if len(data) > maxSmall {
		s = &r.large
	}
	if s.credit > 0 && len(data) <= maxLarge && r.find(s, o, data) {
		return ObjectStart, nil
	}
	if o.shape != 0 {
		o.members, o.shape = r.members, 0
	}
	start, end := r.decoder.scanText(o, data)
	if end < 0 {
		v, err := readText(o, &r.decoder, data)
		return v.Kind, err
	}
	if s.credit > 0 || !s.begun {
		r.learn(s, o, start, end)
	}
	s.credit += len(data)
	return ObjectStart, nil
}

// Release forgets the text of o, which is the object of the last call of Read, and reports
// whether the memory of r and o is small enough to be kept for other texts.
func (r *Reader) Release(o *Object) (small bool) {
	if o.shape != 0 {
		o.members, o.shape = r.members, 0
	}
	o.reset(nil, 0)
	r.decoder.Reset(nil)
	d := &r.decoder
	return max(cap(o.members), cap(d.names), cap(d.open), cap(d.frames)) <= maxKept
}

// find reports whether data fits a template. If so, it stores the members of data in o.
func (r *Reader) find(s *shelf, o *Object, data []byte) bool {
	for i, slot := range s.order {
		t := &r.templates[slot]
		if len(data) < t.first || string(data[:t.first]) != string(t.text[:t.first]) {
			continue
		}
		if compared, ok := t.fit(data); !ok {
			s.credit -= perNs * (16 + compared/4)
			continue
		}
		if o.shape == 0 {
			r.members = o.members
		}
		o.text, o.base, o.members, o.shape = data, 0, t.fitted, t.shape
		if t.fits++; t.fits == samplePeriod {
			r.sample(t, o)
		}
		s.credit = min(s.credit+perText+perLiteral*t.literal, maxCredit)
		if i > 0 {
			s.use(i)
		}
		return true
	}
	s.credit -= perNs * 4 * len(s.order)
	return false
}

// fit reports whether data, which has the text of t before its first hole, fits t. If so,
// t.fitted has the members of data. It also returns the number of bytes that it compared.
func (t *template) fit(data []byte) (compared int, ok bool) {
	p := t.first      // data[:p] fits
	shift := int32(0) // the growth of the holes before p
	next := t.moving  // fitted[next:] have the offsets of an earlier text
	for i := range t.holes {
		h := &t.holes[i]
		start := p
		if h.kind == String {
			quote, escaped, ok := stringEnd(data, p)
			if !ok {
				return p, false
			}
			p = quote + 1
			t.fitted[h.member].plain = !escaped
		} else {
			end, fault := numberEnd(data, p)
			if fault != "" {
				return p, false
			}
			p = end
		}
		last := int(h.member)
		if next <= last {
			next = t.move(next, last+1, shift)
		}
		growth := int32(p-start) - (h.end - h.from)
		shift += growth
		t.fitted[last].valueEnd += growth
		literal := t.text[h.end:h.next]
		if len(data)-p < len(literal) || string(data[p:p+len(literal)]) != string(literal) {
			return p, false
		}
		p += len(literal)
	}
	if p < len(data) {
		return p, false
	}
	if next < len(t.members) {
		t.move(next, len(t.members), shift)
	}
	return len(data), true
}

// move sets the offsets of fitted[from:to] to those in the text of t plus n, and returns
// to.
func (t *template) move(from, to int, n int32) int {
	for i := from; i < to; i++ {
		m, f := &t.members[i], &t.fitted[i]
		f.name, f.nameEnd, f.value, f.valueEnd = m.name+n, m.nameEnd+n, m.value+n, m.valueEnd+n
	}
	return to
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

// learn remembers the text of o, in which the object is at [start, end). If the text
// differs from a template only in strings and numbers, it takes the place of the template's
// text, and o gets the template's shape. Otherwise it takes the place of the least recently
// used template. The first text is not remembered, because it may be the only one.
func (r *Reader) learn(s *shelf, o *Object, start, end int) {
	switch {
	case !s.begun:
		s.begun, s.credit = true, firstCredit
		return
	case len(o.members) > maxMembers || len(o.text) > maxLarge:
		return
	}
	s.credit -= perNs * (64 + len(o.text)/8)
	for i, slot := range s.order {
		t := &r.templates[slot]
		if len(t.members) != len(o.members) {
			continue
		}
		compared, ok := r.adapt(t, o.text)
		s.credit -= perNs * (16 + compared)
		if ok {
			t.store(o, start, end, r.draft)
			r.members = o.members
			o.members, o.shape = t.fitted, t.shape
			s.use(i)
			return
		}
	}
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
	t.store(o, start, end, nil)
}

// store makes the text of o, in which the object is at [start, end), the text of t.
func (t *template) store(o *Object, start, end int, scalars []scalar) {
	t.text = append(t.text[:0], o.text...)
	t.start, t.end = start, end
	t.members = append(t.members[:0], o.members...)
	t.fitted = append(t.fitted[:0], o.members...)
	t.moving = len(t.members)
	t.scalars = append(t.scalars[:0], scalars...)
	t.holes = t.holes[:0]
	t.first, t.literal, t.fits = len(t.text), len(t.text), 0
	for _, h := range scalars {
		if h.steady > 0 {
			continue
		}
		from := h.start
		if h.kind == String {
			from++
		}
		if n := len(t.holes); n > 0 {
			t.holes[n-1].next = from
		} else {
			t.first, t.moving = int(from), int(h.member)
		}
		t.holes = append(t.holes, hole{from: from, end: h.end, next: int32(len(t.text)), member: h.member, kind: h.kind})
		t.literal -= int(h.end - from)
	}
}

// use moves the i-th template in the order to the front.
func (s *shelf) use(i int) {
	slot := s.order[i]
	copy(s.order[1:i+1], s.order[:i])
	s.order[0] = slot
}

// adapt reports whether data, which ReadText accepted, differs from t only in strings and
// numbers. If so, r.draft has the places in data of those and of t.scalars. It also returns
// the number of bytes that it compared.
func (r *Reader) adapt(t *template, data []byte) (compared int, ok bool) {
	r.draft = r.draft[:0]
	c := cursor{text: t.text}
	for p, q, known, member := 0, 0, 0, 0; ; {
		limit := len(t.text)
		if known < len(t.scalars) {
			limit = int(t.scalars[known].start)
		}
		n := commonPrefix(data[p:], t.text[q:limit])
		p, q = p+n, q+n
		var h scalar
		switch {
		case q < limit:
			before := q - n
			if h, ok = c.scalar(q); !ok || int(h.start) < before {
				return q, false
			}
			for int(t.members[member].valueEnd) < q {
				member++
			}
			m := &t.members[member]
			if r.Key != "" && equalsQuoted(t.text[m.name:m.nameEnd], r.Key) {
				return q, false
			}
			h.member, h.steady = int32(member), t.cost()*3/2
			p -= q - int(h.start)
		case known < len(t.scalars):
			h = t.scalars[known]
			known++
		default:
			return q, p == len(data)
		}
		end := scalarEnd(h.kind, data, p)
		if end < 0 || len(r.draft) == maxScalars {
			return q, false
		}
		h.update(string(data[p:end]) != string(t.text[h.start:h.end]), t)
		q = int(h.end)
		h.start, h.end = int32(p), int32(end)
		r.draft = append(r.draft, h)
		p = end
	}
}

// update updates h.steady for a text in which h differs from t or not.
func (h *scalar) update(differs bool, t *template) {
	switch {
	case h.steady > 0:
		h.steady = min(h.steady+t.fits, 4*t.cost())
		if differs {
			h.steady -= t.cost()
		}
		if h.steady <= 0 {
			h.steady = firstHole
		}
	case differs:
		h.steady = firstHole
	case t.fits == samplePeriod:
		if h.steady++; h.steady > 0 {
			h.steady = 2 * t.cost()
		}
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

// cursor finds the strings and numbers of a valid text by ascending offsets.
type cursor struct {
	text []byte
	last scalar // the last name, string or number that was read
	next int    // the offset after it
}

// scalar returns the string or number that contains the byte at offset. A number that ends
// at offset counts as well: in another text it may go on there. Names do not count.
func (c *cursor) scalar(offset int) (_ scalar, ok bool) {
	for c.next < offset || c.next == offset && c.last.kind != Number {
		start := c.next
		switch b := c.text[start]; {
		case b == '"':
			quote, _, _ := stringEnd(c.text, start+1)
			c.next = quote + 1
			c.last = scalar{start: int32(start), end: int32(c.next), kind: String}
			if after := spaceEnd(c.text, c.next); after < len(c.text) && c.text[after] == ':' {
				c.last.kind = Name
			}
		case b == '-' || b-'0' <= 9:
			c.next, _ = numberEnd(c.text, start)
			c.last = scalar{start: int32(start), end: int32(c.next), kind: Number}
		default:
			c.next++
			c.last = scalar{}
		}
	}
	return c.last, int(c.last.start) <= offset && (c.last.kind == String || c.last.kind == Number)
}
