// Package recovery recovers the unfinished captures of a store, after a crash.
//
// It finds the captures; capture.Recover does the work. The package must not delete a
// byte of a response, and never touches a capture that is being written.
package recovery

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/dirtree"
)

// Verdict is the outcome for one directory of a store.
type Verdict string

// The verdicts.
const (
	// Recovered means that what arrived is in a new capture.
	Recovered Verdict = "recovered"
	// SetAside means that nothing had arrived, or that the directory was an incomplete
	// copy, so there is no new capture.
	SetAside Verdict = "set-aside"
	// Cleaned means that temporary files were removed from a closed capture.
	Cleaned Verdict = "cleaned"
	// Recoverable is the verdict in a dry run if a recovery would yield one of the above, or
	// Unrecoverable.
	Recoverable Verdict = "recoverable"
	// InUse means that the capture is being written.
	InUse Verdict = "in-use"
	// Unrecoverable means that the directory does not say what was captured, or that
	// the file system has no locks to show whether it is still being written.
	Unrecoverable Verdict = "unrecoverable"
	// Failed means that the directory could not be read or written.
	Failed Verdict = "error"
)

// Row is the outcome for one directory of a store. Pointers are nil if there is no new
// capture.
type Row struct {
	Capture string  `json:"capture"`
	Verdict Verdict `json:"verdict"`
	// Recovered is the path of the new capture.
	Recovered *string `json:"recovered"`
	// Digest is the digest of the new capture.json.
	Digest *digest.Digest `json:"digest"`
	// Bytes is the size of the response in the new capture.
	Bytes *int64 `json:"bytes"`
	// Left is the number of bytes of the response without a time of arrival. They are
	// only in the files that were set aside.
	Left     *int64            `json:"left"`
	Findings []finding.Finding `json:"findings"`
}

// Settings configure a recovery.
type Settings struct {
	// Tool is stated in the new captures.
	Tool capture.Tool
	// DryRun means that nothing is changed.
	DryRun bool
}

// All recovers the unfinished captures in a directory and its subdirectories, in the
// order of their paths, and removes temporary files from closed ones. The directory may
// itself be an unfinished capture; the new capture is then beside it. The sequence has a
// row for each. If the directory cannot be listed to its end, the last row has the error.
//
// If another program is recovering captures in the same directory, All waits for it.
func All(ctx context.Context, root *os.Root, s Settings) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		if !s.DryRun {
			unlock, err := lock(ctx, root)
			if err != nil {
				if ctx.Err() == nil {
					yield(failed(root.Name(), err))
				}
				return
			}
			defer unlock()
		}
		r := &recoverer{ctx, root, s}
		for d, err := range capture.Directories(ctx, root.Name()) {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(failed(root.Name(), err))
				return
			}
			row, ok := r.directory(d)
			if ctx.Err() != nil || ok && !yield(row) {
				return
			}
		}
	}
}

// lockPoll is the time between two attempts to lock a directory.
const lockPoll = 20 * time.Millisecond

