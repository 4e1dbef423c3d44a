package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

const (
	asked  = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."}]}`
	richer = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello.","more":1}]}`
)

// A run is incomplete if the snapshot of its artifact lacks streamed text, whichever
// projection produces the artifact. The results of the projections are unchanged, and
// the run has the finding once.
func TestIncomplete(t *testing.T) {
	for _, test := range []struct {
		name     string
		events   []string
		verdict  Verdict
		frozen   []bool // by the projections
		findings []string
	}{
		{"exact", []string{testkit.Message, testkit.Snapshot}, Exact, []bool{true, true, false}, nil},
		{"exact, lacking", []string{testkit.Message, asked}, Incomplete, []bool{true, true, false}, []string{"warning snapshot_lacks_streamed_text 1"}},
		{"reduced, lacking", []string{testkit.Message, richer}, Incomplete, []bool{false, true, false}, []string{"warning snapshot_lacks_streamed_text 1", "warning key_outside_subset 4"}},
		{"last of two, lacking", []string{testkit.Message, testkit.Snapshot, asked}, Incomplete, []bool{false, false, false, true}, []string{"warning snapshot_lacks_streamed_text 1", "error snapshot_several 5"}},
		{"first of two lacking", []string{testkit.Message, asked, testkit.Snapshot}, Chosen, []bool{false, false, false, true}, []string{"error snapshot_several 5"}},
		{"no snapshot", []string{testkit.Message}, Built, []bool{false, false, true}, []string{"error snapshot_missing -1"}},
		{"a snapshot that gives no artifact", []string{testkit.Message, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`}, Refused, []bool{false, false, false}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := analyzeOne(t, slices.Concat([]string{testkit.Started}, test.events, []string{testkit.Finished})...)
			if run.Verdict != test.verdict || run.Verdict.Emitted() != (test.verdict == Exact) {
				t.Errorf("%s", run.Verdict)
			}
			var frozen []bool
			for _, p := range run.Projections {
				frozen = append(frozen, p.Verdict == project.Frozen)
				lacks := slices.ContainsFunc(p.Omissions, func(r Reason) bool {
					return r == Reason{Code: finding.SnapshotLacksText, Event: "TEXT_MESSAGE_START", Count: 1}
				})
				if want := p.Verdict == project.Frozen && test.verdict == Incomplete; lacks != want {
					t.Errorf("%s %s: %v", p.Name, p.Snapshot, p.Omissions)
				}
			}
			if diff := cmp.Diff(test.frozen, frozen); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if test.verdict == Refused {
				return
			}
			if diff := cmp.Diff(test.findings, shown(run.Findings)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A run whose terminal event names another run is reduced: emitted-snapshot refuses
// it, and the other projections record the omission.
func TestOtherRunAtTheEnd(t *testing.T) {
	other := strings.Replace(testkit.Finished, `"runId":"r"`, `"runId":"engine"`, 1)
	for _, test := range []struct {
		name     string
		events   []string
		verdict  Verdict
		findings []string
	}{
		{"a snapshot", []string{testkit.Message, testkit.Snapshot}, Reduced, []string{"warning terminal_names_other_run 5"}},
		{"a snapshot that lacks text", []string{testkit.Message, asked}, Incomplete, []string{"warning snapshot_lacks_streamed_text 1", "warning terminal_names_other_run 5"}},
		{"no snapshot", []string{testkit.Message}, Built, []string{"error snapshot_missing -1", "error terminal_names_other_run 4"}},
		{"two snapshots", []string{testkit.Message, testkit.Snapshot, testkit.Snapshot}, Chosen, []string{"error snapshot_several 5", "error terminal_names_other_run 6"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := analyzeOne(t, slices.Concat([]string{testkit.Started}, test.events, []string{other})...)
			if run.Verdict != test.verdict {
				t.Errorf("%s", run.Verdict)
			}
			if diff := cmp.Diff(test.findings, shown(run.Findings)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			named := Reason{Code: finding.TerminalOtherRun, Event: "RUN_FINISHED", Pointer: "/runId", Count: 1}
			for i, p := range run.Projections {
				switch {
				case i == 0 && (p.Verdict != project.Refused || !slices.Contains(p.Reasons, named)):
					t.Errorf("emitted-snapshot: %s %v", p.Verdict, p.Reasons)
				case p.Verdict == project.Frozen && !slices.Contains(p.Omissions, named):
					t.Errorf("%s omits %v", p.Name, p.Omissions)
				case i > 0 && slices.Contains(p.Reasons, named):
					t.Errorf("%s refuses because of %v", p.Name, p.Reasons)
				}
			}
		})
	}
}

// analyzeOne analyzes a run with these events.
func analyzeOne(t *testing.T, events ...string) Run {
	t.Helper()
	runs := Analyze(t.Context(), testkit.WriteCapture(t, "one", events...), artifact.V1, nil)
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	return runs[0]
}

// shown formats findings as severity, code and event index, which is -1 if there is none.
func shown(list []finding.Finding) (lines []string) {
	for _, f := range list {
		at := -1
		if f.EventIndex != nil {
			at = *f.EventIndex
		}
		lines = append(lines, fmt.Sprintf("%s %s %d", f.Severity, f.Code, at))
	}
	return lines
}

// Each verdict means something else, in few words.
func TestMeanings(t *testing.T) {
	seen := make(map[string]bool)
	for _, v := range append(Verdicts(), Missing, Failed) {
		if m := v.Meaning(); m == "" || len(m) > 90 || seen[m] {
			t.Errorf("%s means %q", v, m)
		}
		seen[v.Meaning()] = true
	}
	if m := Verdict("frozen").Meaning(); m != "" {
		t.Errorf("no verdict means %q", m)
	}
}
