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

// Limits of a record that package project does not export, and the file that an omission
// can name.
const (
	maxOmissions    = 10_001 // the last one counts the rest
	maxFamilyLength = 128
	maxToolLength   = 128
	requestFile     = "request.json"
)

// reasons lists the codes of the omissions of a record.
func reasons() []finding.Code {
	return append(locatedReasons(), countedReasons()...)
}

// locatedReasons lists the reasons of omissions that have a place.
func locatedReasons() []finding.Code {
	return []finding.Code{
		finding.KeyOutsideSubset, finding.RoleOutsideSubset,
		finding.ContentMissing, finding.ContentBlank, finding.ContentNotText,
		finding.ValueNull, finding.ValueBlank,
		finding.TextShortened, finding.ErrorStackTrace, finding.TextPartsJoined, finding.SubagentText,
		finding.RequestAbsent, finding.RequestOtherRun, finding.SnapshotNotChosen, finding.TerminalOtherRun, finding.SnapshotLacksText,
	}
}

// countedReasons lists the reasons of those that are only countedReasons.
func countedReasons() []finding.Code {
	return []finding.Code{finding.FamiliesUncounted, finding.OmissionsUncounted}
}

// families returns the schema of counts by name.
func families() *jsonschema.Schema {
	s := property(envelope.RunStarted, &jsonschema.Schema{Const: 1, Description: "A run has exactly one RUN_STARTED (P20 §7)."})
	s.Type = "object"
	s.AdditionalProperties = &jsonschema.Schema{Type: "integer", Minimum: "1"}
	s.PropertyNames = new(jsonschema.Schema)
	lengths(s.PropertyNames, 1, maxFamilyLength)
	s.MaxProperties = uintPtr(envelope.MaxFamilies())
	s.Required = []string{envelope.RunStarted}
	return s
}

// record generates the schema of records as this program writes them. Decoding accepts
// more, so that verify can report what is wrong with a record.
func (g *generator) record() (*jsonschema.Schema, error) {
	s := g.reflect(record.Record{}, false)
	var err error
	if s.Examples, err = examples("frozen/finished.record.json", "frozen/failed.record.json"); err != nil {
		return nil, err
	}
	return s, apply(s, []rule{
		{"", nil, "States how an artifact was made, so that anyone with the capture can repeat it: an in-toto Statement v1. It describes the one named projection step (P20 §4)."},
		{"_type", constant(record.StatementType), "The type of an in-toto Statement v1."},
		{"predicateType", constant(record.PredicateType), "The type of a record's predicate."},
		{"subject", subjects, "The two files that the record describes: the artifact, then its envelope."},
		{"subject/*/name", nil, "The file's name."},
		{"subject/*/digest", nil, "The file's digest, as in-toto writes it."},
		{"subject/*/digest/sha256", func(s *jsonschema.Schema) { s.Pattern = "^" + hexDigits + "$" }, "SHA-256 of the file's bytes in lower-case hex digits."},
		{"predicate", events, ""},
		{"predicate/projection", projection, "The projection as it was applied (P20 §4)."},
		{"predicate/projection/name", nil, "The projection's name (P20 §4)."},
		{"predicate/projection/version", versions, "The projection's version. The output of a version never changes."},
		{"predicate/projection/snapshot", func(s *jsonschema.Schema) { s.Pattern = "^(only|first|last|[1-9][0-9]*)$" }, "The selected snapshot of the run: the only one, the first, the last, or a number from 1 (P20 §7)."},
		{"predicate/projection/origin", nil, "Whether the run emitted the snapshot or the projection built it (P20 §4)."},
		{"predicate/profile", nil, "The profile under which the artifact was validated."},
		{"predicate/tool/name", constant(record.ToolName), "The program's name."},
		{"predicate/tool/version", func(s *jsonschema.Schema) { lengths(s, 1, maxToolLength) }, "The program's version."},
		{"predicate/capture/digest", nil, "Digest of the stored response."},
		{"predicate/capture/bytes", atLeast("1"), "Size in bytes of the stored response."},
		{"predicate/capture/framing", func(s *jsonschema.Schema) { s.Enum = enum(readable()...).Enum }, "The framing of events in the response: an event stream, one JSON value per line, or one JSON array."},
		{"predicate/capture/run", atLeast("1"), ""},
		{"predicate/events/*", nil, "One event of the envelope, and its place in the response (P20 §7)."},
		{"predicate/events/*/part", func(s *jsonschema.Schema) {
			s.Enum = enum(project.RunStartedPart, project.SnapshotPart, project.TerminalPart).Enum
		}, "Which event of the envelope it is (P20 §7)."},
		{"predicate/events/*/index", atLeast("0"), "The number of the event in the capture, counted from 0."},
		{"predicate/events/*/offset", atLeast("0"), "The byte offset of its first data byte in the response."},
		{"predicate/events/*/bytes", atLeast("1"), "The number of bytes up to its last data byte."},
		{"predicate/times", times, "The source of the artifact's times (P20 §8.3, Envelope timestamps)."},
		{"predicate/times/source", nil, "The timestamps of the events, the times of arrival, or the operator (P20 §8.3, Envelope timestamps)."},
		{"predicate/times/started_at", matching(ownTime), "The start that the operator gave."},
		{"predicate/times/finished_at", matching(ownTime), "The end that the operator gave."},
		{"predicate/omissions", func(s *jsonschema.Schema) { s.MaxItems = uintPtr(maxOmissions) }, "What was omitted from the artifact, without its content (P20 §8.3, Message content)."},
		{"predicate/omissions/*", omission, ""},
		{"predicate/omissions/*/event_index", atLeast("0"), "The event of the omitted value, counted from 0."},
		{"predicate/omissions/*/file", constant(requestFile), "The file of the omitted value, if it was not in an event."},
		{"predicate/omissions/*/pointer", nil, "The place in the event or file: an RFC 6901 JSON Pointer, empty for all of it."},
		{"predicate/omissions/*/reason", nil, "The reason of the omission: a finding code of the program."},
		{"predicate/omissions/*/count", atLeast("1"), ""},
		{"predicate/sizes/capture_bytes", atLeast("1"), "Size of the response."},
		{"predicate/sizes/envelope_bytes", atLeast("1"), "Size of the envelope file."},
		{"predicate/sizes/artifact_bytes", func(s *jsonschema.Schema) {
			s.Minimum, s.Maximum = "1", json.Number(strconv.Itoa(artifact.MaxFileBytes))
		}, "Size of the artifact file (P20 §8.3, messages: bounded)."},
	})
}

