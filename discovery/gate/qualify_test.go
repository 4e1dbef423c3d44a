package gate_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/finding"
)

// The decision for each integration with committed captures, and what it would have to
// change.
func TestQualify(t *testing.T) {
	const plain = "one-turn, three-turns-1, three-turns-2, three-turns-3, long-stream, unicode"
	tests := []struct {
		name    string
		want    gate.Decision
		changes []string
	}{
		{"../captures/adk", gate.Yes, nil},
		{"../captures/claude-agent-sdk", gate.Yes, nil},
		{"../captures/langgraph", gate.Yes, nil},
		{"../captures/agno", gate.No, []string{"emit a MESSAGES_SNAPSHOT: " + plain}},
		{"../captures/strands", gate.No, []string{"emit one MESSAGES_SNAPSHOT, not several: " + plain}},
		{"../drift/captures/adk-0.4.0", gate.No, []string{"include all streamed text in the MESSAGES_SNAPSHOT: " + plain}},
	}
	needed := strings.Split(plain, ", ")
	for _, test := range tests {
		t.Run(filepath.Base(test.name), func(t *testing.T) {
			dirs, err := filepath.Glob(test.name + "/*")
			if err != nil || len(dirs) == 0 {
				t.Fatal(err, dirs)
			}
			var runs []analysis.Run
			for _, dir := range dirs {
				runs = append(runs, analysis.Analyze(t.Context(), dir, artifact.V1, nil)...)
			}
			q := gate.Qualify(runs, needed)
			good := 0
			if test.want == gate.Yes {
				good = len(needed)
			}
			if q.Qualifies != test.want || q.Needed != len(needed) || q.Qualified != good || q.NotAsked != nil {
				t.Errorf("%+v", q)
			}
			if diff := cmp.Diff(test.changes, formatChanges(q)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// formatChanges returns the changes with their scenarios.
func formatChanges(q gate.Qualification) (list []string) {
	for _, n := range q.Changes {
		list = append(list, n.Advice()+": "+strings.Join(n.Runs, ", "))
	}
	return list
}

// Each case lists synthetic runs, each with its scenario and events.
func TestQualifyOf(t *testing.T) {
	filler := strings.Repeat(`{"type":"CUSTOM","name":"n","value":1}`+"\n", 30) + `{"type":"CUSTOM","name":"n","value":2}`
	const (
		failed = `{"type":"RUN_ERROR","message":"no key","threadId":"t","runId":"r"}`
		asked  = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."}]}`
	)
	runs := map[string][]string{
		"good":    {started, message, filler, snapshot, finished},
		"none":    {started, message, filler, finished},
		"several": {started, snapshot, filler, message, snapshot, finished},
		"lacking": {started, message, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."}]}`, filler, finished},
		"short":   {started, message, snapshot, finished},
		"two":     {started, message, filler, snapshot, finished, started, message, filler, finished},
		"empty":   {filler},
		"failed":  {started, message, filler, snapshot, failed},
		"nothing": {started, filler, failed},
		"silent":  {started, filler, asked, finished},
	}
	const lacks = "include all streamed text in the MESSAGES_SNAPSHOT: "
	tests := []struct {
		about      string
		captures   []string // scenario=kind
		want       gate.Decision
		good, asks int
		notAsked   []string
		changes    []string
	}{
		{"all good", []string{"a=good", "b=good", "c=good"}, gate.Yes, 3, 3, nil, nil},
		{"others never count", []string{"a=good", "b=good", "c=good", "d=none", "e=404"}, gate.Yes, 3, 3, nil, nil},
		{"not all asked", []string{"a=good", "c=good"}, gate.Yes, 2, 2, []string{"b"}, nil},
		{"the most first", []string{"a=none", "b=several", "c=several"}, gate.No, 0, 3, nil, []string{"emit one MESSAGES_SNAPSHOT, not several: b, c", "emit a MESSAGES_SNAPSHOT: a"}},
		{"one lacks text", []string{"a=good", "b=lacking", "c=good"}, gate.No, 2, 3, nil, []string{lacks + "b"}},
		{"one is short", []string{"a=good", "b=short", "c=good"}, gate.No, 2, 3, nil, []string{"the artifact is not smaller than the run: b"}},
		{"one of two runs", []string{"a=good", "b=two", "c=good"}, gate.No, 2, 3, nil, []string{"respond to a request with one run: b", "emit a MESSAGES_SNAPSHOT: b"}},
		{"one fails", []string{"a=failed", "b=good", "c=nothing"}, gate.No, 1, 3, nil, []string{"make the run finish; the server's log may say why it ended with RUN_ERROR: a, c"}},
		{"one has no reply", []string{"a=good", "b=silent", "c=good"}, gate.No, 2, 3, nil, []string{"include the assistant's reply in the snapshot: b"}},
		{"a run with an HTTP error", []string{"a=good", "b=good", "c=run500"}, gate.No, 2, 3, nil, []string{"respond with HTTP status 200, not 500: c"}},
		{"a run of another type", []string{"a=good", "b=plain", "c=good"}, gate.No, 2, 3, nil, []string{"send Content-Type: text/event-stream: b"}},
		{"runs without number", []string{"a=many", "b=many", "c=many"}, gate.No, 0, 3, nil, []string{"respond to a request with one run: a, b, c"}},
		{"a scenario twice", []string{"a=none", "a=none", "b=good", "c=good"}, gate.No, 2, 3, nil, []string{"emit a MESSAGES_SNAPSHOT: a"}},
		{"no run in one", []string{"a=good", "b=empty", "c=good"}, gate.No, 2, 3, nil, []string{"respond with a run: b"}},
		{"an HTTP error", []string{"a=good", "b=good", "c=422"}, gate.No, 2, 3, nil, []string{"respond with HTTP status 200, not 422: c"}},
		{"nothing but HTTP errors", []string{"a=404", "b=500", "c=404"}, gate.Unknown, 0, 3, nil, []string{"respond with HTTP status 200, not 404: a, c", "respond with HTTP status 200, not 500: b"}},
		{"one is cut off", []string{"a=good", "b=cut", "c=good"}, gate.Unknown, 2, 3, nil, nil},
		{"all are cut off", []string{"a=cut", "b=cut", "c=lost"}, gate.Unknown, 0, 3, nil, nil},
		{"one is cut off, one is bad", []string{"a=good", "b=cut", "c=none"}, gate.No, 1, 3, nil, []string{"emit a MESSAGES_SNAPSHOT: c"}},
		{"one is cut off, one an HTTP error", []string{"a=422", "b=cut", "c=lost"}, gate.Unknown, 0, 3, nil, []string{"respond with HTTP status 200, not 422: a"}},
		{"a scenario twice, once cut off", []string{"a=none", "a=cut", "b=good", "c=good"}, gate.No, 2, 3, nil, []string{"emit a MESSAGES_SNAPSHOT: a"}},
		{"nothing needed", []string{"d=good"}, gate.Unknown, 0, 0, []string{"a", "b", "c"}, nil},
		{"nothing", nil, gate.Unknown, 0, 0, []string{"a", "b", "c"}, nil},
	}
	for _, test := range tests {
		t.Run(test.about, func(t *testing.T) {
			var all []analysis.Run
			for _, c := range test.captures {
				name, kind, _ := strings.Cut(c, "=")
				made := []analysis.Run{analysis.EmptyRun(artifact.V1, analysis.Refused)}
				switch kind {
				case "404":
					made[0].HTTPStatus = 404
				case "422":
					made[0].HTTPStatus = 422
				case "500":
					made[0].HTTPStatus = 500
				case "run500":
					made = examined(t, kind, runs["good"]...)
					made[0].HTTPStatus = 500
				case "plain":
					made = examined(t, kind, runs["good"]...)
					made[0].Findings = append(made[0].Findings, finding.New(finding.HTTPContentType, "text/plain"))
				case "many":
					made[0].Findings = append(made[0].Findings, finding.New(finding.RunsTooMany, "many"))
				case "lost":
					made[0].Verdict = analysis.Failed
				case "cut":
					made = examined(t, kind, runs["short"][:2]...)
					made[0].End = capture.EndLimit
				default:
					made = examined(t, kind, runs[kind]...)
				}
				for i := range made {
					made[i].Scenario = name
				}
				all = append(all, made...)
			}
			q := gate.Qualify(all, []string{"a", "b", "c"})
			if q.Qualifies != test.want || q.Qualified != test.good || q.Needed != test.asks || !slices.Equal(q.NotAsked, test.notAsked) {
				t.Errorf("%+v", q)
			}
			if diff := cmp.Diff(test.changes, formatChanges(q)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			var cut []string
			for _, c := range test.captures {
				if name, kind, _ := strings.Cut(c, "="); kind == "cut" && test.want == gate.Unknown || kind == "lost" {
					cut = append(cut, name)
				}
			}
			if test.want == gate.Unknown && !slices.Equal(q.CutOff, cut) {
				t.Errorf("cut off: %q, want %q", q.CutOff, cut)
			}
			left := gate.Qualify(all, []string{"a", "b", "c"}, "x")
			if want := test.want; want == gate.Yes && left.Qualifies != gate.Unknown || want != gate.Yes && left.Qualifies != want {
				t.Errorf("with one left out: %s", left.Qualifies)
			}
		})
	}
}

// Shortfall describes each problem without advice.
func TestNeedShortfall(t *testing.T) {
	for _, test := range []struct {
		need gate.Problem
		want string
	}{
		{gate.Problem{Code: finding.SnapshotMissing}, "no MESSAGES_SNAPSHOT"},
		{gate.Problem{Code: finding.SnapshotSeveral}, "several MESSAGES_SNAPSHOT events"},
		{gate.Problem{Code: finding.SnapshotLacksText}, "a MESSAGES_SNAPSHOT that lacks streamed text"},
		{gate.Problem{Code: finding.ValueBlank, Event: "RUN_STARTED", Pointer: "/runId"}, "null or blank runId"},
		{gate.Problem{Code: finding.KeyOutsideSubset, Event: "MESSAGES_SNAPSHOT", Pointer: "/messages/*/toolCalls"}, "toolCalls"},
		{gate.Problem{Code: finding.HTTPStatus, HTTPStatus: 404}, "HTTP status 404"},
		{gate.Problem{NotSmaller: true}, "the artifact is not smaller than the run"},
	} {
		if got := test.need.Shortfall(); got != test.want {
			t.Errorf("%+v: %q, want %q", test.need, got, test.want)
		}
	}
}

// A run has no problems if and only if its verdict is exact or reduced, it finished, and
// its artifact is smaller and ends with a reply.
func TestNeeds(t *testing.T) {
	dirs, err := filepath.Glob("../captures/*/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal(err, dirs)
	}
	counts := map[bool]int{}
	for _, dir := range dirs {
		for _, run := range analysis.Analyze(t.Context(), dir, artifact.V1, nil) {
			want := run.Verdict.Emitted() && int64(run.Sizes.Artifact) < run.Sizes.Run && run.Terminal == "RUN_FINISHED"
			for _, made := range run.Projections[:2] {
				if made.Verdict == "frozen" {
					want = want && strings.HasSuffix(strings.Join(made.Roles, " "), "assistant")
				}
			}
			counts[want]++
			if got := gate.Problems(run); (len(got) == 0) != want {
				t.Errorf("%s: %s %+v", run.Capture, run.Verdict, got)
			}
		}
	}
	if counts[true] == 0 || counts[false] == 0 {
		t.Error(counts)
	}
}
