package strictjson_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/internal/strictjson"
)

// templates are texts with scalars of every kind at several depths.
var templates = append(slices.Clone(deltas),
	`{"type":"A","n":0,"s":"","t":true,"f":false,"z":null,"a":[],"o":{}}`,
	`{"n":-12.5e+3,"type":"B","a":[1,"x",[2.0,{"y":"\ud83d\ude42","z":3}],null],"s":"\\"}`,
	" {\r\n\t\"type\" : \"C\" ,\n \"s\": \"größer 東京 🙂\" , \"n\" : 1E9 } \n",
	`{"\u0061":1,"b":{"\u0063":"c","d":"\ud800"},"type":"\u0044"}`,
	`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13,"type":"E"}`,
)

// pieces are put into texts in place of bytes and between them.
var pieces = []string{
	"", "0", "9", "-", ".", "5.5", "e", "e5", "E-7", `"`, `""`, `\`, `\"`, `\\`, `\u`, `\u00e`, `\u00e9`, `\ud83d`, `\n`,
	"\n", "\x00", "\x1f", " ", "\t\r", "\x7f", "é", "東", "🙂", "\xc3", "\xe6\x9d", "\xf0\x9f\x99", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "\xff",
	"x", "a quite long piece of text ", "{", "}", "[", "]", ",", ":", "true", "null", `,"a":1`, `"type":"A",`, `,"b":2`, "1,", `"x",`,
}

// law reads a text with r and checks that the result is that of ReadText and of the tokens,
// and that jsontext accepts the same texts, except for lone surrogates. It returns the
// shape of the text.
func law(t *testing.T, r *strictjson.Reader, in []byte) strictjson.Shape {
	t.Helper()
	var got, want strictjson.Object
	kind, err := r.Read(&got, in)
	w, failed := strictjson.ReadText(&want, new(strictjson.Decoder), in)
	if !sameError(err, failed) {
		t.Fatalf("%q: the error is %v, without templates %v", in, err, failed)
	}
	if (err == nil) != jsontext.Value(in).IsValid() && (err != nil || !loneSurrogate(in)) {
		t.Fatalf("%q: jsontext disagrees with error %v", in, err)
	}
	if err != nil {
		return 0
	}
	members := slices.Collect(got.All)
	for i, m := range members {
		if !bytes.Equal(got.Raw(i), m.Value.Raw) || got.Plain(i) && (m.Value.Kind != strictjson.String || bytes.IndexByte(m.Value.Raw, '\\') >= 0) {
			t.Fatalf("%q: member %d is %q, and plain is %t", in, i, got.Raw(i), got.Plain(i))
		}
	}
	if kind != w.Kind || !slices.EqualFunc(members, slices.Collect(want.All), sameMember) {
		t.Fatalf("%q: the members are\n%v, without templates\n%v", in, members, slices.Collect(want.All))
	}
	whole, byTokens, _ := readTokens(in)
	if !sameValue(w, whole) || !slices.EqualFunc(members, byTokens, sameMember) {
		t.Fatalf("%q: the members are\n%v, by tokens\n%v", in, members, byTokens)
	}
	return got.Shape()
}

// loneSurrogate reports whether a text has a string with half a surrogate pair.
func loneSurrogate(in []byte) bool {
	d := strictjson.NewDecoder(in)
	for {
		token, err := d.Next()
		if err != nil {
			return false
		}
		if token.Kind == strictjson.Name || token.Kind == strictjson.String {
			if _, valid := d.Text(token); !valid {
				return true
			}
		}
	}
}

// TestReaderDifferences puts every piece at every byte of every template, in place of
// no bytes, of one and of several, and cuts the text there.
func TestReaderDifferences(t *testing.T) {
	mutants, fits := 0, 0
	for _, template := range templates {
		r := &strictjson.Reader{Key: "type"}
		law(t, r, []byte("{}"))
		for i := 0; i <= len(template); i++ {
			for n, piece := range pieces {
				for _, end := range []int{i, i + 1, i + 2 + n%5, len(template)} {
					if end > len(template) {
						continue
					}
					r.Refill()
					// Half of the mutants follow the template, and half other mutants.
					if n%2 == 0 {
						law(t, r, []byte(template))
					}
					if law(t, r, []byte(template[:i]+piece+template[end:])) != 0 {
						fits++
					}
					mutants++
				}
			}
		}
	}
	t.Logf("%d mutants, %d fit", mutants, fits)
	if fits < mutants/10 {
		t.Errorf("only %d of %d mutants fit a template", fits, mutants)
	}
}

