package diff_test

import (
	"testing"

	"github.com/p20export/p20export/internal/diff"
)

func TestAt(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", -1}, {"ab", "ab", -1}, {"ab", "ac", 1}, {"b", "a", 0}, {"ab", "abc", 2}, {"abc", "ab", 2}, {"", "a", 0}} {
		if got := diff.FirstDifference([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("%q and %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
