package export

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

func testRun() assay.Run {
	return assay.Run{ID: "run", Time: "2026-01-31T12:00:00Z", Producer: assay.SampleProducer()}
}

// some returns events with data of the given sizes in bytes.
func some(t testing.TB, run assay.Run, sizes ...int) *Events {
	t.Helper()
	e, err := newEvents(run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	for i, n := range sizes {
		event := assay.Event{Type: assay.PlaceholderType, Data: []byte(`"` + strings.Repeat("x", n-2) + `"`)}
		if err := e.add(event, &imported{row: Row{Artifact: fmt.Sprintf("dir/%d.json", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// bundle is the content of a bundle.
type bundle struct {
	RunID  string `json:"run_id"`
	Events int    `json:"event_count"`
	IDs    []string
}

func readBundle(t testing.TB, path string) bundle {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var members [2][]byte
	archive := tar.NewReader(zip)
	for i, name := range []string{"manifest.json", "events.ndjson"} {
		h, err := archive.Next()
		if err != nil || h.Name != name {
			t.Fatalf("member %d: %v, %v", i, h, err)
		}
		if members[i], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
	var b bundle
	if err := json.Unmarshal(members[0], &b); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(members[1]) {
		var e struct{ ID string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		b.IDs = append(b.IDs, e.ID)
	}
	return b
}

// Events are returned unchanged each time.
func TestEventsAgain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(2, 100_000), 1, 8).Draw(rt, "sizes")
		e := some(t, testRun(), sizes...)
		defer e.Close()
		from := rapid.IntRange(0, len(sizes)).Draw(rt, "from")
		to := rapid.IntRange(from, len(sizes)).Draw(rt, "to")
		for range 2 {
			i := from
			for event, err := range e.slice(t.Context(), from, to) {
				if err != nil || len(event.Data) != sizes[i] || event.Type != assay.PlaceholderType {
					rt.Fatalf("event %d: %d bytes of %d, %v", i, len(event.Data), sizes[i], err)
				}
				i++
			}
			if i != to {
				rt.Fatalf("ended at %d, want %d", i, to)
			}
		}
	})
}

// A bundle gets as many events as fit. The next event goes to a new bundle.
func TestSplit(t *testing.T) {
	t.Parallel()
	run := testRun()
	// full is the size of an event's data whose line has a hundredth of maxBytes.
	full := func(run assay.Run, sequence int) int {
		return assay.MaxEventsBytes/100 - assay.LineLen(assay.PlaceholderType, 0, run, sequence)
	}
	numbered := run
	numbered.ID += "-0001"
	var sizes []int
	for i := range 100 {
		sizes = append(sizes, full(run, i))
	}
	if parts := some(t, run, sizes...).split("b.tar.gz"); len(parts) != 1 || parts[0].run.ID != "run" || parts[0].file != "b.tar.gz" {
		t.Errorf("a hundred that fill a bundle: %+v", parts)
	}
	sizes[99]++
	parts := some(t, run, sizes...).split("b.tar.gz")
	if len(parts) != 2 || parts[0].to != 99 || parts[1].from != 99 || parts[1].to != 100 {
		t.Fatalf("one byte more: %+v", parts)
	}
	if parts[0].file != "b-0001.tar.gz" || parts[1].file != "b-0002.tar.gz" || parts[0].run.ID != "run-0001" || parts[1].run.ID != "run-0002" {
		t.Errorf("names: %+v", parts)
	}
	// So does the first event past maxEvents.
	if parts := some(t, run, smallest(assay.MaxEvents)...).split("b.tar.gz"); len(parts) != 1 {
		t.Errorf("the most events: %+v", parts)
	}
	if parts := some(t, run, smallest(assay.MaxEvents+1)...).split("b.tar.gz"); len(parts) != 2 || parts[0].to != assay.MaxEvents || parts[1].to != assay.MaxEvents+1 {
		t.Errorf("one event more: %+v", parts)
	}
	// With several bundles, the longer run ids are part of the size.
	sizes = nil
	for i := range 100 {
		sizes = append(sizes, full(numbered, i))
	}
	sizes = append(sizes, 1000)
	if parts := some(t, run, sizes...).split("b.tar.gz"); len(parts) != 2 || parts[0].to != 100 {
		t.Errorf("a hundred of the longer run id: %+v", parts)
	}
}

func TestWriteBundles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "all.tar.gz")
	const events = 101
	e := some(t, testRun(), smallest(events)...)
	e.maxEvents = events - 1
	_, err := e.WriteBundles(t.Context(), path, false)
	var f finding.Finding
	if !errors.As(err, &f) || f.Code != finding.BundleLimit || f.Message != "101 events need 2 bundles; one bundle can contain 100,000 events and 100 MiB of events" {
		t.Errorf("without --split: %v", err)
	}
	testkit.RequireNames(t, dir)

	outputs, err := e.WriteBundles(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	testkit.RequireNames(t, dir, "all-0001.tar.gz", "all-0002.tar.gz")
	for i, want := range []struct {
		run    string
		events int
	}{{"run-0001", events - 1}, {"run-0002", 1}} {
		b := readBundle(t, outputs[i].File)
		if b.RunID != want.run || b.Events != want.events || len(b.IDs) != want.events || b.IDs[want.events-1] != fmt.Sprintf("%s:%d", want.run, want.events-1) {
			t.Errorf("%s: %s, %d events, the last %s", outputs[i].File, b.RunID, b.Events, b.IDs[len(b.IDs)-1])
		}
	}

	// If the second file exists with other content, the first is not written either.
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "all-0002.tar.gz"), []byte("evidence"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.WriteBundles(t.Context(), filepath.Join(other, "all.tar.gz"), true); !errors.As(err, &f) || f.Code != finding.OutputExists {
		t.Errorf("in the way: %v", err)
	}
	testkit.RequireNames(t, other, "all-0002.tar.gz")
}

// smallest returns n times the smallest size.
func smallest(n int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = 2
	}
	return sizes
}

// An interrupted export leaves no files.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if e, err := Import(ctx, []string{"x"}, Settings{Run: testRun()}, nil); e != nil || !errors.Is(err, why) {
		t.Errorf("Import: %v, %v", e, err)
	}
	e := some(t, testRun(), 10, 10)
	if _, err := e.WriteBundles(ctx, filepath.Join(dir, "b.tar.gz"), true); !errors.Is(err, why) {
		t.Errorf("WriteBundles: %v", err)
	}
	if _, err := e.WriteNDJSON(ctx, filepath.Join(dir, "b.ndjson")); !errors.Is(err, why) {
		t.Errorf("WriteNDJSON: %v", err)
	}
	if err := e.WriteLines(ctx, io.Discard); !errors.Is(err, why) {
		t.Errorf("WriteLines: %v", err)
	}
	testkit.RequireNames(t, dir)
}

func TestRecordsAreOneEach(t *testing.T) {
	_, err := Import(t.Context(), []string{"a", "b"}, Settings{Receipt: true, Records: []string{"r"}}, nil)
	if err == nil || err.Error() != "1 records are given for 2 artifacts" {
		t.Error(err)
	}
}

func TestRunID(t *testing.T) {
	for path, want := range map[string]string{
		"valid.ag-ui.json":      "import-ag-ui-valid.ag-ui",
		"a/b/one.artifact.json": "import-ag-ui-one.artifact",
		"noextension":           "import-ag-ui-noextension",
		"./frozen/../x.json":    "import-ag-ui-x",
		// As with pathlib.PurePath.stem, which Assay's mapping uses.
		".json": "import-ag-ui-.json",
		"x.":    "import-ag-ui-x.",
		"a.b.":  "import-ag-ui-a.b.",
	} {
		if got := RunID(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
