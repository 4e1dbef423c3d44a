//go:build peer

package peer_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/project/lint/peer"
)

var update = flag.Bool("update", false, "write the counts of docs/peers.md")

// mutantCount is the number of changed streams.
const mutantCount = 5000

// Each finding of ag-ui-validate is one of ours, or in a case of docs/peers.md. The findings
// that only we have are counted on the page.
func TestPeerFindings(t *testing.T) {
	p, page := peer.Start(t), readPage(t)
	committed := captures(t)
	result := newTally()
	for _, s := range slices.Concat(committed, responses(t), vectors(t), mutants(t, committed, mutantCount)) {
		row := lint.Capture(context.Background(), inputs.File(s.path), lint.Options{}, nil)
		if finding.Has(row.Findings, finding.FindingsUnlisted) {
			t.Fatalf("%s has more findings than are listed", s.name)
		}
		compare(t, page, result, s, p.Judge(s.Stream), row)
	}
	if t.Failed() {
		t.Logf("%d findings of ag-ui-validate have no match and no case; P20EXPORT_KEEP=DIR keeps the streams of the first", result.unexplained)
		return
	}
	for _, pair := range page.pairs() {
		if !result.used[pair] {
			t.Errorf("docs/peers.md has a row that no stream needs: %s", pair)
		}
	}
	page.compare(t, "counts", result.counts())
	page.compare(t, "only theirs", result.onlyTheirs())
	page.compare(t, "only ours", result.onlyOurs())
}

// compare compares what both found in a stream.
func compare(t *testing.T, page *page, r *tally, s stream, theirs []peer.Finding, row lint.Row) {
	r.streams[s.kind]++
	matched := make([]bool, len(row.Findings))
	events := parse(s.events)
	for _, f := range theirs {
		r.theirs[s.kind]++
		found := false
		for i, o := range row.Findings {
			if page.maps(f, o) {
				found, matched[i] = true, true
				r.used[pair{f.Rule, nameOf(o)}] = true
			}
		}
		if found {
			r.both[s.kind]++
			continue
		}
		name := page.caseOf(comparison{s, events, theirs, row, f})
		if name == "" {
			if r.unexplained++; r.unexplained <= 5 {
				t.Errorf("%s: only ag-ui-validate finds %v; see docs/peers.md %s", s.name, f, keep(t, s))
			}
			continue
		}
		r.used[pair{name, f.Rule}] = true
		r.cases[pair{name, f.Rule}]++
		r.inCase[s.kind]++
	}
	for i, o := range row.Findings {
		r.ours[s.kind]++
		if !matched[i] {
			r.alone[pair{nameOf(o), s.kind}]++
			r.only[s.kind]++
		}
	}
}

// nameOf returns the number of the rule of a finding, or the code of one without a rule.
func nameOf(f finding.Finding) string {
	if f.Rule != "" {
		return f.Rule
	}
	return string(f.Code)
}

// A pair is a row of docs/peers.md: a rule of theirs with one of ours, or a case with a rule
// of theirs.
type pair struct{ first, second string }

func (p pair) String() string { return fmt.Sprintf("%s, %s", p.first, p.second) }
