package event_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files")

// captured calls each for every event of every committed capture.
func captured(t testing.TB, each func(path string, f *capture.Frame)) {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"captures/*/*", "drift/captures/*/*"} {
		found, err := filepath.Glob("../../discovery/" + pattern)
		if err != nil || len(found) < 40 {
			t.Fatalf("%s: %d captures, %v", pattern, len(found), err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		c, err := capture.Open(t.Context(), path, "")
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for {
			f, err := c.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			each(strings.TrimPrefix(filepath.ToSlash(path), "../../discovery/"), f)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// perType is the number of events of each type of a capture on which TestCaptures checks the
// laws. Long streams have thousands of deltas that differ only in their texts.
const perType = 20

// TestCaptures decodes every captured event, checks the laws, and compares the deviations
// from AG-UI 1.0 with a list.
func TestCaptures(t *testing.T) {
	type key struct{ integration, kind, fault string }
	counts := map[key]int{}
	checked := map[string]int{}
	events := 0
	types := map[string]bool{}
	captured(t, func(path string, f *capture.Frame) {
		if f.Problem != nil {
			return
		}
		events++
		k := key{integration: filepath.Dir(path)}
		var faults []event.Fault
		e, err := event.Decode(f.Data, event.Tolerant(&faults))
		if err != nil {
			k.fault = err.Error()
		} else {
			k.kind = e.Type()
			types[e.Type()] = true
		}
		if _, ok := err.(*event.Error); err != nil && !ok {
			counts[k]++
			return
		}
		if all, ok := err.(*event.Error); ok {
			faults = all.Faults
		}
		if checked[path+k.kind]++; checked[path+k.kind] <= perType {
			if found := laws(t, f.Data); !slices.Equal(found, faults) {
				t.Errorf("%s has the faults %v, and Check lists %v", f.Data, faults, found)
			}
		}
		for _, fault := range faults {
			pointer := digits(string(fault.Pointer))
			k.fault = fmt.Sprintf("%s at %s", fault.Tolerance, pointer)
			if fault.Tolerance == "" {
				k.fault = "refused: " + fault.Message
			}
			if fault.Fatal {
				k.fault += " (fatal)"
			}
			counts[k]++
		}
	})
	var lines []string
	for k, n := range counts {
		lines = append(lines, fmt.Sprintf("%s: %d × %s: %s\n", k.integration, n, k.kind, k.fault))
	}
	slices.Sort(lines)
	golden(t, "captures.txt", strings.Join(lines, ""))
	if events < 10000 || len(types) < 15 {
		t.Errorf("only %d events of %d types were read; AG-UI has %d", events, len(types), eventnames.Count())
	}
}

// golden compares a text with a file in testdata, or writes the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(testkit.Read(t, path)), got); diff != "" {
		t.Errorf("%s (-want +got); go test -update writes it\n%s", path, diff)
	}
}

// digits replaces each index in a pointer by #.
func digits(pointer string) string {
	steps := strings.Split(pointer, "/")
	for i, s := range steps {
		if s != "" && strings.Trim(s, "0123456789") == "" {
			steps[i] = "#"
		}
	}
	return strings.Join(steps, "/")
}
