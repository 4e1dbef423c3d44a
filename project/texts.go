package project

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/strictjson"
)

// streamed is one text message of the stream. Its text is the texts that were held or
// summed, one after the other, and the field text.
type streamed struct {
	id, role string
	name     *strictjson.Value
	first    envelope.Ref // its first event
	open     bool
	subset   bool // the role is in the subset, so the text is collected
	held     [][]byte
	sum      textSum // if the texts are summed
	lone     bool    // a text that was summed contains half of a surrogate pair
	text     reduce.Text
}

// origin returns the place of the first event of the message.
func (m *streamed) origin() origin {
	at := &m.first
	return origin{event: &envelope.Event{Index: at.Index, Offset: at.Offset, Bytes: at.Bytes, Line: at.Line}}
}

// A text is held or summed when it has textBytes, or leastBytes and another message goes
// on. Texts are held in blocks of up to blockBytes, because texts that grow would need
// several times their memory.
const (
	textBytes  = 4 << 10
	leastBytes = 512
	blockBytes = 64 << 10
)

// append appends a delta to the text of a message. The delta is the text of a JSON string,
// which has no escapes if plain is true.
func (f *fold) append(m *streamed, delta []byte, plain bool) {
	if m != f.pending {
		f.setPending(m)
	}
	before := m.text.Len()
	if plain {
		m.text.AppendPlain(delta)
	} else {
		m.text.Append(delta)
	}
	f.held += m.text.Len() - before
	if m.text.Len() >= textBytes {
		f.settle(m)
	}
	if f.held > f.most && !f.summed {
		f.sumAll()
	}
}

// setPending makes m the pending message and settles the text of the last one, if that
// has enough. A message that begins uses the memory of the last text.
func (f *fold) setPending(m *streamed) {
	if last := f.pending; last != nil {
		if f.summed || last.text.Len() >= leastBytes {
			f.settle(last)
		}
		if m.text.Bytes() == nil {
			m.text = last.text.Release()
		}
	}
	f.pending = m
}

// settle holds or sums the text of a message, except half of a surrogate pair at its end.
func (f *fold) settle(m *streamed) {
	text := m.text.Settled()
	if f.summed {
		f.sum(m, text)
	} else if len(text) > 0 {
		f.hold(m, text)
	}
	m.text.Discard(len(text))
}

// hold holds a text of a message.
func (f *fold) hold(m *streamed, text []byte) {
	if cap(f.block)-len(f.block) < len(text) {
		f.block = make([]byte, 0, max(len(text), min(2*cap(f.block), blockBytes), leastBytes))
	}
	start := len(f.block)
	f.block = append(f.block, text...)
	if n := len(m.held) - 1; n >= 0 && f.holder == m && start > 0 {
		m.held[n] = f.block[start-len(m.held[n]):]
	} else {
		m.held = append(m.held, f.block[start:])
	}
	f.holder = m
}

// sum adds a text to the sum of a message.
func (f *fold) sum(m *streamed, text []byte) {
	sums().addText(&m.sum, text)
	// The first byte of half of a surrogate pair is 0xed.
	m.lone = m.lone || bytes.IndexByte(text, 0xed) >= 0 && !utf8.Valid(text)
}

// sumAll sums all texts, and holds none from then on, if the messages that are not blank
// are larger than an artifact can be. Such messages are not projected, but they are
// compared with a snapshot.
func (f *fold) sumAll() {
	n := 0
	for _, m := range f.streamed {
		if f.isBlank(m) {
			continue
		}
		for _, text := range m.held {
			n += len(text)
		}
		n += m.text.Len()
	}
	if n <= f.limit {
		f.most = 2 * f.held
		return
	}
	f.summed, f.block, f.holder = true, nil, nil
	for _, m := range f.streamed {
		for _, text := range m.held {
			f.sum(m, text)
		}
		m.held = nil
		if f.settle(m); m.text.Len() == 0 {
			m.text = reduce.Text{}
		}
	}
	runtime.GC() // the texts were most of the memory, and what follows needs little
}

// sumOf returns the sum of the whole text of a message.
func (f *fold) sumOf(m *streamed) textSum {
	all := m.sum
	for _, text := range m.held {
		sums().addText(&all, text)
	}
	sums().addText(&all, m.text.Bytes())
	return all
}

// isBlank reports whether the text of a message is blank.
func (f *fold) isBlank(m *streamed) bool {
	for _, text := range m.held {
		if !isBlank(text) {
			return false
		}
	}
	return m.sum.bytes == 0 && isBlank(m.text.Bytes())
}

func isBlank(text []byte) bool { return len(bytes.TrimLeftFunc(text, artifact.IsSpace)) == 0 }

// textOf returns the text of a message, which must not be summed.
func (f *fold) textOf(m *streamed) string {
	var b strings.Builder
	texts := append(m.held, m.text.Bytes())
	n := 0
	for _, text := range texts {
		n += len(text)
	}
	b.Grow(n)
	for _, text := range texts {
		b.Write(text)
	}
	return b.String()
}

// textSum identifies a text without its white space: by the number of the other bytes
// and by the value of the polynomial that has these bytes as coefficients, modulo
// sumPrime. A summer chooses the place of the value at random, so whoever writes two
// different texts cannot know where their polynomials are equal: the probability is
// below 2^-51 for texts of a kilobyte, and below 2^-35 for texts of 64 MiB.
type textSum struct {
	bytes int
	value uint64
}