// mutate returns a text with random edits.
func mutate(random *rand.Rand, text []byte, other []byte) []byte {
	out := slices.Clone(text)
	for range 1 + random.IntN(3) {
		i := random.IntN(len(out) + 1)
		end := min(len(out), i+random.IntN(4))
		switch random.IntN(8) {
		case 0, 1, 2:
			out = slices.Replace(out, i, end, []byte(pieces[random.IntN(len(pieces))])...)
		case 3: // another byte
			if i < len(out) {
				out[i] ^= 1 << random.IntN(8)
			}
		case 4: // a piece of the other text
			if len(other) > 0 {
				from := random.IntN(len(other))
				out = slices.Replace(out, i, end, other[from:min(len(other), from+random.IntN(16))]...)
			}
		case 5: // a piece of the text again
			from := random.IntN(i + 1)
			out = slices.Insert(out, i, slices.Clone(out[from:i])...)
		case 6: // shorter or longer
			if random.IntN(2) == 0 {
				out = out[:i]
			} else {
				out = append(out, pieces[random.IntN(len(pieces))]...)
			}
		case 7: // another scalar
			if tokens := scalars(out); len(tokens) > 0 {
				token := tokens[random.IntN(len(tokens))]
				out = slices.Replace(out, token.Start, token.End, []byte(scalar(random))...)
			}
		}
	}
	return out
}

// scalars returns the tokens of strings and numbers in the valid part of a text.
func scalars(in []byte) (list []strictjson.Token) {
	d := strictjson.NewDecoder(in)
	for {
		token, err := d.Next()
		if err != nil {
			return list
		}
		if token.Kind == strictjson.String || token.Kind == strictjson.Number {
			list = append(list, token)
		}
	}
}

// scalar returns a random value, usually valid.
func scalar(random *rand.Rand) string {
	n := random.IntN(1 << random.IntN(60))
	switch random.IntN(8) {
	case 0, 1:
		return fmt.Sprint(n)
	case 2:
		return fmt.Sprintf("-%d.%de%+d", n, n, n%400)
	case 3:
		return fmt.Sprintf("%g", random.NormFloat64())
	case 4:
		return `"` + pieces[random.IntN(len(pieces))] + `"`
	case 5:
		return `"` + strings.Repeat(pieces[random.IntN(len(pieces))], random.IntN(20)) + `"`
	case 6:
		return pieces[random.IntN(len(pieces))]
	}
	return fmt.Sprintf(`"text %d"`, n)
}

// mutantsPerInput is the number of texts that FuzzReader reads for each input.
const mutantsPerInput = 32

// FuzzReader checks the law of Reader for two texts and mutants of them that are read in
// a random order.
func FuzzReader(f *testing.F) {
	for i, template := range templates {
		f.Add([]byte(template), []byte(templates[(i+1)%len(templates)]), uint64(i))
	}
	f.Add([]byte(`{"type":"RAW","event":{"event":"on_chain_stream","data":{"chunk":[1,{"a":"b"}]}}}`), []byte(`{"type":"RAW","event":{"event":"on_chain_stream","data":{"chunk":[12,{"a":"\u0062"}]}}}`), uint64(7))
	f.Add([]byte(`{"type":"A","a":"`+strings.Repeat("x", 5000)+`"}`), []byte(`{"type":"A","a":"`+strings.Repeat("é", 4000)+`"}`), uint64(8))
	f.Fuzz(func(t *testing.T, first, second []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := &strictjson.Reader{Key: "type"}
		base, other := first, second
		for range mutantsPerInput {
			if random.IntN(4) == 0 {
				base, other = other, base
			}
			if random.IntN(2) == 0 {
				law(t, r, base)
			}
			if random.IntN(8) > 0 {
				r.Refill()
			}
			in := mutate(random, base, other)
			law(t, r, in)
			if random.IntN(8) == 0 {
				base = in
			}
		}
	})
}

