package strictjson_test

import (
	"testing"

	"github.com/p20export/p20export/internal/strictjson"
)

func TestCompactSize(t *testing.T) {
	for text, want := range map[string]int{
		"{\n  \"a b\": [1, 2]\n}\n": len(`{"a b":[1,2]}`),
		`[]`:                        2,
		`[1, `:                      4,
	} {
		given := []byte(text)
		if got := strictjson.CompactSize(given); got != want || string(given) != text {
			t.Errorf("%q: %d, want %d; %q is left", text, got, want, given)
		}
	}
}
