package capture

import (
	"errors"
	"syscall"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
)

// unfinished is the error of a capture that could not be closed. It is a finding,
// whose next step is another directory: what came stays in this one.
type unfinished struct{ err error }

func (u unfinished) Error() string { return "the capture stays unfinished: " + u.err.Error() }

// Unwrap returns the finding and the cause.
func (u unfinished) Unwrap() []error {
	next := hint.RetryElsewhere
	if errors.Is(u.err, syscall.ENOSPC) {
		next = hint.FreeDiskSpace
	}
	return []error{finding.New(finding.IOFailed, "%s", finding.Escape(u.Error())).WithHint("%s", next), u.err}
}