// versions restricts a number to the versions of all projections.
func versions(s *jsonschema.Schema) {
	s.Enum = upTo(project.FoldedStream.Version())
}

// upTo lists the versions from 1 to newest.
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
			If:   property("name", equalTo(project.FoldedStream, "The snapshot is built from the stream.")),
			Then: property("origin", equalTo(project.Built, "A built snapshot is marked.")),
			Else: property("origin", equalTo(project.Emitted, "The run emitted the snapshot.")),
		},
		{
			If:   property("name", equalTo(project.FoldedStream, "This projection has four versions.")),
			Else: property("version", &jsonschema.Schema{Enum: upTo(project.EmittedSnapshot.Version()), Description: "The other two projections have three versions."}),
		},
		{
			If:   property("name", equalTo(project.EmittedSnapshotText, "One of several snapshots can be selected.")),
			Else: property("snapshot", equalTo(project.Only, "The other projections do not select a snapshot.")),
		},
	}
}

// subjects restricts a list to an artifact and an envelope.
func subjects(s *jsonschema.Schema) {
	named := func(suffix, description string) *jsonschema.Schema {
		return property("name", &jsonschema.Schema{Pattern: suffix + "$", Description: description})
	}
	s.AllOf = []*jsonschema.Schema{{PrefixItems: []*jsonschema.Schema{
		named(`\.artifact\.json`, "The artifact's file name."),
		named(`\.envelope\.ndjson`, "The envelope's file name."),
	}}}
	s.MinItems, s.MaxItems = uintPtr(2), uintPtr(2)
}

// events requires three parts, or two if the snapshot was built and so is not an event.
func events(s *jsonschema.Schema) {
	parts := func(description string, names ...string) *jsonschema.Schema {
		list := &jsonschema.Schema{Description: description, MinItems: uintPtr(len(names)), MaxItems: uintPtr(len(names))}
		for _, name := range names {
			list.PrefixItems = append(list.PrefixItems, property("part", equalTo(name, "The part at this position.")))
		}
		return property("events", list)
	}
	origin := property("origin", equalTo(project.Built, "The snapshot was built."))
	origin.Description = "The projection as it was applied."
	s.If = property("projection", origin)
	s.Then = parts("The envelope's events without the snapshot, which was built (P20 §7).", project.RunStartedPart, project.TerminalPart)
	s.Else = parts("The envelope's three events (P20 §7).", project.RunStartedPart, project.SnapshotPart, project.TerminalPart)
}

// times allows times only if the operator gave them.
func times(s *jsonschema.Schema) {
	s.If = property("source", equalTo(project.OperatorTime, "The operator gave the times."))
	s.Then = &jsonschema.Schema{Required: []string{"started_at"}}
	s.Else = &jsonschema.Schema{Not: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Required: []string{"started_at"}}, {Required: []string{"finished_at"}},
	}}}
}

// omission has a place in an event or in the request, or is a count without
// a place.
func omission(s *jsonschema.Schema) {
	reason := func(codes []finding.Code, description, required string) *jsonschema.Schema {
		list := enum(codes...)
		list.Type, list.Description = "", description
		branch := property("reason", list)
		branch.Required = []string{required}
		for _, other := range []string{"event_index", "file", "count"} {
			if other != required {
				branch.Not = orRequired(branch.Not, other)
			}
		}
		return branch
	}
	count := reason(countedReasons(), "The reason of omissions that are only counted.", "count")
	count.Properties.Set("pointer", &jsonschema.Schema{Const: "", Description: "A count has no place."})
	s.OneOf = []*jsonschema.Schema{
		reason(locatedReasons(), "The reason of an omission from an event.", "event_index"),
		reason(locatedReasons(), "The reason of an omission from the request.", "file"),
		count,
	}
}

// orRequired extends a schema so that it also matches objects with key.
func orRequired(s *jsonschema.Schema, key string) *jsonschema.Schema {
	if s == nil {
		s = new(jsonschema.Schema)
	}
	s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Required: []string{key}})
	return s
}
