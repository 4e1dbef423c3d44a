package assay

import (
	"fmt"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
)

// What the data of events say of the system behind them (P20 §9).
const (
	externalSystem  = "ag_ui"
	externalSurface = "compacted-message-snapshot-artifact"
)

// Placeholder returns the event that holds an artifact. The artifact is one
// that artifact.Decode accepts under artifact.Assay; its strings are trimmed and
// its times spelled anew, as Assay's mapping does.
func Placeholder(a *artifact.Artifact) Event {
	b := member([]byte{'{'}, "external_schema", artifact.Schema)
	b = member(b, "external_surface", externalSurface)
	b = member(b, "external_system", externalSystem)
	b = append(b, `,"observed":`...)
	b = observed(b, a)
	b = member(b, "observed_upstream_time", normalTime(a.StartedAt))
	return Event{Type: PlaceholderType, Data: append(b, '}')}
}

// ReceiptSchema names the receipt form.
const ReceiptSchema = "p20export.receipt.v1"

// Receipt says where an artifact came from, in the terms of the receipts that
// Assay's own importers write.
type Receipt struct {
	// ArtifactRef names the artifact's file, without its directory.
	ArtifactRef string
	// ArtifactDigest is of the exact bytes of that file.
	ArtifactDigest digest.Digest
	// Reducer is the projection that made it, as name@version.
	Reducer string
	// Origin says whether its snapshot was emitted by the run or built.
	Origin string
	// ImportedAt is when the import was made, as FormatTime spells it.
	ImportedAt string
}

// Event returns the event that holds the receipt around the artifact, of which
// it wants what Placeholder wants.
func (r Receipt) Event(a *artifact.Artifact) Event {
	b := member([]byte{'{'}, "imported_at", r.ImportedAt)
	b = append(b, `,"observed":`...)
	b = observed(b, a)
	b = member(b, "origin", r.Origin)
	b = member(b, "reducer_version", r.Reducer)
	b = member(b, "schema", ReceiptSchema)
	b = member(b, "source_artifact_digest", string(r.ArtifactDigest))
	b = member(b, "source_artifact_ref", r.ArtifactRef)
	b = member(b, "source_surface", externalSurface)
	b = member(b, "source_system", externalSystem)
	return Event{Type: ReceiptType, Data: append(b, '}')}
}

// observed appends the artifact as both forms hold it.
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

// CountTrimmed counts the strings of an artifact that events hold without the white
// space at their ends.
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

// normalTime spells a timestamp of an artifact in the one way events have.
func normalTime(s string) string {
	t, err := artifact.ParseTime(s)
	if err != nil {
		panic(fmt.Sprintf("assay: %q of a decoded artifact: %v", s, err))
	}
	return artifact.FormatTime(t)
}

// FormatTime spells the time of an import as Assay does: RFC 3339 in UTC with
// Z, and no, three or six digits of the second's fraction, the fewest that hold
// it. What is below a microsecond is cut off.
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
