package project

import (
	"math/bits"
	"math/rand/v2"
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/strictjson"
)

// streamed is one text message of the stream.
type streamed struct {
	id, role string
	name     *strictjson.Value
	event    *envelope.Event // the place of its first event, without data
	open     bool
	subset   bool // the role is in the subset, so the text is collected
	text     reduce.Text
	// sum is the sum of the text before the field text, which is not kept. The field
	// lone means that it contains half of a surrogate pair.
	sum  textSum
	lone bool
}

// sumBytes is the length of the texts that are summed after the first.
const sumBytes = 4 << 10

// append appends a delta to the text of a message.
func (f *fold) append(m *streamed, delta envelope.Value) {
	if f.summed && m != f.pending {
		f.setPending(m)
	}
	before := m.text.Len()
	m.text.Append(delta)
	f.held += m.text.Len() - before
	switch {
	case f.summed && m.text.Len() >= sumBytes:
		f.sum(m)
	case !f.summed && f.held > max(f.checked, f.limit) && !f.keep:
		f.sumAll()
	}
}

// sumAll sums all texts, and keeps none from then on, if the messages that are not blank
// are larger than an artifact can be. Such messages are not projected, but they are
// compared with a snapshot.
func (f *fold) sumAll() {
	n := 0
	for _, m := range f.streamed {
		if !f.isBlank(m) {
			n += m.text.Len()
		}
	}
	if n <= f.limit {
		f.checked = 2 * f.held
		return
	}
	f.summed = true
	for _, m := range f.streamed {
		f.sum(m)
		if m.text.Len() == 0 {
			m.text = reduce.Text{}
		}
	}
}

// setPending sums the text of the pending message and makes m the pending message. The
// memory of the text is used again.
func (f *fold) setPending(m *streamed) {
	if last := f.pending; last != nil {
		f.sum(last)
		if last.text.Len() == 0 && m.text.Len() == 0 {
			m.text, last.text = last.text, reduce.Text{}
		}
	}
	f.pending = m
}

// sum sums the text of a message, except half of a surrogate pair at its end.
func (f *fold) sum(m *streamed) {
	text := m.text.Settled()
	f.sums().add(&m.sum, text)
	m.lone = m.lone || !utf8.Valid(text)
	m.text.Discard(len(text))
}

// sums returns the summer of the fold.
func (f *fold) sums() *summer {
	if f.summer == nil {
		f.summer = newSummer()
	}
	return f.summer
}

// sumOf returns the sum of the whole text of a message.
func (f *fold) sumOf(m *streamed) textSum {
	all := m.sum
	f.sums().add(&all, m.text.Bytes())
	return all
}

// isBlank reports whether the text of a message is blank.
func (f *fold) isBlank(m *streamed) bool {
	return m.sum.bytes == 0 && artifact.IsBlank(m.text.String())
}

// textSum identifies a text without its white space: by the number of the other bytes
// and by two values of the polynomial that has these bytes as coefficients, modulo
// sumPrime. A summer chooses the places of the values at random, so whoever writes two
// different texts cannot know where their polynomials are equal. For texts of 64 MiB,
// the probability that both values are equal is below 2^-69.
type textSum struct {
	bytes  int
	values [2]uint64
}

const sumPrime = 1<<61 - 1

// A summer computes sums. Sums of different summers cannot be compared.
type summer struct {
	powers [2][9]uint64 // powers[k][n] is the n-th power of the place of values[k]
	kinds  [256]byteKind
	dense  [1024]byte // a text without white space
}

// byteKind says whether a byte is white space. The value of the first two is how many
// bytes of the text without white space it is.
type byteKind uint8

const (
	spaceByte byteKind = iota
	textByte
	leadByte // the first byte of some spaces and of other characters
)

func newSummer() *summer {
	s := new(summer)
	for k := range s.powers {
		at := rand.Uint64N(sumPrime-256) + 256
		s.powers[k][0] = 1
		for n := 1; n < len(s.powers[k]); n++ {
			s.powers[k][n] = times(s.powers[k][n-1], at)
		}
	}
	for i := range s.kinds {
		if i >= utf8.RuneSelf || !artifact.IsSpace(rune(i)) {
			s.kinds[i] = textByte
		}
	}
	for r := rune(utf8.RuneSelf); r <= lastSpace; r++ {
		if artifact.IsSpace(r) {
			s.kinds[string(r)[0]] = leadByte
		}
	}
	return s
}

// lastSpace is the last white space of Unicode.
const lastSpace = '\u3000'

// add adds a text to a sum: the sum is that of the texts together. The texts must not be
// parts of one character.
func (s *summer) add(to *textSum, text []byte) {
	for i := 0; i < len(text); {
		n := 0
		for i < len(text) && n <= len(s.dense)-utf8.UTFMax {
			kind := s.kinds[text[i]]
			if kind != leadByte {
				s.dense[n] = text[i]
				n += int(kind)
				i++
				continue
			}
			r, width := utf8.DecodeRune(text[i:])
			if !artifact.IsSpace(r) {
				n += copy(s.dense[n:], text[i:i+width])
			}
			i += width
		}
		for k := range to.values {
			to.values[k] = s.extend(to.values[k], &s.powers[k], s.dense[:n])
		}
		to.bytes += n
	}
}

// extend returns the value of a polynomial to which text is appended.
func (s *summer) extend(value uint64, powers *[9]uint64, text []byte) uint64 {
	for ; len(text) >= 8; text = text[8:] {
		hi, lo := bits.Mul64(value, powers[8])
		for i, c := range text[:8] {
			h, l := bits.Mul64(uint64(c), powers[7-i])
			var carry uint64
			lo, carry = bits.Add64(lo, l, 0)
			hi += h + carry
		}
		value = modulo(hi, lo)
	}
	for _, c := range text {
		hi, lo := bits.Mul64(value, powers[1])
		lo, carry := bits.Add64(lo, uint64(c), 0)
		value = modulo(hi+carry, lo)
	}
	return value
}

// join returns the sum of two texts together.
func (s *summer) join(a, b textSum) textSum {
	joined := textSum{bytes: a.bytes + b.bytes}
	for k := range joined.values {
		shift, square := uint64(1), s.powers[k][1]
		for n := b.bytes; n > 0; n >>= 1 {
			if n&1 == 1 {
				shift = times(shift, square)
			}
			square = times(square, square)
		}
		joined.values[k] = modulo(0, times(a.values[k], shift)+b.values[k])
	}
	return joined
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
