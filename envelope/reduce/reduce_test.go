package reduce

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
)

// TestMessages has the messages after a stream of events. The expected messages are the
// reference client's, except where the name of the test says that it differs.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, events, messages, warnings string }{
		{"a result before the first run", `
			TOOL_CALL_RESULT{"messageId":"r","toolCallId":"t","content":"x"}
			TOOL_CALL_START{"toolCallId":"u","toolCallName":"f"}`, `
			{"id":"r","toolCallId":"t","role":"tool","content":"x"}
			{"id":"u","role":"assistant","toolCalls":[{"id":"u","type":"function","function":{"name":"f","arguments":""}}]}`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := New(Options{})
			found := apply(t, r, events(test.events)...)
			if diff := cmp.Diff(messages(test.messages), string(r.AppendMessages(nil))); diff != "" {
				t.Errorf("messages: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(strings.Fields(test.warnings), codes(found)); diff != "" {
				t.Errorf("warnings: -want +got\n%s", diff)
			}
			check(t, r)
		})
	}
}

// events returns the events in lines of the form TYPE{members}.
func events(lines string) (list []string) {
	for line := range strings.Lines(lines) {
		name, members, ok := strings.Cut(strings.TrimSpace(line), "{")
		if !ok {
			continue
		}
		event := `{"type":"` + name + `"`
		if members != "}" {
			event += ","
		}
		list = append(list, event+members)
	}
	return list
}

// messages returns the array of the messages in lines.
func messages(lines string) string {
	var list []string
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}

// codes returns the codes of findings.
func codes(found []finding.Finding) []string {
	list := []string{}
	for _, f := range found {
		list = append(list, string(f.Code))
	}
	return list
}
