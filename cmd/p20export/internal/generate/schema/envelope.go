package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/envelope"
)

// The three events of a bounded envelope, with the keys that are looked at and
// those that say something to a reader. Every other key is free.
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

// envelope makes the schema of bounded envelopes (P20 §7).
func (g *generator) envelope() (*jsonschema.Schema, error) {
	started, snapshot, terminal := g.reflect(runStarted{}, true), g.reflect(messagesSnapshot{}, true), g.reflect(runTerminal{}, true)
	for _, event := range []struct {
		schema *jsonschema.Schema
		rules  []rule
	}{
		{started, []rule{
			{"", nil, "The run begins. Other keys are free (P20 §7)."},
			{"type", constant(envelope.RunStarted), "The event's type (P20 §7)."},
			{"threadId", nil, "The run's thread (P20 §8.3, Envelope identity)."},
			{"runId", nil, "The run (P20 §8.3, Envelope identity)."},
			{"parentRunId", nil, "The parent run, where upstream names one; any value is accepted here (P20 §8.3, parent_run_id_ref)."},
		}},
		{snapshot, []rule{
			{"", nil, "The run's one message snapshot. Other keys are free (P20 §7)."},
			{"type", constant(envelope.MessagesSnapshot), "The event's type (P20 §7)."},
			{"messages", nil, "The conversation. The messages are not held to the text subset of an artifact (P20 §7, §8.3, messages)."},
			{"messages/*", nil, "One message, with whatever keys upstream gives it."},
			{"metadata", nil, `A snapshot that was built by a projection, not emitted by the run, has {"p20export":{"origin":"built"}} here (P20 §4).`},
		}},
		{terminal, []rule{
			{"", nil, "The run ends. Other keys are free (P20 §7)."},
			{"type", func(s *jsonschema.Schema) { s.Enum = enum(envelope.RunFinished, envelope.RunError).Enum }, "The event's type (P20 §7; P20 §8.3, terminal_event)."},
			{"threadId", nil, "The thread of RUN_STARTED, where it is named again (P20 §7)."},
			{"runId", nil, "A run, where one is named; it need not be that of RUN_STARTED."},
			{"message", nil, "What went wrong, in a RUN_ERROR (P20 §8.3, Error details)."},
			{"code", nil, "The error's code, in a RUN_ERROR (P20 §8.3, Error details)."},
		}},
	} {
		event.schema.Version = ""
		if err := apply(event.schema, event.rules); err != nil {
			return nil, err
		}
	}
	s := &jsonschema.Schema{
		Type:        "array",
		Description: "The bounded envelope of one AG-UI run: RUN_STARTED, one MESSAGES_SNAPSHOT and one terminal event, in that order (P20 §7). One more event of any family is malformed. A file <name>.envelope.ndjson holds one event a line and no array; the schema, which describes one JSON value, is of the array of its lines.",
		PrefixItems: []*jsonschema.Schema{started, snapshot, terminal},
		MinItems:    number(3),
		MaxItems:    number(3),
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
