package project

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"strings"
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
	event    *envelope.Event // the place of its first event, without data
	open     bool
	subset   bool // the role is in the subset, so the text is collected
	held     [][]byte
	sum      textSum // if the texts are summed
	lone     bool    // a text that was summed contains half of a surrogate pair
	text     reduce.Text
}

// A text is held or summed when it has textBytes, or leastBytes and another message goes
// on. Texts are held in blocks of up to blockBytes, because texts that grow would need
// several times their memory.
const (
	textBytes  = 4 << 10
	leastBytes = 512
	blockBytes = 64 << 10
)

// append appends a delta to the text of a message.
func (f *fold) append(m *streamed, delta envelope.Value) {
	if m != f.pending {
		f.setPending(m)
	}
	before := m.text.Len()
	m.text.Append(delta)
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
	addText(f.sums(), &m.sum, text)
	m.lone = m.lone || !utf8.Valid(text)
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
	for _, text := range m.held {
		addText(f.sums(), &all, text)
	}
	addText(f.sums(), &all, m.text.Bytes())
	return all
}

// isBlank reports whether the text of a message is blank.
func (f *fold) isBlank(m *streamed) bool {
	blank := func(text []byte) bool { return len(bytes.TrimLeftFunc(text, artifact.IsSpace)) == 0 }
	for _, text := range m.held {
		if !blank(text) {
			return false
		}
	}
	return m.sum.bytes == 0 && blank(m.text.Bytes())
}

// textOf returns the text of a message, which must not be summed.
func (f *fold) textOf(m *streamed) string {
	var b strings.Builder
	for _, text := range append(m.held, m.text.Bytes()) {
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
	powers [9]uint64  // powers[n] is the n-th power of the place
	dense  [1024]byte // a text without white space
}

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

func newSummer() *summer {
	s := new(summer)
	s.powers[0], s.powers[1] = 1, rand.Uint64N(sumPrime-256)+256
	for n := 2; n < len(s.powers); n++ {
		s.powers[n] = times(s.powers[n-1], s.powers[1])
	}
	return s
}

// addText adds a text to a sum: the sum is that of the texts together. The texts must not
// be parts of one character.
func addText[T string | []byte](s *summer, to *textSum, text T) {
	dense := &s.dense
	for len(text) > 0 {
		i, n := 0, 0
		for part := text[:min(len(text), len(dense)-utf8.UTFMax)]; i < len(part); {
			kind := byteKinds[part[i]]
			if kind != leadByte {
				dense[n] = part[i]
				n += int(1 - kind) // 0 for white space
				i++
				continue
			}
			var start [utf8.UTFMax]byte
			r, width := utf8.DecodeRune(start[:copy(start[:], text[i:])])
			if !artifact.IsSpace(r) {
				n += copy(dense[n:], start[:width])
			}
			i += width
		}
		text = text[i:]
		s.extend(to, dense[:n])
	}
}

// extend adds a text without white space to a sum.
func (s *summer) extend(to *textSum, text []byte) {
	to.bytes += len(text)
	value, p := to.value, &s.powers
	for ; len(text) >= 8; text = text[8:] {
		c := (*[8]byte)(text)
		hi, lo := bits.Mul64(value, p[8])
		// Each product is less than 2^69, so the upper 32 bits of the powers are
		// multiplied apart.
		low := uint64(c[0])*(p[7]&0xffffffff) + uint64(c[1])*(p[6]&0xffffffff) + uint64(c[2])*(p[5]&0xffffffff) + uint64(c[3])*(p[4]&0xffffffff) +
			uint64(c[4])*(p[3]&0xffffffff) + uint64(c[5])*(p[2]&0xffffffff) + uint64(c[6])*(p[1]&0xffffffff) + uint64(c[7])
		high := uint64(c[0])*(p[7]>>32) + uint64(c[1])*(p[6]>>32) + uint64(c[2])*(p[5]>>32) + uint64(c[3])*(p[4]>>32) +
			uint64(c[4])*(p[3]>>32) + uint64(c[5])*(p[2]>>32) + uint64(c[6])*(p[1]>>32)
		lo, carry := bits.Add64(lo, low, 0)
		lo, more := bits.Add64(lo, high<<32, 0)
		value = modulo(hi+high>>32+carry+more, lo)
	}
	for _, c := range text {
		hi, lo := bits.Mul64(value, p[1])
		value = modulo(0, modulo(hi, lo)+uint64(c))
	}
	to.value = value
}

// join returns the sum of two texts together.
func (s *summer) join(a, b textSum) textSum {
	shift, square := uint64(1), s.powers[1]
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
