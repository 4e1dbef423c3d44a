package jsonpatch

import "github.com/p20export/p20export/internal/strictjson"

const (
	// MaxBytes limits the text of a document. It is the limit of an event's data, so
	// every document fits in a STATE_SNAPSHOT. In memory, a hostile document can be
	// about 25 times as large: an empty array is 3 bytes long and needs 64.
	MaxBytes = 64 << 20

	// MaxDepth limits the nesting of a document, so that it can be read again.
	MaxDepth = strictjson.MaxDepth

	// freeWork and workFactor limit the work that a short patch can cause: copies, and
	// searches for the depth of a value that moves to a deeper place. For all documents
	// with one Budget it is at most freeWork bytes, and workFactor bytes for each byte
	// of the documents and patches. Otherwise a patch of 60 bytes could copy 32 MiB,
	// again and again.
	freeWork   = 256 << 20
	workFactor = 8

	// maxCopied limits what the copies of one patch take in memory, about valueBytes for
	// each value. Until the patch has been applied, the document keeps what it replaced,
	// so that it can be undone: a patch that copies a list onto the same member again and
	// again would keep every copy.
	maxCopied  = 256 << 20
	valueBytes = 64
)
