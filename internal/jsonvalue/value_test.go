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
		v := Clone(parse(t, text))
		got := string(Append(nil, v))
		if got != want {
			t.Errorf("%s is written as %s, want %s", text, got, want)
		}
		if n := Size(v); n != len(got) {
			t.Errorf("the size of %s is %d, want %d", text, n, len(got))
		}
	}
}

// TestAppendString checks strings that are not valid UTF-8.
func TestAppendString(t *testing.T) {
	for s, want := range map[string]string{
		"caf\xc3":              `"caf�"`,
		"a\xe2\x82":            `"a��"`,
		"\xff":                 `"�"`,
		"\xa9x":                `"�x"`,
		"\xffabc":              `"�abc"`,
		"\xed":                 `"�"`,
		"\xed\xa0":             `"��"`,
		"\xed\xa0\"":           `"��\""`,
		"\xed\x9f\xbf\xef\xbf": "\"퟿��\"",
		"\xed\xa0\x80\xed":     `"\ud800�"`,
		"\xed\xbf\xbfé�":       `"\udfffé�"`,
		"\xf0\x9f\x98":         `"���"`,
		"\xc0\x80":             `"��"`,
	} {
		got := string(AppendString(nil, s))
		if got != want {
			t.Errorf("%q is written as %s, want %s", s, got, want)
		}
		if n := SizeString(s); n != len(got) {
			t.Errorf("the size of %q is %d, want %d", s, n, len(got))
		}
	}
}

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{`1`: 0, `[]`: 1, `{"a":[1],"b":{}}`: 2, `[[],[[1]]]`: 3} {
		if got := Depth(parse(t, text)); got != want {
			t.Errorf("the depth of %s is %d, want %d", text, got, want)
		}
	}
}

// TestTake checks that members which are taken can be restored to their places.
func TestTake(t *testing.T) {
	for n := range 40 {
		o := new(Object)
		for i := range n {
			o.Set(fmt.Sprint(i), Number(fmt.Sprint(i)))
		}
		before := string(Append(nil, o))
		var places []int
		for i := range n {
			place, ok := o.Take(fmt.Sprint(i))
			if _, again := o.Take(fmt.Sprint(i)); !ok || again {
				t.Fatalf("Take(%d) is wrong", i)
			}
			places = append(places, place)
			o.Set(fmt.Sprint("new", i), nil)
		}
		if o.Len() != n {
			t.Fatalf("the object has %d members, want %d", o.Len(), n)
		}
		for i := n - 1; i >= 0; i-- {
			o.Take(fmt.Sprint("new", i))
			o.Restore(places[i], Number(fmt.Sprint(i)))
		}
		o.Pack()
		if after := string(Append(nil, o)); after != before {
			t.Fatalf("%s became %s", before, after)
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
