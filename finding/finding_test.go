package finding_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

func TestNew(t *testing.T) {
	about, ok := finding.Describe(finding.KeyUnknown)
	if !ok {
		t.Fatal("no entry")
	}
	offset, event := int64(7), 3
	want := finding.Finding{
		Code: finding.KeyUnknown, Severity: finding.Error, Message: `the key "x" is 1`, Hint: about.Hint, Spec: about.Spec,
		Pointer: "/x", Offset: &offset, Line: 2, EventIndex: &event,
	}
	f := finding.New(finding.KeyUnknown, "the key %s is %d", finding.Quote("x"), 1)
	got := f.WithOffset(7).WithEvent(3).WithPointer("/x").WithLine(2)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if f.Offset != nil || f.EventIndex != nil || f.Pointer != "" || f.Line != 0 {
		t.Errorf("the first finding was changed: %+v", f)
	}
	want.Severity, want.Hint = finding.Info, "do 5"
	if diff := cmp.Diff(want, got.WithSeverity(finding.Info).WithHint("do %d", 5)); diff != "" {
		t.Error(diff)
	}
	if got.Error() != `key_unknown: the key "x" is 1` {
		t.Errorf("as an error: %s", got.Error())
	}
	var as finding.Finding
	if !errors.As(fmt.Errorf("context: %w", got), &as) || as.Code != finding.KeyUnknown {
		t.Errorf("errors.As gives %+v", as)
	}
}

