package baseline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

const (
	started  = testkit.Started
	message  = testkit.Message
	snapshot = testkit.Snapshot
	finished = testkit.Finished
	failed   = testkit.Failed
)

// examined analyzes a capture of these events with a name.
func examined(t *testing.T, name string, events ...string) []analysis.Run {
	t.Helper()
	return analysis.Analyze(t.Context(), testkit.WriteCapture(t, name, events...), artifact.V1, nil)
}

func baselineOf(t *testing.T, runs []analysis.Run) *baseline.Baseline {
	t.Helper()
	b, err := baseline.New(runs, artifact.V1)
	if err != nil {
		t.Fatal(err)
	}
	data, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "baseline.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	read, err := baseline.Load(path, artifact.V1)
	if err != nil {
		t.Fatal(err)
	}
	b.Path = path
	if diff := cmp.Diff(b, read); diff != "" {
		t.Fatalf("a baseline is read as another (-written +read):\n%s", diff)
	}
	return read
}

func TestChanges(t *testing.T) {
	base := []string{started, message, snapshot, finished}
	tests := []struct {
		name string
		was  []string
		now  []string
		want []string
	}{
		{"the same", base, base, []string{}},
		{"other ids, times and texts", base, []string{
			`{"type":"RUN_STARTED","threadId":"t2","runId":"r2","timestamp":1767312000000}`,
			`{"type":"TEXT_MESSAGE_START","messageId":"a2","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"a2","delta":"Hi"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a2","delta":" there."}`, `{"type":"TEXT_MESSAGE_END","messageId":"a2"}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u2","role":"user","content":"Hello again."},{"id":"a2","role":"assistant","content":"Hi there."}]}`,
			`{"type":"RUN_FINISHED","threadId":"t2","runId":"r2","timestamp":1767312001000}`,
		}, []string{}},
		{"a failed run", base, []string{started, message, failed}, []string{
			`error baseline_terminal: the run's terminal event was RUN_FINISHED and is now RUN_ERROR`,
			`error baseline_snapshots: the run had 1 MESSAGES_SNAPSHOT events and now has 0`,
			`error baseline_projection: emitted-snapshot froze the run and now refuses it: snapshot_missing`,
			`error baseline_projection: emitted-snapshot-text froze the run and now refuses it: snapshot_missing`,
			`error baseline_projection: folded-stream refused the run (snapshot_present MESSAGES_SNAPSHOT) and now freezes it`,
			`info baseline_families: the run now has "RUN_ERROR"`,
			`info baseline_families: the run no longer has "MESSAGES_SNAPSHOT"`,
			`info baseline_families: the run no longer has "RUN_FINISHED"`,
		}},
		{"two snapshots where one was", base, []string{started, snapshot, message, snapshot, finished}, []string{
			`error baseline_snapshots: the run had 1 MESSAGES_SNAPSHOT events and now has 2`,
			`error baseline_projection: emitted-snapshot froze the run and now refuses it: snapshot_several MESSAGES_SNAPSHOT`,
			`error baseline_projection: emitted-snapshot-text froze the run and now refuses it: snapshot_several MESSAGES_SNAPSHOT`,
		}},
		{"more snapshots than are listed", slices.Concat([]string{started}, slices.Repeat([]string{snapshot}, 150), []string{finished}),
			slices.Concat([]string{started}, slices.Repeat([]string{snapshot}, 200), []string{finished}), []string{
				`error baseline_snapshots: the run had 150 MESSAGES_SNAPSHOT events and now has 200`,
			}},
		{"a snapshot elsewhere", base, []string{started, snapshot, message, finished}, []string{
			`info baseline_snapshot_place: snapshot 1 was between TEXT_MESSAGE_END and RUN_FINISHED and is now between RUN_STARTED and TEXT_MESSAGE_START`,
		}},
		{"a role vanished", base, []string{started, message, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."}]}`, finished}, []string{
			`error baseline_role: the snapshot no longer has messages of the role "assistant"`,
			`error baseline_messages: the roles of the artifact's messages were user, assistant and are now user`,
			`error baseline_incomplete: the run was exact and is now incomplete: its snapshot lacks streamed text`,
			`warning baseline_ids: the snapshot kept all of the streamed message ids and now keeps none`,
		}},
		{"the answer is another", base, []string{started, message, strings.Replace(snapshot, "Hi.", "Bye.", 1), finished}, []string{
			`error baseline_incomplete: the run was exact and is now incomplete: its snapshot lacks streamed text`,
		}},
		{"the answer is there again", []string{started, message, strings.Replace(snapshot, "Hi.", "Bye.", 1), finished}, base, []string{
			`error baseline_incomplete: the run was incomplete and is now exact: its snapshot no longer lacks streamed text`,
		}},
		{"an answer as incomplete as before", []string{started, message, strings.Replace(snapshot, "Hi.", "Bye.", 1), finished},
			[]string{started, strings.ReplaceAll(message, `"Hi."`, `"Hello!"`), strings.Replace(snapshot, "Hi.", "Bye.", 1), finished}, []string{}},
		{"a key appeared that is taken", base, []string{started, message, strings.Replace(snapshot, `"id":"a",`, `"id":"a","name":"guide",`, 1), finished}, []string{
			`error baseline_field: a message of the role "assistant" in MESSAGES_SNAPSHOT now has the key "name", which the artifact takes as name`,
		}},
		{"a key appeared that is refused", base, []string{started, message, strings.Replace(snapshot, `"id":"a",`, `"id":"a","toolCalls":[],`, 1), finished}, []string{
			`error baseline_projection: emitted-snapshot froze the run and now refuses it: key_outside_subset MESSAGES_SNAPSHOT/messages/*/toolCalls`,
			`info baseline_reasons: emitted-snapshot-text now omits key_outside_subset MESSAGES_SNAPSHOT/messages/*/toolCalls`,
			`info baseline_field_untaken: a message of the role "assistant" in MESSAGES_SNAPSHOT now has the key "toolCalls", which the artifact does not take`,
		}},
		{"a key vanished", []string{strings.Replace(started, `"runId"`, `"protocolVersion":"1.0","runId"`, 1), message, snapshot, finished}, base, []string{
			`info baseline_reasons: emitted-snapshot no longer omits key_outside_subset RUN_STARTED/protocolVersion`,
			`info baseline_reasons: emitted-snapshot-text no longer omits key_outside_subset RUN_STARTED/protocolVersion`,
			`info baseline_field_untaken: RUN_STARTED no longer has the key "protocolVersion", which the artifact does not take`,
		}},
		{"no times", base, []string{strings.Replace(started, `,"timestamp":1767225600000`, "", 1), message, snapshot, finished}, []string{
			`error baseline_projection: emitted-snapshot froze the run and now refuses it: started_at_missing RUN_STARTED`,
			`error baseline_projection: emitted-snapshot-text froze the run and now refuses it: started_at_missing RUN_STARTED`,
			`error baseline_field: RUN_STARTED no longer has the key "timestamp", which the artifact takes as started_at`,
			`error baseline_times: the source of times was event and is now none`,
			`info baseline_reasons: folded-stream now refuses the run because of started_at_missing RUN_STARTED`,
		}},
		{"a text too long for Assay", base, []string{started, message, strings.Replace(snapshot, "Hello.", strings.Repeat("x", 401), 1), finished}, []string{
			`warning baseline_assay: Assay could take the artifact and no longer can`,
		}},
	}
	shown := map[finding.Code]bool{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			runs := baselineOf(t, examined(t, "one", test.was...)).Compare(examined(t, "one", test.now...))
			if len(runs) != 1 {
				t.Fatalf("%d runs", len(runs))
			}
			got := []string{}
			for _, c := range runs[0].Changes {
				got = append(got, string(c.Severity)+" "+c.Error())
				shown[c.Code] = true
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, code := range []finding.Code{
		finding.TerminalChanged, finding.SnapshotsChanged, finding.SnapshotMoved, finding.RoleChanged, finding.ProjectionChanged, finding.MessagesChanged,
		finding.FieldChanged, finding.TimesChanged, finding.AssayChanged, finding.IDsChanged, finding.FieldUntaken, finding.ReasonsChanged, finding.FamiliesChanged,
	} {
		if !shown[code] {
			t.Errorf("no change shows %s", code)
		}
	}
}

func TestChangesOfRuns(t *testing.T) {
	base := baselineOf(t, append(examined(t, "one", started, snapshot, finished), examined(t, "two", started, snapshot, finished)...))
	runs := base.Compare(append(examined(t, "one", started, snapshot, finished), examined(t, "three", started, snapshot, finished)...))
	got := map[string]string{}
	for _, run := range runs {
		name := strings.TrimSuffix(filepath.Base(run.Capture), ".ndjson")
		got[name] = string(run.Verdict)
		for _, c := range run.Changes {
			got[name] += " " + string(c.Severity) + " " + string(c.Code)
		}
	}
	want := map[string]string{
		"one":   "exact",
		"two":   "missing error " + string(finding.RunGone),
		"three": "exact info " + string(finding.RunAdded),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A capture that cannot be read is neither added nor missing.
	unread := base.Compare(analysis.Analyze(t.Context(), filepath.Join(t.TempDir(), "one"), artifact.V1, nil))
	if len(unread) != 2 || unread[0].Verdict != analysis.Failed || unread[1].Verdict != analysis.Missing || filepath.Base(unread[1].Capture) != "two" {
		t.Errorf("unread: %+v", unread)
	}
}

// All snapshots are counted, including those that are not listed.
func TestChangesOfManySnapshots(t *testing.T) {
	events := []string{started}
	for i := range 600 { // more than are told apart
		events = append(events, fmt.Sprintf(`{"type":"X%d"}`, i))
	}
	was := examined(t, "one", append(events, slices.Repeat([]string{snapshot}, 150)...)...)
	if n := len(was[0].Snapshots); n != 100 || was[0].MoreSnapshots != 50 {
		t.Fatalf("%d snapshots and %d more", n, was[0].MoreSnapshots)
	}
	now := baselineOf(t, was).Compare(examined(t, "one", append(events, snapshot)...))
	changes := now[0].Changes
	if len(changes) == 0 || changes[0].Code != finding.SnapshotsChanged || changes[0].Message != "the run had 150 MESSAGES_SNAPSHOT events and now has 1" {
		t.Errorf("%v", changes)
	}
}

// An invalid capture differs from a capture without a run: it is an error and is not
// compared.
func TestChangesOfUncounted(t *testing.T) {
	base := baselineOf(t, examined(t, "one", finished))
	dir := filepath.Join(t.TempDir(), "one")
	if err := os.MkdirAll(filepath.Join(dir, "unfinished"), 0o755); err != nil {
		t.Fatal(err)
	}
	runs := base.Compare(analysis.Analyze(t.Context(), dir, artifact.V1, nil))
	if len(runs) != 1 || runs[0].Verdict != analysis.Refused || len(runs[0].Changes) != 1 {
		t.Fatalf("%+v", runs)
	}
	c := runs[0].Changes[0]
	if c.Code != finding.RunAdded || c.Severity != finding.Error || c.Message != `no run is found in "one", which is invalid` {
		t.Errorf("%+v", c)
	}
}

// Messages of a stream that cannot be folded completely are not compared.
func TestDifferenceOfWhole(t *testing.T) {
	const stray = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"b","delta":"Hi."}` // of a message that never began
	if runs := examined(t, "one", started, message, snapshot, finished); runs[0].Difference == nil {
		t.Error("no difference")
	}
	if runs := examined(t, "one", started, message, stray, snapshot, finished); runs[0].Difference != nil || runs[0].Verdict != analysis.Exact {
		t.Errorf("%s, %+v", runs[0].Verdict, runs[0].Difference)
	}
}

// A baseline of a release without the verdict incomplete can still be compared.
func TestChangesSinceBeforeIncomplete(t *testing.T) {
	now := examined(t, "one", started, message, strings.Replace(snapshot, "Hi.", "Bye.", 1), finished)
	base := baselineOf(t, now)
	was := &base.Runs[0]
	was.Verdict = analysis.Exact
	for i := range was.Projections {
		was.Projections[i].Omissions = nil
	}
	var got []string
	for _, c := range base.Compare(now)[0].Changes {
		got = append(got, string(c.Severity)+" "+c.Error())
	}
	want := []string{`error baseline_incomplete: the run was exact and is now incomplete: its snapshot lacks streamed text`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