// lock locks a directory, if the file system has locks.
func lock(ctx context.Context, root *os.Root) (unlock func(), err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	for {
		if locked, err := atomicfile.TryLock(dir); locked || err != nil {
			return func() { dir.Close() }, nil
		}
		select {
		case <-ctx.Done():
			dir.Close()
			return nil, context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

// recoverer is one call of All.
type recoverer struct {
	ctx      context.Context
	root     *os.Root
	settings Settings
}

// failed returns a row with an error.
func failed(path string, err error) Row {
	f, _ := finding.FromError(err)
	return Row{Capture: path, Verdict: Failed, Findings: []finding.Finding{f}}
}

// directory returns the row of a directory, if it has one. A directory that another program
// has removed meanwhile has none.
func (r *recoverer) directory(d capture.Directory) (row Row, ok bool) {
	row, ok = r.recover(d)
	if ok && row.Verdict == Failed {
		_, err := r.root.Lstat(d.Rel)
		ok = !errors.Is(err, fs.ErrNotExist)
	}
	return row, ok
}

// recover recovers what is in a directory, and returns its row, if it has one.
func (r *recoverer) recover(d capture.Directory) (row Row, ok bool) {
	recoverable := d.State == capture.Unfinished
	switch {
	case d.Err != nil:
		return failed(d.Path, d.Err), true
	case !recoverable && d.Temporary == nil:
		return row, false
	}
	parent, name, err := r.parent(d)
	if err != nil {
		return failed(d.Path, err), true
	}
	if parent != r.root {
		defer parent.Close()
	}
	row = Row{Capture: d.Path, Findings: []finding.Finding{}}
	switch used, err := capture.InUse(parent, name); {
	case errors.Is(err, fs.ErrNotExist):
		return row, false // its writer removed it
	case err != nil:
		row.refuse(err)
	case used && recoverable:
		row.add(InUse, finding.New(finding.CaptureInUse, "the capture is being written"))
	case used:
		return row, false // it is just being closed
	case r.settings.DryRun:
		row.Verdict = Recoverable
	case recoverable:
		r.finish(&row, parent, name)
	default:
		r.clean(&row, parent, name, d.Temporary)
	}
	return row, true
}

// parent opens the directory that contains d, unless that is the searched one, and returns
// the name of d in it.
func (r *recoverer) parent(d capture.Directory) (*os.Root, string, error) {
	if dir, name := filepath.Split(d.Rel); d.Rel != "." {
		if dir == "" {
			return r.root, name, nil // errors then have the shortest path
		}
		parent, err := r.root.OpenRoot(filepath.Clean(dir))
		return parent, name, err
	}
	path, err := filepath.EvalSymlinks(d.Path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, "", err
	}
	parent, err := os.OpenRoot(filepath.Dir(path))
	return parent, filepath.Base(path), err
}

// parentPath returns the path of the directory that contains the capture at path. It is
// relative if the path shows it.
func parentPath(path string, parent *os.Root) string {
	dir := filepath.Dir(filepath.Clean(path))
	is, err1 := parent.Stat(".")
	at, err2 := os.Stat(dir)
	if err1 != nil || err2 != nil || !os.SameFile(is, at) {
		return parent.Name()
	}
	return dir
}

// finish closes what arrived into a new capture.
func (r *recoverer) finish(row *Row, parent *os.Root, name string) {
	result, err := capture.Recover(r.ctx, parent, name, r.settings.Tool)
	switch {
	case errors.Is(err, capture.ErrInUse):
		row.add(InUse, finding.New(finding.CaptureInUse, "the capture is being written"))
		return
	case errors.Is(err, capture.ErrFinished):
		row.add(InUse, finding.New(finding.CaptureInUse, "the capture was closed meanwhile"))
		return
	case result == nil:
		row.refuse(err)
		return
	}
	switch {
	case result.CopyOf != "":
		row.add(SetAside, finding.New(finding.CaptureSetAside, "this is an incomplete copy of %s, which has all of it; the files have the suffix %s", finding.Quote(result.CopyOf), capture.RemainderSuffix))
	case result.Capture == "":
		row.add(SetAside, finding.New(finding.CaptureSetAside, "nothing had arrived; the files have the suffix %s", capture.RemainderSuffix))
	default:
		row.Verdict = Recovered
		row.Recovered = new(dirtree.Join(parentPath(row.Capture, parent), result.Capture))
		row.Digest, row.Bytes, row.Left = &result.Digest, &result.Response, &result.Lost
	}
	if result.Lost > 0 {
		row.Findings = append(row.Findings, finding.New(finding.CaptureSetAside, "%d bytes have no time of arrival or another framing; they are only in %s", result.Lost, finding.Escape(row.Capture)).WithSeverity(finding.Warning))
	}
	if err != nil {
		row.refuse(err)
	}
}

// clean removes temporary files from a closed capture.
func (r *recoverer) clean(row *Row, parent *os.Root, name string, temporary []string) {
	dir, err := parent.OpenRoot(name)
	if err != nil {
		row.refuse(err)
		return
	}
	defer dir.Close()
	row.Verdict = Cleaned
	for _, file := range temporary {
		if err := dir.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			row.refuse(err)
			return
		}
		row.Findings = append(row.Findings, finding.New(finding.TemporaryFile, "%s was removed", file).WithSeverity(finding.Info).WithHint(""))
	}
	if err := atomicfile.SyncRoot(dir); err != nil {
		row.refuse(err)
	}
}

// add sets the verdict, and adds a finding.
func (r *Row) add(v Verdict, f finding.Finding) { r.Verdict, r.Findings = v, append(r.Findings, f) }

// refuse sets the verdict for an error.
func (r *Row) refuse(err error) {
	f, isVerdict := finding.FromError(err)
	verdict := Failed
	if isVerdict || errors.Is(err, errors.ErrUnsupported) {
		verdict = Unrecoverable
	}
	r.add(verdict, f)
}
