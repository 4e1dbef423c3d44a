package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// A server that has only the request can produce every response, and correct responses
// are no disagreements.
func TestProtocolIsEnough(t *testing.T) {
	var out output
	o := &options{n: 600, seed: 3, only: -1, keep: t.TempDir(), out: &out}
	total, err := o.compareStreams(t.Context(), fakeServer(t, none))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if total.captures != o.n {
		t.Errorf("%d streams were compared", total.captures)
	}
	if left, _ := os.ReadDir(o.keep); len(left) > 0 {
		t.Errorf("%d captures were kept", len(left))
	}
}

// Every fault of a response is reported, and the capture is kept.
func TestFaultsAreReported(t *testing.T) {
	for what, named := range faults {
		t.Run(what, func(t *testing.T) {
			var out output
			o := &options{n: 60, seed: 3, only: -1, keep: t.TempDir(), out: &out}
			total, err := o.compareStreams(t.Context(), fakeServer(t, what))
			if err == nil || total.disagreed == 0 {
				t.Fatalf("no disagreement is reported\n%s", out.String())
			}
			if !strings.Contains(out.String(), named) {
				t.Errorf("%q is not named\n%s", named, out.String())
			}
			kept := regexp.MustCompile(`(?m)^3-\d+, see (\S+):`).FindStringSubmatch(out.String())
			if kept == nil {
				t.Fatalf("no capture is named\n%s", out.String())
			}
			for _, name := range []string{"capture.json", "settings.json", "go.json", "python.json"} {
				if _, err := os.Stat(filepath.Join(kept[1], name)); err != nil {
					t.Error(err)
				}
			}
			// The kept capture has the same projections.
			var again projections
			one, err := readCaptured(t.Context(), kept[1])
			if err == nil {
				again, err = projectRuns(t.Context(), kept[1], one.settings)
			}
			if err != nil || len(again.Results) != again.Runs {
				t.Errorf("%v: %+v", err, again)
			}
		})
	}
}

// A single case can be run again.
func TestOneCase(t *testing.T) {
	var out output
	o := &options{n: 60, seed: 3, only: 7, keep: t.TempDir(), out: &out}
	total, err := o.compareStreams(t.Context(), fakeServer(t, "runs"))
	if err == nil || total.captures != 1 || !strings.Contains(out.String(), "3-7, see ") || !strings.Contains(out.String(), "made for ") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// If a server exits, the error names the case.
func TestNoAnswer(t *testing.T) {
	var out output
	o := &options{n: 4, seed: 3, only: -1, keep: t.TempDir(), out: &out}
	_, err := o.compareStreams(t.Context(), fakeServer(t, "no answer"))
	if err == nil || !strings.Contains(err.Error(), "case ") || !strings.Contains(err.Error(), o.keep) {
		t.Errorf("%v", err)
	}
}

// All committed captures are compared, under every projection.
func TestCommittedCaptures(t *testing.T) {
	t.Chdir("../../..")
	var out output
	o := &options{only: -1, keep: t.TempDir(), out: &out}
	if err := o.compareCaptures(t.Context(), fakeServer(t, none)); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	var bad output
	o.out = &bad
	if err := o.compareCaptures(t.Context(), fakeServer(t, "artifact")); err == nil || !strings.Contains(bad.String(), "discovery-captures-") {
		t.Errorf("%v\n%s", err, bad.String())
	}
}

// For a run with more findings than are listed, the program's codes have to be a subset of
// the server's.
func TestFindingsPastLimit(t *testing.T) {
	ours := result{Outcome: project.Refused, Errors: []finding.Code{finding.JSONSyntax}, partial: true}
	more := result{Outcome: project.Refused, Errors: []finding.Code{finding.EventNotObject, finding.JSONSyntax}}
	fewer := result{Outcome: project.Refused, Errors: []finding.Code{finding.EventNotObject}}
	if what, _, _ := ours.diff(more); what != "" {
		t.Errorf("%s differs", what)
	}
	if what, _, _ := ours.diff(fewer); what != "errors" {
		t.Errorf("%q differs", what)
	}
	ours.partial = false
	if what, _, _ := ours.diff(more); what != "errors" {
		t.Errorf("%q differs", what)
	}
}

// A seed and number determine the stream, and other numbers give other streams.
func TestStreamsAreDeterministic(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 400 {
		a, b := newStream(5, i), newStream(5, i)
		if string(a.response) != string(b.response) || string(a.request) != string(b.request) || string(a.arrivals) != string(b.arrivals) || !slices.Equal(a.settings, b.settings) {
			t.Fatalf("stream %d differs", i)
		}
		seen[string(a.response)] = true
	}
	if len(seen) < 395 {
		t.Errorf("only %d of 400 streams differ", len(seen))
	}
}

// The generator makes every kind of the list and no other.
func TestKinds(t *testing.T) {
	missing := slices.Clone(kinds)
	for i := 0; i < 20_000 && len(missing) > 0; i++ {
		for k := range newStream(1, i).kinds {
			if !slices.Contains(kinds, k) {
				t.Fatalf("stream %d has %q, which is not in the list", i, k)
			}
			if at := slices.Index(missing, k); at >= 0 {
				missing = slices.Delete(missing, at, at+1)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("no stream has %q", missing)
	}
}

// Kinds and codes that no stream has are errors.
func TestMissing(t *testing.T) {
	m := newMix(&options{})
	for _, k := range kinds {
		m.kinds[k] = 1
	}
	for _, code := range reasons {
		m.reasons[code] = 1
	}
	for _, code := range refusals {
		m.errors[code] = 1
	}
	for _, source := range []project.TimeSource{project.EventTime, project.ArrivalTime, project.OperatorTime} {
		m.times[source] = 1
	}
	if err := m.missing(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(){
		"kind":   func() { m.kinds[kinds[3]] = 0 },
		"reason": func() { m.reasons[reasons[3]] = 0 },
		"code":   func() { m.errors[refusals[3]] = 0 },
		"times":  func() { m.times[project.OperatorTime] = 0 },
		"share":  func() { m.targeted[project.FoldedStream], m.hit[project.FoldedStream] = 100, 39 },
	} {
		before := len(lines(m.missing()))
		spoil()
		if after := len(lines(m.missing())); after != before+1 {
			t.Errorf("%s: %d errors after %d", name, after, before)
		}
	}
}

func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}
