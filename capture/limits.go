package capture

import "github.com/p20export/p20export/frame"

// The limits of this package, in bytes.
const (
	// MaxEventBytes limits the data of an event.
	MaxEventBytes = frame.MaxBytes

	// maxRequestBytes limits request.json, which is read as a whole. A request, like
	// the largest event, contains one conversation.
	maxRequestBytes = 64 << 20

	// MaxManifestBytes limits capture.json, which is read as a whole. A manifest is
	// about a kilobyte long unless it has many labels.
	MaxManifestBytes = 1 << 20

	// bufferBytes is the fixed size of a Splitter's read buffer. An event that does
	// not fit in the rest of the buffer is copied.
	bufferBytes = 64 << 10

	// blockBytes is the number of bytes that are passed to the hasher at once, and
	// maxBlocks the number of blocks. The first block has bufferBytes.
	blockBytes = 2 * bufferBytes
	maxBlocks  = 8

	// hashBesideFrom is the number of bytes after which another goroutine hashes the
	// response. A shorter response is hashed before the goroutine would be of use.
	hashBesideFrom = 256 << 10

	// maxDetectBytes limits the white space that is skipped to detect the framing.
	maxDetectBytes = 64 << 10

	// maxArrivalLine limits a line of arrivals.tsv. Two numbers of at most 19
	// digits, a tab and a line feed need 40 bytes.
	maxArrivalLine = 64

	// maxZstdWindow is the largest window allowed for a zstd response (RFC 9659 §3).
	maxZstdWindow = 8 << 20
)
