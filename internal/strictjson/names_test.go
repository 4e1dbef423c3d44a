package strictjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// manyNames returns an object with n members. If repeated is not negative, the last
// member has the escaped name of that member.
func manyNames(n, repeated int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		name := fmt.Sprintf("name%d", i)
		if i == n-1 && repeated >= 0 {
			name = fmt.Sprintf(`n\u0061me%d`, repeated)
		}
		fmt.Fprintf(&b, `"%s":%d`, name, i)
		if i < n-1 {
			b.WriteByte(',')
		}
	}
	b.WriteByte('}')
	return b.String()
}

// duplicates returns the names that are marked as duplicates.
func duplicates(t *testing.T, text string) []string {
	t.Helper()
	tokens, err := read(text)
	if err != nil {
		t.Fatalf("%.80s: %v", text, err)
	}
	var list []string
	for _, token := range tokens {
		if token.Duplicate {
			list = append(list, token.Text)
		}
	}
	return list
}

func TestDuplicateNames(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // the duplicate names, joined by spaces
	}{
		{`{"a":1,"b":1,"A":1,"":1}`, ""},
		{`{"a":1,"a":2}`, "a"},
		{`{"":1,"":2}`, ""},
		{`{"a":1,"a":2,"a":3}`, "a a"},
		{`{"a":1,"\u0061":2}`, "a"},
		{`{"\u0061":1,"\u0061":2}`, "a"},
		{`{"\/":1,"/":2}`, "/"},
		{`{"\n":1,"\u000A":2,"\u000a":3}`, "\n \n"},
		{`{"🙂":1,"\ud83d\ude42":2}`, "🙂"},
		{`{"\ud83d":1,"\ude42":2}`, ""},
		{`{"\ud83d":1,"\uD83D":2}`, "\xed\xa0\xbd"},
		{`{"a\\":1,"a":2}`, ""},
		{`{"\\u0061":1,"a":2}`, ""},
		{"{\"\u00e9\":1,\"e\u0301\":2}", ""}, // composed and decomposed are two names
		{`{"a":{"a":{"a":1}}}`, ""},
		{`[{"a":1},{"a":1}]`, ""},
		{`{"a":{"b":1},"b":{"a":1},"c":[{"x":1,"y":2,"x":3}]}`, "x"},
		{`{"a":{"b":1,"b":2},"a":3}`, "b a"},
		{`{"a":[[{"q":{},"q":[]}]],"b":1}`, "q"},
		// After an inner object, the names of the outer object are known again.
		{`{"a":` + manyNames(50, -1) + `,"name1":1,"a":2}`, "a"},
		{manyNames(30, -1)[:len(manyNames(30, -1))-1] + `,"x":` + manyNames(20, 4) + `,"name7":1}`, "name4 name7"},
	} {
		got := duplicates(t, tt.text)
		if tt.text == `{"":1,"":2}` {
			if len(got) != 1 || got[0] != "" {
				t.Errorf("%s: got %q", tt.text, got)
			}
			continue
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%.80s: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

// A duplicate is found at every position, for object sizes around the limit for
// tables and far above it.
func TestDuplicateAmongMany(t *testing.T) {
	t.Parallel()
	for _, n := range []int{11, 12, 13, 14, 47, 48, 49, 50, 1_000, 100_000} {
		if got := duplicates(t, manyNames(n, -1)); got != nil {
			t.Errorf("%d names: %q marked", n, got)
		}
		for _, repeated := range []int{0, 1, n / 2, n - 2} {
			want := fmt.Sprintf("name%d", repeated)
			if got := duplicates(t, manyNames(n, repeated)); len(got) != 1 || got[0] != want {
				t.Errorf("%d names, %s twice: %q marked", n, want, got)
			}
		}
	}
}

func TestDuplicateBeforeTable(t *testing.T) {
	text := `{"name0":0,` + manyNames(20, -1)[1:]
	if got := duplicates(t, text); len(got) != 1 || got[0] != "name0" {
		t.Errorf("got %q", got)
	}
	text = `{"a":0,"a":1,"a":2,` + manyNames(20, 0)[1:]
	if got := strings.Join(duplicates(t, text), " "); got != "a a name0" {
		t.Errorf("got %q", got)
	}
}

func TestEscapedNamesAmongMany(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `"\u%04x":0,`, 0x4e00+i)
	}
	for i := range 200 {
		fmt.Fprintf(&b, `"%c":0,`, rune(0x4e00+i))
	}
	got := duplicates(t, "{"+strings.TrimSuffix(b.String(), ",")+"}")
	if len(got) != 200 || got[0] != "一" {
		t.Errorf("%d marked", len(got))
	}
}

func TestRepeated(t *testing.T) {
	d := strictjson.NewDecoder([]byte(`[{"\u001b[31m":1,"\u001b[31m":2}]`))
	for {
		token, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !token.Duplicate {
			continue
		}
		var f finding.Finding
		if !asFinding(d.DuplicateError(token), &f) {
			t.Fatal("no finding")
		}
		if f.Code != finding.JSONDuplicateKey || *f.Offset != 17 || f.Pointer != "/0/\x1b[31m" || f.Message != `the key "\u001b[31m" appears twice in one object` {
			t.Errorf("got %+v", f)
		}
		return
	}
}
