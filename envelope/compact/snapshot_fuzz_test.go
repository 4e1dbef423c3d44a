package compact

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope"
)

// FuzzSnapshot compacts lines that are events and ignores all others. Only events come
// out, and compacting them again changes nothing.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(strings.Join([]string{started("1", ""), chunk("m", "a"), `{"type":"STATE_DELTA","delta":[]}`, ended, started("2", "1"), ended}, "\n")))
	f.Add([]byte(strings.Join([]string{
		`{"type":"RUN_STARTED","input":{"messages":[{"id":"1"},{"id":"2","toolCalls":[{"id":"c"}]},"x"]}}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":[]}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"2","role":"reasoning"},{"id":"2"}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":[]}}}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"1","activityType":"x","content":{}}`,
		`{"type":"RUN_FINISHED","outcome":{"type":"success"}}`,
		`{"type":"RUN_STARTED","parentRunId":"?"}`,
	}, "\n")))
	streams, _ := captured(f)
	for _, events := range streams {
		if len(events) < 20 {
			f.Add([]byte(strings.Join(events, "\n")))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var in []string
		for line := range bytes.Lines(data) {
			if _, err := envelope.ReadEvent(line); err == nil {
				in = append(in, string(line))
			}
		}
		l := limits{event: 1 << 20, held: 1 << 16, kept: 1 << 20}
		out, _, err := snapshot(t, l, in)
		if err != nil {
			limitFinding(t, err)
			return
		}
		again, _, err := snapshot(t, l, out)
		if err != nil {
			limitFinding(t, err)
			return
		}
		if !slices.Equal(out, again) {
			t.Errorf("the events\n%s\nbecame\n%s\nand then\n%s", strings.Join(in, "\n"), strings.Join(out, "\n"), strings.Join(again, "\n"))
		}
	})
}