func TestSort(t *testing.T) {
	none := finding.New(finding.NoRun, "first")
	at := func(offset int64, p finding.Pointer, c finding.Code) finding.Finding {
		return finding.New(c, "message").WithOffset(offset).WithPointer(p)
	}
	want := []finding.Finding{
		none,
		none.WithPointer("/a"),
		at(0, "", finding.WrongType),
		at(5, "", finding.KeyMissing),
		at(5, "", finding.WrongType),
		at(5, "/a", finding.KeyMissing),
		at(5, "/b", finding.JSONSyntax),
		at(40, "", finding.JSONSyntax),
		at(1<<40, "", finding.JSONSyntax),
	}
	for seed := range uint64(20) {
		got := append([]finding.Finding(nil), want...)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		finding.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
	equal := []finding.Finding{none.WithLine(1), none.WithLine(2), none.WithLine(3)}
	finding.Sort(equal)
	if equal[0].Line != 1 || equal[1].Line != 2 || equal[2].Line != 3 {
		t.Error("equal findings changed places")
	}
}

func TestFailedAndHas(t *testing.T) {
	warning := finding.New(finding.EventIncomplete, "x")
	info := finding.New(finding.SnapshotBuilt, "x")
	fault := finding.New(finding.NoRun, "x")
	for _, tt := range []struct {
		list []finding.Finding
		want bool
	}{
		{nil, false},
		{[]finding.Finding{warning, info}, false},
		{[]finding.Finding{info, fault, warning}, true},
		{[]finding.Finding{warning.WithSeverity(finding.Error)}, true},
		{[]finding.Finding{fault.WithSeverity(finding.Info)}, false},
	} {
		if got := finding.Failed(tt.list); got != tt.want {
			t.Errorf("Failed(%v) = %v", tt.list, got)
		}
	}
	if !finding.Has([]finding.Finding{info, fault}, finding.NoRun) || finding.Has([]finding.Finding{info}, finding.NoRun) || finding.Has(nil, finding.NoRun) {
		t.Error("Has is wrong")
	}
}

func TestPointer(t *testing.T) {
	for _, tt := range []struct {
		got, want finding.Pointer
	}{
		{finding.Pointer("").Name("a"), "/a"},
		{finding.Pointer("/a").Name("b").Index(12), "/a/b/12"},
		{finding.Pointer("").Index(0), "/0"},
		{finding.Pointer("").Name(""), "/"},
		{finding.Pointer("").Name("").Name(""), "//"},
		{finding.Pointer("").Name("a/b"), "/a~1b"},
		{finding.Pointer("").Name("m~n"), "/m~0n"},
		{finding.Pointer("").Name("~1"), "/~01"},
		{finding.Pointer("").Name("/~/"), "/~1~0~1"},
		{finding.Pointer("").Name("é\"\\ \n"), "/é\"\\ \n"},
		{finding.Pointer("").Name("a\xed\xa0\x80b\xff"), "/a\ufffdb\ufffd"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// Decoding a pointer by RFC 6901 §4 returns the names it was made from.
func TestPointerDecodes(t *testing.T) {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringMatching(`[~/01a]*`))).Draw(t, "names")
		p := finding.Pointer("")
		for _, name := range names {
			p = p.Name(name)
		}
		parts := strings.Split(string(p), "/")[1:]
		if len(parts) != len(names) {
			t.Fatalf("%q: %d parts of %d names", p, len(parts), len(names))
		}
		for i, part := range parts {
			if unescape.Replace(part) != names[i] {
				t.Fatalf("%q: part %d is not %q", p, i, names[i])
			}
		}
	})
}

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ in, escape, printable string }{
		{"", "", ""},
		{"plain é 東京 🙂 'x' \"y\"", "plain é 東京 🙂 'x' \"y\"", "plain é 東京 🙂 'x' \"y\""},
		{`a\b`, `a\\b`, `a\b`},
		{`\u001b`, `\\u001b`, `\u001b`},
		{"\n\r\t", `\n\r\t`, `\n\r\t`},
		{"\x00\a\b\v\f\x1f\x7f", `\u0000\u0007\u0008\u000b\u000c\u001f\u007f`, `\u0000\u0007\u0008\u000b\u000c\u001f\u007f`},
		{"\x1b[31mred\x1b]0;t\a", `\u001b[31mred\u001b]0;t\u0007`, `\u001b[31mred\u001b]0;t\u0007`},
		{"\u0080\u0085\u009b\u009f", `\u0080\u0085\u009b\u009f`, `\u0080\u0085\u009b\u009f`},
		{"\u202aa\u202e\u2066\u2069\u200e\u200f\u061c", `\u202aa\u202e\u2066\u2069\u200e\u200f\u061c`, `\u202aa\u202e\u2066\u2069\u200e\u200f\u061c`},
		{"👩\u200d💻\u200b\u00ad\ufeff", `👩\u200d💻\u200b\u00ad\ufeff`, `👩\u200d💻\u200b\u00ad\ufeff`},
		{"\u2028\u2029", `\u2028\u2029`, `\u2028\u2029`},
		{"\ue000\U000f0000\U000e0001\U0010ffff", `\ue000\U000f0000\U000e0001\U0010ffff`, `\ue000\U000f0000\U000e0001\U0010ffff`},
		{"\xff\xc3(\xed\xa0\x80", `\xff\xc3(\xed\xa0\x80`, `\xff\xc3(\xed\xa0\x80`},
		{"\ufffd", "\ufffd", "\ufffd"},
	} {
		if got := finding.Escape(tt.in); got != tt.escape {
			t.Errorf("Escape(%q) = %s, want %s", tt.in, got, tt.escape)
		}
		if got := finding.Printable(tt.in); got != tt.printable {
			t.Errorf("Printable(%q) = %s, want %s", tt.in, got, tt.printable)
		}
	}
}

