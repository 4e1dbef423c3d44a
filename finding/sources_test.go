package finding_test

import (
	"slices"
	"testing"

	"github.com/p20export/p20export/finding"
)

// Every rule on the order of events has a source, and nothing else has one.
func TestSources(t *testing.T) {
	for _, r := range finding.SequenceRules() {
		s, ok := finding.SourceOf(r.ID)
		if !ok || len(s.Versions) == 0 {
			t.Errorf("%s has no source", r.ID)
		}
		if old := slices.Equal(s.Versions, []string{"0.x"}); old != (len(s.Sentences) == 0) {
			t.Errorf("%s of %v has the sentences %v", r.ID, s.Versions, s.Sentences)
		}
		for _, at := range s.Sentences {
			if at.Page == "" || at.Section == "" || at.Number < 1 || at.Level != s.Level() {
				t.Errorf("%s: %v", r.ID, at)
			}
		}
		for _, c := range s.Clients {
			if !slices.Contains(finding.PublishedClients(), c) || !s.Enforced(c) {
				t.Errorf("%s is enforced by %s", r.ID, c)
			}
		}
	}
	for _, r := range finding.Rules() {
		if _, ok := finding.SourceOf(r.ID); ok {
			t.Errorf("%s has a source of sequence.md", r.ID)
		}
	}
	if s, _ := finding.SourceOf("G1"); s.Sentences[0].String() != "events/lifecycle, The run, MUST 1" || s.Enforced("1.1.0") {
		t.Errorf("G1: %+v", s)
	}
}
