package jsonpatch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

func read(t testing.TB, text []byte) strictjson.Value {
	t.Helper()
	v, err := strictjson.ReadText(new(strictjson.Object), new(strictjson.Decoder), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func newDocument(t testing.TB, text string) *Document {
	t.Helper()
	d := new(Document)
	if err := d.Reset(read(t, []byte(text))); err != nil {
		t.Fatal(err)
	}
	return d
}

// checkDocument checks the sizes that the document keeps.
func checkDocument(t testing.TB, d *Document) {
	t.Helper()
	text := d.Append(nil)
	if !d.Missing() && d.Size() != len(text) {
		t.Errorf("the size of %.200s is %d, want %d", text, d.Size(), len(text))
	}
	kept := fmt.Sprint(sizes(d.root, nil))
	measure(d.root)
	if measured := fmt.Sprint(sizes(d.root, nil)); kept != measured {
		t.Errorf("the sizes in %.200s are %s, want %s", text, kept, measured)
	}
}

// sizes appends the sizes of the arrays and objects in v.
func sizes(v jsonvalue.Value, dst []int) []int {
	switch v := v.(type) {
	case *jsonvalue.Array:
		dst = append(dst, v.Size)
		for _, e := range v.All {
			dst = sizes(e, dst)
		}
	case *jsonvalue.Object:
		dst = append(dst, v.Size)
		for _, m := range v.All {
			dst = sizes(m, dst)
		}
	}
	return dst
}

func TestRFC6902(t *testing.T) {
	for _, c := range []struct{ doc, patch, want string }{
		// A want that does not begin with a bracket or a quote is an error.
		{`{"a":1}`, `[{"op":"test","path":"/a","value":10e-1}]`, `{"a":1}`},
		{`{"a":9007199254740993}`, `[{"op":"test","path":"/a","value":9007199254740992}]`, `operation 0 ("test" "/a"): the value is another`},
		{`{"a":1e400}`, `[{"op":"test","path":"/a","value":10e399}]`, `{"a":1e400}`},
		{`{"z":1.0,"a":[1E2]}`, `[{"op":"copy","from":"/z","path":"/b"},{"op":"move","from":"/a/0","path":"/z"}]`, `{"z":1E2,"a":[],"b":1.0}`},
		{`{"\ud83d":1}`, `[{"op":"test","path":"/\ud83d","value":1},{"op":"add","path":"/\ude00","value":"\ud83d\ude00"}]`, `{"\ud83d":1,"\ude00":"😀"}`},
		{`{"a":"\ud83d"}`, `[{"op":"test","path":"/a","value":"\ud83c"}]`, `operation 0 ("test" "/a"): the value is another`},
		{`5`, `[{"op":"replace","path":"","value":[6]}]`, `[6]`},
		{`5`, `[{"op":"add","path":"/a","value":6}]`, `operation 0 ("add" "/a"): it leads to "a" into a value that is neither an object nor an array`},
		{`{"a":1,"b":2}`, `[{"op":"remove","path":"/a"},{"op":"remove","path":""}]`, `operation 1 ("remove" ""): the whole document cannot be removed`},
		{`{"a":[1]}`, `[{"op":"move","from":"/a","path":"/a/0"}]`, `operation 0 ("move" "/a/0"): the value cannot move into itself`},
		{`{"a":[1],"ab":2}`, `[{"op":"move","from":"/a","path":"/ab"}]`, `{"ab":[1]}`},
		{`{"a":[1]}`, `[{"op":"move","from":"","path":"/a"}]`, `operation 0 ("move" "/a"): the value cannot move into itself`},
		{`{"a":[1]}`, `[{"op":"move","from":"","path":""},{"op":"move","from":"/a","path":""}]`, `[1]`},
		{`{"a":[1]}`, `[{"op":"move","from":"/b","path":"/b"}]`, `operation 0 ("move" "/b"): there is no member "b"`},
		{`{"a":[1]}`, `[{"op":"copy","from":"","path":"/a/-"}]`, `{"a":[1,{"a":[1]}]}`},
		{`[1,2]`, `[{"op":"remove","path":"/01"}]`, `operation 0 ("remove" "/01"): "01" is not an array index`},
		{`[1,2]`, `[{"op":"add","path":"/","value":1}]`, `operation 0 ("add" "/"): "" is not an array index`},
		{`[1,2]`, `[{"op":"remove","path":"/-"}]`, `operation 0 ("remove" "/-"): "-" is not an array index`},
		{`[1,2]`, `[{"op":"replace","path":"/18446744073709551616","value":1}]`, `operation 0 ("replace" "/18446744073709551616"): index 18446744073709551616 is beyond the end of the array`},
		{`[1,2]`, `[{"op":"move","from":"/0","path":"/2"}]`, `operation 0 ("move" "/2"): index 2 is beyond the end of the array`},
		{`{"a~2":1}`, `[{"op":"remove","path":"/a~2"}]`, `operation 0 ("remove" "/a~2"): "path" has a ~ that neither 0 nor 1 follows`},
		{`{"a":1}`, `[{"op":"remove","path":"a"}]`, `operation 0 ("remove" "a"): "path" does not begin with a slash`},
		{`{"a":1}`, `[{"op":"remove"}]`, `operation 0 ("remove" ""): "path" is missing`},
		{`{"a":1}`, `[{"op":"remove","path":7}]`, `operation 0 ("remove" ""): "path" is a number, not a string`},
		{`{"a":1}`, `[{"op":"copy","from":"/b","path":"/c"}]`, `operation 0 ("copy" "/b"): there is no member "b"`},
		{`{"a":1}`, `[{"op":"toString","path":"/a"}]`, `operation 0 ("toString" ""): "op" is not one of add, remove, replace, move, copy and test`},
		{`{"a":1}`, `[7]`, `operation 0 ("" ""): the operation is a number, not an object`},
		{`{"a":1}`, `{}`, `the patch is an object, not an array`},
		{`[null]`, `[{"op":"replace","path":"/0","value":null},{"op":"test","path":"/0","value":null}]`, `[null]`},
	} {
		d := newDocument(t, c.doc)
		err := d.Apply(read(t, []byte(c.patch)), RFC6902, nil)
		checkDocument(t, d)
		got := string(d.Append(nil))
		if err != nil {
			if got != c.doc {
				t.Errorf("%s: %s left %s", c.doc, c.patch, got)
			}
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s gives\n%s, want\n%s", c.doc, c.patch, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	d := newDocument(t, `{"a":"`+strings.Repeat("x", 1<<20)+`"}`)
	apply := func(patch string) error { return d.Apply(read(t, []byte(patch)), RFC6902, nil) }
	for i := 0; d.Size() < MaxBytes-1<<20-100; i++ { // copies share the text
		if err := apply(fmt.Sprintf(`[{"op":"copy","from":"/a","path":"/a%d"}]`, i)); err != nil {
			t.Fatal(err)
		}
	}
	rest := MaxBytes - d.Size() - len(`,"b":""`)
	for _, n := range []int{rest, rest + 1} {
		err := apply(`[{"op":"add","path":"/b","value":"` + strings.Repeat("y", n) + `"}]`)
		var e *Error
		if d.Size() != MaxBytes || (err != nil) != (n > rest) || err != nil && (!errors.As(err, &e) || !e.Limit) {
			t.Errorf("a document of %d bytes, %d more than the limit: %v", d.Size(), n-rest, err)
		}
	}
	if err := d.Reset(strictjson.Value{Kind: strictjson.String, Raw: []byte(`"` + strings.Repeat("x", MaxBytes-1) + `"`)}); err == nil || d.Size() != MaxBytes {
		t.Errorf("Reset accepts a document that is too large, or changes the document: %v", err)
	}

	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	d = newDocument(t, `{"a":`+nested(MaxDepth-1)+`,"b":`+nested(300)+`,"c":`+nested(MaxDepth-300)+`}`)
	before := string(d.Append(nil))
	for _, patch := range []string{
		`[{"op":"add","path":"/a` + strings.Repeat("/0", MaxDepth-2) + `/-","value":%s}]`,
		`[{"op":"move","from":"/b","path":"/c` + strings.Repeat("/0", MaxDepth-301) + `/%s"}]`,
		`[{"op":"copy","from":"/b","path":"/c` + strings.Repeat("/0", MaxDepth-301) + `/%s"}]`,
	} {
		ok, deep := "1", "[]"
		if strings.Contains(patch, "from") {
			ok, deep = "-", "-"
			if err := d.Apply(read(t, []byte(`[{"op":"replace","path":"/b","value":`+nested(299)+`}]`)), RFC6902, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Apply(read(t, fmt.Appendf(nil, patch, ok)), RFC6902, nil); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
		d = newDocument(t, before)
		if err := d.Apply(read(t, fmt.Appendf(nil, patch, deep)), RFC6902, nil); err == nil {
			t.Errorf("%s: the document is too deep", patch)
		}
		checkDocument(t, d)
		if string(d.Append(nil)) != before {
			t.Errorf("%s changed the document", patch)
		}
	}
	// A copy of the whole document goes deeper, in whatever depth the patch was before.
	for _, dialect := range []Dialect{RFC6902, Client} {
		d := newDocument(t, nested(MaxDepth/2+1))
		if err := d.Apply(read(t, []byte(`[{"op":"test","path":"`+strings.Repeat("/0", MaxDepth/2)+`","value":[]},
			{"op":"copy","from":"","path":"`+strings.Repeat("/0", MaxDepth/2)+`/-"}]`)), dialect, nil); err == nil {
			t.Errorf("%s: the document is too deep", dialect)
		}
	}
}

func TestClient(t *testing.T) {
	for _, c := range []struct{ doc, patch, want string }{
		{`{"a":9007199254740993}`, `[{"op":"test","path":"/a","value":9007199254740992}]`, `{"a":9007199254740993}`},
		{`[1,2]`, `[{"op":"add","path":"/01","value":1e1}]`, `[1,1e1,2]`},
		{`[1,2]`, `[{"op":"add","path":"/4294967295","value":0}]`, `[1,0,2]`},
		{`[1,2]`, `[{"op":"add","path":"/3","value":0}]`, `operation 0 ("add" "/3"): index 3 is beyond the end of the array`},
		{`[1,2]`, `[{"op":"copy","from":"/0","path":"/9"}]`, `[1,2,1]`},
		{`[1,2]`, `[{"op":"move","from":"/length","path":"/-"}]`, `[2,1]`},
		{`[[1],2]`, `[{"op":"move","from":"/0","path":"/0/-"}]`, `[2]`},
		{`[[1],[2]]`, `[{"op":"move","from":"/0","path":"/0/-"}]`, `[[2,[1]]]`},
		{`{"a":1}`, `[{"op":"remove","path":""}]`, `null`},
		{`{"a":1}`, `[{"op":"copy","from":"/b","path":""}]`, ``},
		{`{"a":1}`, `[{"op":"copy","from":"/toString","path":"/b"},{"op":"add","path":"/c","value":2}]`, `{"a":1,"c":2}`},
		{`{"a":{}}`, `[{"op":"move","from":"","path":"/a/b"}]`, `the document would contain itself`},
		{`{"a":{}}`, `[{"op":"move","from":"","path":"/a/b"},{"op":"remove","path":"/a/b/a/b"},{"op":"add","path":"/c","value":1}]`, `{"a":{},"c":1}`},
		{`5`, `[{"op":"add","path":"/a","value":1}]`, `5`},
		{`null`, `[{"op":"add","path":"/a","value":1}]`, `operation 0 ("add" "/a"): it leads into null or undefined`},
		{`{"~2":1}`, `[{"op":"remove","path":"/~2"}]`, `{}`},
		{`{"__proto__":1}`, `[{"op":"remove","path":"/__proto__"}]`, `operation 0 ("remove" "/__proto__"): the client bans __proto__ and constructor/prototype`},
		{`{"a":1}`, `[{"op":"replace","path":"/toString/x","value":1}]`, `operation 0 ("replace" "/toString/x"): it leads through "toString", which is neither an object nor an array`},
		{`{"a":{"hasOwnProperty":1}}`, `[{"op":"test","path":"/a","value":{"hasOwnProperty":1}}]`, `operation 0 ("test" "/a"): the value is another`},
		{`{"a":1}`, `[{"op":"add","path":"/b","value":1},{"op":"add","path":"/c"}]`, `operation 1 ("add" "/c"): "value" is missing`},
		{`{"a":1}`, `null`, `the patch is null, not an array`},
	} {
		d := newDocument(t, c.doc)
		err := d.Apply(read(t, []byte(c.patch)), Client, nil)
		checkDocument(t, d)
		got := string(d.Append(nil))
		if err != nil {
			if got != c.doc {
				t.Errorf("%s: %s left %s", c.doc, c.patch, got)
			}
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s gives\n%s, want\n%s", c.doc, c.patch, got, c.want)
		}
	}
}

// TestUnknown has operations that RFC 6902 does not define, in both dialects.
func TestUnknown(t *testing.T) {
	for _, c := range []struct{ doc, patch, want, unknown string }{
		{`{"n":1}`, `[{"op":"increment","path":"/n","by":2},{"op":"replace","path":"/n","value":5}]`, `{"n":5}`, `0 increment;`},
		{`{"n":1}`, `[{"op":"replace","path":"/n","value":5},{"op":"","path":7},{"op":"Add"}]`, `{"n":5}`, `1 ;2 Add;`},
		{`{"n":1}`, `[{"op":"_get","path":"/n"},{"op":"constructor","path":"/n"},{"op":"toString","path":""}]`, `{"n":1}`, `0 _get;1 constructor;2 toString;`},
		{`{"n":1}`, `[{"op":"replace","path":"/n","value":5},{"op":"increment"},{"op":"remove","path":"/m"}]`, `fails`, `1 increment;`},
		// These are malformed, and not unknown.
		{`{"n":1}`, `[{"op":"increment"},{"path":"/n","value":5}]`, `fails`, `0 increment;`},
		{`{"n":1}`, `[{"op":null,"path":"/n","value":5}]`, `fails`, ``},
		{`{"n":1}`, `[{"op":["add"],"path":"/n","value":5}]`, `fails`, ``},
		{`{"n":1}`, `["increment"]`, `fails`, ``},
		{`{"n":1}`, `[{"op":"replace","path":"/n"},{"op":"increment"}]`, `fails`, ``},
	} {
		for _, dialect := range []Dialect{RFC6902, Client} {
			d := newDocument(t, c.doc)
			unknown := ""
			err := d.Apply(read(t, []byte(c.patch)), dialect, func(i int, op string) { unknown += fmt.Sprintf("%d %s;", i, op) })
			checkDocument(t, d)
			got := string(d.Append(nil))
			if err != nil && got == c.doc {
				got = "fails"
			}
			if got != c.want || unknown != c.unknown {
				t.Errorf("%s: %s of %s gives %s (%v) without %q, want %s without %q", dialect, c.patch, c.doc, got, err, unknown, c.want, c.unknown)
			}
		}
	}
}

// TestMissing checks that a missing document becomes null with the next patch, and stays
// missing if that patch fails.
func TestMissing(t *testing.T) {
	var d Document
	if err := d.Reset(strictjson.Value{}); err != nil || !d.Missing() || d.Append(nil) != nil || d.Value() != nil {
		t.Fatalf("the document is %s (%v)", d.Append(nil), err)
	}
	if err := d.Apply(read(t, []byte(`[{"op":"add","path":"/a","value":1}]`)), Client, nil); err == nil || !d.Missing() {
		t.Fatalf("the document is %s (%v)", d.Append(nil), err)
	}
	if err := d.Apply(read(t, []byte(`[]`)), Client, nil); err != nil || d.Missing() || string(d.Append(nil)) != "null" {
		t.Fatalf("the document is %s (%v)", d.Append(nil), err)
	}
}

// TestNoPatch checks the errors about a patch that is missing or not an array.
func TestNoPatch(t *testing.T) {
	var d Document
	for _, test := range []struct {
		patch strictjson.Value
		want  string
	}{
		{strictjson.Value{}, "there is no patch"},
		{strictjson.Value{Kind: strictjson.Null, Raw: []byte("null")}, "the patch is null, not an array"},
	} {
		if err := d.Apply(test.patch, RFC6902, nil); err == nil || err.Error() != test.want {
			t.Errorf("the error is %v, want %s", err, test.want)
		}
	}
}

// TestFailedPatch checks, in both dialects, that a patch which fails leaves the text of
// the document as it was, and that one which applies gives the same in a copy.
func TestFailedPatch(t *testing.T) {
	failed := 0
	for i := range 4_000 {
		doc, patch := randomPatch(rand.New(rand.NewPCG(6902, uint64(i))))
		for _, dialect := range []Dialect{RFC6902, Client} {
			d := newDocument(t, doc)
			before := string(d.Append(nil))
			other := d.Clone()
			err := d.Apply(read(t, []byte(patch)), dialect, nil)
			checkDocument(t, d)
			after := string(d.Append(nil))
			if err != nil {
				failed++
				if after != before {
					t.Fatalf("%s: %s fails (%v), and leaves %s", doc, patch, err, after)
				}
			}
			if string(other.Append(nil)) != before {
				t.Fatalf("%s: %s changes a copy to %s", doc, patch, other.Append(nil))
			}
			if again := other.Apply(read(t, []byte(patch)), dialect, nil); (again == nil) != (err == nil) || string(other.Append(nil)) != after {
				t.Fatalf("%s: %s gives %s (%v), and for a copy %s (%v)", doc, patch, after, err, other.Append(nil), again)
			}
		}
	}
	if failed < 2_000 || failed > 7_600 {
		t.Errorf("%d of 8,000 patches fail", failed)
	}
}

// TestWork checks the limit on the work of short patches.
func TestWork(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	for _, dialect := range []Dialect{RFC6902, Client} {
		d := newDocument(t, `{"a":{"b":"`+text+`"}}`)
		patch := read(t, []byte(`[{"op":"copy","from":"/a","path":"/c"}]`))
		copied := len(`{"b":""}`) + len(text)
		want := (freeWork + workFactor*(d.Size()+len(patch.Raw))) / (copied - workFactor*len(patch.Raw))
		done := 0
		var err error
		for ; err == nil && done <= 2*want; done++ {
			err = d.Apply(patch, dialect, nil)
		}
		var e *Error
		// A document that shares the budget cannot copy either.
		other := d.Clone()
		if err := other.Apply(patch, dialect, nil); err == nil {
			t.Errorf("%s: a copy of the document has a budget of its own", dialect)
		}
		if done--; done != want || !errors.As(err, &e) || !e.Limit {
			t.Errorf("%s: after %d copies, want %d: %v", dialect, done, want, err)
		}
	}
}

// TestCopiesOfOnePatch checks the limit on what the copies of one patch take in memory, which
// has to be kept until the patch has been applied.
func TestCopiesOfOnePatch(t *testing.T) {
	const n = 100_000
	list := "[" + strings.Repeat("{},", n-1) + "{}]"
	operation := `{"op":"copy","from":"/a","path":"/b"}`
	for _, dialect := range []Dialect{RFC6902, Client} {
		d := newDocument(t, `{"a":`+list+`}`)
		most := maxCopied / (valueBytes * (n + 1))
		enough := read(t, []byte("["+strings.Repeat(operation+",", most-1)+operation+"]"))
		tooMany := read(t, []byte("["+strings.Repeat(operation+",", most)+operation+"]"))
		before := string(d.Append(nil))
		var e *Error
		if err := d.Apply(tooMany, dialect, nil); !errors.As(err, &e) || !e.Limit || e.Index != most || string(d.Append(nil)) != before {
			t.Errorf("%s: %d copies: %v", dialect, most+1, err)
		}
		for range 2 { // each patch has the limit for itself
			if err := d.Apply(enough, dialect, nil); err != nil {
				t.Errorf("%s: %d copies: %v", dialect, most, err)
			}
		}
	}
}
