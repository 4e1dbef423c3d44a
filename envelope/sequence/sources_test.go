package sequence_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

var update = flag.Bool("update", false, "write the table of docs/sequence.md")

// sourceTable returns the table of the sources of the rules.
func sourceTable() string {
	var b strings.Builder
	b.WriteString("\n| rule | the specification says so in | 0.x | 1.0 | 1.1 | draft | clients that enforce it |\n|---|---|---|---|---|---|---|\n")
	for _, r := range finding.SequenceRules() {
		source, _ := finding.SourceOf(r.ID)
		var places []string
		for _, s := range source.Sentences {
			places = append(places, strings.Replace(s.String(), s.Page, "`"+s.Page+"`", 1))
		}
		if len(places) == 0 {
			places = []string{"nothing: the rule is that of the client"}
		}
		fmt.Fprintf(&b, "| [%[1]s](#%[1]s) | %s |", r.ID, strings.Join(places, "; "))
		for _, p := range event.Protocols() {
			mark := "–"
			if slices.Contains(source.Versions, string(p)) {
				mark = "yes"
			}
			fmt.Fprintf(&b, " %s |", mark)
		}
		clients := strings.Join(source.Clients, ", ")
		if clients == "" {
			clients = "none"
		}
		fmt.Fprintf(&b, " %s |\n", clients)
	}
	return b.String() + "\n"
}

// TestSources compares the table of docs/sequence.md with the sources of the rules.
func TestSources(t *testing.T) {
	const path, start, end = "../../docs/sequence.md", "<!-- sources", "<!-- end -->"
	page := string(testkit.Read(t, path))
	before, rest, ok := strings.Cut(page, start)
	comment, rest, closed := strings.Cut(rest, "-->\n")
	_, after, ends := strings.Cut(rest, end)
	if !ok || !closed || !ends {
		t.Fatal("the page has no table of sources")
	}
	want := before + start + comment + "-->\n" + sourceTable() + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("%s (-want +got); go test -update writes it\n%s", path, diff)
	}
	for _, r := range finding.SequenceRules() {
		source, _ := finding.SourceOf(r.ID)
		for _, version := range source.Versions {
			if !slices.Contains(event.Protocols(), event.Protocol(version)) {
				t.Errorf("%s is a rule of %s", r.ID, version)
			}
		}
	}
}
