package spelling_test

import (
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/spelling"
)

func TestNear(t *testing.T) {
	for _, test := range []struct {
		a, b     string
		distance int
		near     bool
	}{
		{"", "", 0, true},
		{"", "A", 1, true},
		{"RUN", "RUN", 0, true},
		{"RUN", "RN", 1, true},
		{"RUN", "RUIN", 1, true},
		{"RUN", "RAN", 1, true},
		{"RUN", "RNU", 2, true},
		{"RUN", "URN", 2, true},
		{"RUN", "NUR", 2, false},
		{"RUN", "R", 2, false},
		{"RUNS", "URNA", 3, false},
		{"AB", "CD", 2, false},
	} {
		if got := spelling.Distance(test.a, test.b); got != test.distance {
			t.Errorf("%q and %q: distance %d", test.a, test.b, got)
		}
		if spelling.Near(test.a, test.b) != test.near || spelling.Near(test.b, test.a) != test.near {
			t.Errorf("%q and %q: near is %t", test.a, test.b, !test.near)
		}
	}
	if long := strings.Repeat("x", 1000); spelling.Near(long, "RUN") || spelling.Distance(long, "") != 64 {
		t.Error("a long name")
	}
}
