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

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		" {\"a\": 1}\r\n":                     `{"a": 1}`,
		"{\n  \"a b\\\"\\\\\": [1, \t2]\r\n}": `{"a b\"\\":[1,2]}`,
		"\"\\n\"":                             `"\n"`,
	} {
		given := []byte(text)
		if got := strictjson.OneLine(given); string(got) != want || string(given) != text {
			t.Errorf("%q: %s, want %s; %q is left", text, got, want, given)
		}
	}
}
