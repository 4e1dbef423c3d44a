package report

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

const (
	snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"hi"}]}`
	richer   = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"hi"},{"id":"2","role":"tool","content":"4","toolCallId":"c"}]}`
	useless  = `{"type":"MESSAGES_SNAPSHOT","messages":[]}`
)

// For a run with several snapshots, the page says that one can be chosen, and shows the
// result of the last. It does not say so for other runs, or if a snapshot was chosen.
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
		{project.Settings{}, []string{snapshot, richer}, false, true, 4, "<strong>Nothing kept yet: the run emitted 2 snapshots, and one must be chosen</strong> <span>· 0 of 4 events</span></p>\n<p class=\"next\">This command keeps the last one: <code>p20export freeze CAPTURE --run &#39;#2&#39; --projection " + last + " -o DIR</code></p>"},
		{project.Settings{Projection: project.EmittedSnapshot, Snapshot: project.Only}, []string{snapshot, richer}, false, true, 4, "one must be chosen</strong>"},
		{project.Settings{Projection: project.EmittedSnapshotText}, []string{snapshot, richer}, false, true, 4, "one must be chosen</strong>"},
		{project.Settings{}, []string{snapshot, useless}, false, false, 4, "Every projection refuses the run, including emitted-snapshot-text with --snapshot last."},
		{project.Settings{Snapshot: "3"}, []string{snapshot, richer}, false, false, 3, "the run has 2 MESSAGES_SNAPSHOT events; number 3 was requested"},
		{project.Settings{Snapshot: project.First}, []string{useless, snapshot}, false, false, 3, "the run has no message within the text subset"},
		{project.Settings{Snapshot: project.Last}, []string{useless, snapshot}, true, false, 3, ", derived from this capture for this page; this command writes it: <code>p20export freeze CAPTURE --run &#39;#2&#39; --projection emitted-snapshot-text --snapshot last -o DIR</code></dd>"},
		{project.Settings{}, []string{useless}, false, false, 3, "the run has no message within the text subset"},
	} {
		// The run before it has one snapshot and is not tested.
		events := append([]string{started, snapshot, finished, started}, append(c.snaps, finished)...)
		rows, page := made(t, Settings{Settings: c.settings, Run: "#2"}, bounds, saved(t, "runs.sse", events...))
		if len(rows) != 1 || (rows[0].Verdict == project.Frozen) != c.frozen || (rows[0].Next != "") != c.last {
			t.Errorf("%v %d snapshots: %+v", c.settings, len(c.snaps), rows)
		}
		if n := strings.Count(element(t, page, `<ul class="outcomes">`, "</ul>"), "<strong>"); n != c.outcomes || !strings.Contains(string(page), c.says) {
			t.Errorf("%v %d snapshots: %d outcomes, and not %q", c.settings, len(c.snaps), n, c.says)
		}
		if c.settings.Snapshot != "" || c.settings.Projection != "" {
			continue
		}
		rows, page = made(t, Settings{}, bounds, saved(t, "runs.sse", events...))
		if len(rows) != 2 || rows[0].Next != "" || (rows[1].Next != "") != c.last || rows[0].Verdict != project.Frozen || strings.Count(string(page), "<strong>"+last) != c.outcomes-3 {
			t.Errorf("%d snapshots: %+v", len(c.snaps), rows)
		}
	}
}

