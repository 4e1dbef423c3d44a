package capture

import (
	"bytes"
	"fmt"

	"github.com/p20export/p20export/finding"
)

// Framing is the format that separates the events of a response.
type Framing string

// The framings.
const (
	// SSE is an event stream (WHATWG HTML §9.2.5).
	SSE Framing = "sse"
	// NDJSON is one JSON value on each line.
	NDJSON Framing = "ndjson"
	// JSON is one JSON array whose elements are the events.
	JSON Framing = "json"
	// Opaque is a body in none of these framings. A recorder sets it; it is never
	// detected, and its events cannot be read.
	Opaque Framing = "opaque"
)

// framings returns the framings that a manifest may have.
func framings() []Framing { return []Framing{SSE, NDJSON, JSON, Opaque} }

// ParseFraming returns the framing with the given name, in which events can be read.
// Names are lower case.
func ParseFraming(s string) (Framing, error) {
	switch f := Framing(s); f {
	case SSE, NDJSON, JSON:
		return f, nil
	}
	return "", fmt.Errorf("framing %s is not sse, ndjson or json", finding.Quote(s))
}

// DetectFraming returns the framing of a response that begins with prefix. It skips
// a byte order mark and JSON white space. Then '[' means JSON, '{' means NDJSON, and
// anything else, or nothing, means SSE.
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

// bom is a byte order mark, U+FEFF in UTF-8. It is skipped at the start of a
// response.
var bom = []byte("\uFEFF")

// detected reports whether prefix is long enough for DetectFraming.
func detected(prefix []byte) bool {
	if len(prefix) < len(bom) && bytes.HasPrefix(bom, prefix) {
		return false
	}
	return len(skipSpace(bytes.TrimPrefix(prefix, bom))) > 0
}

// isSpace reports whether c is JSON white space (RFC 8259 §2).
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// skipSpace returns b without leading JSON white space.
func skipSpace(b []byte) []byte {
	for i, c := range b {
		if !isSpace(c) {
			return b[i:]
		}
	}
	return nil
}

// trimSpace returns b without trailing JSON white space.
func trimSpace(b []byte) []byte {
	n := len(b)
	for n > 0 && isSpace(b[n-1]) {
		n--
	}
	return b[:n]
}
