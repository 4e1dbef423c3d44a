package artifact

import (
	"errors"
	"fmt"

	"github.com/p20export/p20export/finding"
)

// ErrMalformed is wrapped by every error about a malformed artifact.
var ErrMalformed = errors.New("malformed artifact")

// ErrExtraEventFamily reports an artifact with content of event families that are not
// part of one bounded run envelope (P20 §7). It wraps ErrMalformed.
var ErrExtraEventFamily = fmt.Errorf("%w: extra event family", ErrMalformed)

// Err returns nil if no finding is an error. Otherwise the error wraps ErrMalformed or
// ErrExtraEventFamily, and the first finding that is an error.
func Err(findings []finding.Finding) error {
	kind := ErrMalformed
	if finding.Has(findings, finding.ExtraEventFamily) {
		kind = ErrExtraEventFamily
	}
	for _, f := range findings {
		if f.Severity == finding.Error {
			return fmt.Errorf("%w: %w", kind, f)
		}
	}
	return nil
}
