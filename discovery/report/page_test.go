package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpelled(t *testing.T) {
	for micros, want := range map[int64]string{0: "+0.000 ms", 9_096: "+9.096 ms", 1_412_761: "+1,412.761 ms"} {
		if diff := cmp.Diff(want, spelled(micros)); diff != "" {
			t.Error(diff)
		}
	}
}
