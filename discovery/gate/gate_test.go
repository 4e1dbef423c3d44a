package gate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/internal/testkit"
)

const (
	started  = testkit.Started
	message  = testkit.Message
	snapshot = testkit.Snapshot
	finished = testkit.Finished
	failed   = testkit.Failed
)

// needed lists the needed scenarios of these tests.
var needed = []string{"one", "one-turn", "long-stream"}

// examined analyzes a capture of these events. The name is that of the capture and of
// its scenario.
func examined(t *testing.T, name string, events ...string) []analysis.Run {
	t.Helper()
	runs := analysis.Analyze(t.Context(), testkit.WriteCapture(t, name, events...), artifact.V1, nil)
	for i := range runs {
		runs[i].Scenario = name
	}
	return runs
}

// Each case lists which answers are favorable, and how each answer begins.
func TestAnswered(t *testing.T) {
	one := []string{started, message, snapshot, finished}
	several := []string{started, snapshot, message, snapshot, finished}
	none := []string{started, message, finished}
	lacking := []string{started, message, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."}]}`, finished}
	named := func(events []string) []string {
		list := slices.Clone(events)
		list[0] = strings.Replace(list[0], `"runId"`, `"parentRunId":"p","runId"`, 1)
		return list
	}
	rich := func(events []string) []string {
		list := slices.Clone(events)
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], `"threadId":"t"`, `"threadId":"`+strings.Repeat("t", 300)+`"`)
		}
		return list
	}
	tests := []struct {
		name string
		runs [][]string
		good []bool
		text []string
	}{
		{"one snapshot", [][]string{one}, []bool{true, false, true, true, false, false, false}, []string{
			"yes: Runs that produce an artifact of the one snapshot they emitted: 1 of 1, 1 of", "no: ", "yes, where it finishes: Runs that ended with RUN_FINISHED, by number of snapshots: one 1, none 0, several 0.",
			"absent, and not requested: ", "no: Canonical artifacts that are smaller than the captured run: 0 of 1; among those of a usable snapshot: 0 of 1.", "unknown: The required ids are threadId and runId.",
			"not shown: ",
		}},
		{"no snapshot", [][]string{none}, []bool{false, false, false, true, false, false, false}, []string{
			"no: Runs that produce an artifact of the one snapshot they emitted: 0 of 1", "no: ", "no: Runs that ended with RUN_FINISHED, by number of snapshots: one 0, none 1, several 0.", "absent", "no: ", "unknown: The required ids are threadId and runId.",
			"not shown: ",
		}},
		{"several snapshots", [][]string{several}, []bool{false, false, false, true, false, false, false}, []string{
			"no: Runs that produce an artifact of the one snapshot they emitted: 0 of 1", "no: ", "no: Runs that ended with RUN_FINISHED, by number of snapshots: one 0, none 0, several 1.", "absent",
			"in part: Canonical artifacts that are smaller than the captured run: 1 of 1; among those of a usable snapshot: 0 of 0.", "unknown: The required ids are threadId and runId.",
			"not shown: ",
		}},
		{"some with one", [][]string{one, none, several, {started, message, failed}}, []bool{true, false, true, true, false, false, false}, []string{
			"yes: Runs that produce an artifact of the one snapshot they emitted: 1 of 4", "no: ", "not every one: Runs that ended with RUN_FINISHED, by number of snapshots: one 1, none 1, several 1. Runs that ended with RUN_ERROR: one 0, none 1, several 0. Runs whose one snapshot is usable, because it produces an artifact and no streamed text is found to be missing from it: 1. Runs whose one snapshot produces an artifact but lacks streamed text: 0. Runs with several snapshots whose last one produces an artifact, with no streamed text found to be missing: 1; with streamed text missing: 0.",
			"absent", "in part: ", "unknown: The required ids are threadId and runId.",
			"not shown: ",
		}},
		{"a parent once", [][]string{named(one), one, one}, []bool{true, false, true, true, false, false, false}, []string{
			"yes: ", "no: ", "yes, where it finishes: ", "incidental: Runs whose request named a parent: 0. RUN_STARTED names a parent in 0 of them; the copy of the request in RUN_STARTED names one in 0 of them. Of the 3 other runs, 1 name a parent in RUN_STARTED.", "no: ", "unknown: The required ids are threadId and runId.",
			"not shown: ",
		}},
		{"a parent in most", [][]string{named(one), named(none), one}, []bool{true, false, true, true, false, false, false}, []string{
			"yes: ", "no: ", "not every one: ", "incidental: Runs whose request named a parent: 0. RUN_STARTED names a parent in 0 of them; the copy of the request in RUN_STARTED names one in 0 of them. Of the 3 other runs, 2 name a parent in RUN_STARTED.", "no: ", "unknown: The required ids are threadId and runId.",
			"not shown: ",
		}},
		{"a long run", [][]string{slices.Insert(slices.Clone(one), 1, slices.Repeat([]string{`{"type":"CUSTOM","name":"n","value":1}`}, 30)...)}, []bool{true, false, true, true, true, false, true}, []string{
			"yes: ", "no: ", "yes, where it finishes: ", "absent", "in part: Canonical artifacts that are smaller than the captured run: 1 of 1; among those of a usable snapshot: 1 of 1.", "unknown: The required ids are threadId and runId.",
			"yes: Runs with a STATE_* or ACTIVITY_* event: 0 of 1. Runs of all scenarios that qualify by the same rule: 1, 1 of them without such an event.",
		}},
		{"text is lacking", [][]string{lacking}, []bool{false, false, false, true, false, false, false}, []string{
			"no: Runs that produce an artifact of the one snapshot they emitted: 0 of 1, 0 of them with its messages unchanged. Integrations with such a run: 0 of 1. Runs whose snapshot lacks streamed text are not counted; there are 1.", "no: ",
			"no: Runs that ended with RUN_FINISHED, by number of snapshots: one 1, none 0, several 0. Runs that ended with RUN_ERROR: one 0, none 0, several 0. Runs whose one snapshot is usable, because it produces an artifact and no streamed text is found to be missing from it: 0. Runs whose one snapshot produces an artifact but lacks streamed text: 1.",
			"absent", "in part: Canonical artifacts that are smaller than the captured run: 1 of 1; among those of a usable snapshot: 0 of 0.", "unknown: The required ids are threadId and runId.",
			"not shown: ",
		}},
		{"text is lacking in some", [][]string{lacking, one, {started, message, snapshot, lacking[2], finished}}, []bool{true, false, true, true, false, false, false}, []string{
			"yes: Runs that produce an artifact of the one snapshot they emitted: 1 of 3", "no: ", "not every one: Runs that ended with RUN_FINISHED, by number of snapshots: one 2, none 0, several 1. Runs that ended with RUN_ERROR: one 0, none 0, several 0. Runs whose one snapshot is usable, because it produces an artifact and no streamed text is found to be missing from it: 1. Runs whose one snapshot produces an artifact but lacks streamed text: 1. Runs with several snapshots whose last one produces an artifact, with no streamed text found to be missing: 0; with streamed text missing: 1.",
			"absent", "in part: ", "unknown: The required ids are threadId and runId.",
			"not shown: ",
		}},
		{"an anchor too long", [][]string{rich(one)}, []bool{false, false, false, true, false, false, false}, []string{
			"no: ", "no: ", "yes, where it finishes: ", "absent", "unknown: There are no artifacts to measure.", "yes: The required ids are threadId and runId. An id contains too much if it contains more than an opaque reference may. Requests without one of the two: 0; answered with a run: 0, with an HTTP error: 0. No integration chose an id. Other runs, all with the ids of their request: 1, 0 of them with valid ids; these ids are the requests' own, so they prove nothing about integrations.",
			"not shown: ",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var runs []analysis.Run
			for _, events := range test.runs {
				runs = append(runs, examined(t, "one", events...)...)
			}
			holdAnswers(t, gate.Evaluate(runs, needed, artifact.V1), test.good, test.text)
		})
	}
}

