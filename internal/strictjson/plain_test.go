package strictjson

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

func TestPlain(t *testing.T) {
	byBytes := func(word []byte) int {
		for i, c := range word {
			if c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
				return i
			}
		}
		return len(word)
	}
	check := func(word []byte) bool { return plain(binary.LittleEndian.Uint64(word)) == byBytes(word) }
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
						t.Fatalf("% x: plain says %d, the bytes %d", word, plain(binary.LittleEndian.Uint64(word)), byBytes(word))
					}
				}
			}
		}
	}
	near := rapid.SampledFrom([]byte{0x00, 0x01, 0x1f, 0x20, 0x21, '"', '#', '[', '\\', ']', 'a', 0x7f, 0x80, 0x81, 0xa2, 0xdc, 0xff})
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOfN(rapid.OneOf(near, rapid.Byte()), 8, 8).Draw(t, "word")
		if !check(word) {
			t.Fatalf("% x: plain says %d, the bytes %d", word, plain(binary.LittleEndian.Uint64(word)), byBytes(word))
		}
	})
}