func TestQuote(t *testing.T) {
	sixty := strings.Repeat("é", 60)
	for _, tt := range []struct{ in, want string }{
		{"", `""`},
		{"a", `"a"`},
		{`say "hi"`, `"say \"hi\""`},
		{`a\`, `"a\\"`},
		{`\"`, `"\\\""`},
		{"\x1b[2J\n\u202e", `"\u001b[2J\n\u202e"`},
		{sixty, `"` + sixty + `"`},
		{sixty + "x", `"` + sixty + `…"`},
		{strings.Repeat("🙂", 61), `"` + strings.Repeat("🙂", 60) + `…"`},
		{strings.Repeat("\xff", 61), `"` + strings.Repeat(`\xff`, 60) + `…"`},
		{"\xff" + strings.Repeat("a", 100), `"\xff` + strings.Repeat("a", 59) + `…"`},
	} {
		if got := finding.Quote(tt.in); got != tt.want {
			t.Errorf("Quote(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// Escape, Printable and Quote return valid UTF-8 without characters that a terminal
// acts on, and the result of Quote is short.
func TestHostileText(t *testing.T) {
	nasty := rapid.SampledFrom([]rune{0, 0x1b, 0x7f, 0x9b, 0xad, 0x61c, 0x200b, 0x200d, 0x202e, 0x2028, 0x2029, 0x2069, 0xfeff, 0xe000, 0xe0041, 0x10ffff, '\t', '\n', '"', '\\', 'a', '…'})
	text := rapid.OneOf(
		rapid.StringOf(rapid.OneOf(nasty, rapid.Rune())),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringOfN(nasty, 50, 200, -1),
	)
	harmless := func(t *rapid.T, s string) {
		if !utf8.ValidString(s) {
			t.Fatalf("%q is not UTF-8", s)
		}
		for _, r := range s {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) {
				t.Fatalf("%q contains %U", s, r)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		for _, shown := range []string{finding.Escape(s), finding.Printable(s), finding.Quote(s)} {
			harmless(t, shown)
		}
		if finding.Printable(finding.Escape(s)) != finding.Escape(s) {
			t.Fatalf("%q: Printable escapes an escaped text again", s)
		}
		quoted := finding.Quote(s)
		// 60 code points, each of at most ten characters, the ellipsis and two quotes.
		if n := utf8.RuneCountInString(quoted); n > 60*10+3 {
			t.Fatalf("%q is quoted in %d characters", s, n)
		}
		inner := strings.NewReplacer(`\\`, "", `\"`, "").Replace(quoted[1 : len(quoted)-1])
		if strings.Contains(inner, `"`) {
			t.Fatalf("%s has a bare quote inside", quoted)
		}
	})
}

// Escape returns different texts for different texts.
func TestEscapeIsInjective(t *testing.T) {
	part := rapid.OneOf(
		rapid.Map(rapid.Byte(), func(b byte) string { return string([]byte{b}) }),
		rapid.Map(rapid.Rune(), func(r rune) string { return string(r) }),
		rapid.SampledFrom([]string{`\`, `\\`, `\x1b`, "\x1b", `\u001b`, `\n`, "\n", "\xff", `\xff`}),
	)
	text := rapid.Map(rapid.SliceOfN(part, 0, 4), func(parts []string) string { return strings.Join(parts, "") })
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if a != b && finding.Escape(a) == finding.Escape(b) {
			t.Fatalf("%q and %q are both shown as %s", a, b, finding.Escape(a))
		}
	})
}

func TestNeedsEscape(t *testing.T) {
	for _, r := range "\x00\x1f\x7f\u0080\u009f\u00ad\u200b\u200d\u202e\u2028\u2029\ufeff\ue000\U000e0041\u2065\uffff\U000e0080\ufff0\u3164\u2800\ufe0f\u115f\u1160\uffa0\u17b4\u17b5\u034f\U000e0100\u180b" {
		if !finding.NeedsEscape(r) {
			t.Errorf("%U needs no escape", r)
		}
	}
	for _, r := range " a\u00a0é東🙂\"\\\ufffd\u3000" {
		if finding.NeedsEscape(r) {
			t.Errorf("%U needs an escape", r)
		}
	}
}

func TestAsWarnings(t *testing.T) {
	list := []finding.Finding{finding.New(finding.NoRun, "a"), finding.New(finding.OmissionsRecorded, "b")}
	got := finding.AsWarnings(list)
	if got[0].Severity != finding.Warning || got[1].Severity != finding.Info || list[0].Severity != finding.Error || finding.Failed(got) {
		t.Errorf("%v of %v", got, list)
	}
}
