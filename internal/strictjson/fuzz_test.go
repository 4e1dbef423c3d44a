package strictjson_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// reference reads text with jsontext, which rejects duplicate names, invalid UTF-8
// and lone surrogates.
func reference(text []byte) ([]seen, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	var list []seen
	for {
		inObject, n := d.StackIndex(d.StackDepth())
		if d.StackDepth() == 0 && n > 0 {
			break
		}
		t, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		s := seen{Kind: strictjson.Kind(t.Kind()), Text: t.String()}
		if s.Kind == strictjson.String && inObject == jsontext.KindBeginObject && n%2 == 0 {
			s.Kind = strictjson.Name
		}
		list = append(list, s)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("after the value: %v", err)
	}
	return list, nil
}

// FuzzDecoder compares the decoder with jsontext. Both accept the same texts and
// read the same tokens, except that the decoder also accepts lone surrogates and
// marks duplicate names. Errors have a place and are returned again.
func FuzzDecoder(f *testing.F) {
	for _, s := range deltas {
		f.Add([]byte(s))
	}
	for _, s := range []string{
		`{"type":"RUN_STARTED","threadId":"t-1","runId":"r-1","timestamp":1732170530865,"input":{"messages":[{"id":"u1","role":"user","content":"hi"}],"tools":[],"state":{},"context":[],"forwardedProps":null}}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":[{"type":"text","text":"a"},{"type":"binary","mimeType":"image/png","data":"iVBORw0KGgo="}]},{"id":"a1","role":"assistant","content":null,"toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}]}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"a":1e400,"b":-0.0,"c":[true,false,null],"d":12345678901234567890}}`,
		`{"type":"RUN_ERROR","message":"\ud83d\ude42 \u2028 \"quoted\" \\ \/","code":"E"}`,
		`{"type":"CUSTOM","name":"\ud83d","value":"\ude42"}`,
		`{"type":"RAW","event":{"a":1,"\u0061":2}}`,
		" {\"type\" :\t\"RUN_FINISHED\"\r\n}\n", "\ufeff{}", "{}{}", "01", "1.", "[1,]", `"\x"`, "\"\xc0\xaf\"", "nul", "",
		manyNames(14, -1), manyNames(14, 2), strings.Repeat("[", 512) + strings.Repeat("]", 512), strings.Repeat("[", 513) + strings.Repeat("]", 513),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		d := strictjson.NewDecoder(in)
		var got []seen
		var failed error
		strict, end := true, 0
		for {
			token, err := d.Next()
			if err != nil {
				failed = err
				break
			}
			if token.Start < end || token.End <= token.Start || token.End > len(in) {
				t.Fatalf("token at [%d, %d) after %d of %d", token.Start, token.End, end, len(in))
			}
			end = token.End
			s := seen{Kind: token.Kind, Text: string(d.Bytes(token))}
			if token.Kind == strictjson.Name || token.Kind == strictjson.String {
				valid := false
				s.Text, valid = d.Text(token)
				strict = strict && valid
			}
			strict = strict && !token.Duplicate
			got = append(got, s)
		}
		if failed != io.EOF {
			strict = false
			checkError(t, d, failed, len(in))
		}
		want, err := reference(in)
		if f, ok := finding.FromSyntax(failed); ok && f.Code == finding.JSONTooDeep {
			if d.Depth() != strictjson.MaxDepth {
				t.Fatalf("too deep at depth %d", d.Depth())
			}
			err = failed // jsontext goes deeper
		}
		if (err == nil) != strict {
			t.Fatalf("%q: read to %v, jsontext to %v", in, failed, err)
		}
		if err == nil && !slices.Equal(want, got) {
			t.Fatalf("%q (-jsontext +got):\n%s", in, cmp.Diff(want, got))
		}
		checkObject(t, in)
	})
}

func checkError(t *testing.T, d *strictjson.Decoder, err error, length int) {
	t.Helper()
	var f finding.Finding
	if !asFinding(err, &f) || f.Severity != finding.Error || f.Offset == nil || *f.Offset < 0 || *f.Offset > int64(length) {
		t.Fatalf("bad error %#v", err)
	}
	if !jsontext.Pointer(f.Pointer).IsValid() {
		t.Fatalf("bad pointer %q", f.Pointer)
	}
	if _, again := d.Next(); !cmp.Equal(again, err) {
		t.Fatalf("first %v, then %v", err, again)
	}
}

// readTokens reads in as ReadText does, token by token.
func readTokens(in []byte) (strictjson.Value, []strictjson.Member, error) {
	d := strictjson.NewDecoder(in)
	var whole strictjson.Value
	var members []strictjson.Member
	for {
		t, err := d.Next()
		switch {
		case err == io.EOF:
			return whole, members, nil
		case err != nil:
			return strictjson.Value{}, nil, err
		case t.Duplicate:
			return strictjson.Value{}, nil, d.DuplicateError(t)
		}
		value := strictjson.Value{Kind: t.Kind, Raw: d.Bytes(t), Start: t.Start}
		if whole.Kind == 0 {
			whole = value
		}
		if t.Kind == strictjson.Name && d.Depth() == 1 {
			members = append(members, strictjson.Member{Name: value})
		}
		n := len(members)
		if n > 0 && members[n-1].Value.Kind == 0 && t.Kind != strictjson.Name {
			members[n-1].Value = value
		}
		if t.Kind == strictjson.ObjectEnd || t.Kind == strictjson.ArrayEnd {
			switch {
			case d.Depth() == 0:
				whole.Raw = in[whole.Start:t.End]
			case d.Depth() == 1 && whole.Kind == strictjson.ObjectStart:
				members[n-1].Value.Raw = in[members[n-1].Value.Start:t.End]
			}
		}
	}
}

