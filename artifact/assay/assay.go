// Package assay puts artifacts into the events and bundles of Assay, an evidence
// compiler (crate assay-evidence 6.21.0, Evidence Contract v1), and reads such
// bundles as strictly as Assay does.
//
// A bundle that verifies is whole: its events are those its manifest states, in
// their order. It is not signed: who can write a bundle can write another. What the
// events hold is opaque to Assay, which has no AG-UI importer; no text of this
// package claims that it understood it.
//
// The package knows bytes alone: no files, and not where an artifact came from.
package assay

import (
	"strconv"
	"sync"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
)

// What is in every event of this package. The types are placeholders: Assay
// registers none for AG-UI, and an unregistered type must not begin with assay.
const (
	// PlaceholderType is the type of an event that holds an artifact.
	PlaceholderType = "example.placeholder.ag-ui-compacted-message-snapshot"
	// ReceiptType is the type of an event that holds a receipt of one.
	ReceiptType = PlaceholderType + ".receipt"
	// Source names the lane in all events.
	Source = "urn:example:assay:external:ag-ui:compacted-message-snapshot"

	specVersion     = "1.0"
	dataContentType = "application/json"
)

// Producer is the program that makes events.
type Producer struct {
	Name, Version string
	// Git is the commit it was built from, or UnknownGit.
	Git string
}

// UnknownGit is what an event has for a commit that is not known. The manifest
// of a bundle then names none.
const UnknownGit = "unknown"

// SampleProducer is the producer of Assay's own sample events.
func SampleProducer() Producer { return Producer{"assay-example", "0.1.0", "sample"} }

// Run is what all events of one import share.
type Run struct {
	// ID is the import's name. It holds no colon: event ids are ID:sequence.
	ID string
	// Time is when the import was made, as FormatTime spells it.
	Time     string
	Producer Producer
}

// Event is an event as far as it does not depend on its place in a run.
type Event struct {
	Type string
	// Data is canonical JSON (RFC 8785).
	Data []byte
}

// ContentHash returns the event's content hash: the SHA-256 of the canonical
// JSON of its data, content type, specification version and type. Neither the
// run nor the time is in it.
func (e Event) ContentHash() digest.Digest {
	return hashContent(e.Data, dataContentType, specVersion, maybe{}, e.Type)
}

// hashContent returns the digest of the canonical form of five fields, of which
// the data are canonical already (crypto/id.rs, ContentHashInput).
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

// AppendLine appends the event's line in the events.ndjson of a run: canonical
// JSON (RFC 8785) and a newline.
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

// LineLen returns how long the line of an event of that type is, with so many
// bytes of data and its newline.
func LineLen(typ string, data int, run Run, sequence int) int {
	return len(Event{Type: typ}.appendLine(nil, run, sequence, zeroDigest())) + data
}

var zeroDigest = sync.OnceValue(func() digest.Digest { return digest.Of(nil) })

// member appends a member of an object whose value is a string.
func member(b []byte, name, value string) []byte {
	if n := len(b); n == 0 || b[n-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, `"`+name+`":`...)
	return artifact.AppendString(b, value)
}

// optional appends a member unless its value is empty.
func optional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return member(b, name, value)
}
