package gate_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
)

// The shortfalls of synthetic runs.
func TestShortfall(t *testing.T) {
	const filler = `{"type":"CUSTOM","name":"n","value":1}`
	long := slices.Repeat([]string{filler}, 30)
	lacking := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."}]}`
	rich := strings.Replace(snapshot, `"role":"user"`, `"role":"user","toolCalls":[],"x":1`, 1)
	tests := []struct {
		events []string
		want   string
	}{
		{slices.Concat([]string{started, message, snapshot}, long, []string{finished}), ""},
		{[]string{started, message, snapshot, finished}, "the artifact is not smaller than the run"},
		{slices.Concat([]string{started, message, rich}, long, []string{finished}), "omits x, toolCalls"},
		{slices.Concat([]string{started, snapshot, message, snapshot}, long, []string{finished}), "2 snapshots instead of one"},
		{slices.Concat([]string{started, message, lacking}, long, []string{finished}), "the snapshot lacks 1 streamed message"},
		{slices.Concat([]string{started, message, lacking, lacking}, long, []string{finished}), "2 snapshots instead of one; the last snapshot lacks 1 streamed message"},
		{slices.Concat([]string{started, message, snapshot}, long, []string{`{"type":"RUN_ERROR","message":"no key"}`}), "the run ended with RUN_ERROR"},
		{slices.Concat([]string{started, lacking}, long, []string{finished}), "no reply"},
		{[]string{started, message, finished}, "no MESSAGES_SNAPSHOT"},
		{[]string{started, message, finished, finished}, "no MESSAGES_SNAPSHOT; several terminal events"},
		{[]string{started, message, snapshot}, "no terminal event"},
		{[]string{started, message, snapshot, finished, filler}, "events after the terminal event"},
		{[]string{`{"type":"RUN_STARTED","thread_id":"t","run_id":"r"}`, snapshot, finished}, "no source states when the run started; RUN_STARTED has no string runId, threadId"},
		{[]string{filler}, "no run: the response has no RUN_STARTED"},
		{slices.Concat([]string{started, message, snapshot}, long, []string{strings.Replace(finished, `"runId":"r"`, `"runId":"s"`, 1)}), "the terminal event names another run"},
	}
	other := []string{strings.Replace(finished, `"runId":"r"`, `"runId":"s"`, 1)}
	tests = append(tests, []struct {
		events []string
		want   string
	}{
		{slices.Concat([]string{started, message, rich}, long, other), "omits x, toolCalls; the terminal event names another run"},
		{slices.Concat([]string{started, message}, long, other), "no MESSAGES_SNAPSHOT; the terminal event names another run"},
		{slices.Concat([]string{started, rich, message, rich}, long, other), "omits x, toolCalls; 2 snapshots instead of one; the terminal event names another run"},
		{slices.Concat([]string{started, message, strings.Replace(snapshot, `"role":"user"`, `"role":"user","aaaaaaa":1,"b":1,"ccc":1,"dd":1,"eeee":1,"ffffff":1,"ggggg":1`, 1)}, long, other), "omits b, dd, ccc, eeee, ggggg, ffffff; and 2 more"},
	}...)
	for _, test := range tests {
		run := examined(t, "one", test.events...)[0]
		if got := gate.FormatShortfalls(gate.Shortfalls(run)); got != test.want {
			t.Errorf("%s: %q, want %q", run.Verdict, got, test.want)
		}
	}
}

// Every run of the committed captures that is not exact has a short text for its
// shortfalls.
func TestShortfallOfCaptures(t *testing.T) {
	dirs, err := filepath.Glob("../captures/*/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal(err, dirs)
	}
	for _, dir := range dirs {
		for _, run := range analysis.Analyze(t.Context(), dir, artifact.V1, nil) {
			if text := gate.FormatShortfalls(gate.Shortfalls(run)); text == "" && run.Verdict != analysis.Exact || len(text) > 100 {
				t.Errorf("%s: %s %q", dir, run.Verdict, text)
			}
		}
	}
}
