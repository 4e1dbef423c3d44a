package main

import (
	"fmt"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/artifact"
)

// artifact makes the schema of artifacts of a profile (P20 §8).
func (g *generator) artifact(p artifact.Profile) (*jsonschema.Schema, error) {
	s := g.reflect(artifact.Artifact{}, false)
	l := limits{p}
	code := func(l artifact.Limits) int { return l.ErrorCode }
	message := func(l artifact.Limits) int { return l.ErrorMessage }
	s.If = with("terminal_event", exactly(artifact.RunError, "The run failed (P20 §8.3, terminal_event)."))
	s.Then = &jsonschema.Schema{Required: []string{"error_message"}}
	s.Else = &jsonschema.Schema{Not: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Required: []string{"error_code"}}, {Required: []string{"error_message"}},
	}}}
	var err error
	if s.Examples, err = examples("frozen/finished.artifact.json", "frozen/failed.artifact.json"); err != nil {
		return nil, err
	}
	return s, apply(s, []rule{
		{"", nil, fmt.Sprintf("The messages of one snapshot of one AG-UI run, with the run's ids, its time labels and the event it ended with, frozen and bounded: profile %s (P20 §8). It claims portable compacted message-history evidence for one bounded run envelope and nothing more (P20 §3). The schema accepts whatever the profile does, and cannot say everything the profile does.", p)},
		{"schema", constant(artifact.Schema), "Says which shape of artifact this is (P20 §8.1; P20 §8.3, Wrapper self-description)."},
		{"framework", constant(artifact.Framework), "Names the upstream protocol (P20 §8.1; P20 §8.3, Wrapper self-description)."},
		{"surface", constant(artifact.Surface), "Names the bounded seam; it does not say that upstream exports one (P20 §8.1; P20 §8.3, Wrapper self-description)."},
		{"thread_id_ref", l.ref, "The thread: an opaque name, without white space and control characters; what begins like a link of a known form is refused (P20 §8.1; P20 §8.3, Envelope identity)."},
		{"run_id_ref", l.ref, "The run: an opaque name, without white space and control characters; what begins like a link of a known form is refused (P20 §8.1; P20 §8.3, Envelope identity)."},
		{"parent_run_id_ref", l.ref, "The parent run, for information only. Its absence does not prove that there was none (P20 §8.2; P20 §8.3, parent_run_id_ref)."},
		{"started_at", timed(anyTime), "The start of the run, as the source named in the record has it: RFC 3339 with Z or an offset and at most six fraction digits. A label; it proves nothing about order or completeness (P20 §8.1; P20 §8.3, Envelope timestamps)."},
		{"finished_at", timed(anyTime), "The end of the run, as the same source has it, never before started_at. A label, written like it (P20 §8.2; P20 §8.3, Envelope timestamps)."},
		{"messages", func(s *jsonschema.Schema) {
			s.MinItems, s.MaxItems = number(1), number(p.Limits().Messages)
		}, "The ordered text subset of the run's message snapshot, never empty (P20 §8.1; P20 §8.3, messages)."},
		{"messages/*", nil, "One message of the text subset; nothing else enters (P20 §8.3, messages)."},
		{"messages/*/id", l.text(func(l artifact.Limits) int { return l.MessageID }), "The message's name, not repeated in the artifact (P20 §8.3, Message content)."},
		{"messages/*/role", func(s *jsonschema.Schema) { s.Enum = enum(artifact.Roles()...).Enum }, "The message's role (P20 §8.3, Message content)."},
		{"messages/*/content", l.text(func(l artifact.Limits) int { return l.Content }), "The message's text, as plain text (P20 §8.3, Message content)."},
		{"messages/*/name", l.text(func(l artifact.Limits) int { return l.Name }), "The name in the message, where there is one (P20 §8.3, messages)."},
		{"terminal_event", func(s *jsonschema.Schema) {
			s.Enum = enum(artifact.RunFinished, artifact.RunError).Enum
		}, "The event that ended the run (P20 §8.1; P20 §8.3, terminal_event)."},
		{"error_code", l.label(code), "A short error code, beside RUN_ERROR only, without control characters, and without stack traces of a known shape (P20 §8.2; P20 §8.3, Error details)."},
		{"error_message", l.label(message), "A short error message, required beside RUN_ERROR and forbidden beside RUN_FINISHED, without control characters, and without stack traces of a known shape (P20 §8.2; P20 §8.3, Error details)."},
	})
}
