package text

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

func TestWrap(t *testing.T) {
	word := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct{ name, text, want string }{
		{"short", "  label     \tvalue", "  label     value"},
		{"exact", "\t" + word(120), word(120)},
		{"at a space", "  label     \t" + word(60) + " " + word(60), "  label     " + word(60) + "\n            " + word(60)},
		{"without a label", "  " + word(60) + "  " + word(60), "  " + word(60) + "\n    " + word(60)},
		{"a long word goes below", "frozen    \t" + word(20) + "  " + word(110), "frozen    " + word(20) + "\n          " + word(110)},
		{"a longer one is broken", "frozen    \t" + word(20) + "  " + word(111), "frozen    " + word(20) + "\n          " + word(110) + "\n          x"},
		{"nothing stands before it", "frozen    \t" + word(111), "frozen    " + word(110) + "\n          x"},
		{"wide characters", "  see     \t" + strings.Repeat("宽", 56), "  see     " + strings.Repeat("宽", 55) + "\n          宽"},
		{"combining marks", "  see     \t" + strings.Repeat("e\u0301", 110), "  see     " + strings.Repeat("e\u0301", 110)},
		{"marks with a width of their own", "  see     \te" + strings.Repeat("\u0903", 110), "  see     e" + strings.Repeat("\u0903", 108) + "\n          \u0903\u0903"},
		{"colours", "\x1b[31m" + word(9) + "\x1b[0m \t" + word(110), "\x1b[31m" + word(9) + "\x1b[0m " + word(110)},
		{"a label too long to indent by", word(70) + " \t" + word(60), word(70) + "\n  " + word(60)},
		{"ends in spaces", word(119) + "    ", word(119)},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

var colour = regexp.MustCompile("\x1b\\[[0-9]*m")

// Wrapped lines have at most 120 columns, and together they have the text of the original
// line. Words that fit on a line are not split.
func TestWrapKeepsWords(t *testing.T) {
	alphabet := rapid.SampledFrom([]rune("ab/.\\\"\n\t\x1b[m宽\u0301\u0903👍🏽🇫🇷\ufe0f\u200d각가\U000e0001\ufffd"))
	longWord := rapid.Custom(func(t *rapid.T) string {
		most := rapid.SampledFrom([]int{3, 12, 300}).Draw(t, "most")
		return string(rapid.SliceOfN(alphabet, 1, most).Draw(t, "word"))
	})
	rapid.Check(t, func(t *rapid.T) {
		label := finding.Printable(rapid.StringN(0, 80, -1).Draw(t, "label"))
		words := rapid.SliceOfN(longWord, 0, 40).Draw(t, "words")
		coloured := rapid.IntRange(0, 40).Draw(t, "coloured")
		var value []string
		longest := 0
		for i, w := range words {
			w = finding.Printable(w)
			longest = max(longest, uniseg.StringWidth(w))
			if i == coloured {
				w = "\x1b[31m" + w + "\x1b[0m"
			}
			value = append(value, w)
		}
		line := "  " + label + " " + rapid.SampledFrom([]string{"", "\t"}).Draw(t, "tab") + strings.Join(value, " ")
		wrapped := wrap(line)
		for l := range strings.SplitSeq(wrapped, "\n") {
			if n := uniseg.StringWidth(colour.ReplaceAllString(l, "")); n > 120 {
				t.Errorf("%d columns: %q", n, l)
			}
		}
		want, got := strings.Fields(line), strings.Fields(wrapped)
		if !slices.Equal(want, got) && longest <= 60 && uniseg.StringWidth(label) <= 58 {
			t.Errorf("the words %q\nbecame    %q", want, got)
		}
		if strings.Join(want, "") != strings.Join(got, "") {
			t.Errorf("the text %q\nbecame   %q", line, wrapped)
		}
	})
}
