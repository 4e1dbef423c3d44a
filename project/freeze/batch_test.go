package freeze_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/sign"
)

// all returns the inputs of paths.
func all(t *testing.T, paths ...string) iter.Seq2[*inputs.Input, error] {
	t.Helper()
	source, err := inputs.Paths(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	return source.All(t.Context())
}

// batch freezes captures and returns the rows of each.
func batch(t *testing.T, in iter.Seq2[*inputs.Input, error], s freeze.Settings, o freeze.BatchOptions) [][]freeze.Row {
	t.Helper()
	s.Tool = tool
	rows, err := freeze.Batch(t.Context(), in, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(rows)
}

// contents returns the contents of all files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[path[len(dir)+1:]] = string(testkit.Read(t, path))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// A batch has the rows and the files of freezing one capture after the other, for any
// number of jobs, and its inline texts are those files.
func TestBatchIsFreeze(t *testing.T) {
	out := t.TempDir()
	found, err := capture.Find(t.Context(), []string{captures})
	if err != nil || len(found) < 100 {
		t.Fatal(len(found), err)
	}
	for _, name := range project.Names() {
		s := freeze.Settings{Settings: project.Settings{Projection: name}, Tool: tool}
		var want [][]freeze.Row
		for _, c := range found {
			s.Dir = c.Under(out)
			rows, err := freeze.Freeze(t.Context(), c.Path, s)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, rows)
		}
		files := contents(t, out)
		for _, jobs := range []int{1, 3} {
			again := filepath.Join(t.TempDir(), "new")
			s.Dir = again
			got := batch(t, all(t, captures), s, freeze.BatchOptions{Jobs: jobs})
			relative := func(path *string) string {
				if path == nil {
					return ""
				}
				return strings.TrimPrefix(strings.TrimPrefix(*path, again), out)
			}
			if diff := cmp.Diff(want, got, cmp.Transformer("path", relative)); diff != "" {
				t.Errorf("%s, %d jobs (-one by one +batch)\n%s", name, jobs, diff)
			}
			if diff := cmp.Diff(files, contents(t, again)); diff != "" {
				t.Errorf("%s, %d jobs: files (-one by one +batch)\n%s", name, jobs, diff)
			}
		}
		inline := batch(t, all(t, captures), s, freeze.BatchOptions{Inline: true})
		for i, rows := range want {
			for j, row := range rows {
				got := inline[i][j]
				if row.Verdict == project.Frozen {
					for path, text := range map[string]*string{*row.Artifact: got.ArtifactJSON, *row.Envelope: got.EnvelopeNDJSON, *row.Record: got.RecordJSON} {
						if text == nil || *text != string(testkit.Read(t, path)) {
							t.Errorf("%s: another text inline", path)
						}
					}
				}
				row.Artifact, row.Envelope, row.Record = nil, nil, nil
				got.ArtifactJSON, got.EnvelopeNDJSON, got.RecordJSON = nil, nil, nil
				if diff := cmp.Diff(row, got); diff != "" {
					t.Errorf("%s inline (-files +inline)\n%s", row.Capture, diff)
				}
			}
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
}

// Only inline rows have the keys of the texts.
func TestInlineKeys(t *testing.T) {
	for _, inline := range []bool{false, true} {
		rows := batch(t, all(t, captures+"/adk/one-turn"), freeze.Settings{Dir: t.TempDir()}, freeze.BatchOptions{Inline: inline})
		text, err := json.Marshal(rows[0][0])
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"artifact_json", "envelope_ndjson", "record_json"} {
			if strings.Contains(string(text), `"`+key+`":`) != inline {
				t.Errorf("inline %v, %s: %s", inline, key, text)
			}
		}
	}
}

// responses writes n responses with one run each, and returns their directory.
func responses(t *testing.T, n int) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("c%04d.sse", i))
		testkit.Write(t, path, strings.ReplaceAll(response, "r1", "r"+strconv.Itoa(i)))
		paths = append(paths, path)
	}
	return dir, paths
}

// verdicts returns the verdict of each row.
func verdicts(rows [][]freeze.Row) (list []project.Verdict) {
	for _, of := range rows {
		for _, row := range of {
			list = append(list, row.Verdict)
		}
	}
	return list
}

