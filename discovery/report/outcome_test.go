package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/project"
)

const (
	snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"hi"}]}`
	richer   = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"hi"},{"id":"2","role":"tool","content":"4","toolCallId":"c"}]}`
	useless  = `{"type":"MESSAGES_SNAPSHOT","messages":[]}`
)

// Of a run with several snapshots the page says that one can be chosen, and what
// the last gives; of no other run, and not when a choice was made.
func TestSeveralSnapshots(t *testing.T) {
	const last = "emitted-snapshot-text --snapshot last"
	for _, c := range []struct {
		settings project.Settings
		snaps    []string
		frozen   bool
		last     bool
		outcomes int
		says     string
	}{
		{project.Settings{}, []string{snapshot, richer}, false, true, 4, "Refused, so nothing of it was kept: the run emitted 2 snapshots, and one can be chosen. --projection " + last + " freezes it."},
		{project.Settings{Projection: project.EmittedSnapshot, Snapshot: project.Only}, []string{snapshot, richer}, false, true, 4, "--projection " + last + " freezes it."},
		{project.Settings{Projection: project.EmittedSnapshotText}, []string{snapshot, richer}, false, true, 4, "--projection " + last + " freezes it."},
		{project.Settings{}, []string{snapshot, useless}, false, false, 4, "Refused by every projection, and with --snapshot last as well, so nothing of it was kept."},
		{project.Settings{Snapshot: "3"}, []string{snapshot, richer}, false, false, 3, "Refused by every projection, so nothing of it was kept."},
		{project.Settings{Snapshot: project.First}, []string{useless, snapshot}, false, false, 3, "Refused by every projection, so nothing of it was kept."},
		{project.Settings{Snapshot: project.Last}, []string{useless, snapshot}, true, false, 3, "Frozen by emitted-snapshot-text: "},
		{project.Settings{}, []string{useless}, false, false, 3, "Refused by every projection, so nothing of it was kept."},
	} {
		// The run before it has one snapshot, and is not in question.
		events := append([]string{started, snapshot, finished, started}, append(c.snaps, finished)...)
		rows, page := made(t, Settings{Settings: c.settings, Run: "#2"}, bounds, saved(t, "runs.sse", events...))
		if len(rows) != 1 || (rows[0].Verdict == project.Frozen) != c.frozen || rows[0].Last != c.last {
			t.Errorf("%v %d snapshots: %+v", c.settings, len(c.snaps), rows)
		}
		if n := strings.Count(element(t, page, `<ul class="outcomes">`, "</section>"), "<strong>"); n != c.outcomes || !strings.Contains(string(page), c.says) {
			t.Errorf("%v %d snapshots: %d outcomes, and not %q", c.settings, len(c.snaps), n, c.says)
		}
		if c.settings.Snapshot != "" || c.settings.Projection != "" {
			continue
		}
		rows, page = made(t, Settings{}, bounds, saved(t, "runs.sse", events...))
		if len(rows) != 2 || rows[0].Last || rows[1].Last != c.last || rows[0].Verdict != project.Frozen || strings.Count(string(page), "<strong>"+last) != c.outcomes-3 {
			t.Errorf("%d snapshots: %+v", len(c.snaps), rows)
		}
	}
}

// What a page says of a frozen run names the snapshot, and says that it was
// reduced only when something of its messages was left out.
func TestFrozenSays(t *testing.T) {
	const more = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"hi"}],"rawEvent":{"messages":[1]}}`
	for _, c := range []struct {
		chosen project.Selection
		snaps  []string
		want   string
	}{
		{project.Only, []string{snapshot}, "1 message of the snapshot the run emitted."},
		{project.Only, []string{richer}, "2 messages of the snapshot the run emitted, reduced to text."},
		{project.Only, []string{more}, "1 message of the snapshot the run emitted."},
		{project.Last, []string{snapshot}, "1 message of the snapshot the run emitted."},
		{project.Last, []string{richer, richer, snapshot}, "1 message of the last of 3 snapshots the run emitted."},
		{project.Last, []string{snapshot, richer}, "2 messages of the last of 2 snapshots the run emitted, reduced to text."},
		{project.First, []string{snapshot, richer}, "1 message of the first of 2 snapshots the run emitted."},
		{"2", []string{snapshot, richer, snapshot}, "2 messages of number 2 of 3 snapshots the run emitted, reduced to text."},
	} {
		path := saved(t, "run.sse", append(append([]string{started}, c.snaps...), finished)...)
		_, page := made(t, Settings{Settings: project.Settings{Projection: project.EmittedSnapshotText, Snapshot: c.chosen}}, bounds, path)
		if diff := cmp.Diff(`<span class="verdict frozen">frozen</span> Frozen by emitted-snapshot-text: `+c.want, element(t, page, `<p class="says">`, "</p>")); diff != "" {
			t.Errorf("--snapshot %s of %d: %s", c.chosen, len(c.snaps), diff)
		}
	}
}

// A page says at the top, among the findings and in the timeline that the snapshot
// lacks text that the run streamed.
func TestIncompleteSays(t *testing.T) {
	_, page := made(t, Settings{}, bounds, "../drift/captures/adk-0.4.0/two-agents")
	for _, want := range []string{
		"Frozen by emitted-snapshot: 1 message, as the run emitted it. The snapshot lacks text that the run streamed.</p>",
		`<li class="warning"><p><span class="severity">warning</span> <code>snapshot_lacks_streamed_text</code> at <a href="#r1-timeline" data-event="1">event 1</a>`,
		`[1,"","snapshot_lacks_streamed_text","not in the snapshot"]`,
		`<code></code> <span class="tag">snapshot_lacks_streamed_text</span> <small>a streamed message that the snapshot lacks</small></li>`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	_, page = made(t, Settings{}, bounds, "../drift/captures/adk-0.4.0/two-agents", "../drift/captures/adk-0.4.0/one-turn", "../captures/adk/two-agents")
	for _, want := range []string{"<p>3 frozen (2 snapshots lack streamed text), 0 refused.</p>", `data-is="Projection">emitted-snapshot <span class="tag">lacks streamed text</span></td>`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the index does not have %s", want)
		}
	}
	_, page = made(t, Settings{}, bounds, "../captures/adk/two-agents")
	if strings.Contains(string(page), "lacks text") {
		t.Error("the page of a complete run says that its snapshot lacks text")
	}
}

// Snapshots are counted whatever other types a run has.
func TestSnapshotsAmongManyTypes(t *testing.T) {
	events := []string{started}
	for i := range 600 { // more than are told apart
		events = append(events, fmt.Sprintf(`{"type":"X%d"}`, i))
	}
	path := saved(t, "run.sse", append(events, snapshot, snapshot, finished)...)
	_, page := made(t, Settings{}, bounds, path)
	if says := element(t, page, `<p class="says">`, "</p>"); !strings.Contains(says, "the run emitted 2 snapshots, and one can be chosen") {
		t.Error(says)
	}
	_, page = made(t, Settings{Settings: project.Settings{Projection: project.EmittedSnapshotText, Snapshot: project.Last}}, bounds, path)
	if says := element(t, page, `<p class="says">`, "</p>"); !strings.Contains(says, "1 message of the last of 2 snapshots the run emitted") {
		t.Error(says)
	}
}
