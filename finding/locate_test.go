package finding_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

// located returns a finding at an offset of data after Locate.
func located(data string, at int) finding.Finding {
	list := []finding.Finding{finding.New(finding.WrongType, "m").WithOffset(int64(at))}
	finding.Locate([]byte(data), list)
	return list[0]
}

// drawn returns an excerpt and its caret on a second line.
func drawn(e finding.Excerpt) string { return e.Text + "\n" + strings.Repeat(" ", e.Caret()) + "^" }

func TestLocate(t *testing.T) {
	x100 := strings.Repeat("x", 100)
	for _, tt := range []struct {
		name, data   string // the place is at the first ⌖, which is removed
		line, column int
		want         string
	}{
		{"start", "⌖{}", 1, 1, "{}\n^"},
		{"middle", "{\n  \"a\": ⌖1\n}", 2, 8, "  \"a\": 1\n       ^"},
		{"end of the data", "{\n  ⌖", 2, 3, "  \n  ^"},
		{"end of a line", "{⌖\n}", 1, 2, "{\n ^"},
		{"after the last line", "{\n⌖", 2, 1, "\n^"},
		{"nothing", "⌖", 1, 1, "\n^"},
		{"CRLF", "{\r\n  \"a\": ⌖1\r\n}", 2, 8, "  \"a\": 1\n       ^"},
		{"at the LF of CRLF", "{\r⌖\n}", 1, 3, "{\n ^"},
		{"at the CR of CRLF", "{⌖\r\n}", 1, 2, "{\n ^"},
		{"a CR alone ends no line", "a\rb⌖c", 1, 4, "a\\rbc\n    ^"},
		{"escaped to several", "\t\x1b[31m⌖x\u202e\\", 1, 7, "\\t\\u001b[31mx\\u202e\\\n            ^"},
		{"under the escape itself", "ab⌖\x07c", 1, 3, "ab\\u0007c\n  ^"},
		{"not UTF-8", "\xff\xfe⌖\xfd", 1, 3, "\\xff\\xfe\\xfd\n        ^"},
		{"wide", "日本⌖語", 1, 3, "日本語\n    ^"},
		{"emoji", "👍🏽⌖!", 1, 3, "👍🏽!\n  ^"},
		{"flag", "🇩🇪⌖!", 1, 3, "🇩🇪!\n  ^"},
		{"combining marks", "e\u0301e\u0301⌖x", 1, 5, "e\u0301e\u0301x\n  ^"},
		{"at a combining mark", "ae⌖\u0301x", 1, 3, "ae\u0301x\n ^"},
		{"joiners are escaped", "👩\u200d👩⌖x", 1, 4, "👩\\u200d👩x\n          ^"},
		{"long, at its start", "⌖" + x100, 1, 1, x100[:74] + "…\n^"},
		{"long, at its end", x100 + "⌖", 1, 101, "…" + x100[:74] + "\n" + strings.Repeat(" ", 75) + "^"},
		{"long, in the middle", x100 + "⌖" + x100, 1, 101, "…" + x100[:37] + x100[:37] + "…\n" + strings.Repeat(" ", 38) + "^"},
		{"as long as there is room for", x100[:40] + "⌖" + x100[:34], 1, 41, x100[:74] + "\n" + strings.Repeat(" ", 40) + "^"},
		{"cut before what is wide", strings.Repeat("日", 50) + "⌖" + strings.Repeat("本", 50), 1, 51, "…" + strings.Repeat("日", 18) + strings.Repeat("本", 19) + "…\n" + strings.Repeat(" ", 37) + "^"},
		{"cut within escapes", strings.Repeat("\x1b", 50) + "⌖" + strings.Repeat("\x1b", 50), 1, 51, "…" + strings.Repeat(`\u001b`, 12) + "…\n" + strings.Repeat(" ", 37) + "^"},
		{"long within lines", "a\n" + x100 + "⌖" + x100 + "\nb", 2, 101, "…" + x100[:37] + x100[:37] + "…\n" + strings.Repeat(" ", 38) + "^"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := strings.Index(tt.data, "⌖")
			f := located(strings.Replace(tt.data, "⌖", "", 1), at)
			if f.Line != tt.line || f.Column != tt.column {
				t.Errorf("line %d, column %d, want %d, %d", f.Line, f.Column, tt.line, tt.column)
			}
			if diff := cmp.Diff(tt.want, drawn(f.Excerpt)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestLocateWithout(t *testing.T) {
	list := []finding.Finding{
		finding.New(finding.NotArtifact, "no offset"),
		finding.New(finding.WrongType, "past the data").WithOffset(4),
		finding.New(finding.WrongType, "before the data").WithOffset(-1),
	}
	want := append([]finding.Finding(nil), list...)
	finding.Locate([]byte("{}\n"), list)
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// An offset inside a code point has the place of the code point.
func TestLocateInsideCodePoint(t *testing.T) {
	for at := 1; at <= 3; at++ {
		if f := located("a日本", at); f.Column != 2 || f.Excerpt.At != 1 {
			t.Errorf("offset %d: column %d, at %d of the excerpt", at, f.Column, f.Excerpt.At)
		}
	}
}

// For any bytes, a place does not depend on the other findings and equals a count
// from the start, and its excerpt is short, safe and has the right caret.
func TestLocateLaws(t *testing.T) {
	text := rapid.OneOf(
		rapid.StringN(0, 400, -1),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "\n", "\r\n", "\r", "\t", "日", "\u0301", "\u202e", "\x1b[2J", "\xff", "👩\u200d👩", "🇩🇪", "\\", "\u0e33"}), 0, 300), func(s []string) string { return strings.Join(s, "") }),
	)
	rapid.Check(t, func(t *rapid.T) {
		data := text.Draw(t, "data")
		var list []finding.Finding
		for _, at := range rapid.SliceOf(rapid.IntRange(0, len(data))).Draw(t, "places") {
			list = append(list, finding.New(finding.WrongType, "m").WithOffset(int64(at)))
		}
		finding.Sort(list)
		finding.Locate([]byte(data), list)
		for _, f := range list {
			at := int(*f.Offset)
			if diff := cmp.Diff(located(data, at), f); diff != "" {
				t.Fatalf("alone and among others (-alone +among)\n%s", diff)
			}
			before := data[:at]
			if want := strings.Count(before, "\n") + 1; f.Line != want {
				t.Fatalf("line %d, want %d", f.Line, want)
			}
			line := before[strings.LastIndexByte(before, '\n')+1:]
			if at == len(data) || utf8.RuneStart(data[at]) {
				if want := utf8.RuneCountInString(line) + 1; f.Column != want {
					t.Fatalf("column %d, want %d", f.Column, want)
				}
			}
			e := f.Excerpt
			if e.Text != finding.Printable(e.Text) {
				t.Fatalf("%q is not safe", e.Text)
			}
			if cells := uniseg.StringWidth(e.Text); cells > 76 || e.Caret() > cells {
				t.Fatalf("%d cells, the caret at %d", cells, e.Caret())
			}
			if e.At < 0 || e.At > len(e.Text) {
				t.Fatalf("the place is at %d of %q", e.At, e.Text)
			}
			if r, size := utf8.DecodeRuneInString(data[at:]); size > 0 && r >= 'a' && r <= 'z' && e.Text[e.At] != byte(r) {
				t.Fatalf("%q is at the place in %q", e.Text[e.At:], e.Text)
			}
		}
	})
}

func TestCaretOfNoExcerpt(t *testing.T) {
	if n := (finding.Excerpt{}).Caret(); n != 0 {
		t.Error(n)
	}
}

// A hundred findings on one line of 8 MiB.
func BenchmarkLocate(b *testing.B) {
	data := bytes.Repeat([]byte(`{"a":0},`), 1<<20)
	var list []finding.Finding
	for i := range 100 {
		list = append(list, finding.New(finding.WrongType, "m").WithOffset(int64(i*len(data)/100)))
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		finding.Locate(data, list)
	}
}
