package capture

import (
	"errors"
	"syscall"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
)

// unfinished is the error of a capture that could not be closed. Its finding advises
// to use another directory, because the response stays in this one.
type unfinished struct{ err error }

func (u unfinished) Error() string { return "the capture is unfinished: " + u.err.Error() }

// Unwrap returns the finding and the cause.
func (u unfinished) Unwrap() []error {
	next := hint.RetryElsewhere
	if errors.Is(u.err, syscall.ENOSPC) {
		next = hint.FreeDiskSpace
	}
	return []error{finding.New(finding.IOFailed, "%s", finding.Escape(u.Error())).WithHint("%s", next), u.err}
}
