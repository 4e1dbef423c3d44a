package main

import (
	"encoding/json"
	"strconv"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// Bounds of a record that package project keeps to itself, and the file that an
// omission can be of.
const (
	mostOmissions = 10_001 // one of them counts the rest
	longestFamily = 128
	longestTool   = 128
	requestFile   = "request.json"
)

// reasons lists why something can be left out: the codes that stand in the
// omissions of a record.
func reasons() []finding.Code {
	return append(placed(), counted()...)
}

// placed lists the reasons of omissions that have a place.
func placed() []finding.Code {
	return []finding.Code{
		finding.KeyOutsideSubset, finding.RoleOutsideSubset,
		finding.ContentMissing, finding.ContentBlank, finding.ContentNotText,
		finding.ValueNull, finding.ValueBlank,
		finding.TextShortened, finding.ErrorStackTrace, finding.TextPartsJoined, finding.SubagentText,
		finding.RequestAbsent, finding.RequestOtherRun, finding.SnapshotNotChosen, finding.TerminalOtherRun, finding.SnapshotLacksText,
	}
}

// counted lists the reasons of those that are only counted.
func counted() []finding.Code {
	return []finding.Code{finding.FamiliesUncounted, finding.OmissionsUncounted}
}

// families is the schema of counted names.
func families() *jsonschema.Schema {
	s := with(envelope.RunStarted, &jsonschema.Schema{Const: 1, Description: "A run begins once (P20 §7)."})
	s.Type = "object"
	s.AdditionalProperties = &jsonschema.Schema{Type: "integer", Minimum: "1"}
	s.PropertyNames = new(jsonschema.Schema)
	between(s.PropertyNames, 1, longestFamily)
	s.MaxProperties = number(envelope.MaxFamilies())
	s.Required = []string{envelope.RunStarted}
	return s
}

// record makes the schema of records as this program writes them. Decoding
// reads more of them, so that verify can say what is wrong with one.
func (g *generator) record() (*jsonschema.Schema, error) {
	s := g.reflect(record.Record{}, false)
	var err error
	if s.Examples, err = examples("frozen/finished.record.json", "frozen/failed.record.json"); err != nil {
		return nil, err
	}
	return s, apply(s, []rule{
		{"", nil, "Says how an artifact came about, so that anyone with the capture can repeat it: an in-toto Statement v1. It is the account of the one clearly named projection step (P20 §4)."},
		{"_type", constant(record.StatementType), "The type of an in-toto Statement v1."},
		{"predicateType", constant(record.PredicateType), "The type of a record's predicate."},
		{"subject", subjects, "The two files the record is about: the artifact, then its envelope."},
		{"subject/*/name", nil, "The file's name."},
		{"subject/*/digest", nil, "The file's digest, as in-toto writes it."},
		{"subject/*/digest/sha256", func(s *jsonschema.Schema) { s.Pattern = "^" + hexDigits + "$" }, "SHA-256 of the file's bytes in lower-case hex digits."},
		{"predicate", events, ""},
		{"predicate/projection", projection, "The projection as it was applied (P20 §4)."},
		{"predicate/projection/name", nil, "The projection's name (P20 §4)."},
		{"predicate/projection/version", versions, "The projection's version. What it outputs never changes under one version."},
		{"predicate/projection/snapshot", func(s *jsonschema.Schema) { s.Pattern = "^(only|first|last|[1-9][0-9]*)$" }, "Which of the run's snapshots was taken: the only one, the first, the last, or a number from 1 (P20 §7)."},
		{"predicate/projection/origin", nil, "Whether the run emitted the snapshot or the projection built it (P20 §4)."},
		{"predicate/profile", nil, "The limits the artifact was held to."},
		{"predicate/tool/name", constant(record.ToolName), "The program's name."},
		{"predicate/tool/version", func(s *jsonschema.Schema) { between(s, 1, longestTool) }, "The program's version."},
		{"predicate/capture/digest", nil, "Digest of the response as it is stored."},
		{"predicate/capture/bytes", atLeast("1"), "Size in bytes of the response as it is stored."},
		{"predicate/capture/framing", func(s *jsonschema.Schema) { s.Enum = enum(framings()...).Enum }, "How events lie in the response: an event stream, one JSON value a line, or one JSON array."},
		{"predicate/capture/run", atLeast("1"), ""},
		{"predicate/events/*", nil, "One event of the envelope, and where it is in the response (P20 §7)."},
		{"predicate/events/*/part", func(s *jsonschema.Schema) {
			s.Enum = enum(project.RunStartedPart, project.SnapshotPart, project.TerminalPart).Enum
		}, "Which event of the envelope it is (P20 §7)."},
		{"predicate/events/*/index", atLeast("0"), "The event's place among the capture's, counted from 0."},
		{"predicate/events/*/offset", atLeast("0"), "Where its first data byte is in the response, in bytes."},
		{"predicate/events/*/bytes", atLeast("1"), "How many bytes there are up to its last data byte."},
		{"predicate/times", times, "Where the artifact's time labels come from (P20 §8.3, Envelope timestamps)."},
		{"predicate/times/source", nil, "The events' own timestamps, the times of arrival, or whoever ran the program (P20 §8.3, Envelope timestamps)."},
		{"predicate/times/started_at", timed(ownTime), "The operator's label of the start."},
		{"predicate/times/finished_at", timed(ownTime), "The operator's label of the end."},
		{"predicate/omissions", func(s *jsonschema.Schema) { s.MaxItems = number(mostOmissions) }, "What was left out of the artifact; it is named and never held (P20 §8.3, Message content)."},
		{"predicate/omissions/*", omission, ""},
		{"predicate/omissions/*/event_index", atLeast("0"), "The event it was in, counted from 0."},
		{"predicate/omissions/*/file", constant(requestFile), "The file it was in, where it was in no event."},
		{"predicate/omissions/*/pointer", nil, "Where it was in the event or file: an RFC 6901 JSON Pointer; empty for the whole."},
		{"predicate/omissions/*/reason", nil, "Why it was left out: a code of the program's closed set of findings."},
		{"predicate/omissions/*/count", atLeast("1"), ""},
		{"predicate/sizes/capture_bytes", atLeast("1"), "Size of the response."},
		{"predicate/sizes/envelope_bytes", atLeast("1"), "Size of the envelope file."},
		{"predicate/sizes/artifact_bytes", func(s *jsonschema.Schema) {
			s.Minimum, s.Maximum = "1", json.Number(strconv.Itoa(artifact.MaxFileBytes))
		}, "Size of the artifact file (P20 §8.3, messages: bounded)."},
	})
}

// versions are those of all projections.
func versions(s *jsonschema.Schema) {
	s.Enum = upTo(project.FoldedStream.Version())
}

// upTo lists the versions of a projection.
func upTo(newest int) (all []any) {
	for v := range newest {
		all = append(all, v+1)
	}
	return all
}

// projection ties origin, version and selection to the projection's name.
func projection(s *jsonschema.Schema) {
	s.AllOf = []*jsonschema.Schema{
		{
			If:   with("name", exactly(project.FoldedStream, "The snapshot is built from the stream.")),
			Then: with("origin", exactly(project.Built, "A built snapshot says so.")),
			Else: with("origin", exactly(project.Emitted, "The snapshot is the run's own.")),
		},
		{
			If:   with("name", exactly(project.FoldedStream, "It has three versions.")),
			Else: with("version", &jsonschema.Schema{Enum: upTo(project.EmittedSnapshot.Version()), Description: "The other two have two."}),
		},
		{
			If:   with("name", exactly(project.EmittedSnapshotText, "One of several snapshots can be chosen.")),
			Else: with("snapshot", exactly(project.Only, "There is nothing to choose.")),
		},
	}
}

// subjects is an artifact and an envelope.
func subjects(s *jsonschema.Schema) {
	named := func(suffix, says string) *jsonschema.Schema {
		return with("name", &jsonschema.Schema{Pattern: suffix + "$", Description: says})
	}
	s.AllOf = []*jsonschema.Schema{{PrefixItems: []*jsonschema.Schema{
		named(`\.artifact\.json`, "The artifact's file name."),
		named(`\.envelope\.ndjson`, "The envelope's file name."),
	}}}
	s.MinItems, s.MaxItems = number(2), number(2)
}

// events is three parts, or two when the snapshot was built: it was no event.
func events(s *jsonschema.Schema) {
	parts := func(says string, names ...string) *jsonschema.Schema {
		list := &jsonschema.Schema{Description: says, MinItems: number(len(names)), MaxItems: number(len(names))}
		for _, name := range names {
			list.PrefixItems = append(list.PrefixItems, with("part", exactly(name, "The part that stands here.")))
		}
		return with("events", list)
	}
	origin := with("origin", exactly(project.Built, "The snapshot was built."))
	origin.Description = "The projection as it was applied."
	s.If = with("projection", origin)
	s.Then = parts("The envelope's events without the snapshot, which was none (P20 §7).", project.RunStartedPart, project.TerminalPart)
	s.Else = parts("The envelope's three events (P20 §7).", project.RunStartedPart, project.SnapshotPart, project.TerminalPart)
}

// times has labels only when the operator gave them.
func times(s *jsonschema.Schema) {
	s.If = with("source", exactly(project.OperatorTime, "The operator gave the labels."))
	s.Then = &jsonschema.Schema{Required: []string{"started_at"}}
	s.Else = &jsonschema.Schema{Not: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Required: []string{"started_at"}}, {Required: []string{"finished_at"}},
	}}}
}

// omission has a place in an event or in the request, or is a count without
// a place.
func omission(s *jsonschema.Schema) {
	reason := func(codes []finding.Code, says string, required string) *jsonschema.Schema {
		list := enum(codes...)
		list.Type, list.Description = "", says
		branch := with("reason", list)
		branch.Required = []string{required}
		for _, other := range []string{"event_index", "file", "count"} {
			if other != required {
				branch.Not = orRequired(branch.Not, other)
			}
		}
		return branch
	}
	whole := reason(counted(), "What is only counted.", "count")
	whole.Properties.Set("pointer", &jsonschema.Schema{Const: "", Description: "A count has no place."})
	s.OneOf = []*jsonschema.Schema{
		reason(placed(), "Why it was left out of an event.", "event_index"),
		reason(placed(), "Why it was left out of the request.", "file"),
		whole,
	}
}

// orRequired returns a schema of what has one more of the keys.
func orRequired(s *jsonschema.Schema, key string) *jsonschema.Schema {
	if s == nil {
		s = new(jsonschema.Schema)
	}
	s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Required: []string{key}})
	return s
}