func TestAnsweredOfNothing(t *testing.T) {
	unread := analysis.Analyze(t.Context(), filepath.Join(t.TempDir(), "nowhere"), artifact.V1, nil)
	g := gate.Evaluate(unread, needed, artifact.V1)
	if g.Met || len(g.Summaries) != 1 || g.Summaries[0].WithoutRun != 1 || g.Summaries[0].Runs != 0 {
		t.Errorf("%+v", g)
	}
	holdAnswers(t, g, []bool{false, false, false, false, false, false, false}, []string{
		"no: ", "no: ", "unknown: No capture contains a run.", "unknown: No capture contains a run.", "unknown: ", "unknown: No capture contains a run.", "unknown: No capture contains a run.",
	})
	if g.Why != "no capture contains a run" {
		t.Errorf("%q", g.Why)
	}
}

// Captures without a run preserve no run.
func TestAnsweredOfErrors(t *testing.T) {
	runs := examined(t, "one", `{"type":"CUSTOM","name":"n","value":1}`)
	runs[0].HTTPStatus, runs[0].Response = 404, "capture/response.json"
	g := gate.Evaluate(runs, needed, artifact.V1)
	if a := g.Answers[1]; a.Question != gate.QuestionRaw || a.Word != "unknown" || a.Favorable {
		t.Errorf("%+v", a)
	}
}

