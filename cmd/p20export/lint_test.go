package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

// TestLintVectors runs the vectors of docs/sequence.md through the command. The exit status
// is 1 if there is a breach. Other findings are about the form of events.
func TestLintVectors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../envelope/sequence/testdata/vectors/*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files of vectors, %v", len(files), err)
	}
	path := filepath.Join(t.TempDir(), "stream.ndjson")
	n := 0
	for _, file := range files {
		var vectors []struct {
			Name      string
			Protocols []string
			Events    []json.RawMessage
			Breaches  []struct {
				Event int
				Rule  string
			}
		}
		if err := json.Unmarshal(testkit.Read(t, file), &vectors); err != nil || len(vectors) == 0 {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range vectors {
			var stream bytes.Buffer
			for _, e := range v.Events {
				stream.Write(append(slices.Clone(e), '\n'))
			}
			testkit.Write(t, path, stream.Bytes())
			for _, p := range v.Protocols {
				n++
				var want []string
				for _, b := range v.Breaches {
					if source, _ := finding.SourceOf(b.Rule); slices.Contains(source.Versions, p) {
						want = append(want, fmt.Sprintf("%d %s", b.Event, b.Rule))
					}
				}
				var stdout, stderr bytes.Buffer
				status := run([]string{"lint", "--format", "json", "--protocol", p, "--", path}, &stdout, &stderr)
				var row struct {
					Verdict  string
					Findings []struct {
						Code, Severity, Rule string
						Event                *int `json:"event_index"`
					}
				}
				if err := json.Unmarshal(stdout.Bytes(), &row); err != nil {
					t.Fatalf("%s/%s: %v\n%s%s", file, v.Name, err, stdout.Bytes(), stderr.Bytes())
				}
				want, got := slices.Clone(want), []string(nil)
				failed := false
				for _, f := range row.Findings {
					failed = failed || f.Severity == "error"
					if f.Code == "event_altered" { // the client drops an outcome of an unknown type
						want = slices.DeleteFunc(want, func(b string) bool { return b == fmt.Sprintf("%d G7", *f.Event) })
					}
					if strings.HasPrefix(f.Rule, "G") {
						got = append(got, fmt.Sprintf("%d %s", *f.Event, f.Rule))
					}
				}
				if failed != (status == 1) || status > 1 || len(want) > 0 && !failed {
					t.Errorf("%s/%s under %s: exit status %d, %s", file, v.Name, p, status, row.Verdict)
				}
				// Findings are sorted by their offset.
				if diff := cmp.Diff(sortedByEvent(want), sortedByEvent(got)); diff != "" {
					t.Errorf("%s/%s under %s: %s", file, v.Name, p, diff)
				}
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d streams", n)
	}
}

// sortedByEvent returns a sorted copy of lines that begin with the index of an event.
func sortedByEvent(lines []string) string {
	lines = slices.Sorted(slices.Values(lines))
	return strings.Join(lines, "\n")
}
