package assay

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Refusal is the reason why a bundle is refused, with the class and code of the
// reference verifier (crate assay-evidence 6.21.0, bundle/writer_next/errors.rs).
type Refusal struct {
	Class   string // "Integrity", "Contract", "Limits" or "Security"
	Code    string // such as "ContractInvalidJson"; determines the class
	Message string // does not quote events
	Event   int    // line of events.ndjson, from 0; -1 if it is not about an event
}

// Error returns the class, the message and the code.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s (%s)", r.Class, r.Message, r.Code) }

// The refusal codes. The reference defines more codes, but never uses them.
const (
	integrityGzip       = "IntegrityGzip"
	integrityTar        = "IntegrityTar"
	integrityIO         = "IntegrityIo"
	integrityFileHash   = "IntegrityManifestHash"
	integrityEventHash  = "IntegrityEventHash"
	integrityFileSize   = "IntegrityFileSizeMismatch"
	integrityRunRoot    = "IntegrityRunRootMismatch"
	contractVersion     = "ContractSchemaVersion"
	contractOrder       = "ContractFileOrder"
	contractMissing     = "ContractMissingFile"
	contractDuplicate   = "ContractDuplicateFile"
	contractUnexpected  = "ContractUnexpectedFile"
	contractRunID       = "ContractRunIdMismatch"
	contractBundleID    = "ContractBundleIdMismatch"
	contractGap         = "ContractSequenceGap"
	contractStart       = "ContractSequenceStart"
	contractJSON        = "ContractInvalidJson"
	contractEvent       = "ContractInvalidEvent"
	limitFileSize       = "LimitFileSize"
	limitEvents         = "LimitTotalEvents"
	limitLine           = "LimitLineBytes"
	limitDepth          = "LimitJsonDepth"
	limitBundle         = "LimitBundleBytes"
	limitDecoded        = "LimitDecodeBytes"
	securityPathInvalid = "SecurityPathTraversal"
)

// refuse returns a refusal that is not about an event.
func refuse(code, format string, args ...any) *Refusal {
	class := "Contract"
	switch {
	case strings.HasPrefix(code, "Integrity"):
		class = "Integrity"
	case strings.HasPrefix(code, "Limit"):
		class = "Limits"
	case strings.HasPrefix(code, "Security"):
		class = "Security"
	}
	return &Refusal{Class: class, Code: code, Message: fmt.Sprintf(format, args...), Event: -1}
}

// refuseJSON returns the refusal of a JSON text. The message does not quote the text.
func refuseJSON(err error, what string, depth int) *Refusal {
	var syntax *jsontext.SyntacticError
	switch {
	case err == errDepth:
		return refuse(limitDepth, "%s JSON nesting exceeds the configured maximum depth of %d", what, depth)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return refuse(contractJSON, "%s JSON contains a duplicate object key", what)
	case errors.As(err, &syntax):
		return refuse(contractJSON, "%s JSON is not well-formed at byte %d", what, syntax.ByteOffset)
	case errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF:
		return refuse(contractJSON, "%s JSON is cut off", what)
	}
	return refuse(contractJSON, "%s JSON: %v", what, err)
}

// errDecoded reports that the gzip member exceeds Limits.Decoded.
var errDecoded = errors.New("the decoded bytes exceed their limit")

// refuseRead returns the refusal for an error while reading the content of the gzip
// member. The code depends on the layer that encountered the error.
func refuseRead(err error, code, where string) *Refusal {
	if errors.Is(err, errDecoded) {
		code = limitDecoded
	}
	return refuse(code, "%s: %v", where, err)
}
