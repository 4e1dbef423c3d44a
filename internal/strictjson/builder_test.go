package strictjson_test

import (
	"testing"

	"github.com/p20export/p20export/internal/strictjson"
)

// TestBuilder checks that a built object is the one that its text has, also after its
// memory was reused.
func TestBuilder(t *testing.T) {
	t.Parallel()
	var b strictjson.Builder
	for _, want := range []string{
		`{}`,
		`{"a":"x","b\u0063":{"d":[1]},"e":1e400,"f":null}`,
		`{"a":"\ud83d"}`,
	} {
		var in, read strictjson.Object
		if _, err := strictjson.ReadText(&in, new(strictjson.Decoder), []byte(want)); err != nil {
			t.Fatal(err)
		}
		b.Reset()
		for m := range in.All {
			if m.Name.Raw[len(m.Name.Raw)-2] == '3' {
				b.AddMember(m)
			} else {
				name, _ := m.Name.Text()
				b.Add(name, m.Value)
			}
		}
		text, built := b.Object()
		if string(text) != want {
			t.Errorf("the text is %s, want %s", text, want)
		}
		if _, err := strictjson.ReadText(&read, new(strictjson.Decoder), text); err != nil {
			t.Fatal(err)
		}
		if built.Len() != read.Len() {
			t.Errorf("%s has %d members, want %d", want, built.Len(), read.Len())
		}
		for m := range read.All {
			name, _ := m.Name.Text()
			v, ok := built.Get(name)
			if !ok || v.Kind != m.Value.Kind || string(v.Raw) != string(m.Value.Raw) || v.Start != m.Value.Start {
				t.Errorf("%s: %s is %s at %d, want %s at %d", want, name, v.Raw, v.Start, m.Value.Raw, m.Value.Start)
			}
		}
	}
}
