//go:build programs

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/testkit"
)

// The judge notices each kind of damage, and accepts what is whole.
func TestStoreJudge(t *testing.T) {
	const (
		sample    = "../../examples/ag-ui-compacted-message-snapshot-evidence"
		manifest  = "finished/capture.json"
		response  = "finished/response.sse"
		arrivals  = "finished/arrivals.tsv"
		artifact  = "frozen/finished.artifact.json"
		record    = "frozen/finished.record.json"
		bundle    = "receipts.tar.gz"
		whole     = "whole"
		broken    = "broken"
		lost      = "lost"
		temporary = ".p20export-ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp"
	)
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(name string, n int64) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			if err := os.Truncate(path, int64(len(testkit.Read(t, path)))-n); err != nil {
				t.Fatal(err)
			}
		}
	}
	change := func(name, from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { edit(t, filepath.Join(dir, name), from, to) }
	}
	lines := func(mend func(lines []string) []string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			old := strings.SplitAfter(string(testkit.Read(t, filepath.Join(dir, arrivals))), "\n")
			restate(t, filepath.Join(dir, "finished"), "arrivals.tsv", strings.Join(mend(old[:len(old)-1]), ""))
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(*testing.T, string)
		path   string // of the row that must be there
		state  string // of this row
		good   bool
	}{
		{"nothing", func(*testing.T, string) {}, "finished", whole, true},
		{"record", func(*testing.T, string) {}, record, whole, true},
		{"bundle", func(*testing.T, string) {}, bundle, whole, true},
		{"response cut", cut(response, 1), "finished", broken, false},
		{"response changed", change(response, "RUN_STARTED", "RUN_STARTEX"), "finished", broken, false},
		{"response missing", remove(response), "finished", broken, false},
		{"request missing", remove("finished/request.json"), "finished", broken, false},
		{"arrivals missing", remove(arrivals), "finished", broken, false},
		{"response linked", func(t *testing.T, dir string) {
			if err := errors.Join(os.Rename(filepath.Join(dir, response), filepath.Join(dir, "elsewhere")), os.Symlink("../elsewhere", filepath.Join(dir, response))); err != nil {
				t.Fatal(err)
			}
		}, "finished", broken, false},
		{"manifest cut", cut(manifest, 3), "finished", broken, false},
		{"manifest empty", func(t *testing.T, dir string) { testkit.Write(t, filepath.Join(dir, manifest), "") }, "finished", broken, false},
		{"other end", change(manifest, `"end": "eof"`, `"end": "fine"`), "finished", broken, false},
		{"key twice", change(manifest, `"end": "eof"`, `"end": "eof", "end": "eof"`), "finished", broken, false},
		{"arrivals end early", lines(func(l []string) []string { return l[:len(l)-1] }), "finished", broken, false},
		{"arrivals torn", lines(func(l []string) []string { return append(l[:len(l)-1], "7") }), "finished", broken, false},
		{"arrivals swapped", lines(func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }), "finished", broken, false},
		{"arrivals too late", lines(func(l []string) []string {
			bytes, _, _ := strings.Cut(l[len(l)-1], "\t")
			return append(l[:len(l)-1], bytes+"\t999999999999\n")
		}), "finished", broken, false},
		{"first arrival missing", lines(func(l []string) []string { return l[1:] }), "finished", broken, false},
		{"manifest missing", remove(manifest), "finished", "unfinished", false},
		{"manifest elsewhere", func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, manifest), filepath.Join(dir, manifest+".tmp")); err != nil {
				t.Fatal(err)
			}
		}, "finished", lost, false},
		{"capture missing", func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "finished")); err != nil {
				t.Fatal(err)
			}
		}, "finished", lost, false},
		{"capture replaced", func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "finished")); err != nil {
				t.Fatal(err)
			}
			testkit.CopyDir(t, filepath.Join(dir, "finished"), filepath.Join(sample, "raw/with-parent"))
		}, "finished", lost, false},
		{"set aside", func(t *testing.T, dir string) {
			testkit.Write(t, filepath.Join(dir, "old/response.sse.unfinished"), "")
		}, "old", "remainder", true},
		{"unfinished", func(t *testing.T, dir string) {
			testkit.Write(t, filepath.Join(dir, "new/capture.json.tmp"), "")
		}, "new", "unfinished", true},
		{"temporary", func(t *testing.T, dir string) {
			testkit.Write(t, filepath.Join(dir, temporary), "")
		}, temporary, "temporary", true},
		{"being removed", func(t *testing.T, dir string) {
			if err := errors.Join(os.Rename(filepath.Join(dir, "finished"), filepath.Join(dir, temporary)), os.Remove(filepath.Join(dir, temporary, "response.sse"))); err != nil {
				t.Fatal(err)
			}
		}, "finished", lost, false},
		{"artifact changed", change(artifact, "{", "{ "), record, broken, false},
		{"artifact missing", remove(artifact), record, broken, false},
		{"record cut", cut(record, 2), record, broken, false},
		{"record missing", remove(record), artifact, "unfinished", true},
		{"bundle cut", cut(bundle, 1), bundle, broken, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			testkit.CopyDir(t, filepath.Join(dir, "finished"), filepath.Join(sample, "raw/finished"))
			testkit.CopyDir(t, filepath.Join(dir, "frozen"), filepath.Join(sample, "frozen"))
			testkit.Write(t, filepath.Join(dir, bundle), testkit.Read(t, filepath.Join(sample, "assay", bundle)))
			stored := "finished " + string(digest.Of(testkit.Read(t, filepath.Join(dir, manifest))))
			tt.damage(t, dir)
			rows, good := judgeStore(t, dir, stored)
			if good != tt.good || !slices.ContainsFunc(rows, func(r judged) bool { return r.Path == tt.path && r.State == tt.state }) {
				t.Errorf("good: %v, want %v, with %s %s:\n%+v", good, tt.good, tt.path, tt.state, rows)
			}
			// Without its acknowledgement, only what is in the directory counts.
			if _, good := judgeStore(t, dir); good != (tt.good || tt.state == lost || tt.state == "unfinished") {
				t.Errorf("without the acknowledgement, good is %v", good)
			}
		})
	}
}

