package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/golden"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/tracediff"
)

const captures = "../../discovery/captures"

// write writes the goldens of captures, and returns the rows.
func write(t *testing.T, dir string, captures ...string) []golden.Row {
	t.Helper()
	d, err := golden.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Write(t.Context(), captures, "a reason", time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), func(_ string, read func(scan.Progress)) { read(nil) })
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// The golden of each committed capture can be written, and equals the capture, with the fast
// way of reading deltas and with that of lines.
func TestEveryCapture(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(captures + "/*/*")
	if err != nil || len(paths) < 200 {
		t.Fatalf("%d captures: %v", len(paths), err)
	}
	written := 0
	dirs := map[string]string{}
	for _, path := range paths {
		of := filepath.Base(filepath.Dir(path))
		if dirs[of] == "" {
			dirs[of] = filepath.Join(t.TempDir(), of)
		}
		row := write(t, dirs[of], path)[0]
		if row.Verdict != project.Written {
			if row.Verdict != project.Refused || !strings.Contains(row.Findings[0].Message, "incomplete") && !strings.Contains(row.Findings[0].Message, "no events") {
				t.Errorf("%s: %s %v", path, row.Verdict, row.Findings)
			}
			continue
		}
		written++
		d, err := golden.Open(t.Context(), dirs[of])
		if err != nil {
			t.Fatal(err)
		}
		same, err := d.Compare(t.Context(), path, nil, func(tracediff.Difference) error { return nil })
		if err != nil || same.Verdict != tracediff.Equal || *same.A.Events != *row.Lines {
			t.Errorf("%s differs from its golden: %+v, %v", path, same, err)
		}
	}
	if written < 190 {
		t.Errorf("only %d of %d goldens were written", written, len(paths))
	}
}

// If one of several captures cannot become a golden, the directory stays as it was.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "golden")
	one := captures + "/adk/one-turn"
	bad := filepath.Join(t.TempDir(), "bad.sse")
	testkit.Write(t, bad, "data: {}\n\n")
	rows := write(t, dir, one, bad)
	if rows[0].Verdict != project.Skipped || rows[1].Verdict != project.Refused {
		t.Errorf("%+v", rows)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory exists: %v", err)
	}
	write(t, dir, one)
	before := testkit.Read(t, filepath.Join(dir, "CHANGES.md"))
	write(t, dir, one)
	if diff := cmp.Diff(before, testkit.Read(t, filepath.Join(dir, "CHANGES.md"))); diff != "" {
		t.Error("without a change, CHANGES.md changed:", diff)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	change := func(event, path, pointer string, a, b *string) tracediff.Difference {
		d := tracediff.Difference{Name: "s", Kind: trace.Changed, EventType: event}
		d.Changes = append(d.Changes, tracediff.Change{Path: finding.Pointer(path), A: a, B: b})
		d.Changes[0].Pointer = d.Changes[0].Pointer.Name("x")[:0]
		for part := range strings.SplitSeq(pointer[1:], "/") {
			d.Changes[0].Pointer = d.Changes[0].Pointer.Name(part)
		}
		return d
	}
	for _, c := range []struct {
		d     tracediff.Difference
		event string
		at    string
		is    trace.Match
	}{
		{change("CUSTOM", "", "/value/3/at", text(`"2026-11-28T10:00:00Z"`), text(`"2026-11-28T10:00:01.5+01:00"`)), "CUSTOM", "/value/*/at", trace.Time},
		{change("CUSTOM", "", "/value", text(`5`), text(`-0.5`)), "CUSTOM", "/value", trace.Number},
		{change("CUSTOM", "", "/value", text(`"run_8f3a2b9c"`), text(`"run_11d2e3f4"`)), "CUSTOM", "/value", trace.ID},
		{change("CUSTOM", "", "/value", text(`"0c6f2d6e-4a0b-4c52-9a5e-7b8c9d0e1f2a"`), text(`"1c6f2d6e-4a0b-4c52-9a5e-7b8c9d0e1f2b"`)), "CUSTOM", "/value", trace.ID},
		{change("CUSTOM", "", "/value", text(`"a word"`), text(`"another"`)), "CUSTOM", "/value", trace.Ignore},
		{change("CUSTOM", "", "/value", nil, text(`1`)), "CUSTOM", "/value", trace.Ignore},
		{change("CUSTOM", "", "/value/hits/2", nil, text(`1`)), "CUSTOM", "/value/hits", trace.Ignore},
		{change("CUSTOM", "", "/value/by/1341cda2-7b8c", text(`1`), nil), "CUSTOM", "/value/by/*", trace.Ignore},
		{change("TOOL_CALL_RESULT", "", "/content", text(`"{\"n\": [{\"at\": 5}]}"`), text(`"{\"n\":[{\"at\":6}]}"`)), "TOOL_CALL_RESULT", "/content/n/*/at", trace.Number},
		{change("TEXT_MESSAGE_CONTENT", "", "/delta", text(`"Hello."`), text(`"Hi."`)), "TEXT_MESSAGE_CONTENT", "/delta", golden.Shape},
		{change("MESSAGES_SNAPSHOT", "", "/messages/1/content", text(`"Hello."`), text(`"Hi."`)), "MESSAGES_SNAPSHOT", "/messages/*/content", golden.Shape},
		{change("STATE_DELTA", "/runs/3/at/t", "/delta/1/value/t", text(`5`), text(`6`)), "STATE_SNAPSHOT", "/snapshot/runs/*/at/t", trace.Number},
		{change("STATE_DELTA", "/y", "/delta/0/path", text(`"/y"`), text(`"/z"`)), "STATE_DELTA", "/delta/*/path", trace.Ignore},
	} {
		var all golden.Instabilities
		all.Add(c.d)
		list := all.List()
		if len(list) != 1 || list[0].Event != c.event || string(list[0].Pointer) != c.at || list[0].Is != c.is {
			t.Errorf("%+v: %+v", c.d, list)
		}
	}
}

// Values that matchers match come first, and each is listed once with its scenarios.
func TestInstabilities(t *testing.T) {
	t.Parallel()
	var all golden.Instabilities
	for _, name := range []string{"b", "a", "b"} {
		all.Add(tracediff.Difference{Name: name, Kind: trace.Added, EventType: "CUSTOM"})
		all.Add(tracediff.Difference{Name: name, Kind: trace.Changed, EventType: "RAW", Changes: []tracediff.Change{{Pointer: "/event"}}})
	}
	all.Note("c", "no_events")
	var got []string
	for _, i := range all.List() {
		got = append(got, string(i.Kind)+" "+i.Event+" "+string(i.Is)+" "+strings.Join(i.Scenarios, ","))
	}
	want := []string{"changed RAW ignore b,a", "added CUSTOM  b,a", "missing no_events  c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
