package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/envelope"
)

// The three events of a bounded envelope, with the keys that are checked and those that
// help a reader. Any other key is allowed.
type (
	runStarted struct {
		Type        string `json:"type"`
		ThreadID    string `json:"threadId"`
		RunID       string `json:"runId"`
		ParentRunID any    `json:"parentRunId,omitzero"`
	}
	messagesSnapshot struct {
		Type     string           `json:"type"`
		Messages []map[string]any `json:"messages"`
		Metadata any              `json:"metadata,omitzero"`
	}
	runTerminal struct {
		Type     string `json:"type"`
		ThreadID string `json:"threadId,omitzero"`
		RunID    string `json:"runId,omitzero"`
		Message  any    `json:"message,omitzero"`
		Code     any    `json:"code,omitzero"`
	}
)

// envelope generates the schema of bounded envelopes (P20 §7).
func (g *generator) envelope() (*jsonschema.Schema, error) {
	started, snapshot, terminal := g.reflect(runStarted{}, true), g.reflect(messagesSnapshot{}, true), g.reflect(runTerminal{}, true)
	for _, event := range []struct {
		schema *jsonschema.Schema
		rules  []rule
	}{
		{started, []rule{
			{"", nil, "The event that begins the run. Any other key is allowed (P20 §7)."},
			{"type", constant(envelope.RunStarted), "The event's type (P20 §7)."},
			{"threadId", nil, "The run's thread (P20 §8.3, Envelope identity)."},
			{"runId", nil, "The run (P20 §8.3, Envelope identity)."},
			{"parentRunId", nil, "The parent run, if upstream names one; any value is accepted (P20 §8.3, parent_run_id_ref)."},
		}},
		{snapshot, []rule{
			{"", nil, "The run's one message snapshot. Any other key is allowed (P20 §7)."},
			{"type", constant(envelope.MessagesSnapshot), "The event's type (P20 §7)."},
			{"messages", nil, "The conversation. Its messages need not be in the text subset of an artifact (P20 §7, §8.3, messages)."},
			{"messages/*", nil, "One message, with any keys."},
			{"metadata", nil, `In a snapshot that a projection built, {"p20export":{"origin":"built"}} (P20 §4).`},
		}},
		{terminal, []rule{
			{"", nil, "The event that ends the run. Any other key is allowed (P20 §7)."},
			{"type", func(s *jsonschema.Schema) { s.Enum = enum(envelope.RunFinished, envelope.RunError).Enum }, "The event's type (P20 §7; P20 §8.3, terminal_event)."},
			{"threadId", nil, "If present, the thread of RUN_STARTED (P20 §7)."},
			{"runId", nil, "If present, a run, which may differ from that of RUN_STARTED."},
			{"message", nil, "The error message of a RUN_ERROR (P20 §8.3, Error details)."},
			{"code", nil, "The error code of a RUN_ERROR (P20 §8.3, Error details)."},
		}},
	} {
		event.schema.Version = ""
		if err := apply(event.schema, event.rules); err != nil {
			return nil, err
		}
	}
	s := &jsonschema.Schema{
		Type:        "array",
		Description: "The bounded envelope of one AG-UI run: RUN_STARTED, one MESSAGES_SNAPSHOT and one terminal event, in that order (P20 §7). An additional event of any family is malformed. A file <name>.envelope.ndjson has one event per line; the schema describes the array of these events.",
		PrefixItems: []*jsonschema.Schema{started, snapshot, terminal},
		MinItems:    uintPtr(3),
		MaxItems:    uintPtr(3),
	}
	for _, name := range []string{"frozen/finished.envelope.ndjson", "frozen/failed.envelope.ndjson"} {
		data, err := os.ReadFile(sample + name)
		if err != nil {
			return nil, err
		}
		var events []json.RawMessage
		for line := range bytes.Lines(data) {
			events = append(events, json.RawMessage(line))
		}
		s.Examples = append(s.Examples, events)
	}
	return s, nil
}
