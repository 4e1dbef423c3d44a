package report

import (
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
