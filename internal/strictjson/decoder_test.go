package strictjson_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// seen is a token for comparison. Text is the value of a name or string, or the
// bytes of another token.
type seen struct {
	Kind      strictjson.Kind
	Text      string
	Duplicate bool
}

// asFinding sets f to the finding for err, and reports whether err is a syntax
// error.
func asFinding(err error, f *finding.Finding) (ok bool) {
	*f, ok = finding.FromSyntax(err)
	return ok
}

// read returns the tokens of text up to its end or to the first error.
func read(text string) ([]seen, error) {
	return readAll(strictjson.NewDecoder([]byte(text)))
}

func readAll(d *strictjson.Decoder) ([]seen, error) {
	var list []seen
	for {
		t, err := d.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		s := seen{Kind: t.Kind, Text: string(d.Bytes(t)), Duplicate: t.Duplicate}
		if t.Kind == strictjson.Name || t.Kind == strictjson.String {
			s.Text, _ = d.Text(t)
		}
		list = append(list, s)
	}
}

func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []seen
	}{
		{`{}`, []seen{{Kind: '{', Text: "{"}, {Kind: '}', Text: "}"}}},
		{"\t[\r\n] ", []seen{{Kind: '[', Text: "["}, {Kind: ']', Text: "]"}}},
		{` true`, []seen{{Kind: strictjson.True, Text: "true"}}},
		{`false `, []seen{{Kind: strictjson.False, Text: "false"}}},
		{`null`, []seen{{Kind: strictjson.Null, Text: "null"}}},
		{`"a\u0062"`, []seen{{Kind: strictjson.String, Text: "ab"}}},
		{`-0.5e+3`, []seen{{Kind: strictjson.Number, Text: "-0.5e+3"}}},
		{`{"a" : [1, {"b":null}], "c":"d"}`, []seen{
			{Kind: '{', Text: "{"}, {Kind: ':', Text: "a"}, {Kind: '[', Text: "["}, {Kind: '0', Text: "1"},
			{Kind: '{', Text: "{"}, {Kind: ':', Text: "b"}, {Kind: 'n', Text: "null"}, {Kind: '}', Text: "}"}, {Kind: ']', Text: "]"},
			{Kind: ':', Text: "c"}, {Kind: '"', Text: "d"}, {Kind: '}', Text: "}"},
		}},
	} {
		got, err := read(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestTokenBounds(t *testing.T) {
	d := strictjson.NewDecoder([]byte(` {"a": "b" , "c":[1]}`))
	want := [][2]int{{1, 2}, {2, 5}, {7, 10}, {13, 16}, {17, 18}, {18, 19}, {19, 20}, {20, 21}}
	for i, w := range want {
		token, err := d.Next()
		if err != nil || [2]int{token.Start, token.End} != w {
			t.Errorf("token %d is at [%d, %d), %v; want %v", i, token.Start, token.End, err, w)
		}
	}
	for range 2 {
		if _, err := d.Next(); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
	}
}

func TestKindNames(t *testing.T) {
	for kind, want := range map[strictjson.Kind]string{
		strictjson.ObjectStart: "an object", strictjson.ArrayStart: "an array", strictjson.String: "a string",
		strictjson.Name: "a string", strictjson.Number: "a number", strictjson.True: "a boolean",
		strictjson.False: "a boolean", strictjson.Null: "null", strictjson.ObjectEnd: "the end of a value",
		strictjson.ArrayEnd: "the end of a value",
	} {
		if got := kind.String(); got != want {
			t.Errorf("%c is %q, want %q", kind, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, s := range []string{
		"0", "-0", "9", "10", "-1", "0.0", "1.50", "1e1", "1E1", "1e+1", "1e-1", "1e01", "-0e-0",
		"1e400", "-1e-400", "1e99999999999999999999", "123456789012345678901234567890", "0.1234567890123456789",
		strings.Repeat("9", 100_000),
	} {
		for _, text := range []string{s, "[" + s + "]", `{"n":` + s + ` }`} {
			got, err := read(text)
			if err != nil {
				t.Errorf("%.80s: %v", text, err)
			} else if n := got[len(got)/2]; n.Kind != strictjson.Number || n.Text != s {
				t.Errorf("%.80s: got %v", text, n)
			}
		}
	}
}

// refusal is an invalid text, with the place and the reason of the error.
type refusal struct {
	text    string
	code    finding.Code
	offset  int64
	pointer finding.Pointer
	message string
}

func TestRefusals(t *testing.T) {
	const (
		syntax   = finding.JSONSyntax
		trailing = finding.JSONTrailing
		utf      = finding.JSONInvalidUTF8
		noValue  = "not a JSON value"
		noName   = "a member's name in double quotes is missing"
		after    = "bytes after the JSON value"
	)
	for _, r := range []refusal{
		// No value.
		{"", syntax, 0, "", "the text is empty"},
		{" \r\n\t", syntax, 4, "", "a value is missing"},
		{"[", syntax, 1, "/0", "a value is missing"},
		{"[1,", syntax, 3, "/1", "a value is missing"},
		{`{"a":`, syntax, 5, "/a", "a value is missing"},
		{"]", syntax, 0, "", noValue},
		{"}", syntax, 0, "", noValue},
		{",", syntax, 0, "", noValue},
		{":", syntax, 0, "", noValue},
		{"'a'", syntax, 0, "", noValue},
		{"NaN", syntax, 0, "", noValue},
		{"Infinity", syntax, 0, "", noValue},
		{"// c\n1", syntax, 0, "", noValue},
		{"\ufeff{}", syntax, 0, "", "the text begins with a byte order mark"},
		{"\xff\xfe{\x00}\x00", syntax, 0, "", "the text looks like UTF-16"},
		{"\xfe\xff\x00{\x00}", syntax, 0, "", "the text looks like UTF-16"},
		{"\x1f\x8b\x08\x00", syntax, 0, "", "the text looks like gzip"},
		{" <html>", syntax, 1, "", "the text looks like HTML or XML"},
		{"[<]", syntax, 1, "/0", noValue},
		{"\xff", syntax, 0, "", noValue},
		{"\x00", syntax, 0, "", noValue},
		{"\v1", syntax, 0, "", noValue},
		{"\u00a01", syntax, 0, "", noValue},
		// Arrays.
		{"[,", syntax, 1, "/0", noValue},
		{"[1,]", syntax, 3, "/1", noValue},
		{"[1,,2]", syntax, 3, "/1", noValue},
		{"[1 2]", syntax, 3, "/0", "] or , is missing"},
		{"[1", syntax, 2, "/0", "] or , is missing"},
		{"[1}", syntax, 2, "/0", "] or , is missing"},
		{"[[]", syntax, 3, "/0", "] or , is missing"},
		{`["a":1]`, syntax, 4, "/0", "] or , is missing"},
		{"[}", syntax, 1, "/0", noValue},
		// Objects.
		{"{", syntax, 1, "", noName},
		{"{]", syntax, 1, "", noName},
		{"{,", syntax, 1, "", noName},
		{"{1:2}", syntax, 1, "", noName},
		{"{a:1}", syntax, 1, "", noName},
		{`{"a"}`, syntax, 4, "", ": is missing after a member's name"},
		{`{"a" 1}`, syntax, 5, "", ": is missing after a member's name"},
		{`{"a"`, syntax, 4, "", ": is missing after a member's name"},
		{`{"a":}`, syntax, 5, "/a", noValue},
		{`{"a":,`, syntax, 5, "/a", noValue},
		{`{"a"::1}`, syntax, 5, "/a", noValue},
		{`{"a":1,}`, syntax, 7, "/a", noName},
		{`{"a":1,`, syntax, 7, "/a", noName},
		{`{"a":1 "b":2}`, syntax, 7, "/a", "} or , is missing"},
		{`{"a":1]`, syntax, 6, "/a", "} or , is missing"},
		{`{"a":{"b":[0,{"c":x}]}}`, syntax, 18, "/a/b/1/c", noValue},
		{`{"a/b":{"~":x}}`, syntax, 12, "/a~1b/~0", noValue},
		{`{"\u0061\n":[x]}`, syntax, 13, "/a\n/0", noValue},
		{`{"\ud800":x}`, syntax, 10, "/\ufffd", noValue},
		// After the value.
		{"{}{}", trailing, 2, "", after},
		{"[] ]", trailing, 3, "", after},
		{"1 2", trailing, 2, "", after},
		{"null,", trailing, 4, "", after},
		{"{}\x00", trailing, 2, "", after},
		{"{}\n\ufeff", trailing, 3, "", after},
		{`"a"b`, trailing, 3, "", after},
		// Literals: the finding is at the first wrong byte.
		{"tru", syntax, 3, "", "true is misspelled"},
		{"trux", syntax, 3, "", "true is misspelled"},
		{"[true,fals]", syntax, 10, "/1", "false is misspelled"},
		{`{"a":nil}`, syntax, 6, "/a", "null is misspelled"},
		{"nul ", syntax, 3, "", "null is misspelled"},
		{"n", syntax, 1, "", "null is misspelled"},
		{"True", syntax, 0, "", noValue},
		{"truex", trailing, 4, "", after},
		{"[nullx]", syntax, 5, "/0", "] or , is missing"},
		// Numbers (RFC 8259 §6).
		{"-", syntax, 1, "", "a digit is missing"},
		{"-a", syntax, 1, "", "a digit is missing"},
		{"--1", syntax, 1, "", "a digit is missing"},
		{"+1", syntax, 0, "", noValue},
		{".5", syntax, 0, "", noValue},
		{"-.5", syntax, 1, "", "a digit is missing"},
		{"01", trailing, 1, "", after},
		{"-01", trailing, 2, "", after},
		{"[00]", syntax, 2, "/0", "] or , is missing"},
		{"1.", syntax, 2, "", "a digit is missing after the decimal point"},
		{"[1.]", syntax, 3, "/0", "a digit is missing after the decimal point"},
		{"1.e1", syntax, 2, "", "a digit is missing after the decimal point"},
		{"1e", syntax, 2, "", "a digit is missing in the exponent"},
		{"1e+", syntax, 3, "", "a digit is missing in the exponent"},
		{"1E-x", syntax, 3, "", "a digit is missing in the exponent"},
		{"1e1.5", trailing, 3, "", after},
		{"0x1", trailing, 1, "", after},
		{"1_000", trailing, 1, "", after},
		{"\u0661", syntax, 0, "", noValue},
		// Strings (RFC 8259 §7).
		{`"`, syntax, 1, "", "a string is not closed"},
		{`"abc`, syntax, 4, "", "a string is not closed"},
		{`{"abc`, syntax, 5, "", "a string is not closed"},
		{`["a\"`, syntax, 5, "/0", "a string is not closed"},
		{"\"a\nb\"", syntax, 2, "", "control character 0x0a in a string"},
		{"\"12345678\x00\"", syntax, 9, "", "control character 0x00 in a string"},
		{"\"12345\x1f78\"", syntax, 6, "", "control character 0x1f in a string"},
		{`{"a":1,"b` + "\t" + `":2}`, syntax, 9, "/a", "control character 0x09 in a string"},
		{`"\x"`, syntax, 1, "", "a bad escape in a string"},
		{`"abcdefg\'"`, syntax, 8, "", "a bad escape in a string"},
		{`"\`, syntax, 1, "", "a bad escape in a string"},
		{`"\u`, syntax, 1, "", "a bad escape in a string"},
		{`"\u12"`, syntax, 1, "", "a bad escape in a string"},
		{`"\u123g"`, syntax, 1, "", "a bad escape in a string"},
		{`"\U00000041"`, syntax, 1, "", "a bad escape in a string"},
		{"\"\\u00\xe91\"", syntax, 1, "", "a bad escape in a string"},
		// UTF-8 (RFC 8259 §8.1): the finding is at the first invalid byte.
		{"\"\x80\"", utf, 1, "", "byte 0x80 is not UTF-8"},
		{"\"a\xffb\"", utf, 2, "", "byte 0xff is not UTF-8"},
		{"\"é\xc3\"", utf, 3, "", "byte 0xc3 is not UTF-8"},
		{"\"\xc0\xaf\"", utf, 1, "", "byte 0xc0 is not UTF-8"},
		{"\"\xe0\x80\xaf\"", utf, 1, "", "byte 0xe0 is not UTF-8"},
		{"\"\xf0\x80\x80\xaf\"", utf, 1, "", "byte 0xf0 is not UTF-8"},
		{"\"\xf4\x90\x80\x80\"", utf, 1, "", "byte 0xf4 is not UTF-8"},
		{"\"\xed\xa0\x80\"", utf, 1, "", "byte 0xed is not UTF-8"},
		{"\"12345678 東京 \xe6\x9d\"", utf, 17, "", "byte 0xe6 is not UTF-8"},
		{"[0,\"\xff\"]", utf, 4, "/1", "byte 0xff is not UTF-8"},
		{"{\"\xff\":1}", utf, 2, "", "byte 0xff is not UTF-8"},
		{"{\"a\":\"\xff\"}", utf, 6, "/a", "byte 0xff is not UTF-8"},
		// Only the first of two faults in a string is reported.
		{"\"\xff\x01\"", utf, 1, "", "byte 0xff is not UTF-8"},
		{"\"\x01\xff\"", syntax, 1, "", "control character 0x01 in a string"},
		{"\"\xff\\x\"", utf, 1, "", "byte 0xff is not UTF-8"},
		{"\"\xc3", utf, 1, "", "byte 0xc3 is not UTF-8"},
		{"\"é", syntax, 3, "", "a string is not closed"},
	} {
		_, err := read(r.text)
		var f finding.Finding
		if !asFinding(err, &f) {
			t.Errorf("%q: error %v is no finding", r.text, err)
			continue
		}
		if got := (refusal{r.text, f.Code, *f.Offset, f.Pointer, f.Message}); got != r {
			t.Errorf("%q:\n got %s at %d, %q: %s\nwant %s at %d, %q: %s", r.text, f.Code, *f.Offset, f.Pointer, f.Message, r.code, r.offset, r.pointer, r.message)
		}
	}
}

func TestErrorsStay(t *testing.T) {
	d := strictjson.NewDecoder([]byte(`[1 2]`))
	_, first := readAll(d)
	if first == nil {
		t.Fatal("accepted")
	}
	for range 3 {
		if _, err := d.Next(); !cmp.Equal(err, first) {
			t.Errorf("got %v, then %v", first, err)
		}
	}
}

func TestDepth(t *testing.T) {
	if strictjson.MaxDepth != 512 {
		t.Errorf("the depth allowed is %d", strictjson.MaxDepth)
	}
	for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
		nested := func(n int) string {
			return strings.Repeat(pair[0], n-1) + strings.Trim(pair[0], `"a:`) + strings.Repeat(pair[1], n)
		}
		if _, err := read(nested(strictjson.MaxDepth)); err != nil {
			t.Errorf("%s at %d: %v", pair[0], strictjson.MaxDepth, err)
		}
		_, err := read(nested(strictjson.MaxDepth + 1))
		var f finding.Finding
		if !asFinding(err, &f) || f.Code != finding.JSONTooDeep || *f.Offset != int64(strictjson.MaxDepth*len(pair[0])) {
			t.Errorf("%s at %d: %v at %v", pair[0], strictjson.MaxDepth+1, err, f.Offset)
		}
		if n := strings.Count(string(f.Pointer), "/"); n != strictjson.MaxDepth {
			t.Errorf("%s: the pointer has %d parts", pair[0], n)
		}
	}
	// Closed arrays and objects do not count.
	if _, err := read("[" + strings.Repeat("[],{},", 10*strictjson.MaxDepth) + "0]"); err != nil {
		t.Error(err)
	}
}

func TestPointerIsBounded(t *testing.T) {
	long := strings.Repeat("n", 10_000)
	deep := strings.Repeat(`{"`+strings.Repeat("m", 100)+`":`, 100)
	for _, tt := range []struct {
		text string
		want finding.Pointer
	}{
		{`{"a":{"` + long + `":[x`, "/a"},
		{`{"` + long + `":{"a":x`, ""},
		{`{"` + strings.Repeat("n", 1023) + `":x`, finding.Pointer("/" + strings.Repeat("n", 1023))},
		{`{"` + strings.Repeat("n", 1024) + `":x`, ""},
		{`{"` + strings.Repeat(`\u0061`, 1023) + `":x`, finding.Pointer("/" + strings.Repeat("a", 1023))},
		{`{"` + strings.Repeat("/", 511) + `":x`, finding.Pointer("/" + strings.Repeat("~1", 511))},
		{`{"` + strings.Repeat("/", 512) + `":x`, ""},
		{deep + "x", finding.Pointer(strings.Repeat("/"+strings.Repeat("m", 100), 10))},
	} {
		_, err := read(tt.text)
		var f finding.Finding
		if !asFinding(err, &f) || f.Pointer != tt.want {
			t.Errorf("%.40s…: pointer of %d bytes, want %d (%v)", tt.text, len(f.Pointer), len(tt.want), err)
		}
	}
}

func TestPointerFollows(t *testing.T) {
	d := strictjson.NewDecoder([]byte(`{"a":[10,{"b":1}],"c":{}}`))
	want := []string{"", "/a", "/a", "/a/0", "/a/1", "/a/1/b", "/a/1/b", "/a/1", "/a", "/c", "/c", "/c", ""}
	for i, w := range want {
		if _, err := d.Next(); err != nil || d.Pointer() != w {
			t.Errorf("after token %d: %q, %v; want %q", i, d.Pointer(), err, w)
		}
	}
}

func TestSkip(t *testing.T) {
	d := strictjson.NewDecoder([]byte(`[{"a":[1,{"b":2}]},[],7,"x"]`))
	if _, err := d.Next(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{18, 21, 23, 27} {
		token, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		if end, err := d.Skip(token); err != nil || end != want || d.Depth() != 1 {
			t.Errorf("value %d ends at %d, %v, depth %d; want %d", i, end, err, d.Depth(), want)
		}
	}
	if token, err := d.Next(); err != nil || token.Kind != strictjson.ArrayEnd {
		t.Errorf("got %v, %v", token, err)
	}
}

func TestSkipRefuses(t *testing.T) {
	for _, tt := range []struct {
		text   string
		code   finding.Code
		offset int64
	}{
		{`[[{"a":1,"a":2}]]`, finding.JSONDuplicateKey, 9},
		{`[[{"a":1,"b"}]]`, finding.JSONSyntax, 12},
		{`[[1`, finding.JSONSyntax, 3},
	} {
		d := strictjson.NewDecoder([]byte(tt.text))
		token, err := d.Next()
		if err == nil {
			_, err = d.Skip(token)
		}
		var f finding.Finding
		if !asFinding(err, &f) || f.Code != tt.code || *f.Offset != tt.offset {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
}

func TestReset(t *testing.T) {
	texts := []string{`[1`, `{"a":{"a":1}}`, `{"a":1,"a":2}`, "", manyNames(40, -1), manyNames(14, 3), `"x"`, `[[[{"b":`, manyNames(13, -1)}
	var d strictjson.Decoder
	for range 2 {
		for _, text := range texts {
			d.Reset([]byte(text))
			got, gotErr := readAll(&d)
			want, wantErr := read(text)
			if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				t.Errorf("%.40s: reset reads otherwise (%v, %v):\n%s", text, wantErr, gotErr, diff)
			}
		}
	}
}

func TestZeroDecoder(t *testing.T) {
	if _, err := new(strictjson.Decoder).Next(); err == nil || err == io.EOF {
		t.Errorf("got %v", err)
	}
}

// AllowDuplicates does not change the tokens, except that none is a Duplicate.
func TestAllowDuplicates(t *testing.T) {
	text := `{"a":{"x":1,"x":2},"a":[` + strings.Repeat(`{"n":1},`, 40) + `0],"b":{` + strings.Repeat(`"same":1,`, 40) + `"other":2}}`
	strict, loose := strictjson.NewDecoder([]byte(text)), strictjson.NewDecoder([]byte(text))
	loose.AllowDuplicates()
	repeated := 0
	for {
		want, wantErr := strict.Next()
		got, err := loose.Next()
		if want.Duplicate {
			repeated++
			want.Duplicate = false
		}
		if got != want || !errors.Is(err, wantErr) || loose.Pointer() != strict.Pointer() {
			t.Fatalf("%+v %v at %s, want %+v %v at %s", got, err, loose.Pointer(), want, wantErr, strict.Pointer())
		}
		if err != nil {
			break
		}
	}
	if repeated != 41 {
		t.Errorf("%d names are duplicates, want 41", repeated)
	}
}
