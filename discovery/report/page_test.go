package report

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
)

func TestLasting(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-4 * time.Second: "finished before it started", 0: "0 ms", 73_600 * time.Microsecond: "74 ms", 1_412 * time.Millisecond: "1.4 s", 59_940 * time.Millisecond: "59.9 s", 61 * time.Second: "1m1s",
	} {
		if diff := cmp.Diff(want, lasting(d)); diff != "" {
			t.Error(diff)
		}
	}
}

// A page is recognized by its first bytes and its generator.
func TestIsPage(t *testing.T) {
	_, page := made(t, Settings{}, bounds, captures+"/adk/one-turn")
	for _, c := range []struct {
		file string
		want bool
	}{
		{string(page), true},
		{string(page[:headSize]), true},
		{"", false},
		{"<!doctype html>\n", false},
		{strings.Replace(string(page), "p20export ", "other ", 1), false},
		{" " + string(page), false},
		{pageBegin + strings.Repeat(" ", headSize) + pageMaker + "p20export 1.0.0", false},
	} {
		if got, err := isPage(strings.NewReader(c.file)); got != c.want || err != nil {
			t.Errorf("%.80q: %t, %v", c.file, got, err)
		}
	}
	if i := bytes.Index(page, []byte(pageMaker)); i < 0 || i > headSize/2 {
		t.Errorf("the page's maker stands at byte %d", i)
	}
}

// The script replaces the same characters as the rest of the page.
func TestScriptReplacesInvisibleCharacters(t *testing.T) {
	class := regexp.MustCompile(`const unseen = /\[((?:\\[pu]\{\w+\})+)\]/gu;`).FindStringSubmatch(script())
	if class == nil {
		t.Fatal("no list of invisible characters")
	}
	// The property that is derived from these tables and format characters (UAX #44 §5.3).
	ignorable := []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}
	var tables []*unicode.RangeTable
	single := make(map[rune]bool)
	for _, item := range regexp.MustCompile(`\\([pu])\{(\w+)\}`).FindAllStringSubmatch(class[1], -1) {
		switch table, name := unicode.Categories[item[2]], item[2]; {
		case item[1] == "u":
			n, err := strconv.ParseInt(name, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			single[rune(n)] = true
		case name == "Default_Ignorable_Code_Point":
			tables = append(tables, ignorable...)
		case table == nil:
			t.Fatalf("%s is not a category", name)
		default:
			tables = append(tables, table)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if script, page := single[r] || unicode.In(r, tables...), finding.NeedsEscape(r); script != page {
			t.Fatalf("%U is replaced by the script: %t, by the page: %t", r, script, page)
		}
	}
}
