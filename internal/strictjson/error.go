package strictjson

import (
	"fmt"
	"strings"
)

// Fault is the rule that a text violates.
type Fault byte

// The faults.
const (
	Malformed    Fault = iota + 1 // not JSON (RFC 8259)
	InvalidUTF8                   // not UTF-8 (RFC 8259 §8.1)
	DuplicateKey                  // an object has a key twice (RFC 8259 §4)
	TooDeep                       // nested deeper than MaxDepth (RFC 8259 §9)
	Trailing                      // bytes after the value (RFC 8259 §2)
)

// SyntaxError describes why and where a text was rejected.
type SyntaxError struct {
	Fault   Fault
	Message string
	// Advice is the next step, or empty if the next step is to correct the text.
	Advice string
	// Key is the duplicate key, if Fault is DuplicateKey.
	Key string
	// Offset is the offset of the first invalid byte, or the length of a text that
	// ends too early. For an invalid escape it is the offset of the backslash, for
	// invalid UTF-8 the offset of the sequence.
	Offset int64
	// Pointer is the RFC 6901 pointer to the value that contains the error.
	Pointer string
}

// Error returns the message and the offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Message, e.Offset)
}

// MaxPointer is the maximum length of a pointer in bytes. Every error has a
// pointer, and a hostile name can be megabytes long.
const MaxPointer = 1 << 10

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// EscapePointer returns name escaped for use in a pointer (RFC 6901 §3). Text that
// is not valid Unicode, such as half a surrogate pair, becomes U+FFFD.
func EscapePointer(name string) string {
	return pointerEscaper.Replace(strings.ToValidUTF8(name, "\uFFFD"))
}
