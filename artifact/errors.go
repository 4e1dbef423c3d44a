package artifact

import (
	"errors"
	"fmt"

	"github.com/p20export/p20export/finding"
)

// ErrMalformed is what every refusal of an artifact is.
var ErrMalformed = errors.New("malformed artifact")

// ErrExtraEventFamily is the refusal of an artifact that brings in more of
// AG-UI than one bounded run envelope (P20 §7). It is an ErrMalformed.
var ErrExtraEventFamily = fmt.Errorf("%w: extra event family", ErrMalformed)

// Err returns nil when no finding is an error, else an error for callers that
// ask with errors.Is and errors.As (for a finding.Finding: the first one).
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