const sumPrime = 1<<61 - 1

// A summer computes sums. Sums of different summers cannot be compared.
type summer struct {
	place uint64
	// terms has the terms of the eight lowest powers of the place, by power and byte.
	// They are 0 for white space.
	terms [groupBytes * 256]uint64
	// steps has, for each byte, the distance in terms from its power to the next: 0 for
	// white space, which has no power.
	steps [256]uint16
	// powers[n] is the n-th power of the place.
	powers [groupBytes + 1]uint64
}

// groupBytes is the number of bytes that addText adds at once. The sum of as many terms
// is less than 2^64.
const groupBytes = 8

// byteKind says what a byte of a text is.
type byteKind uint8

const (
	textByte byteKind = iota
	spaceByte
	leadByte // the first byte of white space that is not ASCII, and of other characters
)

// byteKinds has the kinds of all bytes.
var byteKinds = [256]byteKind{
	'\t': spaceByte, '\n': spaceByte, '\v': spaceByte, '\f': spaceByte, '\r': spaceByte, ' ': spaceByte,
	0x1c: spaceByte, 0x1d: spaceByte, 0x1e: spaceByte, 0x1f: spaceByte,
	0xc2: leadByte, 0xe1: leadByte, 0xe2: leadByte, 0xe3: leadByte,
}

// sums returns the summer of the process. Its tables are too large to make them for each
// run.
var sums = sync.OnceValue(newSummer)

func newSummer() *summer {
	s := &summer{place: rand.Uint64N(sumPrime-256) + 256}
	for c, kind := range byteKinds {
		if kind != spaceByte {
			s.steps[c] = 256
		}
	}
	s.powers[0] = 1
	for n := range groupBytes {
		s.powers[n+1] = times(s.powers[n], s.place)
		term := uint64(0)
		for c := range 256 {
			if byteKinds[c] != spaceByte {
				s.terms[n<<8|c] = term
			}
			term = modulo(0, term+s.powers[n])
		}
	}
	return s
}

// addText adds a text to a sum: the sum is that of the texts together. The texts must not
// be parts of one character.
func (s *summer) addText(to *textSum, text []byte) {
	sum := *to
	for len(text) > 0 {
		if len(text) >= groupBytes && (binary.LittleEndian.Uint64(text)&0x8080808080808080 == 0 || !hasWideSpace(text)) {
			terms, n := s.group((*[groupBytes]byte)(text))
			hi, lo := bits.Mul64(sum.value, s.powers[n])
			lo, carry := bits.Add64(lo, terms, 0)
			sum.value = modulo(hi+carry, lo)
			sum.bytes += int(n)
			text = text[groupBytes:]
			continue
		}
		r, width := utf8.DecodeRune(text)
		if !artifact.IsSpace(r) {
			for _, c := range text[:width] {
				sum.value = modulo(0, times(sum.value, s.place)+uint64(c))
			}
			sum.bytes += width
		}
		text = text[width:]
	}
	*to = sum
}

// group returns the sum of the terms of eight bytes, and the number of those that are not
// white space. The white space among them must be ASCII.
func (s *summer) group(bytes *[groupBytes]byte) (terms uint64, n uint) {
	const last = uint(len(s.terms) - 1)
	c := uint(bytes[7])
	terms, n = s.terms[c], uint(s.steps[c]) // n is 256 times the power of the next byte
	c = uint(bytes[6])
	terms, n = terms+s.terms[(n+c)&last], n+uint(s.steps[c])
	c = uint(bytes[5])
	terms, n = terms+s.terms[(n+c)&last], n+uint(s.steps[c])
	c = uint(bytes[4])
	terms, n = terms+s.terms[(n+c)&last], n+uint(s.steps[c])
	c = uint(bytes[3])
	terms, n = terms+s.terms[(n+c)&last], n+uint(s.steps[c])
	c = uint(bytes[2])
	terms, n = terms+s.terms[(n+c)&last], n+uint(s.steps[c])
	c = uint(bytes[1])
	terms, n = terms+s.terms[(n+c)&last], n+uint(s.steps[c])
	c = uint(bytes[0])
	terms, n = terms+s.terms[(n+c)&last], n+uint(s.steps[c])
	return terms, n / 256
}

// hasWideSpace reports whether white space that is not ASCII begins in the first eight
// bytes of a text.
func hasWideSpace(text []byte) bool {
	for i, c := range text[:groupBytes] {
		if byteKinds[c] == leadByte {
			if r, _ := utf8.DecodeRune(text[i:]); artifact.IsSpace(r) {
				return true
			}
		}
	}
	return false
}

// join returns the sum of two texts together.
func (s *summer) join(a, b textSum) textSum {
	shift, square := uint64(1), s.place
	for n := b.bytes; n > 0; n >>= 1 {
		if n&1 == 1 {
			shift = times(shift, square)
		}
		square = times(square, square)
	}
	return textSum{a.bytes + b.bytes, modulo(0, times(a.value, shift)+b.value)}
}

// times returns a product modulo sumPrime.
func times(a, b uint64) uint64 { return modulo(bits.Mul64(a, b)) }

// modulo returns a number of 128 bits modulo sumPrime. The number must be less than
// 2^125.
func modulo(hi, lo uint64) uint64 {
	n := lo&sumPrime + (hi<<3 | lo>>61)
	n = n&sumPrime + n>>61
	if n >= sumPrime {
		n -= sumPrime
	}
	return n
}
