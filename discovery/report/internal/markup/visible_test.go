package markup

import (
	"bytes"
	"encoding/json"
	"html"
	"html/template"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

// hostile draws text that tries to act as markup.
func hostile() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		piece := rapid.OneOf(
			rapid.SampledFrom([]string{"</script>", "<script>", "<!--", "-->", "]]>", "<img src=x onerror=alert(1)>", "&lt;", "&#60;", "\u202e", "\u2066", "\u200f",
				"\x00", "\x1b[2J", "\r\n", "\u2028", "\u0085", "\xff", "\xed\xa0\x80", "\U000e0001", "'", "\"", "`", "${x}", "{{.}}", "\ufeff"}),
			rapid.String(),
		)
		return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
	})
}

var ours = regexp.MustCompile(`<b class="x">[^<]*</b>`)

// inert reports the parts of a page that are not inert: invisible characters, and markup
// other than our own.
func inert(t interface{ Errorf(string, ...any) }, page, markup string) {
	for _, r := range page {
		if finding.NeedsEscape(r) && r != '\n' && r != '\t' {
			t.Errorf("%U stands in %.200q", r, page)
		}
	}
	if strings.ContainsAny(markup, "<>\"'") {
		t.Errorf("markup stands in %.200q", markup)
	}
	if !utf8.ValidString(page) {
		t.Errorf("%.200q is not UTF-8", page)
	}
}

// Any text is shown inert, can be decoded again, and stays within the limit.
func TestVisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, breaks := hostile().Draw(t, "text"), rapid.Bool().Draw(t, "breaks")
		b, n := Append(nil, text, breaks, 1<<20)
		inert(t, string(b), ours.ReplaceAllString(string(b), ""))
		if n != len(text) {
			t.Errorf("%d of %d bytes", n, len(text))
		}
		plain := strings.Map(func(r rune) rune {
			if finding.NeedsEscape(r) || r == utf8.RuneError {
				return -1
			}
			return r
		}, text)
		read := html.UnescapeString(ours.ReplaceAllString(string(b), ""))
		read = strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' || r == utf8.RuneError {
				return -1
			}
			return r
		}, read)
		if diff := cmp.Diff(plain, read); diff != "" {
			t.Error(diff)
		}
		inert(t, Visible(text), "")
		limit := rapid.IntRange(0, 50).Draw(t, "limit")
		b, n = Append(nil, text, breaks, limit)
		if len(b) > limit+40 || n > len(text) || len(b) < limit && n < len(text) {
			t.Errorf("%d bytes of %d, limit %d, %d read", len(b), len(text), limit, n)
		}
	})
}

// Any bytes in the data of a page are valid JSON, cannot end the script or act in it, and
// decode to the same bytes.
func TestJSONIsInert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := hostile().Draw(t, "text")
		b, n := AppendJSON(nil, []byte(text), 1<<20)
		inert(t, string(b), "")
		if strings.ContainsAny(string(b), "<>&\n\t") || n != len(text) {
			t.Errorf("%q of %q", b, text)
		}
		var read string
		if err := json.Unmarshal(b, &read); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		if utf8.ValidString(text) && read != text {
			t.Errorf("%q was read as %q", text, read)
		}
		if b, n = AppendJSON(nil, []byte(text), 8); len(b) > 8+12+1 || n > len(text) || !json.Valid(b) {
			t.Errorf("%d bytes of %q: %s", len(b), text, b)
		}
	})
}

func TestPictures(t *testing.T) {
	b, _ := Append(nil, "a\x1b\x7f\u202e\U000e0001\xff\n<", true, 1<<20)
	want := `a<b class="x">␛</b><b class="x">␡</b><b class="x">⟨U+202E⟩</b><b class="x">⟨U+E0001⟩</b><b class="x">⟨xFF⟩</b>` + "\n&lt;"
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Error(diff)
	}
	b, _ = AppendJSON(nil, []byte("\xff\x80\U000e0001</script>"), 1<<20)
	if diff := cmp.Diff(`"\udcff\udc80\udb40\udc01\u003c/script\u003e"`, string(b)); diff != "" {
		t.Error(diff)
	}
}

// Values are escaped as by package html/template, in text, in a title and in an attribute.
func TestEscapeIsThatOfTemplates(t *testing.T) {
	oracle := template.Must(template.New("").Parse("<title>{{.}}</title><p class=\"{{.}}\" data-is=\"{{.}}\">{{.}}</p>"))
	rapid.Check(t, func(t *rapid.T) {
		text := hostile().Draw(t, "text") + "%s+"
		var want, got bytes.Buffer
		if err := oracle.Execute(&want, text); err != nil {
			t.Fatal(err)
		}
		w := NewWriter(&got)
		w.Put(`<title>%s</title><p class="%s" data-is="%s">%s</p>`, text, text, text, text)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Error(diff)
		}
	})
}
