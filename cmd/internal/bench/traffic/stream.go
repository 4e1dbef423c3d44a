// Package traffic has the streams of events that benchmarks of servers measure, and the agent
// that sends them.
package traffic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// An input is the request for a stream: a RunAgentInput of AG-UI, whose forwarded properties
// say what the agent sends.
type input struct {
	ThreadID       string `json:"threadId"`
	RunID          string `json:"runId"`
	State          any    `json:"state"`
	Messages       []any  `json:"messages"`
	Tools          []any  `json:"tools"`
	Context        []any  `json:"context"`
	ForwardedProps Plan   `json:"forwardedProps"`
}

// A Plan is what the agent sends after RUN_STARTED.
type Plan struct {
	Events int `json:"events"` // events with text
	Rate   int `json:"rate"`   // events in a second; 0: as many as possible
	Block  int `json:"block"`  // bytes that are written at once; 0: one event
}

// Request returns the request for a run.
func (p Plan) Request(thread, run string) ([]byte, error) {
	return json.Marshal(input{
		ThreadID: thread, RunID: run,
		Messages: []any{}, Tools: []any{}, Context: []any{}, ForwardedProps: p,
	})
}

// The parts of an event with text. The stamp between them is the time at which the event was
// sent, or its number if the agent sends as much as possible. An event has EventSize bytes, with the
// blank line that ends it.
const (
	Before    = `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"message-1","delta":"`
	after     = ` the quick brown fox jumps over the lazy dog and runs on"}` + "\n\n"
	stampSize = 19
	EventSize = len(Before) + stampSize + len(after)
)

// AppendEvent appends an event with a stamp.
func AppendEvent(b []byte, stamp int64) []byte {
	return append(fmt.Appendf(append(b, Before...), "%0*d", stampSize, stamp), after...)
}

// StampOf returns the stamp of an event.
func StampOf(event []byte) (int64, error) {
	rest, ok := bytes.CutPrefix(event, []byte(Before))
	if !ok || len(rest) < stampSize {
		return 0, fmt.Errorf("unexpected event %.80q", event)
	}
	return strconv.ParseInt(string(rest[:stampSize]), 10, 64)
}

// Opening and Closing are what the agent sends before and after the events with text.
const (
	Opening = `data: {"type":"RUN_STARTED","threadId":"bench","runId":"run"}` + "\n\n" +
		`data: {"type":"TEXT_MESSAGE_START","messageId":"message-1","role":"assistant"}` + "\n\n"
	Closing = `data: {"type":"TEXT_MESSAGE_END","messageId":"message-1"}` + "\n\n" +
		`data: {"type":"RUN_FINISHED","threadId":"bench","runId":"run"}` + "\n\n"
)