// The gate is not met if a needed scenario was not run.
func TestAnsweredOfPart(t *testing.T) {
	events := slices.Concat([]string{started, message, snapshot}, slices.Repeat([]string{`{"type":"CUSTOM","name":"n","value":1}`}, 30), []string{finished})
	runs := examined(t, "one", events...)
	if g := gate.Evaluate(runs, needed, artifact.V1); !g.Met {
		t.Errorf("%+v", g)
	}
	g := gate.Evaluate(runs, needed, artifact.V1, "one-turn")
	if g.Met || g.Why != "needed scenarios were not run or have no complete response" {
		t.Errorf("%+v", g)
	}
}

// A capture with several runs counts as one capture.
func TestAnsweredOfRuns(t *testing.T) {
	runs := examined(t, "two", started, message, snapshot, finished, started, message, snapshot, finished)
	if len(runs) != 2 {
		t.Fatalf("%d runs", len(runs))
	}
	g := gate.Evaluate(runs, needed, artifact.V1)
	holdAnswers(t, g, []bool{true, false, true, true, false, false, false}, []string{
		"yes: Runs that produce an artifact of the one snapshot they emitted: 2 of 2", "no: Captures whose files match the sizes and digests", "yes, where it finishes", "absent", "no: ", "unknown: The required ids are threadId and runId.", "not shown: ",
	})
	if want := "no artifact of a usable snapshot is smaller than its run"; g.Met || g.Why != want {
		t.Errorf("%t %q, want %q", g.Met, g.Why, want)
	}
	for i := range runs {
		runs[i].Response = "elsewhere"
	}
	kept := gate.Evaluate(runs, needed, artifact.V1).Answers[1]
	if !kept.Favorable || !strings.HasSuffix(kept.Text, "in their manifest: 1 of 1.") {
		t.Errorf("%+v", kept)
	}
	for i := range runs {
		runs[i].End = capture.EndCancelled
	}
	kept = gate.Evaluate(runs, needed, artifact.V1).Answers[1]
	if !kept.Favorable || !strings.HasSuffix(kept.Text, "in their manifest: 1 of 1. One of them is truncated.") {
		t.Errorf("%+v", kept)
	}
}

