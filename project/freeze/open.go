// Package freeze is the pipeline from a capture to its frozen files, and its
// inverse: it opens, scans, projects and writes all or nothing; it looks into
// captures; it judges files; and it repeats a projection to verify one.
//
// It knows the other floors and must hold no rule of theirs.
package freeze

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// maxRuns is how many runs of one capture are told apart. Each costs a row and
// staged files; real captures hold a few.
const maxRuns = 10_000

// maxItems is how many findings, snapshots and names of families the rows of
// one capture may hold together: they are kept until its end.
const maxItems = 50_000

// maxID bounds how much of an id a row shows, in bytes; the contract takes 256
// code points.
const maxID = 2 << 10

// clipped returns an id as a row shows it.
func clipped(id string) string {
	if len(id) > maxID {
		id = strings.ToValidUTF8(id[:maxID], "") + "…"
	}
	return strings.Clone(id)
}

// Verdict is the outcome for one row.
type Verdict string

// The verdicts of the commands.
const (
	Frozen       Verdict = "frozen"
	Refused      Verdict = "refused"
	Accepted     Verdict = "accepted"
	Malformed    Verdict = "malformed"
	Verified     Verdict = "verified"
	Differs      Verdict = "differs"
	Unverifiable Verdict = "unverifiable"
	Failed       Verdict = "error"
)

// Progress is told from time to time how many bytes of a capture were read. It
// may be nil.
type Progress func(read int64)

// progressEvery is how many frames pass between two calls of a Progress.
const progressEvery = 1024

// reported tells a Progress how far the reading has come.
type reported struct {
	*capture.Capture
	progress Progress
	frames   int
}

func (r *reported) Next() (capture.Frame, error) {
	if r.frames++; r.frames%progressEvery == 0 && r.progress != nil {
		r.progress(r.Bytes())
	}
	return r.Capture.Next()
}

// scan reads all of a capture. Its error is one of scanning, or says what is
// wrong with the capture as a whole; nothing of it counts then.
func scan(c *capture.Capture, v envelope.Visitor, progress Progress) (envelope.Totals, error) {
	totals, err := envelope.Scan(&reported{Capture: c, progress: progress}, v)
	totals.Findings = append(totals.Findings, c.Findings()...)
	finding.Sort(totals.Findings)
	return totals, err
}

// Explain makes a finding of an error, with the next step. isVerdict tells what
// is wrong with evidence from what could not be done.
func Explain(err error) (f finding.Finding, isVerdict bool) {
	if errors.As(err, &f) {
		return f, f.Code != finding.IOFailed
	}
	f = finding.New(finding.IOFailed, "%s", finding.Escape(err.Error()))
	switch {
	case errors.Is(err, context.Canceled):
		f = finding.New(finding.Interrupted, "interrupted before it was done")
	case errors.Is(err, fs.ErrNotExist):
		f.Hint = "check the path"
	case errors.Is(err, fs.ErrExist):
		f.Hint = "what is there is never written into again: choose another -o"
	case errors.Is(err, syscall.EISDIR):
		f.Hint = "name a file, not a directory"
	case errors.Is(err, syscall.ENOTDIR):
		f.Hint = "name a directory; a file of that name is in the way"
	case errors.Is(err, syscall.ENOSPC):
		f.Hint = "make room on the disk and run it again"
	case errors.Is(err, fs.ErrPermission):
		f.Hint = "check who may read or write it"
	}
	return f, false
}

// tooMany is the finding that ends the reading of a capture of too many runs.
func tooMany(run *envelope.Run) error {
	return run.Started.Finding(finding.RunsTooMany, "the capture holds more than %d runs, or more than %d findings, snapshots and event families", maxRuns, maxItems)
}