// The headline of a run says how much was kept and what was omitted. The facts name the
// snapshot.
func TestHeadline(t *testing.T) {
	const (
		more  = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"hi"}],"rawEvent":{"messages":[1]}}`
		calls = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"text","text":"h","k":1},{"type":"text","text":"i"}]},` +
			`{"id":"2","role":"assistant","toolCalls":[{"function":{"name":"f"}}]},{"id":"3","role":"assistant"},{"id":"4","role":"activity","content":"x"},{"id":"5","role":"tool","content":"4","toolCallId":"c","a":1,"b":2,"d":3}]}`
	)
	for _, c := range []struct {
		projection project.Name
		chosen     project.Selection
		events     []string
		word       string
		want       string
		snapshot   string
	}{
		{project.EmittedSnapshotText, project.Only, []string{snapshot}, "exact", "Kept 1 of 1 message · 3 of 3 events", "emitted by the run (event 1)"},
		{project.EmittedSnapshotText, project.Only, []string{richer}, "reduced", "Kept 2 of 2 messages · 3 of 3 events · parts of 1 message left out: toolCallId", "emitted by the run (event 1)"},
		{project.EmittedSnapshotText, project.Only, []string{calls}, "reduced", "Kept 2 of 5 messages · 3 of 3 events · 2 messages without text left out · 1 message whose role is not in the contract left out · parts of 2 messages left out: part of content, toolCallId, a, … · text parts of 1 message joined", "emitted by the run (event 1)"},
		{project.EmittedSnapshotText, project.Only, []string{more}, "exact", "Kept 1 of 1 message · 3 of 3 events", "emitted by the run (event 1)"},
		{project.EmittedSnapshotText, project.Last, []string{snapshot}, "exact", "Kept 1 of 1 message · 3 of 3 events", "emitted by the run (event 1)"},
		{project.EmittedSnapshotText, project.Last, []string{richer, richer, snapshot}, "chosen", "Kept 1 of 1 message · 3 of 5 events · 2 other snapshots not taken", "last of 3 emitted (event 3)"},
		{project.EmittedSnapshotText, project.First, []string{snapshot, richer}, "chosen", "Kept 1 of 1 message · 3 of 4 events · 1 other snapshot not taken", "first of 2 emitted (event 1)"},
		{project.EmittedSnapshotText, "2", []string{snapshot, richer, snapshot}, "chosen", "Kept 2 of 2 messages · 3 of 5 events · parts of 1 message left out: toolCallId · 2 other snapshots not taken", "number 2 of 3 emitted (event 2)"},
		{project.FoldedStream, project.Only, []string{testkit.Message}, "built", "Kept 1 of 1 message · 2 of 5 events and a snapshot built from them · no request was captured", "built from the streamed text"},
		{"", project.Only, []string{testkit.Message, snapshot}, "incomplete", "Kept 1 of 2 messages · 3 of 6 events · 1 streamed message not in the snapshot", "emitted by the run (event 4)"},
		{"", project.Only, []string{snapshot, snapshot}, "chosen", "Nothing kept yet: the run emitted 2 snapshots, and one must be chosen · 0 of 4 events", "2 emitted, none taken"},
		{"", project.Only, nil, "refused", "Nothing kept · 0 of 2 events · no message is left after reducing the run to the text subset · and 1 more reason", "none emitted"},
	} {
		path := saved(t, "run.sse", strings.Split(strings.Join(append(append([]string{started}, c.events...), finished), "\n"), "\n")...)
		_, page := made(t, Settings{Settings: project.Settings{Projection: c.projection, Snapshot: c.chosen}}, bounds, path)
		got := html.UnescapeString(strings.NewReplacer("<strong>", "", "</strong>", "", "<span>", "", "</span>", "").Replace(element(t, page, `<p class="says">`, "</p>")))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s --snapshot %s of %d: %s", c.projection, c.chosen, len(c.events), diff)
		}
		if diff := cmp.Diff(c.snapshot, element(t, page, `<dt>Snapshot</dt><dd>`, "</dd>")); diff != "" {
			t.Errorf("%s --snapshot %s of %d: %s", c.projection, c.chosen, len(c.events), diff)
		}
		if !strings.Contains(string(page), `<article id="r1" data-verdict="`+c.word+`"`) || !strings.Contains(string(page), `<span class="verdict `+c.word+`">`+c.word+`</span> `+analysis.Verdict(c.word).Meaning()+"</p>") {
			t.Errorf("%s --snapshot %s of %d: the page does not say %s", c.projection, c.chosen, len(c.events), c.word)
		}
	}
}

