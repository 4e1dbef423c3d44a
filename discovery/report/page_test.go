package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLasting(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 73_600 * time.Microsecond: "74 ms", 1_412 * time.Millisecond: "1.4 s", 59_940 * time.Millisecond: "59.9 s", 61 * time.Second: "1m1s",
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