// checkObject compares the results of ReadText and Elements with the tokens.
func checkObject(t *testing.T, in []byte) {
	t.Helper()
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, new(strictjson.Decoder), in)
	whole, members, failed := readTokens(in)
	if !sameError(err, failed) {
		t.Fatalf("%q: the tokens end with %v, the text with %v", in, failed, err)
	}
	if err != nil {
		return
	}
	if got := slices.Collect(o.All); !sameValue(v, whole) || !slices.EqualFunc(got, members, sameMember) {
		t.Fatalf("%q: the members are\n%v, by tokens\n%v", in, got, members)
	}
	stands := func(v strictjson.Value) {
		if !bytes.Equal(v.Raw, in[v.Start:v.Start+len(v.Raw)]) {
			t.Fatalf("%q: %q is not at %d", in, v.Raw, v.Start)
		}
		if _, err := read(string(v.Raw)); err != nil {
			t.Fatalf("%q: %q is no value: %v", in, v.Raw, err)
		}
	}
	stands(v)
	for m := range o.All {
		stands(m.Name)
		stands(m.Value)
		name, _ := m.Name.Text()
		if got, ok := o.Get(name); !ok || got.Start != m.Value.Start {
			t.Fatalf("%q: Get finds %q at %d, All at %d", in, name, got.Start, m.Value.Start)
		}
	}
	if err := strictjson.Elements(v, func(_ int, v strictjson.Value, o *strictjson.Object) error {
		stands(v)
		for m := range o.All {
			stands(m.Name)
			stands(m.Value)
		}
		return nil
	}); err != nil {
		t.Fatalf("%q: %v", in, err)
	}
}

func sameValue(a, b strictjson.Value) bool {
	return a.Kind == b.Kind && a.Start == b.Start && bytes.Equal(a.Raw, b.Raw)
}

func sameMember(a, b strictjson.Member) bool {
	return sameValue(a.Name, b.Name) && sameValue(a.Value, b.Value)
}

// sameError reports whether both errors are nil or equal syntax errors.
func sameError(a, b error) bool {
	x, _ := errors.AsType[*strictjson.SyntaxError](a)
	y, _ := errors.AsType[*strictjson.SyntaxError](b)
	return (a == nil) == (b == nil) && (a == nil || x != nil && y != nil && *x == *y)
}

// units returns r as \u escapes, one for each UTF-16 code unit.
func units(r rune) []string {
	if high, low := utf16.EncodeRune(r); high != '\ufffd' {
		return []string{fmt.Sprintf(`\u%04x`, high), fmt.Sprintf(`\u%04X`, low)}
	}
	return []string{fmt.Sprintf(`\u%04x`, r)}
}

// writer writes a JSON value with random white space and escapes, and the tokens
// that must be read from it.
type writer struct {
	random *rand.Rand
	text   strings.Builder
	tokens []seen
}

func (s *writer) space() {
	for s.random.IntN(3) == 0 {
		s.text.WriteByte(" \t\r\n"[s.random.IntN(4)])
	}
}

func (s *writer) emit(kind strictjson.Kind, encoded, text string) {
	s.space()
	s.text.WriteString(encoded)
	s.space()
	s.tokens = append(s.tokens, seen{Kind: kind, Text: text})
}

func (s *writer) quoted(kind strictjson.Kind, text string) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		escape, must := short[r], r < 0x20 || r == '"' || r == '\\'
		switch n := s.random.IntN(4); {
		case escape != "" && n < 2:
			b.WriteString(escape)
		case must || n == 3:
			b.WriteString(strings.Join(units(r), ""))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	s.emit(kind, b.String(), text)
}

func (s *writer) value(t *rapid.T, depth int) {
	kinds := 7
	if depth > 4 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		s.emit(strictjson.Null, "null", "null")
	case 1:
		s.emit(strictjson.True, "true", "true")
	case 2:
		s.emit(strictjson.False, "false", "false")
	case 3:
		n := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?`).Draw(t, "number")
		s.emit(strictjson.Number, n, n)
	case 4:
		s.quoted(strictjson.String, rapid.String().Draw(t, "string"))
	case 5:
		s.emit(strictjson.ArrayStart, "[", "[")
		for i := range rapid.IntRange(0, 4).Draw(t, "elements") {
			if i > 0 {
				s.text.WriteByte(',')
			}
			s.value(t, depth+1)
		}
		s.emit(strictjson.ArrayEnd, "]", "]")
	case 6:
		s.emit(strictjson.ObjectStart, "{", "{")
		for i, name := range rapid.SliceOfNDistinct(rapid.String(), 0, 20, rapid.ID).Draw(t, "names") {
			if i > 0 {
				s.text.WriteByte(',')
			}
			s.quoted(strictjson.Name, name)
			s.text.WriteByte(':')
			s.value(t, depth+2)
		}
		s.emit(strictjson.ObjectEnd, "}", "}")
	}
}

// A value is read back whatever its white space and escapes are.
func TestEncodings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &writer{random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
		s.value(t, 0)
		got, err := read(s.text.String())
		if err != nil {
			t.Fatalf("%s: %v", s.text.String(), err)
		}
		if diff := cmp.Diff(s.tokens, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", s.text.String(), diff)
		}
	})
}
