package assay

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Refusal says why a bundle is refused, in the vocabulary of the reference
// verifier (crate assay-evidence 6.21.0, bundle/writer_next/errors.rs).
type Refusal struct {
	Class   string // "Integrity", "Contract", "Limits" or "Security"
	Code    string // such as "ContractInvalidJson"; the code fixes the class
	Message string // for people; quotes no event
	Event   int    // which line of events.ndjson, from 0; -1 when it is not about one
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s (%s)", r.Class, r.Message, r.Code) }

// The codes that a bundle can be refused by. The reference has more, which
// nothing reaches.
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

// refuseJSON returns the refusal of a JSON text, with nothing quoted from it.
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

// errDecoded says that the gzip member holds more than Limits.Decoded.
var errDecoded = errors.New("the decoded bytes exceed their limit")

// refuseRead returns the refusal for a failure to read what is inside the gzip
// member. The reference names it after the layer that met the failure.
func refuseRead(err error, code, where string) *Refusal {
	if errors.Is(err, errDecoded) {
		code = limitDecoded
	}
	return refuse(code, "%s: %v", where, err)
}
