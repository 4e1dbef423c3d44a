package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/project"
)

// An Assay event, and the data of its two forms. Both contain an artifact of the
// profile assay.
type (
	assayEvent struct {
		ContentHash     digest.Digest `json:"assaycontenthash"`
		Git             string        `json:"assaygit"`
		PII             bool          `json:"assaypii"`
		Producer        string        `json:"assayproducer"`
		ProducerVersion string        `json:"assayproducerversion"`
		RunID           string        `json:"assayrunid"`
		Secrets         bool          `json:"assaysecrets"`
		Sequence        int           `json:"assayseq"`
		Data            any           `json:"data"`
		DataContentType string        `json:"datacontenttype"`
		ID              string        `json:"id"`
		Source          string        `json:"source"`
		SpecVersion     string        `json:"specversion"`
		Time            string        `json:"time"`
		Type            string        `json:"type"`
	}
	placeholderData struct {
		Schema   string            `json:"external_schema"`
		Surface  string            `json:"external_surface"`
		System   string            `json:"external_system"`
		Observed artifact.Artifact `json:"observed"`
		Time     string            `json:"observed_upstream_time"`
	}
	receiptData struct {
		ImportedAt string            `json:"imported_at"`
		Observed   artifact.Artifact `json:"observed"`
		Origin     project.Origin    `json:"origin"`
		Record     digest.Digest     `json:"record_digest"`
		Reducer    string            `json:"reducer_version"`
		Schema     string            `json:"schema"`
		KeyIDs     []string          `json:"signature_key_ids,omitempty"`
		Time       string            `json:"signature_not_later_than,omitempty"`
		Digest     digest.Digest     `json:"source_artifact_digest"`
		Ref        string            `json:"source_artifact_ref"`
		Surface    string            `json:"source_surface"`
		System     string            `json:"source_system"`
	}
	receiptV1Data struct {
		ImportedAt string            `json:"imported_at"`
		Observed   artifact.Artifact `json:"observed"`
		Origin     project.Origin    `json:"origin"`
		Reducer    string            `json:"reducer_version"`
		Schema     string            `json:"schema"`
		Digest     digest.Digest     `json:"source_artifact_digest"`
		Ref        string            `json:"source_artifact_ref"`
		Surface    string            `json:"source_surface"`
		System     string            `json:"source_system"`
	}
)

// assayTime is the format of times in events.
const assayTime = "^" + date + "T" + clock + `(\.[0-9]{3}|\.[0-9]{6})?Z$`

