package strictjson

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// EscapeNonASCII changes the encoding of a text but not its value.
func TestASCII(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		plain := EscapeNonASCII(text)
		for _, c := range plain {
			if c < ' ' || c >= 0x7f {
				t.Fatalf("%q contains %q", plain, c)
			}
		}
		var got string
		if err := json.Unmarshal(plain, &got); err != nil || got != want {
			t.Fatalf("%q says %q, want %q: %v", plain, got, want, err)
		}
	})
	if got := string(EscapeNonASCII([]byte("\"é😀\x7f\""))); got != `"\u00e9\ud83d\ude00\u007f"` {
		t.Error(got)
	}
}