// The header of the page of a failed run, and the end of its conversation, say that the run
// failed. The page also says how many streamed messages were not finished, and what was
// omitted from events without messages.
func TestFailedRun(t *testing.T) {
	const (
		begun = `{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`
		more  = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"Hel"}`
	)
	long := strings.Repeat("e", maxFailure+1)
	failed := func(message string) string {
		return `{"type":"RUN_ERROR","message":"` + message + `","code":"C","timestamp":1769860801123}`
	}
	for _, c := range []struct {
		events []string
		redact Redaction
		want   string
		end    string
		also   string
	}{
		{[]string{started, snapshot, failed("m<")}, "", "The run failed: m< (C) · Kept 1 of 1 message · 3 of 3 events", "RUN_ERROR: m< (C)", ""},
		{[]string{started, snapshot, failed(long)}, "", "The run failed: " + long[1:] + "… (C) · Kept 1 of 1 message · 3 of 3 events", "RUN_ERROR: " + long + " (C)", ""},
		{[]string{started, snapshot, failed("m<")}, RedactText, "The run failed: ⟨2 characters⟩, code ⟨1 character⟩ · Kept 1 of 1 message · 3 of 3 events", "RUN_ERROR: ⟨2 characters⟩, code ⟨1 character⟩", ""},
		{[]string{started, testkit.Message, begun, more, failed("m")}, "", "The run failed: m (C) · Kept 2 of 2 messages · 2 of 7 events and a snapshot built from them · 1 streamed message was not finished · no request was captured", "RUN_ERROR: m (C)", ""},
		{[]string{started, failed("m")}, "", "The run failed: m (C) · Nothing kept · 0 of 2 events · no message is left after reducing the run to the text subset · and 1 more reason", "", ""},
		{[]string{strings.TrimSuffix(started, "}") + `,"protocolVersion":"1"}`, snapshot, finished}, "", "Kept 1 of 1 message · 3 of 3 events", "", "protocolVersion of other events"},
	} {
		path := saved(t, "run.sse", strings.Split(strings.Join(c.events, "\n"), "\n")...)
		rows, page := made(t, Settings{Redact: c.redact}, bounds, path)
		if diff := cmp.Diff(c.want, rows[0].Says); diff != "" || rows[0].Failed != strings.HasPrefix(c.want, "The run failed") {
			t.Error(diff, rows[0].Failed)
		}
		text := html.UnescapeString(string(page))
		if end := `<li class="end">Ended with ` + c.end + "</li>\n</ol>"; strings.Contains(text, `<li class="end">`) != (c.end != "") || c.end != "" && (!strings.Contains(text, end) || !strings.Contains(text, "<dt>Ended with</dt><dd>"+c.end+"</dd>")) {
			t.Errorf("the conversation does not end with %s", c.end)
		}
		if c.also != "" && element(t, page, "<dt>Also left out</dt><dd>", "</dd>") != c.also {
			t.Errorf("the page does not say that %s was left out", c.also)
		}
	}
	_, page := made(t, Settings{}, bounds, saved(t, "a.sse", started, snapshot, failed("m")), saved(t, "b.sse", started, snapshot, finished))
	if n := strings.Count(string(page), `<td class="end failed">RUN_ERROR</td>`); n != 1 {
		t.Errorf("%d runs of the index failed", n)
	}
}

// A page says in the header, in the findings and in the timeline that streamed text is
// missing from the snapshot.
func TestIncompleteSays(t *testing.T) {
	_, page := made(t, Settings{}, bounds, "../drift/captures/adk-0.4.0/two-agents")
	for _, want := range []string{
		"<strong>Kept 1 of 3 messages</strong> <span>· 3 of 16 events · 2 streamed messages not in the snapshot</span>",
		`<strong>streamed</strong></p><div class="what"><p class="why"><em>Left out</em>: a message that the run streamed and the snapshot lacks. <a href="#r1-timeline" data-event="8">event 8</a></p>`,
		`<li class="warning"><p><span class="severity">warning</span> <code>snapshot_lacks_streamed_text</code> at <a href="#r1-timeline" data-event="1">event 1</a>`,
		`[1,"","snapshot_lacks_streamed_text","not in the snapshot"]`,
		`<code></code> <span class="tag">snapshot_lacks_streamed_text</span> <small>a message that the run streamed and the snapshot lacks</small></li>`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	_, page = made(t, Settings{}, bounds, "../drift/captures/adk-0.4.0/two-agents", "../drift/captures/adk-0.4.0/one-turn", "../captures/adk/two-agents")
	for _, want := range []string{"An artifact was made from 3 of 3 runs.</span>", `<span class="verdict incomplete">incomplete</span> 2</span>`, `<a href="#r1">adk-0.4.0/two-agents</a></th><td><span class="verdict incomplete">incomplete</span></td>`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the index does not have %s", want)
		}
	}
	_, page = made(t, Settings{}, bounds, "../captures/adk/two-agents")
	if strings.Contains(string(page), "lacks text") {
		t.Error("the page of a complete run says that its snapshot lacks text")
	}
}

// The index names the place of the first reason of a refusal, as compare does.
func TestReasonNamesPlace(t *testing.T) {
	for _, c := range []struct {
		redact Redaction
		events []string
		want   string
	}{
		{"", []string{`{"type":"RUN_STARTED","threadId":"t","runId":" ","timestamp":1769860800123}`, snapshot, `{"type":"RUN_FINISHED","threadId":"t","runId":" "}`}, "a string is blank: runId"},
		{"", []string{`{"type":"RUN_STARTED","threadId":"","runId":"","timestamp":1769860800123}`, snapshot, `{"type":"RUN_FINISHED","threadId":"","runId":""}`}, "a string is blank: runId, threadId"},
		{"", []string{started, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"hi"},{"id":"1","role":"user","content":"hi"}]}`, finished}, "messages/1/id"},
		{RedactText, []string{`{"type":"RUN_STARTED","threadId":"t","runId":" ","timestamp":1769860800123}`, snapshot, `{"type":"RUN_FINISHED","threadId":"t","runId":" "}`}, "a string is blank: runId"},
	} {
		rows, page := made(t, Settings{Redact: c.redact}, bounds, saved(t, "a.sse", c.events...), saved(t, "b.sse", started, snapshot, finished))
		lost := element(t, page, `<td class="lost">`, "</td>")
		if !strings.HasSuffix(strings.SplitN(lost, separator, 2)[0], c.want) || !strings.Contains(rows[0].Says, "0 of 1 message") && !strings.Contains(rows[0].Says, "0 of 2 messages") {
			t.Errorf("the index says %q, and the row %q", lost, rows[0].Says)
		}
	}
}

