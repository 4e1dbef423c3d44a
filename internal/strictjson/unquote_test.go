package strictjson_test

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/internal/strictjson"
)

func TestUnquote(t *testing.T) {
	for _, tt := range []struct {
		quoted, want string
		valid        bool
	}{
		{`""`, "", true},
		{`"a b"`, "a b", true},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"\u0000\u001f\u007f\u0080"`, "\x00\x1f\x7f\u0080", true},
		{`"\u00e9\u00E9\uFFFF"`, "éé\uffff", true},
		{`"a\u6771b東c"`, "a東b東c", true},
		{`"\ud83d\ude42"`, "🙂", true},
		{`"\uD800\uDC00\uDBFF\uDFFF"`, "\U00010000\U0010ffff", true},
		{`"\ufffd"`, "\ufffd", true},
		// Surrogate halves.
		{`"\ud83d"`, "\xed\xa0\xbd", false},
		{`"\ude42"`, "\xed\xb9\x82", false},
		{`"\ud800x"`, "\xed\xa0\x80x", false},
		{`"\udfff\udbff"`, "\xed\xbf\xbf\xed\xaf\xbf", false},
		{`"\ud83d\ud83d\ude42"`, "\xed\xa0\xbd🙂", false},
		{`"\ud83d\ude42\ude42"`, "🙂\xed\xb9\x82", false},
		{`"\ud83d\\ude42"`, "\xed\xa0\xbd\\ude42", false},
		{`"\ud83d\u0041"`, "\xed\xa0\xbdA", false},
		{`"\ud83d\n"`, "\xed\xa0\xbd\n", false},
	} {
		d := strictjson.NewDecoder([]byte(tt.quoted))
		token, err := d.Next()
		if err != nil {
			t.Errorf("%s: %v", tt.quoted, err)
			continue
		}
		if got, valid := d.Text(token); got != tt.want || valid != tt.valid {
			t.Errorf("%s: got %q, %v; want %q, %v", tt.quoted, got, valid, tt.want, tt.valid)
		}
	}
}

func TestJoinHalves(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		valid    bool
	}{
		{"", "", true},
		{"a東🙂", "a東🙂", true},
		{"\xed\xa0\xbd\xed\xb9\x82", "🙂", true},
		{"x\xed\xa0\xbd\xed\xb9\x82y", "x🙂y", true},
		{"\xed\xa0\xbd", "\xed\xa0\xbd", false},
		{"\xed\xb9\x82\xed\xa0\xbd", "\xed\xb9\x82\xed\xa0\xbd", false},
		{"\xed\xb9\x82\xed\xb9\x82", "\xed\xb9\x82\xed\xb9\x82", false},
		{"\xed\xa0\xbd\xed\xa0\xbd", "\xed\xa0\xbd\xed\xa0\xbd", false},
		{"\xed\xa0\xbd\xed\xa0\xbd\xed\xb9\x82", "\xed\xa0\xbd🙂", false},
		{"\xed\xa0\xbdx\xed\xb9\x82", "\xed\xa0\xbdx\xed\xb9\x82", false},
		{"\ud7ff\xed\xa0\x80\xed\xb0\x80\ue000", "\ud7ff\U00010000\ue000", true},
		// Bytes that Unquote never returns are kept and make the text invalid.
		{"\xff", "\xff", false},
		{"\xed", "\xed", false},
		{"\xed\xa0", "\xed\xa0", false},
		{"\xed\xffabc", "\xed\xffabc", false},
		{"\xed\xa0a\xed\xb0\x80", "\xed\xa0a\xed\xb0\x80", false},
	} {
		if got, valid := strictjson.JoinSurrogates(tt.in); got != tt.want || valid != tt.valid {
			t.Errorf("%q: got %q, %v; want %q, %v", tt.in, got, valid, tt.want, tt.valid)
		}
	}
}

// JoinSurrogates restores a text that was split between any two UTF-16 code units.
func TestJoinHalvesUndoesSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		joined := ""
		for _, r := range want {
			for _, unit := range units(r) {
				piece, _ := strictjson.Unquote([]byte(`"` + unit + `"`))
				joined += piece
			}
		}
		got, valid := strictjson.JoinSurrogates(joined)
		if got != want || !valid || !utf8.ValidString(got) {
			t.Fatalf("got %q, %v; want %q", got, valid, want)
		}
	})
}
