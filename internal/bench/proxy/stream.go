package main

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
	ForwardedProps plan   `json:"forwardedProps"`
}

// A plan is what the agent sends after RUN_STARTED.
type plan struct {
	Events int `json:"events"` // events with text
	Rate   int `json:"rate"`   // events in a second; 0: as many as possible
	Block  int `json:"block"`  // bytes that are written at once; 0: one event
}

func (p plan) request(stream int) ([]byte, error) {
	return json.Marshal(input{
		ThreadID: "bench", RunID: fmt.Sprintf("run-%d", stream),
		Messages: []any{}, Tools: []any{}, Context: []any{}, ForwardedProps: p,
	})
}

// The parts of an event with text. The stamp between them is the time at which the event was
// sent, or its number if the agent sends as much as possible. An event has eventSize bytes.
const (
	before    = `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"message-1","delta":"`
	after     = ` the quick brown fox jumps over the lazy dog and runs on"}` + "\n\n"
	stampSize = 19
	eventSize = len(before) + stampSize + len(after)
)

func appendEvent(b []byte, stamp int64) []byte {
	return append(fmt.Appendf(append(b, before...), "%0*d", stampSize, stamp), after...)
}

// stampOf returns the stamp of an event.
func stampOf(event []byte) (int64, error) {
	rest, ok := bytes.CutPrefix(event, []byte(before))
	if !ok || len(rest) < stampSize {
		return 0, fmt.Errorf("unexpected event %.80q", event)
	}
	return strconv.ParseInt(string(rest[:stampSize]), 10, 64)
}

// opening and closing are what the agent sends before and after the events with text.
const (
	opening = `data: {"type":"RUN_STARTED","threadId":"bench","runId":"run"}` + "\n\n" +
		`data: {"type":"TEXT_MESSAGE_START","messageId":"message-1","role":"assistant"}` + "\n\n"
	closing = `data: {"type":"TEXT_MESSAGE_END","messageId":"message-1"}` + "\n\n" +
		`data: {"type":"RUN_FINISHED","threadId":"bench","runId":"run"}` + "\n\n"
)