// Capitalizing a message does not change names in it.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"the run has no end": "The run has no end", "response.sse has 3 bytes": "response.sse has 3 bytes", "alice refuses": "alice refuses", "": "", "a": "A",
	} {
		if got := sentence(text); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// Snapshots are counted even if a run has many other event types.
func TestSnapshotsAmongManyTypes(t *testing.T) {
	events := []string{started}
	for i := range 600 { // more types than are counted separately
		events = append(events, fmt.Sprintf(`{"type":"X%d"}`, i))
	}
	path := saved(t, "run.sse", append(events, snapshot, snapshot, finished)...)
	_, page := made(t, Settings{}, bounds, path)
	if !strings.Contains(string(page), "the run emitted 2 snapshots, and one must be chosen") {
		t.Error("the page does not say that the run emitted 2 snapshots")
	}
	_, page = made(t, Settings{Settings: project.Settings{Projection: project.EmittedSnapshotText, Snapshot: project.Last}}, bounds, path)
	if says := element(t, page, `<dt>Snapshot</dt><dd>`, "</dd>"); says != "last of 2 emitted (event 602)" {
		t.Error(says)
	}
}

// The page, its rows and compare advise a projection only if it froze the run.
func TestAdviceIsConfirmed(t *testing.T) {
	const (
		blank   = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":" "}]}`
		partial = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":" "},{"id":"2","role":"user","content":"hi"}]}`
		other   = `{"type":"RUN_FINISHED","threadId":"t","runId":"other","timestamp":1769860801123}`
	)
	for _, c := range []struct {
		events []string
		want   int // findings of the strict projection that advise another
	}{
		{[]string{started, blank, finished}, 0},
		{[]string{started, partial, finished}, 1},
		{[]string{started, snapshot, other}, 1},
		{[]string{started, snapshot, other, finished}, 0},
		{[]string{started, snapshot, richer, finished}, 1},
		{[]string{started, useless, useless, finished}, 0},
		{[]string{started, finished}, 0},
	} {
		path := saved(t, "run.sse", c.events...)
		for _, redact := range []Redaction{RedactNone, RedactText} {
			rows, page := made(t, Settings{Settings: project.Settings{Projection: project.EmittedSnapshot}, Redact: redact}, bounds, path)
			n, advises := advising(rows[0].Findings), regexp.MustCompile("Next: [^<]*--projection ").Match(page)
			if redact == RedactText && n < c.want { // it has the general advice of the codes
				continue
			}
			if n != c.want || advises != (c.want > 0) {
				t.Errorf("%v: the page advises another projection: %t; the row: %v", c.events, advises, rows[0].Findings)
			}
		}
		if n := advising(analysis.Analyze(t.Context(), path, artifact.V1, nil)[0].Findings); n != c.want {
			t.Errorf("%v: %d of compare", c.events, n)
		}
	}
}

func advising(list []finding.Finding) (n int) {
	for _, f := range list {
		if strings.Contains(f.Hint, "--projection ") || strings.Contains(f.Hint, "another projection") {
			n++
		}
	}
	return n
}

// A row says how many of its errors and warnings the page lists.
func TestListed(t *testing.T) {
	var keys []string
	for i := range 300 {
		keys = append(keys, fmt.Sprintf(`"k%d":1`, i))
	}
	odd := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"hi",` + strings.Join(keys, ",") + `}]}`
	small := bounds
	small.facts = 10_000
	for _, c := range []struct {
		snapshot   string
		projection project.Name
		left       limits
		want       int
	}{
		{odd, project.EmittedSnapshot, bounds, 200},
		{odd, project.FoldedStream, bounds, 1},
		{odd, project.EmittedSnapshot, small, -1},
		{useless, "", bounds, 1},
		{snapshot, "", bounds, 0},
	} {
		rows, page := made(t, Settings{Settings: project.Settings{Projection: c.projection}}, c.left, saved(t, "run.sse", started, c.snapshot, finished))
		want := c.want
		if want < 0 {
			if want = strings.Count(string(page), `<li class="error"><p><span class="severity">error</span> <code>key_outside_subset`); want == 0 || want > 100 {
				t.Errorf("%d errors are listed", want)
			}
		}
		if rows[0].Listed != want {
			t.Errorf("%s: %d, not %d", c.projection, rows[0].Listed, want)
		}
	}
}

// Choosing a snapshot chooses the projection that takes it.
func TestSnapshotChoosesProjection(t *testing.T) {
	for _, c := range []struct {
		snapshot project.Selection
		want     project.Name
		verdict  project.Verdict
	}{
		{"", project.EmittedSnapshot, project.Frozen},
		{project.Only, project.EmittedSnapshot, project.Frozen},
		{project.Last, project.EmittedSnapshotText, project.Frozen},
		{"1", project.EmittedSnapshotText, project.Frozen},
		{"2", project.EmittedSnapshotText, project.Refused},
	} {
		rows, page := made(t, Settings{Settings: project.Settings{Snapshot: c.snapshot}}, bounds, saved(t, "run.sse", started, snapshot, finished))
		if *rows[0].Projection != c.want || rows[0].Verdict != c.verdict || strings.Contains(string(page), `<article id="r1" data-verdict="refused"`) != (c.verdict == project.Refused) {
			t.Errorf("%s: %s by %s", c.snapshot, rows[0].Verdict, *rows[0].Projection)
		}
	}
}
