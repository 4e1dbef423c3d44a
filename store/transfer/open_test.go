package transfer_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/transfer"
)

// An exported thread is opened, and compared with the log, after which it was changed.
func TestOpenThread(t *testing.T) {
	o, key, dir := newOperator(t), store.Key{Thread: "t"}, t.TempDir()
	log := o.sealed(t)
	for _, name := range []string{"t.ndjson", "t.ndjson.zst"} {
		for _, after := range []int64{0, 5} {
			path := filepath.Join(dir, string(rune('a'+after))+name)
			if row := transfer.ExportFile(t.Context(), log, key, path, after); row.Verdict != project.Written {
				t.Fatal(show(row))
			}
			opened, err := transfer.OpenThread(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			known := opened.Known(t.Context())
			var list []store.Entry
			for range 2 {
				list = nil
				for e, err := range known.Entries {
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, store.Entry{Position: e.Position, Stream: e.Stream, Kind: e.Kind, Data: e.Data, Arrived: e.Arrived})
				}
			}
			want := entries(t, log, key)[after:]
			for i := range want {
				want[i].Run, want[i].Type = 0, ""
			}
			if opened.Thread != "t" || known.From != path || show(list) != show(want) || !slices.Equal(sizes(known.Seals), []int64{7, 12}) {
				t.Errorf("%s: thread %q, from %q, seals %d, entries %s", path, opened.Thread, known.From, sizes(known.Seals), show(list))
			}
			for e := range known.Entries {
				if e.Position == after+2 {
					break
				}
			}
			if row, err := o.trusts.Verify(t.Context(), log, key, known); err != nil || row.Verdict != seal.Unchanged || row.Seals != 4 {
				t.Errorf("Verify: %s, %v", show(row), err)
			}
			edited := newLog()
			list = entries(t, log, key)
			list[9].Data = []byte("another one")
			if _, err := edited.Append(t.Context(), key, 0, list); err != nil {
				t.Fatal(err)
			}
			if row, err := o.trusts.Verify(t.Context(), edited, key, known); err != nil || row.Verdict != seal.Rewritten || *row.DiffersFrom != 10 || *row.DiffersTo != 10 {
				t.Errorf("Verify of a log with another entry 10: %s, %v", show(row), err)
			}
		}
	}
}

// Other files are not taken for threads, and damaged ones are refused.
func TestOpenOther(t *testing.T) {
	text := export(t, newOperator(t).sealed(t), store.Key{Thread: "t"}, 0)
	for name, path := range map[string]string{
		"a directory":  t.TempDir(),
		"empty":        file(t, "empty", ""),
		"a checkpoint": file(t, "checkpoint", "agents.example/log\n1\n"),
		"a capture":    file(t, "run.ndjson", strings.Join(run("t", "1", 2), "\n")),
	} {
		if _, err := transfer.OpenThread(t.Context(), path); !errors.Is(err, transfer.ErrNotThread) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := transfer.OpenThread(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := transfer.OpenThread(t.Context(), file(t, "cut", text[:len(text)-9])); !isFinding(err, finding.LogFileMalformed) {
		t.Errorf("an incomplete file: %v", err)
	}
	path := file(t, "changed", text)
	opened, err := transfer.OpenThread(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	lines := withoutDigest(text)
	lines[8] = strings.Replace(lines[8], "no JSON", "no json", 1)
	if err := os.WriteFile(path, []byte(withDigest(lines)), 0o600); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, last = range opened.Known(t.Context()).Entries {
	}
	if !isFinding(last, finding.DigestMismatch) {
		t.Errorf("a file that was changed while it was open: %v", last)
	}
}

func isFinding(err error, code finding.Code) bool {
	f, ok := errors.AsType[finding.Finding](err)
	return ok && f.Code == code
}
