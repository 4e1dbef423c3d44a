package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// What each release wrote, which is never written again, can be read: captures, records, a
// baseline, a bundle, a log and its portable form. testdata/upgrade/make.sh wrote it with the
// program of the release.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	releases, err := filepath.Glob("testdata/upgrade/v*")
	if err != nil || len(releases) == 0 {
		t.Fatalf("%q, %v", releases, err)
	}
	for _, dir := range releases {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			in := func(name string) string { return filepath.Join(dir, name) }
			says := func(want string, args ...string) {
				t.Helper()
				if out := string(do(t, exitDone, args...)); !strings.Contains(out, want) {
					t.Errorf("%q does not print %q:\n%s", args, want, out)
				}
			}
			says(`"verdict":"whole"`, "verify", in("captures"), "--captures-only", "--format", "json")
			says(`"verdict":"verified"`, "verify", in("frozen"), "--capture", in("captures"), "--strict", "--format", "json")
			says(`"verdict":"accepted"`, "validate", in("frozen"), "--format", "json")
			says("2 runs", "compare", in("captures"), "--baseline", in("baseline.json"), "--fail-on", "none")
			says("verified", "assay", "show", in("bundle.tar.gz"))
			says("accepted", "lint", in("captures"), "--config", in("lint.json"), "--fail-on", "error")

			// A log is migrated when it is opened, so the file is a copy.
			file := filepath.Join(t.TempDir(), "threads.db")
			testkit.Write(t, file, testkit.Read(t, in("threads.db")))
			says("thread-one-turn", "log", "threads", "--store", "sqlite:"+file)
			says("The capital of France is Paris.", "log", "restore", "thread-one-turn", "--store", "sqlite:"+file)
			exported := filepath.Join(t.TempDir(), "thread.ndjson")
			do(t, exitDone, "log", "export", "thread-one-turn", "--store", "sqlite:"+file, "-o", exported)
			if got, want := testkit.Read(t, exported), testkit.Read(t, in("thread.ndjson")); string(got) != string(want) {
				t.Errorf("the thread is exported as\n%s\nand was\n%s", got, want)
			}
			other := "sqlite:" + filepath.Join(t.TempDir(), "other.db")
			do(t, exitDone, "log", "import", in("thread.ndjson"), "--store", other)
			says("The capital of France is Paris.", "log", "restore", "thread-one-turn", "--store", other)
			if _, err := os.Stat(in("request.json")); err != nil {
				t.Error(err)
			}
		})
	}
}
