package capture

// Limits of this floor, all in bytes.
const (
	// MaxEventBytes bounds the data of one event. It is well above any
	// conversation a model takes, and small enough to be held in memory.
	MaxEventBytes = 64 << 20

	// maxRequestBytes bounds request.json, which is read as a whole. A request
	// carries one conversation, as the largest event does.
	maxRequestBytes = 64 << 20

	// MaxManifestBytes bounds capture.json, which is read as a whole. A manifest
	// is about a kilobyte; labels are what could make it longer.
	MaxManifestBytes = 1 << 20

	// bufferBytes is the fixed size of a Splitter's read buffer. Only an event
	// that does not lie whole in it takes memory beside it.
	bufferBytes = 64 << 10

	// maxDetectBytes is how much white space is read past in search of the byte
	// that tells the framing.
	maxDetectBytes = 64 << 10

	// maxArrivalLine bounds a line of arrivals.tsv: two numbers of at most 19
	// digits, a tab and a line feed take 40.
	maxArrivalLine = 64

	// maxZstdWindow is the largest window a zstd coded response may ask for
	// (RFC 9659 §3).
	maxZstdWindow = 8 << 20
)
