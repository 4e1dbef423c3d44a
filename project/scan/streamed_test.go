package scan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope"
)

// counted returns the counts of text messages as inspect prints them.
func counted(t *testing.T, events ...string) Streamed {
	t.Helper()
	var c streamedCounter
	for _, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c.event(e)
	}
	return c.Streamed
}

func TestStreamed(t *testing.T) {
	s := counted(t,
		`{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"x"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"b","delta":"x"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"b","delta":"y"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","delta":"z"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"u","role":"user","delta":"x"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"s","role":"assistant","subagentRunId":"sub"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"s","delta":"x"}`,
		`{"type":"TOOL_CALL_START","messageId":"t"}`)
	if s.Messages != 3 || s.Roles.Count("assistant") != 2 || s.Roles.Count("user") != 1 || s.Truncated {
		t.Errorf("counted %+v", s)
	}
}

// The memory for ids is bounded for many messages and for long ids.
func TestStreamedIsBounded(t *testing.T) {
	var events []string
	for i := range 5 {
		events = append(events, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"%d%s","role":"%d"}`, i, strings.Repeat("x", maxStreamedBytes/4), i))
	}
	if s := counted(t, events...); s.Messages != 3 || !s.Truncated {
		t.Errorf("of long ids %d were counted, more: %v", s.Messages, s.Truncated)
	}
	events = nil
	const most = 16
	for i := range most + 1 {
		events = append(events, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"%d","role":"%d"}`, i, i))
	}
	if s := counted(t, events...); s.Messages != most+1 || s.Roles.Len() != most {
		t.Errorf("%d messages in %d roles", s.Messages, s.Roles.Len())
	}
}