// TestReaderShapes checks that objects with the same shape have the same names in the same
// order, values of the same kinds, and the same key.
func TestReaderShapes(t *testing.T) {
	r := &strictjson.Reader{Key: "type"}
	random := rand.New(rand.NewPCG(1, 2))
	known := map[strictjson.Shape]string{}
	for n := range 20_000 {
		text := []byte(templates[random.IntN(len(templates))])
		if n%3 > 0 {
			text = mutate(random, text, text)
		}
		r.Refill()
		var o strictjson.Object
		if _, err := r.Read(&o, text); err != nil || o.Shape() == 0 {
			continue
		}
		var b strings.Builder
		for m := range o.All {
			fmt.Fprintf(&b, "%s %v ", m.Name.Raw, m.Value.Kind)
		}
		kind, _ := o.Get("type")
		fmt.Fprintf(&b, "%s", kind.Raw)
		if was, ok := known[o.Shape()]; ok && was != b.String() {
			t.Fatalf("shape %d was %s and is %s", o.Shape(), was, b.String())
		}
		known[o.Shape()] = b.String()
	}
	if len(known) < len(templates) {
		t.Errorf("only %d shapes", len(known))
	}
}

// TestReaderKeyWithParts checks that texts do not share a shape if the value of the Key is an
// object whose strings differ.
func TestReaderKeyWithParts(t *testing.T) {
	r := &strictjson.Reader{Key: "type"}
	kinds := map[strictjson.Shape]string{}
	for n := range 50 {
		text := fmt.Appendf(nil, `{"type":{"x":"y%d"},"v":1}`, n%2)
		var o strictjson.Object
		if _, err := r.Read(&o, text); err != nil {
			t.Fatal(err)
		}
		kind, _ := o.Get("type")
		if was, ok := kinds[o.Shape()]; ok && o.Shape() != 0 && was != string(kind.Raw) {
			t.Fatalf("%s has the shape of %s", kind.Raw, was)
		}
		kinds[o.Shape()] = string(kind.Raw)
	}
}

// TestReaderFits checks that successive events fit a template after the second, and that
// kinds of events do not disturb each other.
func TestReaderFits(t *testing.T) {
	r := &strictjson.Reader{Key: "type"}
	event := func(kind string, n int) []byte {
		return fmt.Appendf(nil, `{"timestamp":%d,"type":%q,"messageId":"m-%d","nested":[{"n":%d.5}],"delta":"word %d"}`, 170000+n*n, kind, n/10, n*n, n)
	}
	for n := range 100 {
		for _, kind := range []string{"A", "B", "C"} {
			if shape := law(t, r, event(kind, n)); shape == 0 && n > 1 {
				t.Errorf("event %d of type %s fits no template", n, kind)
			}
		}
	}
}

// TestReaderAllocations checks that Read does not allocate for texts that fit a template,
// nor for others after the first.
func TestReaderAllocations(t *testing.T) {
	r := &strictjson.Reader{Key: "type"}
	var texts [][]byte
	for n := range 64 {
		for _, template := range templates[:5] {
			texts = append(texts, []byte(strings.NewReplacer("5315", fmt.Sprint(n*n), " the", fmt.Sprint(" word ", n)).Replace(template)))
		}
		texts = append(texts, bytes.Repeat([]byte("["), n+1), []byte(`{"type":"`+strings.Repeat("x", n)+`"}`))
		texts = append(texts, []byte(`{"type":"L","text":"`+strings.Repeat("x", 5000+n)+`"}`))
	}
	texts = slices.DeleteFunc(texts, func(text []byte) bool { return text[0] == '[' }) // errors are allocated
	var o strictjson.Object
	read := func() {
		for _, text := range texts {
			if _, err := r.Read(&o, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 4 {
		read()
	}
	if n := testing.AllocsPerRun(10, read); n > 0 {
		t.Errorf("%v allocations for %d texts", n, len(texts))
	}
}

// TestReaderMemory checks that templates never need a MiB.
func TestReaderMemory(t *testing.T) {
	r := &strictjson.Reader{Key: "type"}
	for _, size := range []int{3 << 10, 100 << 10, 4 << 10, 127 << 10} {
		for n := range 400 {
			r.Refill()
			var b strings.Builder
			fmt.Fprintf(&b, `{"type":"T%d"`, n/20%20)
			for i := range 250 {
				fmt.Fprintf(&b, `,"%d":%d`, i, n)
			}
			fmt.Fprintf(&b, `,"x":%q}`, strings.Repeat("x", max(0, size-b.Len()-10)))
			var o strictjson.Object
			if _, err := r.Read(&o, []byte(b.String())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := r.Memory(); n < 512<<10 || n > 1<<20 {
		t.Errorf("the templates need %d bytes", n)
	}
}
