// Package assay writes artifacts as events and bundles for Assay, an evidence compiler
// (crate assay-evidence 6.21.0, Evidence Contract v1), and verifies bundles as strictly
// as Assay does.
//
// A bundle that verifies is intact: it has the events that its manifest states, in
// order. Bundles are not signed, so anyone can write another bundle. Assay has no AG-UI
// importer and does not interpret the data of the events.
//
// The package must not use files, and must not know where an artifact came from.
package assay

import (
	"strconv"
	"sync"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
)

// Constant values in the events of this package. The types are placeholders, since
// Assay has no registered types for AG-UI. Unregistered types must not begin with
// "assay".
const (
	// PlaceholderType is the type of an event that contains an artifact.
	PlaceholderType = "example.placeholder.ag-ui-compacted-message-snapshot"
	// ReceiptType is the type of an event that contains a receipt for an artifact.
	ReceiptType = PlaceholderType + ".receipt"
	// Source is the source of all events.
	Source = "urn:example:assay:external:ag-ui:compacted-message-snapshot"

	specVersion     = "1.0"
	dataContentType = "application/json"
)

// Producer is the program that writes events.
type Producer struct {
	Name, Version string
	// Git is the commit of the program, or UnknownGit.
	Git string
}

// UnknownGit represents an unknown commit in an event. The manifest of a bundle omits
// an unknown commit.
const UnknownGit = "unknown"

// SampleProducer returns the producer of Assay's own sample events.
func SampleProducer() Producer { return Producer{"assay-example", "0.1.0", "sample"} }

// Run has the values that all events of one import share.
type Run struct {
	// ID identifies the import. It must not contain a colon, because event ids are
	// ID:sequence.
	ID string
	// Time is the time of the import, in the format of FormatTime.
	Time     string
	Producer Producer
}

// Event has the values of an event that do not depend on its run or its position.
type Event struct {
	Type string
	// Data is canonical JSON (RFC 8785).
	Data []byte
}

// ContentHash returns the event's content hash: the SHA-256 of the canonical JSON of
// its data, content type, specification version and type. The hash does not depend on
// the run or the time.
func (e Event) ContentHash() digest.Digest {
	return hashContent(e.Data, dataContentType, specVersion, maybe{}, e.Type)
}

// hashContent returns the digest of the canonical form of five fields. The data must
// already be canonical (crypto/id.rs, ContentHashInput).
func hashContent(data []byte, contentType, specversion string, subject maybe, typ string) digest.Digest {
	h := digest.Hash()
	h.Write([]byte(`{"data":`))
	h.Write(data)
	rest := member(nil, "datacontenttype", contentType)
	rest = member(rest, "specversion", specversion)
	if subject.set {
		rest = member(rest, "subject", subject.text)
	}
	rest = member(rest, "type", typ)
	h.Write(append(rest, '}'))
	return digest.Sum(h)
}

// AppendLine appends the event as a line of events.ndjson: canonical JSON (RFC 8785)
// and a newline.
func (e Event) AppendLine(b []byte, run Run, sequence int) []byte {
	return e.appendLine(b, run, sequence, e.ContentHash())
}

func (e Event) appendLine(b []byte, run Run, sequence int, hash digest.Digest) []byte {
	seq := strconv.Itoa(sequence)
	b = append(b, '{')
	b = member(b, "assaycontenthash", string(hash))
	b = member(b, "assaygit", run.Producer.Git)
	b = append(b, `,"assaypii":false`...)
	b = member(b, "assayproducer", run.Producer.Name)
	b = member(b, "assayproducerversion", run.Producer.Version)
	b = member(b, "assayrunid", run.ID)
	b = append(b, `,"assaysecrets":false,"assayseq":`+seq+`,"data":`...)
	b = append(b, e.Data...)
	b = member(b, "datacontenttype", dataContentType)
	b = member(b, "id", run.ID+":"+seq)
	b = member(b, "source", Source)
	b = member(b, "specversion", specVersion)
	b = member(b, "time", run.Time)
	b = member(b, "type", e.Type)
	return append(b, "}\n"...)
}

// LineLen returns the length of an event's line, including its newline. The argument
// data is the length of the event's data.
func LineLen(typ string, data int, run Run, sequence int) int {
	return len(Event{Type: typ}.appendLine(nil, run, sequence, zeroDigest())) + data
}

var zeroDigest = sync.OnceValue(func() digest.Digest { return digest.Of(nil) })

// member appends an object member with a string value.
func member(b []byte, name, value string) []byte {
	if n := len(b); n == 0 || b[n-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, `"`+name+`":`...)
	return artifact.AppendString(b, value)
}

// optional is like member, but omits an empty value.
func optional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return member(b, name, value)
}
