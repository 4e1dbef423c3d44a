package baseline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
)

func write(t rapid.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Errors of Load name the file and the reason.
func TestLoadBaselineRefuses(t *testing.T) {
	t.Parallel()
	b, err := baseline.New(examined(t, "one", started, message, snapshot, finished), artifact.V1)
	if err != nil {
		t.Fatal(err)
	}
	good, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	change := func(edit func(file, run map[string]any)) []byte {
		var file map[string]any
		if err := json.Unmarshal(good, &file); err != nil {
			t.Fatal(err)
		}
		edit(file, file["runs"].([]any)[0].(map[string]any))
		data, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	set := func(name string, v any) []byte { return change(func(_, run map[string]any) { run[name] = v }) }
	dir := t.TempDir()
	if _, err := baseline.Load(write(t, filepath.Join(dir, "good"), change(func(_, _ map[string]any) {})), artifact.V1); err != nil {
		t.Fatal(err)
	}
	const incomplete = "has missing or invalid values"
	for name, test := range map[string]struct {
		data []byte
		why  string
	}{
		"empty":         {nil, "EOF"},
		"truncated":     {good[:100], "EOF"},
		"followed":      {append(bytes.Clone(good), '{', '}'), "after top-level value"},
		"no object":     {[]byte("[]"), "it is not a JSON object, as a baseline must be"},
		"twice":         {[]byte(`{"schema":"x","schema":"y"}`), "duplicate"},
		"not UTF-8":     {[]byte("{\"\xff\":1}"), "UTF-8"},
		"unknown":       {change(func(file, _ map[string]any) { file["more"] = 1 }), `/more is not a key of a baseline`},
		"unknown case":  {set("Verdict", "exact"), `/runs/0/Verdict is not a key of a baseline`},
		"schema":        {change(func(file, _ map[string]any) { file["schema"] = "other" }), `its schema is "other"`},
		"contract":      {change(func(file, _ map[string]any) { file["contract"] = "assay" }), "made for another contract, assay"},
		"no runs":       {change(func(file, _ map[string]any) { file["runs"] = []any{} }), "no runs"},
		"null run":      {change(func(file, _ map[string]any) { file["runs"] = []any{nil} }), incomplete},
		"run twice":     {change(func(file, run map[string]any) { file["runs"] = []any{run, run} }), "contain a duplicate"},
		"run negative":  {set("run", -1), incomplete},
		"run a string":  {set("run", "1"), "/runs/0/run"},
		"no capture":    {set("capture", ""), incomplete},
		"verdict":       {set("verdict", "good"), incomplete},
		"missing":       {set("verdict", "missing"), incomplete},
		"projections 0": {set("projections", []any{}), incomplete},
		"projections":   {set("projections", nil), incomplete},
		"fields":        {set("fields", nil), incomplete},
		"families":      {change(func(_, run map[string]any) { delete(run, "families") }), incomplete},
		"snapshots":     {change(func(_, run map[string]any) { delete(run, "snapshots") }), incomplete},
		"more":          {set("more_snapshots", 1), incomplete},
		"fewer":         {set("more_snapshots", -1), incomplete},
		"many":          {set("snapshots", slices.Repeat([]any{map[string]any{"before": "X"}}, 101)), incomplete},
		"projection": {change(func(_, run map[string]any) {
			run["projections"].([]any)[0].(map[string]any)["verdict"] = "good"
		}), incomplete},
		"unsorted": {change(func(file, run map[string]any) {
			second := map[string]any{}
			for name, v := range run {
				second[name] = v
			}
			second["capture"] = "before"
			file["runs"] = []any{run, second}
		}), "out of order"},
		"huge": {bytes.Repeat([]byte(" "), 64<<20+1), "larger than"},
	} {
		path := write(t, filepath.Join(dir, "bad"), test.data)
		if _, err := baseline.Load(path, artifact.V1); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: %v, want %s and %q", name, err, path, test.why)
		}
	}
	if _, err := baseline.Load(dir, artifact.V1); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := baseline.Load(filepath.Join(dir, "nowhere"), artifact.V1); !os.IsNotExist(err) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v", err)
	}
}

// Load returns the same baseline that Encode wrote, and Compare finds no changes.
func TestBaselineRoundTrip(t *testing.T) {
	root := t.TempDir()
	events := []string{
		message, snapshot, finished, failed, `{"type":"CUSTOM\u001b\u202e"}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"\ud800\u001b","\udfff":"x","k\u202e":null}]}`,
		`{"type":"` + strings.Repeat("é", 200) + `"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","\ud800":1}`, started,
	}
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			r.Fatal(err)
		}
		var paths []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"b", "a", "Z", "10", "9", "é", "\u202e"}), 1, 4, rapid.ID[string]).Draw(r, "names") {
			list := append([]string{started}, rapid.SliceOfN(rapid.SampledFrom(events), 0, 8).Draw(r, name)...)
			paths = append(paths, write(r, filepath.Join(dir, name+".ndjson"), []byte(strings.Join(list, "\n")+"\n")))
		}
		examine := func() (runs []analysis.Run) {
			for _, path := range paths {
				runs = append(runs, analysis.Analyze(t.Context(), path, artifact.V1, nil)...)
			}
			return runs
		}
		b, err := baseline.New(examine(), artifact.V1)
		if err != nil {
			r.Fatal(err)
		}
		data, err := b.Encode()
		if err != nil {
			r.Fatal(err)
		}
		read, err := baseline.Load(write(r, filepath.Join(dir, "baseline.json"), data), artifact.V1)
		if err != nil {
			r.Fatal(err)
		}
		again, err := read.Encode()
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(string(data), string(again)); diff != "" {
			r.Errorf("(-written +written again)\n%s", diff)
		}
		runs := examine()
		compared := read.Compare(runs)
		if len(compared) != len(runs) {
			r.Errorf("%d runs of %d", len(compared), len(runs))
		}
		for _, run := range compared {
			if len(run.Changes) > 0 {
				r.Errorf("%s run %d: %v", run.Capture, *run.Run, run.Changes)
			}
		}
	})
}

// Encode fails if Load could not read the result.
func TestBaselineTooLarge(t *testing.T) {
	t.Parallel()
	b := baseline.Baseline{Runs: []baseline.Run{{Capture: strings.Repeat("x", 64<<20)}}}
	if data, err := b.Encode(); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestDistinct(t *testing.T) {
	if err := baseline.CheckDistinct([]string{"a/one", "a/two", "a/three.sse"}); err != nil {
		t.Error(err)
	}
	for _, paths := range [][]string{{"a/one", "b/one"}, {"a", "a"}, {"a.sse", "b/a.ndjson"}} {
		if err := baseline.CheckDistinct(paths); err == nil || !strings.Contains(err.Error(), paths[0]) || !strings.Contains(err.Error(), paths[1]) {
			t.Errorf("%v: %v", paths, err)
		}
	}
	if err := baseline.CheckDistinct([]string{"a/one", "a/\xff"}); err == nil || !strings.Contains(err.Error(), `\xff`) || !strings.Contains(err.Error(), "not valid UTF-8") {
		t.Errorf("not UTF-8: %v", err)
	}
}