// The judge finds every capture whole that verify --captures-only finds whole. If a file
// other than the manifest is damaged, neither finds the capture whole. The judge is less
// strict about manifests.
func TestStoreJudgeAgrees(t *testing.T) {
	t.Parallel()
	const whole = "whole"
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	damaged := make(map[string]string) // the file that is damaged, by capture
	for i := range 400 {
		name := fmt.Sprintf("%03d", i)
		path := filepath.Join(dir, name)
		testkit.CopyDir(t, path, filepath.Join(sampleDir, "raw/finished"))
		file := []string{"capture.json", "response.sse", "request.json", "arrivals.tsv", "arrivals.tsv and manifest"}[i%5]
		damaged[name] = file
		data := testkit.Read(t, filepath.Join(path, strings.TrimSuffix(file, " and manifest")))
		at := random.IntN(len(data))
		switch random.IntN(3) {
		case 0:
			data[at] ^= byte(1 + random.IntN(255))
		case 1:
			data = slices.Delete(data, at, at+1)
		default:
			data = slices.Insert(data, at, byte("0123456789\t\n"[random.IntN(12)]))
		}
		if file == "arrivals.tsv and manifest" {
			restate(t, path, "arrivals.tsv", string(data))
		} else {
			testkit.Write(t, filepath.Join(path, file), data)
		}
	}
	judgedWhole, verifiedWhole := make(map[string]bool), make(map[string]bool)
	rows, _ := judgeStore(t, dir)
	for _, row := range rows {
		judgedWhole[row.Path] = row.State == whole
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"verify", dir, "--captures-only", "--format", "json"}, &stdout, &stderr); status != int(render.Negative) {
		t.Fatalf("exit status %d\n%s", status, &stderr)
	}
	for line := range bytes.Lines(stdout.Bytes()) {
		var row struct{ Capture, Verdict string }
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		verifiedWhole[filepath.Base(row.Capture)] = row.Verdict == whole
	}
	both := 0
	for name, file := range damaged {
		switch judged, verified := judgedWhole[name], verifiedWhole[name]; {
		case verified && !judged:
			t.Errorf("%s, with damage in %s: verify finds it whole, the judge does not", name, file)
		case file == "arrivals.tsv and manifest" && verified != judged:
			t.Errorf("%s, with damage in %s: verify: %v, the judge: %v", name, file, verified, judged)
		case !strings.Contains(file, "manifest") && file != "capture.json" && (verified || judged):
			t.Errorf("%s, with damage in %s: verify: %v, the judge: %v", name, file, verified, judged)
		case verified && judged:
			both++
		}
	}
	if both == 0 {
		t.Error("every damage was noticed, so nothing shows that what is whole is accepted")
	}
}

// edit replaces a part of a file, which must be there.
func edit(t *testing.T, path, from, to string) {
	t.Helper()
	data := string(testkit.Read(t, path))
	if !strings.Contains(data, from) {
		t.Fatalf("%s does not contain %q", path, from)
	}
	testkit.Write(t, path, strings.Replace(data, from, to, 1))
}

// restate replaces a file of a capture, and its size and digest in capture.json, so that
// only the content of the file can be wrong.
func restate(t *testing.T, dir, name, content string) {
	t.Helper()
	var manifest map[string]any
	if err := json.Unmarshal(testkit.Read(t, filepath.Join(dir, "capture.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, name), content)
	manifest["files"].(map[string]any)[name] = map[string]any{"bytes": len(content), "digest": digest.Of([]byte(content))}
	data, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, "capture.json"), string(data))
}
