package strictjson

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// AppendASCII escapes each character as RFC 8785 says, wherever it is, and stops at the first
// one that is not its own.
func TestAppendASCII(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, dst, s string) {
		taken := 0
		for taken < len(s) && s[taken] < 0x7f {
			taken++
		}
		quoted, err := jsontext.AppendQuote(nil, s[:taken]) // which escapes as RFC 8785 does
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		want := dst + string(quoted[1:len(quoted)-1])
		if got, n := AppendASCII([]byte(dst), s); string(got) != want || n != taken {
			t.Fatalf("%q: %q, %d, want %q, %d", s, got, n, want, taken)
		}
	}
	for c := range 256 {
		for before := range 18 {
			for after := range 18 {
				check(t, "x", strings.Repeat("a", before)+string([]byte{byte(c)})+strings.Repeat("b", after))
			}
		}
	}
	near := rapid.SampledFrom([]byte{0x00, 0x1f, 0x20, '"', '#', '[', '\\', ']', 'a', 'b', 'c', 0x7e, 0x7f, 0x80, 0xfe, 0xff})
	text := rapid.SliceOfN(rapid.OneOf(rapid.ByteRange(' ', '~'), rapid.ByteRange(' ', '~'), near), 0, 200)
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Repeat("y", rapid.IntRange(0, 20).Draw(t, "length")), string(text.Draw(t, "text")))
	})
	var buf [200]byte
	if n := testing.AllocsPerRun(10, func() { AppendASCII(buf[:0], "a \"text\"\n without more than its own memory") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppendASCII(b *testing.B) {
	text := strings.Repeat("{\n  \"id\": \"fa9d1879-34a3-480f-9e56-001e0522a9b3\",\n  \"content\": \"about the small river and its history\"\n}\n", 50)
	buf := make([]byte, 0, 2*len(text))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		AppendASCII(buf, text)
	}
}
