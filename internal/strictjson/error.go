package strictjson

import (
	"fmt"
	"strings"
)

// Fault is the rule that a text breaks.
type Fault byte

// The faults.
const (
	Malformed    Fault = iota + 1 // not JSON (RFC 8259)
	InvalidUTF8                   // not UTF-8 (RFC 8259 §8.1)
	DuplicateKey                  // an object names a key twice (RFC 8259 §4)
	TooDeep                       // nested deeper than MaxDepth (RFC 8259 §9)
	Trailing                      // bytes after the value (RFC 8259 §2)
)

// SyntaxError says where and why a text is not one this package reads.
type SyntaxError struct {
	Fault   Fault
	Message string
	// Advice is what to do, where that is more than to correct the text.
	Advice string
	// Key is the repeated key of DuplicateKey.
	Key string
	// Offset is that of the offending byte: the first that no JSON text could have
	// there, or the length of a text that ends too early. Of a bad escape it is the
	// backslash, of bad UTF-8 the first byte of the sequence.
	Offset int64
	// Pointer is the RFC 6901 pointer to the value the decoder was in.
	Pointer string
}

// Error says what is wrong, and at which byte.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Message, e.Offset)
}

// MaxPointer bounds how long a pointer gets, in bytes: a hostile name may be
// megabytes long, and every error holds a pointer.
const MaxPointer = 1 << 10

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// EscapePointer returns a name as a pointer spells it (RFC 6901 §3). What is not
// Unicode, such as half a surrogate pair, has no spelling and becomes U+FFFD.
func EscapePointer(name string) string {
	return pointerEscaper.Replace(strings.ToValidUTF8(name, "\uFFFD"))
}