// assayEvent generates the schema of the Assay events that this program writes.
func (g *generator) assayEvent() (*jsonschema.Schema, error) {
	s, placeholder := g.reflect(assayEvent{}, false), g.reflect(placeholderData{}, false)
	receipt, receiptV1 := g.reflect(receiptData{}, false), g.reflect(receiptV1Data{}, false)
	observed, err := g.artifact(artifact.Assay)
	if err != nil {
		return nil, err
	}
	observed.Version, observed.Examples = "", nil
	observed.Description = "The artifact, with trimmed strings and with times in UTC."
	for _, data := range []*jsonschema.Schema{placeholder, receipt, receiptV1} {
		data.Version = ""
		data.Properties.Set("observed", &jsonschema.Schema{Ref: "#/$defs/artifact", Description: observed.Description})
	}
	s.Definitions = jsonschema.Definitions{"artifact": observed, "placeholder": placeholder, "receipt": receipt, "receipt_v1": receiptV1}
	for _, form := range []struct{ name, typ string }{{"placeholder", assay.PlaceholderType}, {"receipt", assay.ReceiptType}, {"receipt_v1", assay.ReceiptType}} {
		branch := property("type", equalTo(form.typ, "The type of the form."))
		branch.Properties.Set("data", &jsonschema.Schema{Ref: "#/$defs/" + form.name, Description: "The data of the form."})
		s.OneOf = append(s.OneOf, branch)
	}
	for _, name := range []string{"assay/finished.assay.ndjson", "assay/failed.receipt.ndjson"} {
		data, err := os.ReadFile(sample + name)
		if err != nil {
			return nil, err
		}
		s.Examples = append(s.Examples, json.RawMessage(bytes.TrimSpace(data)))
	}
	if err := apply(placeholder, []rule{
		{"", nil, "The placeholder form: only the artifact."},
		{"external_schema", constant(artifact.Schema), "The schema of the artifact."},
		{"external_surface", constant("compacted-message-snapshot-artifact"), "The kind of artifact."},
		{"external_system", constant("ag_ui"), "The protocol."},
		{"observed_upstream_time", matching(assayTime), "The start of the AG-UI run, from the artifact."},
	}); err != nil {
		return nil, err
	}
	of := func(version string, more ...rule) []rule {
		return append([]rule{
			{"imported_at", matching(assayTime), "The time of the import."},
			{"origin", nil, "Whether the run emitted the snapshot or the projection built it."},
			{"reducer_version", func(s *jsonschema.Schema) {
				s.Pattern = "^(emitted-snapshot|emitted-snapshot-text|folded-stream)@[1-9][0-9]*$"
			}, "The projection that made the artifact, and its version."},
			{"schema", constant(version), "Identifies the format of the data."},
			{"source_artifact_digest", nil, "SHA-256 of the artifact's file."},
			{"source_artifact_ref", func(s *jsonschema.Schema) { s.MinLength = uintPtr(1) }, "The name of the artifact's file."},
			{"source_surface", constant("compacted-message-snapshot-artifact"), "The kind of artifact."},
			{"source_system", constant("ag_ui"), "The protocol."},
		}, more...)
	}
	if err := apply(receipt, of(assay.ReceiptSchema,
		rule{"", nil, "The receipt form: the artifact and where it came from."},
		rule{"record_digest", nil, "SHA-256 of the file of the artifact's record."},
		rule{"signature_key_ids", func(s *jsonschema.Schema) { s.MinItems = uintPtr(1) }, "The ids of the trusted keys whose signatures of the record are valid. Absent if there are none, or none were looked for."},
		rule{"signature_not_later_than", matching(assayTime), "The time of a trusted time-stamp over these signatures. Absent if there is none."},
	)); err != nil {
		return nil, err
	}
	if err := apply(receiptV1, of(assay.ReceiptSchemaV1, rule{"", nil, "The receipt form of earlier releases: without the digest of the record and its signature."})); err != nil {
		return nil, err
	}
	alwaysFalse := func(s *jsonschema.Schema) { s.Const = false }
	return s, apply(s, []rule{
		{"", nil, "One Assay event as this program writes it: an artifact in the placeholder form, or a receipt that also states where the artifact came from. The types are placeholders: Assay has no registered type for AG-UI."},
		{"assaycontenthash", nil, "SHA-256 of the canonical JSON of data, datacontenttype, specversion and type."},
		{"assaygit", nil, "The commit of the producer, or unknown."},
		{"assaypii", alwaysFalse, "Assay's flag for personal data; always false."},
		{"assayproducer", nil, "The program that made the event."},
		{"assayproducerversion", nil, "The version of that program."},
		{"assayrunid", func(s *jsonschema.Schema) { s.Pattern = "^[^:]+$" }, "The run id, which in Assay identifies the import."},
		{"assaysecrets", alwaysFalse, "Assay's flag for secrets; always false."},
		{"assayseq", atLeast("0"), "The number of the event in the import, counted from 0."},
		{"data", nil, "The data of one of the two forms."},
		{"datacontenttype", constant("application/json"), "The type of the data."},
		{"id", nil, "assayrunid and assayseq, separated by a colon."},
		{"source", constant(assay.Source), "Names the lane."},
		{"specversion", constant("1.0"), "The version of the CloudEvents specification."},
		{"time", matching(assayTime), "The time of the import."},
		{"type", func(s *jsonschema.Schema) { s.Enum = enum(assay.PlaceholderType, assay.ReceiptType).Enum }, "The form."},
	})
}
