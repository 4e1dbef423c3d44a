package jsonvalue

import (
	"fmt"
	"testing"

	"github.com/p20export/p20export/internal/strictjson"
)

func parse(t testing.TB, text string) Value {
	t.Helper()
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, new(strictjson.Decoder), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Parse(v)
}

func TestAppend(t *testing.T) {
	for text, want := range map[string]string{
		` null `:                 `null`,
		`[ true , false,[],{} ]`: `[true,false,[],{}]`,
		`1e400`:                  `1e400`,
		`9007199254740993`:       `9007199254740993`,
		`-0.0`:                   `-0.0`,
		`{"b":1,"a":{"b":[2]}}`:  `{"b":1,"a":{"b":[2]}}`,
		`"\u0041\u00e9\ud83d\ude00\n\u0001\u007f\/"`: "\"Aé😀\\n\\u0001\u007f/\"",
		`"\ud83d x \ude00"`:                          `"\ud83d x \ude00"`,
		`{"\udc00":"\\\""}`:                          `{"\udc00":"\\\""}`,
	} {
		if got := string(Append(nil, Clone(parse(t, text)))); got != want {
			t.Errorf("%s is written as %s, want %s", text, got, want)
		}
	}
}

// TestObject compares an object, with and without an index, with a list.
func TestObject(t *testing.T) {
	var o Object
	var names []string
	check := func() {
		t.Helper()
		if o.Len() != len(names) {
			t.Fatalf("the object has %d members, want %d", o.Len(), len(names))
		}
		i := 0
		for name, v := range o.All {
			got, ok := o.Get(name)
			if name != names[i] || !ok || got != v {
				t.Fatalf("member %d is %q (%v, %v), want %q", i, name, got, ok, names[i])
			}
			i++
		}
	}
	for i := range 50 {
		name := fmt.Sprint(i)
		o.Set(name, Number(name))
		names = append(names, name)
		check()
		o.Set(names[i/2], true)
		check()
	}
	for i := 0; len(names) > 0; i++ {
		at := i * 7 % len(names)
		if !o.Delete(names[at]) || o.Delete(names[at]) {
			t.Fatalf("Delete(%q) is wrong", names[at])
		}
		names = append(names[:at:at], names[at+1:]...)
		check()
		if i%5 == 0 {
			name := fmt.Sprint("again", i)
			o.Set(name, nil)
			names = append(names, name)
			check()
			if i > 40 {
				o.Delete(name)
				names = names[:len(names)-1]
			}
		}
	}
}