// The answer depends on most of the runs whose request named a parent. Other runs are
// counted separately.
func TestAnsweredOfParents(t *testing.T) {
	runs := slices.Concat(
		examined(t, "one", started, message, snapshot, finished),
		examined(t, "one", started, message, snapshot, finished),
		examined(t, "one", started, message, snapshot, finished),
	)
	for _, test := range []struct {
		parents []analysis.Parent
		want    string
	}{
		{[]analysis.Parent{{}, {}, {Request: true}}, "absent: Runs whose request named a parent: 1. RUN_STARTED names a parent in 0 of them; the copy of the request in RUN_STARTED names one in 0 of them. Of the 2 other runs, 0 name a parent in RUN_STARTED."},
		{[]analysis.Parent{{}, {Request: true, Input: true}, {Request: true, RunStarted: true, Input: true}}, "incidental: Runs whose request named a parent: 2. RUN_STARTED names a parent in 1 of them; the copy of the request in RUN_STARTED names one in 2 of them. Of the 1 other runs, 0"},
		{[]analysis.Parent{{}, {}, {Request: true, RunStarted: true}}, "common: Runs whose request named a parent: 1. RUN_STARTED names a parent in 1 of them"},
		{[]analysis.Parent{{RunStarted: true}, {RunStarted: true}, {Request: true}}, "incidental: Runs whose request named a parent: 1. RUN_STARTED names a parent in 0 of them; the copy of the request in RUN_STARTED names one in 0 of them. Of the 2 other runs, 2 name a parent"},
	} {
		for i, p := range test.parents {
			runs[i].Parent = p
		}
		a := gate.Evaluate(runs, needed, artifact.V1).Answers[3]
		if got := a.Word + ": " + a.Text; !strings.HasPrefix(got, test.want) {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

// Only ids that integrations chose answer whether the required ids contain too much.
func TestAnsweredOfMinted(t *testing.T) {
	runs := slices.Concat(
		examined(t, "one", started, message, snapshot, finished),
		examined(t, "two", started, message, snapshot, finished),
	)
	refused := analysis.EmptyRun(artifact.V1, analysis.Refused)
	refused.HTTPStatus, refused.OmitsID = 422, true
	runs = append(runs, refused)
	runs[0].OmitsID = true
	runs[0].Minted = []analysis.Anchor{{Event: "RUN_STARTED", Key: "threadId", Shape: "UUID"}, {Event: "RUN_STARTED", Key: "runId", Shape: "number"}, {Event: "RUN_FINISHED", Key: "runId", Shape: "UUID"}}
	g := gate.Evaluate(runs, needed, artifact.V1)
	a := g.Answers[5]
	want := "no: The required ids are threadId and runId. An id contains too much if it contains more than an opaque reference may. Requests without one of the two: 2; answered with a run: 1, with an HTTP error: 1. Ids that integrations chose: 1 threadId and 1 runId in RUN_STARTED, 0 threadId and 1 runId in terminal events that name another thread or run; their shapes: UUID, number. Valid references under the contract: 3 of 3. Other runs, all with the ids of their request: 1, 1 of them with valid ids; these ids are the requests' own, so they prove nothing about integrations."
	if got := a.Word + ": " + a.Text; got != want || !a.Favorable {
		t.Errorf("%t %s, want %s", a.Favorable, got, want)
	}
	var parts []string
	for _, e := range a.Evidence {
		parts = append(parts, e.Part)
	}
	if diff := cmp.Diff([]string{"run_started", "terminal"}, parts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// An empty id does not contain too much. Different projections check it in runs with no
	// snapshot, one, or several.
	for _, events := range [][]string{{message}, {message, snapshot}, {snapshot, message, snapshot}} {
		empty := examined(t, "three", slices.Concat([]string{strings.Replace(started, `"runId":"r"`, `"runId":""`, 1)}, events, []string{finished})...)
		if a := gate.Evaluate(append(runs, empty...), needed, artifact.V1).Answers[5]; a.Word != "no" || !strings.Contains(a.Text, " Runs refused because an id in RUN_STARTED is missing or empty: 1. Other runs, all with the ids of their request: 1,") {
			t.Errorf("%d events: %+v", len(events), a)
		}
	}
	runs[0].Minted[1].Rule = "A12"
	if a := gate.Evaluate(runs, needed, artifact.V1).Answers[5]; !strings.Contains(a.Text, "under the contract: 2 of 3.") {
		t.Errorf("%+v", a)
	}
}

// Only runs without state and activity events show that an artifact does not need them.
func TestAnsweredOfState(t *testing.T) {
	const state = `{"type":"STATE_SNAPSHOT","snapshot":{}}`
	filler := slices.Repeat([]string{`{"type":"CUSTOM","name":"n","value":1}`}, 30)
	with := slices.Concat([]string{started, state}, filler, []string{message, snapshot, finished})
	without := slices.Concat([]string{started}, filler, []string{message, snapshot, finished})
	for _, test := range []struct {
		runs [][]string
		want string
	}{
		{[][]string{with}, "not shown: Runs with a STATE_* or ACTIVITY_* event: 1 of 1. Runs of all scenarios that qualify by the same rule: 1, 0 of them without such an event."},
		{[][]string{with, without}, "yes: Runs with a STATE_* or ACTIVITY_* event: 1 of 2. Runs of all scenarios that qualify by the same rule: 2, 1 of them without such an event (1 of mine)."},
	} {
		var runs []analysis.Run
		for _, events := range test.runs {
			runs = append(runs, examined(t, "one", events...)...)
		}
		for i := range runs {
			runs[i].Integration.Name = "mine"
		}
		g := gate.Evaluate(runs, needed, artifact.V1)
		if a := g.Answers[6]; a.Word+": "+a.Text != test.want {
			t.Errorf("%s: %s, want %s", a.Word, a.Text, test.want)
		}
		if !g.Met {
			t.Errorf("%+v", g.Summaries[0].Qualification)
		}
	}
}

// Answer 1 has evidence from each integration that it counts, including reduced runs, and
// names the counted integrations that do not qualify.
func TestAnsweredOfReduced(t *testing.T) {
	filler := slices.Repeat([]string{`{"type":"CUSTOM","name":"n","value":1}`}, 30)
	rich := strings.Replace(snapshot, `"role":"user"`, `"role":"user","toolCalls":[]`, 1)
	good := slices.Concat([]string{started}, filler, []string{message, rich, finished})
	var runs []analysis.Run
	for _, r := range []struct {
		integration, scenario string
		events                []string
	}{
		{"first", "one", good},
		{"second", "one", []string{started, message, finished}},
		{"second", "other", good},
		{"second", "another", good},
		{"third", "other", good}, // it was asked nothing that is needed
	} {
		run := examined(t, r.scenario, r.events...)[0]
		run.Integration.Name = r.integration
		runs = append(runs, run)
	}
	a := gate.Evaluate(runs, needed, artifact.V1).Answers[0]
	if want := "Integrations with such a run: 3 of 3. Some of these runs are from integrations that do not qualify: second in another, other. Runs whose"; !strings.Contains(a.Text, want) {
		t.Errorf("%s, want %s", a.Text, want)
	}
	if len(a.Evidence) != 3 {
		t.Errorf("%+v", a.Evidence)
	}
}

// The captures of an integration that emits one snapshot meet the gate, and all evidence
// names a file.
func TestAnsweredOfCapture(t *testing.T) {
	g := gate.Evaluate(analysis.Analyze(t.Context(), "../captures/adk/long-stream", artifact.V1, nil), needed, artifact.V1)
	if !g.Met || len(g.Summaries) != 1 || !g.Summaries[0].Qualifies || g.Summaries[0].Emitted() != 1 {
		t.Errorf("%+v", g.Summaries)
	}
	holdAnswers(t, g, []bool{true, true, true, true, true, false, false}, []string{"yes: ", "yes: ", "yes, where it finishes", "absent", "in part: ", "unknown: ", "not shown: "})
	evidence := 0
	for _, a := range g.Answers {
		for _, e := range a.Evidence {
			evidence++
			if e.File != filepath.Join("../captures/adk/long-stream", "response.sse") || e.Bytes == 0 || e.Part == "" {
				t.Errorf("%s: %+v", a.Question, e)
			}
		}
	}
	if evidence == 0 {
		t.Error("no evidence")
	}
}

// A release whose snapshots lack every answer does not meet the gate. The problems say
// what to change, and what artifacts omit is still listed.
func TestAnsweredOfIncomplete(t *testing.T) {
	var runs []analysis.Run
	for _, name := range []string{"one-turn", "backend-tool"} {
		runs = append(runs, analysis.Analyze(t.Context(), "../drift/captures/adk-0.4.0/"+name, artifact.V1, nil)...)
	}
	g := gate.Evaluate(runs, needed, artifact.V1)
	if want := "no run produces an artifact of the one snapshot it emitted that contains all streamed text"; g.Met || g.Why != want {
		t.Errorf("%t %q, want %q", g.Met, g.Why, want)
	}
	s := g.Summaries[0]
	if s.Qualifies || s.Emitted() != 0 || s.Count(analysis.Incomplete) != 2 {
		t.Errorf("%+v", s)
	}
	var advice []string
	for _, n := range slices.Concat(s.Obstacles, s.ExtraContent) {
		advice = append(advice, n.Advice()+": "+strings.Join(n.Runs, ", "))
	}
	if diff := cmp.Diff([]string{
		"include all streamed text in the MESSAGES_SNAPSHOT: one-turn, backend-tool",
		"omit `toolCallId` from messages: backend-tool",
	}, advice); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if e := g.Answers[2].Evidence; len(e) != 1 || e[0].Part != "messages_snapshot" {
		t.Errorf("%+v", e)
	}
}

// An altered capture still counts for its integration.
func TestAnsweredOfAltered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one-turn")
	testkit.CopyDir(t, path, "../captures/adk/one-turn")
	if err := os.WriteFile(filepath.Join(path, "response.sse"), []byte("altered"), 0o644); err != nil {
		t.Fatal(err)
	}
	runs := analysis.Analyze(t.Context(), "../captures/adk/long-stream", artifact.V1, nil)
	g := gate.Evaluate(append(runs, analysis.Analyze(t.Context(), path, artifact.V1, nil)...), needed, artifact.V1)
	if len(g.Summaries) != 1 || g.Summaries[0].Runs != 1 || g.Summaries[0].WithoutRun != 1 {
		t.Errorf("%+v", g.Summaries)
	}
	if a := g.Answers[1]; a.Favorable || !strings.HasSuffix(a.Text, "Captures that could not be read: 1.") {
		t.Errorf("%+v", a)
	}
}

func holdAnswers(t *testing.T, g gate.Gate, good []bool, text []string) {
	t.Helper()
	if len(g.Answers) != len(good) || len(good) != len(text) {
		t.Fatalf("%d answers", len(g.Answers))
	}
	for i, a := range g.Answers {
		if a.Favorable != good[i] || !strings.HasPrefix(a.Word+": "+a.Text, text[i]) {
			t.Errorf("%s\n%t %s: %s, want %t %s", a.Question, a.Favorable, a.Word, a.Text, good[i], text[i])
		}
	}
}

func TestFields(t *testing.T) {
	blank := strings.Replace(snapshot, `"Hi."`, `" "`, 1)
	runs := slices.Concat(
		examined(t, "one", started, message, snapshot, finished),
		examined(t, "two", started, blank, finished),
		examined(t, "three", strings.Replace(started, `"runId"`, `"parentRunId":null,"runId"`, 1), message, failed),
	)
	want := []gate.FieldStats{
		{Event: "RUN_STARTED", Name: "threadId", Runs: 3, Emitted: 3, Surfaced: 3, Reduced: 3, ArtifactKey: "thread_id_ref"},
		{Event: "RUN_STARTED", Name: "runId", Runs: 3, Emitted: 3, Surfaced: 3, Reduced: 3, ArtifactKey: "run_id_ref"},
		{Event: "RUN_STARTED", Name: "parentRunId", Runs: 3, Emitted: 1, Empty: 1, Surfaced: 1},
		{Event: "RUN_STARTED", Name: "timestamp", Runs: 3, Emitted: 3, Surfaced: 3, Reduced: 3, ArtifactKey: "started_at"},
		{Event: "MESSAGES_SNAPSHOT", Name: "messages", Runs: 2, Emitted: 2, Surfaced: 2, Reduced: 2, ArtifactKey: "messages"},
		{Event: "MESSAGES_SNAPSHOT", Role: "assistant", Name: "id", Runs: 2, Emitted: 2, Surfaced: 2, Reduced: 1, ArtifactKey: "id"},
		{Event: "MESSAGES_SNAPSHOT", Role: "assistant", Name: "role", Runs: 2, Emitted: 2, Surfaced: 2, Reduced: 1, ArtifactKey: "role"},
		{Event: "MESSAGES_SNAPSHOT", Role: "assistant", Name: "content", Runs: 2, Emitted: 2, Empty: 1, Surfaced: 2, Reduced: 1, ArtifactKey: "content"},
		{Event: "MESSAGES_SNAPSHOT", Role: "user", Name: "id", Runs: 2, Emitted: 2, Surfaced: 2, Reduced: 2, ArtifactKey: "id"},
		{Event: "MESSAGES_SNAPSHOT", Role: "user", Name: "role", Runs: 2, Emitted: 2, Surfaced: 2, Reduced: 2, ArtifactKey: "role"},
		{Event: "MESSAGES_SNAPSHOT", Role: "user", Name: "content", Runs: 2, Emitted: 2, Surfaced: 2, Reduced: 2, ArtifactKey: "content"},
		{Event: "RUN_FINISHED", Name: "type", Runs: 2, Emitted: 2, Surfaced: 2, Reduced: 2, ArtifactKey: "terminal_event"},
		{Event: "RUN_FINISHED", Name: "threadId", Runs: 2, Emitted: 2, Surfaced: 2},
		{Event: "RUN_FINISHED", Name: "runId", Runs: 2, Emitted: 2, Surfaced: 2},
		{Event: "RUN_FINISHED", Name: "timestamp", Runs: 2, Emitted: 2, Surfaced: 2, Reduced: 2, ArtifactKey: "finished_at"},
		{Event: "RUN_ERROR", Name: "type", Runs: 1, Emitted: 1, Surfaced: 1, Reduced: 1, ArtifactKey: "terminal_event"},
		{Event: "RUN_ERROR", Name: "message", Runs: 1, Emitted: 1, Surfaced: 1, Reduced: 1, ArtifactKey: "error_message"},
		{Event: "RUN_ERROR", Name: "timestamp", Runs: 1, Emitted: 1, Surfaced: 1, Reduced: 1, ArtifactKey: "finished_at"},
	}
	if diff := cmp.Diff(want, gate.Fields(runs)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := gate.Fields(nil); got == nil || len(got) != 0 {
		t.Errorf("of no runs: %v", got)
	}
}

// Role and name are compared separately, and the key of a message is not a key of its
// event.
func TestFieldsApart(t *testing.T) {
	const odd = `{"type":"MESSAGES_SNAPSHOT","user id":1,"messages":[{"id":"u","role":"user","content":"Hello."},{"id":"v","role":""},{"id":"w","role":1},{"id":"x"}]}`
	got := map[string]int{}
	for _, p := range gate.Fields(examined(t, "one", started, odd, finished)) {
		if strings.HasSuffix(p.Name, "id") && p.Event == "MESSAGES_SNAPSHOT" {
			got[p.Role+"/"+p.Name] = p.Emitted
		}
	}
	if diff := cmp.Diff(map[string]int{"/user id": 1, "user/id": 1, "without role/id": 1}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
