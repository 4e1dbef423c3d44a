package main

import (
	"fmt"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/artifact"
)

// artifact generates the schema of artifacts of a profile (P20 §8).
func (g *generator) artifact(p artifact.Profile) (*jsonschema.Schema, error) {
	s := g.reflect(artifact.Artifact{}, false)
	l := limits{p}
	code := func(l artifact.Limits) int { return l.ErrorCode }
	message := func(l artifact.Limits) int { return l.ErrorMessage }
	s.If = property("terminal_event", equalTo(artifact.RunError, "The run failed (P20 §8.3, terminal_event)."))
	s.Then = &jsonschema.Schema{Required: []string{"error_message"}}
	s.Else = &jsonschema.Schema{Not: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Required: []string{"error_code"}}, {Required: []string{"error_message"}},
	}}}
	var err error
	if s.Examples, err = examples("frozen/finished.artifact.json", "frozen/failed.artifact.json"); err != nil {
		return nil, err
	}
	return s, apply(s, []rule{
		{"", nil, fmt.Sprintf("An artifact under the profile %s: the messages of one snapshot of one AG-UI run, with the run's ids, times and terminal event (P20 §8). It claims portable compacted message-history evidence for one bounded run envelope and nothing more (P20 §3). The schema accepts every artifact that the profile accepts, but cannot express all its rules.", p)},
		{"schema", constant(artifact.Schema), "Identifies the format of the artifact (P20 §8.1; P20 §8.3, Wrapper self-description)."},
		{"framework", constant(artifact.Framework), "Names the upstream protocol (P20 §8.1; P20 §8.3, Wrapper self-description)."},
		{"surface", constant(artifact.Surface), "Names the bounded seam; it does not claim that upstream exports such files (P20 §8.1; P20 §8.3, Wrapper self-description)."},
		{"thread_id_ref", l.reference, "The thread: an opaque reference without white space and control characters, and not in a known form of a link (P20 §8.1; P20 §8.3, Envelope identity)."},
		{"run_id_ref", l.reference, "The run: an opaque reference without white space and control characters, and not in a known form of a link (P20 §8.1; P20 §8.3, Envelope identity)."},
		{"parent_run_id_ref", l.reference, "The parent run, for information only. Its absence does not prove that there was no parent run (P20 §8.2; P20 §8.3, parent_run_id_ref)."},
		{"started_at", matching(anyTime), "The start of the run, from the source named in the record: RFC 3339 with Z or an offset and at most six fraction digits. It does not prove order or completeness (P20 §8.1; P20 §8.3, Envelope timestamps)."},
		{"finished_at", matching(anyTime), "The end of the run, from the same source and in the same format as started_at, and never before it (P20 §8.2; P20 §8.3, Envelope timestamps)."},
		{"messages", func(s *jsonschema.Schema) {
			s.MinItems, s.MaxItems = uintPtr(1), uintPtr(p.Limits().Messages)
		}, "The ordered text subset of the run's message snapshot, never empty (P20 §8.1; P20 §8.3, messages)."},
		{"messages/*", nil, "One message of the text subset, without other keys (P20 §8.3, messages)."},
		{"messages/*/id", l.text(func(l artifact.Limits) int { return l.MessageID }), "The id of the message, unique in the artifact (P20 §8.3, Message content)."},
		{"messages/*/role", func(s *jsonschema.Schema) { s.Enum = enum(artifact.Roles()...).Enum }, "The message's role (P20 §8.3, Message content)."},
		{"messages/*/content", l.text(func(l artifact.Limits) int { return l.Content }), "The message's text, as plain text (P20 §8.3, Message content)."},
		{"messages/*/name", l.text(func(l artifact.Limits) int { return l.Name }), "The name in the message, if any (P20 §8.3, messages)."},
		{"terminal_event", func(s *jsonschema.Schema) {
			s.Enum = enum(artifact.RunFinished, artifact.RunError).Enum
		}, "The event that ended the run (P20 §8.1; P20 §8.3, terminal_event)."},
		{"error_code", l.label(code), "A short error code, only with RUN_ERROR, without control characters and known shapes of stack traces (P20 §8.2; P20 §8.3, Error details)."},
		{"error_message", l.label(message), "A short error message, required with RUN_ERROR and forbidden with RUN_FINISHED, without control characters and known shapes of stack traces (P20 §8.2; P20 §8.3, Error details)."},
	})
}
