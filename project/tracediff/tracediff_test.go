package tracediff_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/tracediff"
)

// The lines of a capture are those of its events read one by one, although events that are
// alike are read faster in a capture.
func TestLines(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../discovery/captures/*/*/response.sse")
	if err != nil || len(paths) < 200 {
		t.Fatalf("%d captures: %v", len(paths), err)
	}
	compared := 0
	for _, o := range []trace.Options{{}, {Deltas: true, Raw: true, Pulses: true, Patches: true}, {Shape: true}, {Matchers: []trace.Matcher{{Event: "CUSTOM", Pointer: "/name", Is: trace.ID}}}} {
		for _, path := range paths {
			var got []string
			file, err := tracediff.Lines(t.Context(), tracediff.Trace{Path: path}, o, func(l *trace.Line) error {
				got = append(got, string(l.Text))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if file.Verdict != project.Accepted {
				continue
			}
			compared++
			if diff := cmp.Diff(oneByOne(t, path, o), got); diff != "" {
				t.Errorf("%s, %+v: %s", path, o, diff)
			}
		}
	}
	if compared < 750 {
		t.Errorf("only %d traces were compared", compared)
	}
}

// oneByOne returns the lines of a response whose events are read one by one.
func oneByOne(t *testing.T, path string, o trace.Options) (list []string) {
	t.Helper()
	ids := trace.NewIDs(o)
	n := trace.New(o, ids, func(l *trace.Line) error { list = append(list, string(l.Text)); return nil })
	for _, do := range []func(*envelope.Event) error{func(e *envelope.Event) error { ids.Event(e); return nil }, n.Event} {
		for line := range strings.Lines(string(testkit.Read(t, path))) {
			text, ok := strings.CutPrefix(line, "data:")
			if !ok {
				continue
			}
			e, err := envelope.ReadEvent([]byte(strings.TrimSpace(text)))
			if err != nil {
				t.Fatal(path, err)
			}
			if err := do(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := n.End(); err != nil {
		t.Fatal(err)
	}
	return list
}