// SkipExisting skips a capture only if freezing it would write nothing.
func TestSkipExisting(t *testing.T) {
	run := func(n int, events ...string) string {
		id := fmt.Sprintf("%q", "r"+strconv.Itoa(n))
		return strings.ReplaceAll(strings.Join(append(events, testkit.Started, testkit.Message, testkit.Snapshot, testkit.Finished), "\n"), `"r"`, id)
	}
	one, two := testkit.WriteCapture(t, "one", run(1)), testkit.WriteCapture(t, "two", run(1), run(2))
	directory := captures + "/adk/one-turn"
	paths := []string{one, two, directory}
	frozen := func(t *testing.T, out string, s freeze.Settings, o freeze.BatchOptions) []project.Verdict {
		s.Dir = out
		return verdicts(batch(t, all(t, paths...), s, o))
	}
	skip := freeze.BatchOptions{SkipExisting: true}
	F, S, E := project.Frozen, project.Skipped, project.Failed
	for name, c := range map[string]struct {
		change func(t *testing.T, out string)
		s      freeze.Settings
		want   []project.Verdict
	}{
		"nothing changed":     {want: []project.Verdict{S, S, S, S}},
		"a record is missing": {func(t *testing.T, out string) { remove(t, out, "one.record.json") }, freeze.Settings{}, []project.Verdict{F, S, S, S}},
		"no envelope":         {func(t *testing.T, out string) { remove(t, out, "one-turn.envelope.ndjson") }, freeze.Settings{}, []project.Verdict{S, S, S, F}},
		"no artifact":         {func(t *testing.T, out string) { remove(t, out, "two.2.artifact.json") }, freeze.Settings{}, []project.Verdict{S, F, F, S}},
		"no second run":       {func(t *testing.T, out string) { remove(t, out, "two.2.record.json") }, freeze.Settings{}, []project.Verdict{S, F, F, S}},
		"no first run":        {func(t *testing.T, out string) { remove(t, out, "two.1.record.json") }, freeze.Settings{}, []project.Verdict{S, F, F, S}},
		"another projection":  {nil, freeze.Settings{Settings: project.Settings{Projection: project.EmittedSnapshotText}}, []project.Verdict{E, E, E, E}},
		"another selection":   {nil, freeze.Settings{Settings: project.Settings{Projection: project.EmittedSnapshotText, Snapshot: project.Last}}, []project.Verdict{E, E, E, E}},
		"another profile":     {nil, freeze.Settings{Settings: project.Settings{Profile: "assay"}}, []project.Verdict{E, E, E, E}},
		"not a record":        {func(t *testing.T, out string) { testkit.Write(t, filepath.Join(out, "one.record.json"), "{}") }, freeze.Settings{}, []project.Verdict{E, S, S, S}},
		"a link to a record": {func(t *testing.T, out string) {
			path := filepath.Join(out, "one.record.json")
			if err := errors.Join(os.Rename(path, path+".old"), os.Symlink("one.record.json.old", path)); err != nil {
				t.Fatal(err)
			}
		}, freeze.Settings{}, []project.Verdict{E, S, S, S}},
		"other names": {func(t *testing.T, out string) {
			path := filepath.Join(out, "one.record.json")
			testkit.Write(t, path, strings.Replace(string(testkit.Read(t, path)), "one.envelope", "eno.envelope", 1))
		}, freeze.Settings{}, []project.Verdict{E, S, S, S}},
		"times are not needed": {nil, freeze.Settings{Settings: project.Settings{Operator: project.OperatorTimes{StartedAt: "2026-11-21T06:28:50Z", FinishedAt: "2026-11-21T06:28:51Z"}}}, []project.Verdict{S, S, S, S}},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			if got := frozen(t, out, freeze.Settings{}, skip); !slices.Equal(got, []project.Verdict{F, F, F, F}) {
				t.Fatal(got)
			}
			want := contents(t, out)
			if c.change != nil {
				c.change(t, out)
			}
			if got := frozen(t, out, c.s, skip); !slices.Equal(got, c.want) {
				t.Errorf("%q", got)
			}
			if !slices.Contains(c.want, E) {
				if diff := cmp.Diff(want, contents(t, out)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	t.Run("another capture", func(t *testing.T) {
		out := t.TempDir()
		frozen(t, out, freeze.Settings{}, skip)
		testkit.Write(t, one, strings.ReplaceAll(run(1), "Hi.", "Ho.")+"\n")
		if got := frozen(t, out, freeze.Settings{}, skip); !slices.Equal(got, []project.Verdict{E, S, S, S}) {
			t.Errorf("%q", got)
		}
	})
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// Files can be named by the digests of the responses.
func TestNameByDigest(t *testing.T) {
	_, paths := responses(t, 3)
	paths = append(paths, paths[0])
	out := t.TempDir()
	for _, o := range []freeze.BatchOptions{{NameByDigest: true}, {NameByDigest: true, SkipExisting: true}} {
		rows := batch(t, all(t, paths...), freeze.Settings{Dir: out}, o)
		for i, of := range rows {
			identity, err := inputs.File(paths[i]).Identify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(out, identity.Response.Hex()+".record.json"); len(of) != 1 || of[0].Record == nil || *of[0].Record != want {
				t.Errorf("%+v, want %s", of, want)
			}
		}
		if len(rows) != 4 || len(contents(t, out)) != 9 {
			t.Errorf("%d rows, %d files", len(rows), len(contents(t, out)))
		}
	}
}

// The second of two captures with the same name is not written.
func TestBatchCollision(t *testing.T) {
	dir, paths := responses(t, 2)
	other := filepath.Join(dir, "sub", "c0000.sse")
	if err := os.Mkdir(filepath.Dir(other), 0o777); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, other, testkit.Read(t, paths[1]))
	out := t.TempDir()
	rows := batch(t, all(t, paths[0], other, paths[1]), freeze.Settings{Dir: out}, freeze.BatchOptions{})
	if got := verdicts(rows); !slices.Equal(got, []project.Verdict{project.Frozen, project.Failed, project.Frozen}) {
		t.Fatal(got)
	}
	if f := rows[1][0].Findings[0]; f.Code != finding.OutputExists || !strings.Contains(f.Hint, "--name-by digest") {
		t.Errorf("%+v", f)
	}
	if files := contents(t, out); len(files) != 6 {
		t.Errorf("%d files", len(files))
	}
}

// The next step for a file that exists does not depend on the captures that follow.
func TestExistsHint(t *testing.T) {
	_, paths := responses(t, 1)
	for _, c := range []struct {
		s    freeze.Settings
		o    freeze.BatchOptions
		file string
		want string
	}{
		{freeze.Settings{}, freeze.BatchOptions{}, "c0000", hint.OtherNames},
		{freeze.Settings{}, freeze.BatchOptions{NameByDigest: true}, "", hint.ChooseOutput},
		{freeze.Settings{Name: "n"}, freeze.BatchOptions{}, "n", finding.New(finding.OutputExists, "").Hint},
	} {
		c.s.Dir = t.TempDir()
		if c.file == "" {
			identity, err := inputs.File(paths[0]).Identify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.file = identity.Response.Hex()
		}
		testkit.Write(t, filepath.Join(c.s.Dir, c.file+".artifact.json"), "{}")
		row := batch(t, all(t, paths...), c.s, c.o)[0][0]
		if f := row.Findings[0]; f.Code != finding.OutputExists || f.Hint != c.want {
			t.Errorf("%+v", f)
		}
	}
}

// A consumer that stops, or a context that ends, ends a batch. Rows that were returned
// have their files.
func TestBatchStops(t *testing.T) {
	before := runtime.NumGoroutine()
	_, paths := responses(t, 300)
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		out := filepath.Join(t.TempDir(), "out")
		rows, err := freeze.Batch(ctx, all(t, paths...), freeze.Settings{Dir: out, Tool: tool}, freeze.BatchOptions{Jobs: 4})
		if err != nil {
			t.Fatal(err)
		}
		n, interrupted := 0, 0
		for of := range rows {
			if n++; n == 120 && !cancelled {
				break
			} else if n == 120 {
				cancel()
			}
			for _, row := range of {
				switch {
				case row.Verdict == project.Frozen:
					for _, path := range []string{*row.Artifact, *row.Envelope, *row.Record} {
						if _, err := os.Stat(path); err != nil {
							t.Error(err)
						}
					}
				case cancelled && finding.Has(row.Findings, finding.Interrupted):
					if interrupted++; row.Findings[0].Hint != hint.SkipExisting {
						t.Errorf("%+v", row.Findings)
					}
				default:
					t.Errorf("%+v", row)
				}
			}
		}
		if interrupted > 1 {
			t.Errorf("%d captures were interrupted", interrupted)
		}
		if files := len(contents(t, out)); files%3 != 0 || files < 3*100 {
			t.Errorf("%d files", files)
		}
		cancel()
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

// An error of the source is the last row.
func TestBatchSourceError(t *testing.T) {
	_, paths := responses(t, 2)
	broken := func(yield func(*inputs.Input, error) bool) {
		for in := range all(t, paths...) {
			if !yield(in, nil) {
				return
			}
		}
		yield(nil, errors.New("no further"))
	}
	for _, o := range []freeze.BatchOptions{{}, {Inline: true}, {Jobs: 4}} {
		rows := batch(t, broken, freeze.Settings{Dir: t.TempDir()}, o)
		if len(rows) != 3 || rows[1][0].Verdict != project.Frozen {
			t.Fatalf("%+v", rows)
		}
		if last := rows[2]; len(last) != 1 || last[0].Capture != "" || last[0].Verdict != project.Failed || last[0].Findings[0].Message != "no further" {
			t.Errorf("%+v", last)
		}
	}
}

// Batch refuses options that contradict each other.
func TestBatchOptions(t *testing.T) {
	for _, c := range []struct {
		s freeze.Settings
		o freeze.BatchOptions
	}{
		{freeze.Settings{Name: "n", Dir: "out"}, freeze.BatchOptions{NameByDigest: true}},
		{freeze.Settings{Dir: "out", Run: "#1"}, freeze.BatchOptions{SkipExisting: true}},
		{freeze.Settings{}, freeze.BatchOptions{Inline: true, SkipExisting: true}},
		{freeze.Settings{Name: "a/b", Dir: "out"}, freeze.BatchOptions{}},
		{freeze.Settings{}, freeze.BatchOptions{}},
		{freeze.Settings{}, freeze.BatchOptions{Inline: true, Jobs: -1}},
		{freeze.Settings{Sign: &sign.Settings{Authority: "http://127.0.0.1:1/"}}, freeze.BatchOptions{Inline: true}},
	} {
		if _, err := freeze.Batch(t.Context(), nil, c.s, c.o); err == nil {
			t.Errorf("%+v, %+v", c.s, c.o)
		}
	}
}

// Captures with so many runs that their results wait for each other have the rows of
// freezing one after the other, and the consumer may stop at any of them.
func TestBatchOfManyRuns(t *testing.T) {
	const runs, several = 1100, 4
	var events []string
	for i := range runs {
		id := fmt.Sprintf(`"threadId":"t","runId":"r%d"}`, i)
		events = append(events, `{"type":"RUN_STARTED",`+id, `{"type":"RUN_FINISHED",`+id)
	}
	path := testkit.WriteCapture(t, "many.ndjson", events...)
	for _, inline := range []bool{false, true} {
		for _, stopAt := range []int{1, several} {
			rows, err := freeze.Batch(t.Context(), all(t, slices.Repeat([]string{path}, several)...),
				freeze.Settings{Settings: project.Settings{Projection: project.EmittedSnapshot}, Dir: t.TempDir(), Tool: tool}, freeze.BatchOptions{Jobs: 4, Inline: inline})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for of := range rows {
				if n++; len(of) != runs || *of[runs-1].Run != runs {
					t.Errorf("capture %d: %d rows", n, len(of))
				}
				if n == stopAt {
					break
				}
			}
			if n != stopAt {
				t.Errorf("%d captures, want %d", n, stopAt)
			}
		}
	}
}
