package schematest

import (
	"errors"
	"strings"
	"testing"

	"github.com/p20export/p20export/schema"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{schema.Artifact, "{}", ErrRefused},
		{schema.Artifact, "[]", ErrRefused},
		{schema.Artifact, "", ErrNotJSON},
		{schema.Artifact, "{", ErrNotJSON},
		{schema.Artifact, "{}{}", ErrNotJSON},
		{schema.Artifact, "\ufeff{}", ErrNotJSON},
	} {
		if err := Check(c.name, []byte(c.text)); !errors.Is(err, c.want) {
			t.Errorf("%s %q: %v, want %v", c.name, c.text, err, c.want)
		}
	}
	for _, check := range []func(string, []byte) error{Check, CheckLines} {
		if err := check("nonsense", []byte("{}")); err == nil || errors.Is(err, ErrRefused) {
			t.Errorf("a schema that is not there: %v", err)
		}
	}
	for text, want := range map[string]error{
		"{}\n{}\n{}\n": ErrRefused,
		"{}\n\n":       ErrNotJSON,
		"{},{}\n":      ErrNotJSON,
	} {
		if err := CheckLines(schema.Envelope, []byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// TestNoOtherResources checks that a schema that refers to another one cannot be compiled, so that
// nothing is ever fetched.
func TestNoOtherResources(t *testing.T) {
	_, err := compile("https://example.com/a.json", []byte(`{"$ref": "https://example.com/b.json"}`))
	if err == nil || !strings.Contains(err.Error(), "must not refer to other resources") {
		t.Errorf("%v", err)
	}
	if _, err := compile("https://example.com/a.json", []byte(`{"type": "nonsense"}`)); err == nil {
		t.Error("a text that is not a schema was compiled")
	}
}
