package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
)

// evidence has the digests of the contract, its vectors, the sample lane, and the
// files that each projection makes of every committed capture. Tools such as lint and
// compact must not change them. A commit that changes the contract or a projection also
// changes the digest here, by hand, and gives the reason in its body.
var evidence = map[string]string{
	"contract":  "3642fe3af510a882c6e166f0a7e09dda6a657d7831e01b8ed96ee06daf89bdaa",
	"vectors":   "6ce4ddec03077d3e1428ede0f3e31b0ccd8b694cd79e030618f3303a10d4021e",
	"sample":    "bdfa7dc11cb84073be5e410326cfa059f8c5af4c94b86536f79d7dc8e973cc7e",
	"artifacts": "632d067efa9a14c19b4a23f54fdb3e197914c828ab90df33560c69ec6a17f14a",
}

func TestEvidenceUnchanged(t *testing.T) {
	t.Parallel()
	got := map[string]string{
		"contract":  digestFiles(t, 1, "../../docs/contract.md"),
		"vectors":   digestFiles(t, 1700, "../../schema/vectors/cases"),
		"sample":    digestFiles(t, 30, "../../examples/ag-ui-compacted-message-snapshot-evidence/raw", "../../examples/ag-ui-compacted-message-snapshot-evidence/frozen"),
		"artifacts": digestArtifacts(t),
	}
	for name, want := range evidence {
		if got[name] != want {
			t.Errorf("the digest of %s is %s, want %s", name, got[name], want)
		}
	}
}

// digestFiles returns a digest of the paths and contents of the files in directories. It
// fails the test if there are fewer than atLeast files.
func digestFiles(t *testing.T, atLeast int, roots ...string) string {
	t.Helper()
	h := sha256.New()
	files := 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			writeItem(h, filepath.ToSlash(path), text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < atLeast {
		t.Fatalf("there are only %d files in %q", files, roots)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// digestArtifacts freezes every committed capture under every projection, and returns
// a digest of the artifacts, envelopes, omissions and findings.
func digestArtifacts(t *testing.T) string {
	t.Helper()
	found, err := capture.Find(t.Context(), []string{"../../discovery/captures", "../../discovery/drift/captures", "../../examples"})
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	frozen := 0
	for _, c := range found {
		for _, p := range project.Names() {
			opened, err := capture.Open(t.Context(), c.Path, "")
			if err != nil {
				t.Fatal(err)
			}
			runs, err := freeze.Capture(t.Context(), opened, freeze.Settings{Settings: project.Settings{Projection: p}, Tool: record.Tool{Name: record.ToolName, Version: "0"}})
			opened.Close()
			if err != nil {
				writeItem(h, c.Path, []byte(err.Error()))
				continue
			}
			for i, run := range runs {
				name := fmt.Sprint(c.Path, p, i)
				if run.Files.Artifact != nil {
					frozen++
					writeItem(h, name, run.Files.Artifact)
					writeItem(h, name, run.Files.Envelope)
					writeItem(h, name, run.Files.Record)
				}
				for _, f := range run.Findings {
					writeItem(h, name, fmt.Append(nil, f.Code, f.Severity, f.Pointer, f.Message))
				}
			}
		}
	}
	if frozen < 300 {
		t.Fatalf("only %d runs were frozen", frozen)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeItem writes a name and a text to h so that different items differ.
func writeItem(h hash.Hash, name string, text []byte) {
	fmt.Fprintf(h, "%d %s %d\n", len(name), name, len(text))
	h.Write(text)
}
