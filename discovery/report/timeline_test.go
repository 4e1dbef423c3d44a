package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// The timeline describes an omission with the same words as the trees.
func TestTimelineSays(t *testing.T) {
	index, left := 3, bounds
	data := (&viewer{left: &left}).data(new(timeline), nil, []project.Omission{
		{EventIndex: &index, Pointer: "/messages/0/content", Reason: finding.TextPartsJoined},
		{EventIndex: &index, Pointer: "/rawEvent", Reason: finding.KeyOutsideSubset},
		{EventIndex: &index, Pointer: "/message", Reason: finding.ErrorStackTrace},
		{EventIndex: &index, Reason: finding.SnapshotLacksText},
	})
	const want = `{"types":[],"events":[],"kept":{},"left":[[3,"/messages/0/content","text_parts_joined","changed"],[3,"/rawEvent","key_outside_subset","left out"],[3,"/message","error_stack_trace","changed"],[3,"","snapshot_lacks_streamed_text","not in the snapshot"]]}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
}

// A page has one number of events of a run. Events before the run and frames that are not
// events are counted apart.
func TestEventsAreCounted(t *testing.T) {
	snapshot := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"hi"}]}`
	for name, c := range map[string]struct {
		events         []string
		counted, index string
		headline       string
	}{
		"before the run": {[]string{`{"type":"CUSTOM"}`, started, snapshot, finished}, "3 events, 1 event before the run, ", "3", "3 of 3 events"},
		"not events":     {[]string{started, "not json", "[1]", snapshot, finished}, "3 events, 2 frames that are not events, ", "3", "0 of 3 events"},
		"both":           {[]string{"1", `{"type":"CUSTOM"}`, started, snapshot, finished}, "3 events, 1 event before the run, 1 frame that is not an event, ", "3", "of 3 events"},
		"no run":         {[]string{"1", `{"type":"CUSTOM"}`}, "1 event, 1 frame that is not an event, ", "1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, page := made(t, Settings{}, bounds, saved(t, "run.sse", c.events...), captures+"/adk/one-turn")
			if got := element(t, page, "<summary><h3>Events</h3> <small>", "</small>"); !strings.HasPrefix(got, c.counted) {
				t.Errorf("the timeline has %s", got)
			}
			if got := element(t, page, `data-is="Events">`, "<"); got != c.index {
				t.Errorf("the index has %s events", got)
			}
			if got := element(t, page, `<p class="says">`, "</p>"); !strings.Contains(got, c.headline) {
				t.Errorf("the headline is %s", got)
			}
		})
	}
}

// A page says that the texts of an error were shortened, not that they were left out.
func TestShortenedErrors(t *testing.T) {
	snapshot := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"hi"}]}`
	for name, c := range map[string]struct{ event, headline string }{
		"several lines": {`{"type":"RUN_ERROR","message":"Failed\n  at foo (file.js:1:2)","timestamp":1769860801123}`, "message of the error shortened"},
		"long":          {`{"type":"RUN_ERROR","message":"` + strings.Repeat("E", 5_000) + `","code":"` + strings.Repeat("C", 900) + `","timestamp":1769860801123}`, "message, code of the error shortened"},
	} {
		_, page := made(t, Settings{}, bounds, saved(t, "run.sse", started, snapshot, c.event))
		if got := element(t, page, `<p class="says">`, "</p>"); !strings.Contains(got, c.headline) {
			t.Errorf("%s: %s", name, got)
		}
		if strings.Contains(string(page), "Also left out") || strings.Contains(string(page), "not plain text") {
			t.Errorf("%s: the page says that something was left out", name)
		}
	}
}
