package assay

import (
	"fmt"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
)

// The values in the data of events that describe the observed system (P20 §9).
const (
	externalSystem  = "ag_ui"
	externalSurface = "compacted-message-snapshot-artifact"
)

// Placeholder returns an event that contains an artifact. The artifact must be valid
// under artifact.Assay. As in Assay's mapping, strings are trimmed and times are
// normalized.
func Placeholder(a *artifact.Artifact) Event {
	b := member([]byte{'{'}, "external_schema", artifact.Schema)
	b = member(b, "external_surface", externalSurface)
	b = member(b, "external_system", externalSystem)
	b = append(b, `,"observed":`...)
	b = observed(b, a)
	b = member(b, "observed_upstream_time", normalTime(a.StartedAt))
	return Event{Type: PlaceholderType, Data: append(b, '}')}
}

// ReceiptSchema names the receipt form that this program writes. Receipts of the version
// ReceiptSchemaV1 have no digest of the record and nothing about signatures.
const (
	ReceiptSchema   = "p20export.receipt.v2"
	ReceiptSchemaV1 = "p20export.receipt.v1"
)

// Receipt states where an artifact came from. It is modeled on the receipts that
// Assay's own importers write.
type Receipt struct {
	// ArtifactRef is the name of the artifact's file, without its directory.
	ArtifactRef string
	// ArtifactDigest is the digest of that file.
	ArtifactDigest digest.Digest
	// RecordDigest is the digest of the record's file.
	RecordDigest digest.Digest
	// KeyIDs are the ids of the trusted keys whose signatures of the record are valid. It
	// is empty if there are none, or none were looked for.
	KeyIDs []string
	// NotLaterThan is the time of a trusted time-stamp over the signatures, in the format
	// of FormatTime, or empty.
	NotLaterThan string
	// Reducer is the projection of the artifact, as name@version.
	Reducer string
	// Origin states whether the snapshot was emitted by the run or built.
	Origin string
	// ImportedAt is the time of the import, in the format of FormatTime.
	ImportedAt string
}

// Event returns an event that contains the receipt and the artifact. See Placeholder
// for the requirements on the artifact.
func (r Receipt) Event(a *artifact.Artifact) Event {
	b := member([]byte{'{'}, "imported_at", r.ImportedAt)
	b = append(b, `,"observed":`...)
	b = observed(b, a)
	b = member(b, "origin", r.Origin)
	b = member(b, "record_digest", string(r.RecordDigest))
	b = member(b, "reducer_version", r.Reducer)
	b = member(b, "schema", ReceiptSchema)
	if len(r.KeyIDs) > 0 {
		b = append(b, `,"signature_key_ids":[`...)
		for i, id := range r.KeyIDs {
			if i > 0 {
				b = append(b, ',')
			}
			b = artifact.AppendString(b, id)
		}
		b = append(b, ']')
	}
	b = optional(b, "signature_not_later_than", r.NotLaterThan)
	b = member(b, "source_artifact_digest", string(r.ArtifactDigest))
	b = member(b, "source_artifact_ref", r.ArtifactRef)
	b = member(b, "source_surface", externalSurface)
	b = member(b, "source_system", externalSystem)
	return Event{Type: ReceiptType, Data: append(b, '}')}
}

// observed appends the artifact in the form that both kinds of events contain.
func observed(b []byte, a *artifact.Artifact) []byte {
	trimmed := artifact.Trim
	b = append(b, '{')
	b = optional(b, "error_code", trimmed(a.ErrorCode))
	b = optional(b, "error_message", trimmed(a.ErrorMessage))
	if a.FinishedAt != "" {
		b = member(b, "finished_at", normalTime(a.FinishedAt))
	}
	b = member(b, "framework", artifact.Framework)
	b = append(b, `,"messages":[`...)
	for i, m := range a.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		b = member(b, "content", trimmed(m.Content))
		b = member(b, "id", trimmed(m.ID))
		b = optional(b, "name", trimmed(m.Name))
		b = member(b, "role", m.Role)
		b = append(b, '}')
	}
	b = append(b, ']')
	b = optional(b, "parent_run_id_ref", trimmed(a.ParentRunIDRef))
	b = member(b, "run_id_ref", trimmed(a.RunIDRef))
	b = member(b, "schema", artifact.Schema)
	b = member(b, "started_at", normalTime(a.StartedAt))
	b = member(b, "surface", artifact.Surface)
	b = member(b, "terminal_event", a.TerminalEvent)
	b = member(b, "thread_id_ref", trimmed(a.ThreadIDRef))
	return append(b, '}')
}

// CountTrimmed returns how many strings of an artifact have leading or trailing white
// space, which events omit.
func CountTrimmed(a *artifact.Artifact) (count int) {
	texts := []string{a.ErrorCode, a.ErrorMessage}
	for _, m := range a.Messages {
		texts = append(texts, m.ID, m.Content, m.Name)
	}
	for _, s := range texts {
		if artifact.Trim(s) != s {
			count++
		}
	}
	return count
}

// normalTime returns a timestamp of an artifact in the format of events.
func normalTime(s string) string {
	t, err := artifact.ParseTime(s)
	if err != nil {
		panic(fmt.Sprintf("assay: %q of a decoded artifact: %v", s, err))
	}
	return artifact.FormatTime(t)
}

// FormatTime formats the time of an import like Assay: as RFC 3339 in UTC with Z and
// zero, three or six fraction digits, as few as possible. It truncates t to
// microseconds.
func FormatTime(t time.Time) string {
	t = t.UTC().Truncate(time.Microsecond)
	switch n := t.Nanosecond(); {
	case n == 0:
		return t.Format("2006-01-02T15:04:05Z")
	case n%1e6 == 0:
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	return t.Format("2006-01-02T15:04:05.000000Z")
}
