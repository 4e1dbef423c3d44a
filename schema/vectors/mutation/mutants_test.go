package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
)

// Every rule has a mutant, the text that each mutant replaces is still in the source,
// and docs/vectors.md has a row for each.
func TestMutants(t *testing.T) {
	var rules, mutated []string
	for _, r := range finding.Rules() {
		rules = append(rules, r.ID)
	}
	text, err := os.ReadFile(filepath.Join("../../..", page))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), tableBegin)
	for _, m := range mutants {
		mutated = append(mutated, m.rule)
		source, err := os.ReadFile(filepath.Join("../../..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 || m.old == m.new {
			t.Errorf("%s: the text to replace occurs %d times in %s, not once", m.rule, n, m.file)
		}
		if !strings.Contains(table, "| "+m.rule+" | "+m.check+" | ") {
			t.Errorf("%s: the table in docs/vectors.md has no row: run 'make mutation'", m.rule)
		}
	}
	if diff := cmp.Diff(rules, mutated); diff != "" {
		t.Error(diff)
	}
}
