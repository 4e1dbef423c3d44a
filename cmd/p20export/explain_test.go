package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/finding"
)

// explain explains every code and every rule, and prints a link to its place in the
// documentation.
func TestExplainsEverything(t *testing.T) {
	t.Parallel()
	args := []string{"explain", "--format", "json"}
	var want []string
	for _, c := range finding.Codes() {
		args, want = append(args, string(c)), append(want, "findings.md#"+string(c))
	}
	for _, r := range finding.Rules() {
		args, want = append(args, r.ID), append(want, docs.Contract+"#"+r.ID)
	}
	for _, r := range docs.Rules() {
		if r.Page == docs.Projections {
			args, want = append(args, r.ID), append(want, docs.Projections+"#"+r.ID)
		}
	}
	rows := strings.Split(strings.TrimSuffix(string(do(t, exitDone, args...)), "\n"), "\n")
	if len(rows) != len(want) || len(want) < 300 {
		t.Fatalf("%d rows for %d names", len(rows), len(want))
	}
	for i, line := range rows {
		var row struct{ Text, Meaning, See string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		page, anchor, _ := strings.Cut(want[i], "#")
		if row.Text+row.Meaning == "" || !strings.HasSuffix(row.See, "/docs/"+page+"#"+anchor) {
			t.Errorf("%s is explained as %s", want[i], line)
		}
	}
}
