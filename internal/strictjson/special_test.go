package strictjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

func TestSpecial(t *testing.T) {
	byBytes := func(word []byte) int {
		for i, c := range word {
			if c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
				return i
			}
		}
		return len(word)
	}
	byWord := func(word []byte) int {
		return bits.TrailingZeros64(special(binary.LittleEndian.Uint64(word))) / 8
	}
	check := func(word []byte) bool { return byWord(word) == byBytes(word) }
	// Every byte at every position, before and after bytes that could borrow.
	for c := range 256 {
		for i := range 8 {
			for _, other := range []byte{' ', '!', '#', '[', ']', 0x7f, 0x00, '"', '\\', 0x80, 0xff} {
				word := []byte{other, other, other, other, other, other, other, other}
				for _, base := range []byte{'a', other} {
					for j := range i {
						word[j] = base
					}
					word[i] = byte(c)
					if !check(word) {
						t.Fatalf("% x: the word says %d, the bytes %d", word, byWord(word), byBytes(word))
					}
				}
			}
		}
	}
	for c := range 256 {
		for i := range 8 {
			for _, other := range []byte{'0', '9', '/', ':', 0x00, 0x80, 0xff} {
				word := []byte("01234567")
				word[i] = byte(c)
				for j := i + 1; j < 8; j++ {
					word[j] = other
				}
				want := len(word) - len(bytes.TrimLeft(word, "0123456789"))
				if got := bits.TrailingZeros64(nonDigit(binary.LittleEndian.Uint64(word))) / 8; got != want {
					t.Fatalf("% x: %d digits, want %d", word, got, want)
				}
			}
		}
	}
	near := rapid.SampledFrom([]byte{0x00, 0x01, 0x1f, 0x20, 0x21, '"', '#', '[', '\\', ']', 'a', 0x7f, 0x80, 0x81, 0xa2, 0xdc, 0xff})
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOfN(rapid.OneOf(near, rapid.Byte()), 8, 8).Draw(t, "word")
		if !check(word) {
			t.Fatalf("% x: the word says %d, the bytes %d", word, byWord(word), byBytes(word))
		}
	})
}
