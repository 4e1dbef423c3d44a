package scenario_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

var (
	evidence = regexp.MustCompile("(?m)^\\| [0-9.]+ \\| \\[[a-z0-9-]+\\]\\((.+)\\) \\| ([0-9]+) \\| `(.+)` \\|$")
	inTable  = regexp.MustCompile(`(?m)^\| [0-9.]+ \|.*response\.sse`)
)

// TestDriftEvidence compares the bytes that the README of the three releases quotes with
// the captures that it names.
func TestDriftEvidence(t *testing.T) {
	doc, err := os.ReadFile("../drift/README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := evidence.FindAllSubmatch(doc, -1)
	if all := inTable.FindAll(doc, -1); len(rows) == 0 || len(rows) != len(all) {
		t.Fatalf("%d rows can be read of %d", len(rows), len(all))
	}
	for _, row := range rows {
		raw, err := os.ReadFile(filepath.Join("../drift", string(row[1])))
		if err != nil {
			t.Error(err)
			continue
		}
		offset, err := strconv.Atoi(string(row[2]))
		if err != nil || offset > len(raw) || !bytes.HasPrefix(raw[offset:], row[3]) {
			t.Errorf("%s does not have these bytes at %s: %s", row[1], row[2], row[3])
		}
	}
}
