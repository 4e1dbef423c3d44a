package capture

import (
	"bytes"
	"fmt"

	"github.com/p20export/p20export/finding"
)

// Framing says how events lie in a response.
type Framing string

// The framings.
const (
	// SSE is an event stream (WHATWG HTML §9.2.5).
	SSE Framing = "sse"
	// NDJSON is one JSON value a line.
	NDJSON Framing = "ndjson"
	// JSON is one JSON array whose elements are the events.
	JSON Framing = "json"
)

// ParseFraming returns the framing of that name. Names are lower case.
func ParseFraming(s string) (Framing, error) {
	switch f := Framing(s); f {
	case SSE, NDJSON, JSON:
		return f, nil
	}
	return "", fmt.Errorf("framing %s is not sse, ndjson or json", finding.Quote(s))
}

// DetectFraming tells the framing from the first bytes of a response: after an
// optional byte order mark and JSON white space, '[' begins a JSON array, '{' a
// line of NDJSON, and anything else, or nothing at all, is SSE.
func DetectFraming(prefix []byte) Framing {
	rest := skipSpace(bytes.TrimPrefix(prefix, bom))
	switch {
	case len(rest) > 0 && rest[0] == '[':
		return JSON
	case len(rest) > 0 && rest[0] == '{':
		return NDJSON
	}
	return SSE
}

// FileName returns the name of the response file in a capture directory.
func (f Framing) FileName() string { return "response." + string(f) }

// bom is U+FEFF in UTF-8. One of it at the start of a response is read over.
var bom = []byte("\uFEFF")

// detected reports whether more bytes could change what DetectFraming says of
// prefix.
func detected(prefix []byte) bool {
	if len(prefix) < len(bom) && bytes.HasPrefix(bom, prefix) {
		return false
	}
	return len(skipSpace(bytes.TrimPrefix(prefix, bom))) > 0
}

// isSpace reports JSON white space (RFC 8259 §2).
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// skipSpace returns b from its first byte on that is not JSON white space.
func skipSpace(b []byte) []byte {
	for i, c := range b {
		if !isSpace(c) {
			return b[i:]
		}
	}
	return nil
}

// trimSpace returns b up to its last byte that is not JSON white space.
func trimSpace(b []byte) []byte {
	n := len(b)
	for n > 0 && isSpace(b[n-1]) {
		n--
	}
	return b[:n]
}
