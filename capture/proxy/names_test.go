package proxy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Names returns the names of captures by their times, also of those that were recovered.
func TestNames(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	at := time.Date(2026, 1, 31, 23, 59, 59, 999_999_000, time.UTC)
	var all []string
	for i := range 3_000 {
		all = append(all, newName(at.Add(time.Duration(i-1_500)*time.Microsecond)))
	}
	all = append(all, "20260131T235959.999999Z-copy-recovered", "20260131T235959.999999Z", "20260131T235959.999999", "2026", "zzz", ".lock", "99991231T235959.999999Z-x")
	for _, name := range all {
		if err := root.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ first, last, from, to int }{{0, 2_999, -2_000, 2_000}, {1_499, 1_501, -1, 1}, {1_500, 1_500, 0, 0}, {0, -1, 5_000, 6_000}, {0, -1, 1, -1}} {
		var want []string
		want = append(want, all[test.first:test.last+1]...)
		if test.from <= 0 && test.to >= 0 {
			want = append(want, "20260131T235959.999999Z-copy-recovered")
		}
		got, err := Names(t.Context(), root, at.Add(time.Duration(test.from)*time.Microsecond), at.In(time.FixedZone("", 3600)).Add(time.Duration(test.to)*time.Microsecond))
		if err != nil {
			t.Fatal(err)
		}
		sorted := cmp.Transformer("set", func(list []string) map[string]bool {
			set := make(map[string]bool)
			for _, name := range list {
				set[name] = true
			}
			return set
		})
		if diff := cmp.Diff(want, got, sorted); diff != "" || len(got) != len(want) {
			t.Errorf("from %d to %d: %s", test.from, test.to, diff)
		}
		for i := 1; i < len(got); i++ {
			if got[i-1] >= got[i] {
				t.Errorf("%s precedes %s", got[i-1], got[i])
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := Names(ctx, root, at, at); !errors.Is(err, context.Canceled) || list != nil {
		t.Errorf("cancelled: %v, %v", list, err)
	}
	if err := os.RemoveAll(filepath.Join(root.Name())); err != nil {
		t.Fatal(err)
	}
	if list, err := Names(t.Context(), root, at, at); len(list) > 0 {
		t.Errorf("a directory that was removed has %v, %v", list, err)
	}
}
