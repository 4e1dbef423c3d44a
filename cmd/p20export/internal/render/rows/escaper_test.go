package rows

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// A character that a terminal could act on is escaped wherever it is, also if it is split
// between two writes. Everything else is unchanged.
func TestEscaper(t *testing.T) {
	for char, want := range map[string]string{
		"\x7f": `\u007f`, "\u009b": `\u009b`, "\u202e": `\u202e`, "\U000e0001": `\udb40\udc01`, "ÿ": "ÿ", "€": "€", "~": "~", "\n": "\n",
	} {
		for before := range 20 {
			for _, after := range []int{0, 1, 9} {
				text := strings.Repeat("a", before) + char + strings.Repeat("b", after) + "c"
				for split := range len(text) {
					var out bytes.Buffer
					w := bufio.NewWriter(&out)
					s := &Escaper{W: w}
					for _, part := range []string{text[:split], text[split:]} {
						if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
							t.Fatalf("%d, %v", n, err)
						}
					}
					w.Flush()
					if got := out.String(); got != strings.Replace(text, char, want, 1) {
						t.Fatalf("%q, split at %d: %q", text, split, got)
					}
				}
			}
		}
	}
}
