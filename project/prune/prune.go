// Package prune removes captures from a store: those that ended long enough ago and, if
// asked, only those whose runs are frozen in another directory.
//
// A directory is removed in two steps. It gets a temporary name, so that it no longer
// counts as a capture, and then its files are removed, the manifest first. If the program
// is killed, the next call removes what is left. Nothing outside the store is removed, and
// no directory that contains anything other than the files of a capture.
//
// The package must not change frozen evidence, and never removes a capture that is being
// written.
package prune

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// The verdicts on captures. The verdict project.Failed is for captures that could not be
// read or removed.
const (
	Removed project.Verdict = "removed"
	// Removable is the verdict in a dry run on a capture that would be removed.
	Removable project.Verdict = "removable"
	Kept      project.Verdict = "kept"
)

// Settings select what is removed.
type Settings struct {
	// Before is the time before which a capture must have ended. For an unfinished
	// capture, the time of the last change to its files is used.
	Before time.Time
	// FrozenIn is a directory with records. If it is not empty, a capture is removed
	// only if each of its runs has a record there, with the artifact and the envelope
	// that the record names, and package verify finds no difference in them.
	FrozenIn string
	// Unfrozen means that captures are removed although their runs may have no records.
	// Without it, FrozenIn must be set.
	Unfrozen bool
	// Unfinished means that unfinished captures that are not being written are removed
	// too, and what capture.Recover set aside.
	Unfinished bool
	// DryRun means that nothing is removed.
	DryRun bool
}

// Row is the outcome for one capture, or for another directory of the store.
type Row struct {
	Capture string          `json:"capture"`
	Verdict project.Verdict `json:"verdict"`
	// EndedAt is the time at which the capture ended, in the format of the manifest, or
	// nil if it is not known.
	EndedAt *string `json:"ended_at"`
	// Bytes is the size of the files of the directory.
	Bytes int64 `json:"bytes"`
	// Records are the paths of the intact records of the capture, sorted by run. With
	// Settings.Unfrozen, only the digests of their files were compared.
	Records  []string          `json:"records"`
	Findings []finding.Finding `json:"findings"`
}

// ErrIsCapture reports that the store is itself a capture.
var ErrIsCapture = errors.New("this is a capture, not a directory of captures")

// Dir removes captures in a directory and its subdirectories. The sequence has a row for
// each capture, in the order of their paths. It ends with an error if the directory, or
// the directory with the records, cannot be read.
func Dir(ctx context.Context, dir string, s Settings) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		p := &pruner{ctx: ctx, settings: s}
		if err := p.run(dir, func(r Row) bool { return yield(r, nil) }); err != nil {
			yield(Row{}, err)
		}
	}
}

// pruner is one call of Dir.
type pruner struct {
	ctx      context.Context
	settings Settings
	root     *os.Root
	records  records
}

func (p *pruner) run(dir string, yield func(Row) bool) (err error) {
	if p.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer p.root.Close()
	if p.settings.FrozenIn != "" {
		if p.records, err = readRecords(p.ctx, p.settings.FrozenIn); err != nil {
			return err
		}
	}
	for d, err := range capture.Directories(p.ctx, dir) {
		switch {
		case err != nil:
			return err
		case d.Rel == "." && d.Err == nil && d.State != capture.Removed:
			return &fs.PathError{Op: "prune", Path: dir, Err: ErrIsCapture}
		}
		row := Row{Capture: d.Path, Records: []string{}, Findings: []finding.Finding{}}
		if d.Err == nil {
			d.Err = p.prune(&row, d)
		}
		if errors.Is(d.Err, fs.ErrNotExist) && p.gone(d.Rel) {
			continue // another program removed it
		}
		row.fail(d.Err)
		if err := context.Cause(p.ctx); err != nil {
			return err
		}
		if !yield(row) {
			return nil
		}
	}
	return nil
}

// fail gives the row the verdict project.Failed if err is not nil.
func (r *Row) fail(err error) {
	if err != nil {
		f, _ := finding.FromError(err)
		r.Verdict, r.Findings = project.Failed, append(r.Findings, f)
	}
}

// keep gives the row the verdict Kept and a reason.
func (r *Row) keep(code finding.Code, format string, args ...any) {
	r.Verdict, r.Findings = Kept, append(r.Findings, finding.New(code, format, args...).WithSeverity(finding.Info))
}

// keepForeign keeps a directory because of a file that is not of a capture.
func (r *Row) keepForeign(c content) {
	r.keep(finding.FileUnexplained, "%s is not a file of a capture, so the directory is kept", finding.Quote(c.foreign))
}

// prune decides on a directory and removes it.
func (p *pruner) prune(row *Row, d capture.Directory) error {
	content, err := p.list(d.Rel)
	if err != nil {
		return err
	}
	row.Bytes, row.Verdict = content.bytes, Kept
	if content.foreign != "" && d.State != capture.Closed {
		row.keepForeign(content)
		return nil
	}
	switch d.State {
	case capture.Removed:
		row.Findings = append(row.Findings, finding.New(finding.TemporaryFile, "the removal of this directory was interrupted").WithSeverity(finding.Info))
	case capture.Closed:
		if remove, err := p.closed(row, d, content); !remove || err != nil {
			return err
		}
	case capture.Unfinished:
		release, err := p.hold(row, d)
		if release == nil || err != nil {
			return err
		}
		defer release() // after the directory was removed
		if content, err = p.list(d.Rel); err != nil || !p.unfinished(row, d, content) {
			return err
		}
	default:
		if !p.unfinished(row, d, content) {
			return nil
		}
	}
	row.Verdict = Removable
	if p.settings.DryRun {
		return nil
	}
	if err := p.remove(d, content.names); err != nil {
		return err
	}
	row.Verdict = Removed
	return nil
}

// unfinished reports whether an unfinished capture, or what was set aside of one, is to be
// removed.
func (p *pruner) unfinished(row *Row, d capture.Directory, c content) bool {
	row.Bytes = c.bytes
	switch {
	case !c.changed.Before(p.settings.Before):
		return false
	case c.foreign != "":
		row.keepForeign(c)
		return false
	case !p.settings.Unfinished && d.State == capture.Unfinished:
		row.keep(finding.CaptureUnfinished, "the capture is unfinished")
		return false
	case !p.settings.Unfinished:
		row.keep(finding.CaptureSetAside, "the rest of a recovered capture")
		return false
	}
	return true
}

// hold locks an unfinished capture, so that nobody writes or recovers it while it is
// removed. If the capture is being written, or may be, hold keeps it and returns nil. So it
// does if the capture was closed after the store was listed: its age is another one now.
func (p *pruner) hold(row *Row, d capture.Directory) (release func(), err error) {
	parent, err := p.root.OpenRoot(filepath.Dir(d.Rel))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	release, err = capture.Hold(parent, filepath.Base(d.Rel))
	switch {
	case errors.Is(err, capture.ErrFinished):
		row.keep(finding.CaptureInUse, "the capture was closed after the directory was listed")
		return nil, nil
	case row.keepLocked(errors.Is(err, capture.ErrInUse), err):
		return nil, nil
	}
	return release, err
}

// keepUsed keeps a closed capture whose writer has not ended, or may not have.
func (p *pruner) keepUsed(row *Row, d capture.Directory) (bool, error) {
	parent, err := p.root.OpenRoot(filepath.Dir(d.Rel))
	if err != nil {
		return false, err
	}
	defer parent.Close()
	used, err := capture.InUse(parent, filepath.Base(d.Rel))
	if row.keepLocked(used, err) {
		return true, nil
	}
	return false, err
}

// keepLocked keeps a capture if used is true, or if err says that there are no locks. It
// reports whether it does.
func (r *Row) keepLocked(used bool, err error) bool {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		r.keep(finding.CaptureInUse, "the file system has no locks, so the capture may still be written")
	case used:
		r.keep(finding.CaptureInUse, "the capture is being written")
	default:
		return false
	}
	return true
}

// closed reports whether a closed capture is to be removed.
func (p *pruner) closed(row *Row, d capture.Directory, c content) (bool, error) {
	m, sum, err := p.manifest(d.Rel)
	if err != nil {
		return false, err
	}
	row.EndedAt = new(m.EndedAt.Format(timeLayout))
	switch {
	case !m.EndedAt.Before(p.settings.Before):
		return false, nil
	case c.foreign != "":
		row.keep(finding.FileUnexplained, "%s is not a file of a capture, so the capture is kept", finding.Quote(c.foreign))
		return false, nil
	}
	if name := c.unlisted(m); name != "" {
		row.keep(finding.FileUnexplained, "%s does not list %s, so the capture is kept", capture.ManifestName, finding.Quote(name))
		return false, nil
	}
	if d.Temporary != nil { // it may just be closed
		if used, err := p.keepUsed(row, d); used || err != nil {
			return false, err
		}
	}
	if p.records == nil {
		return true, nil
	}
	frozen, err := p.frozen(row, d, sum)
	return frozen || err == nil && p.settings.Unfrozen, err
}

// manifest reads the manifest of a capture and returns its digest.
func (p *pruner) manifest(rel string) (*capture.Manifest, digest.Digest, error) {
	data, err := record.ReadBoundedFS(p.root.FS(), path.Join(filepath.ToSlash(rel), capture.ManifestName), capture.MaxManifestBytes)
	if errors.Is(err, record.ErrTooLong) {
		return nil, "", finding.New(finding.ManifestMalformed, "%s is longer than %d bytes", capture.ManifestName, capture.MaxManifestBytes)
	}
	if err != nil {
		return nil, "", err
	}
	m, err := capture.DecodeManifest(data)
	return m, digest.Of(data), err
}

// timeLayout is the format of times in manifests.
const timeLayout = "2006-01-02T15:04:05.000000Z"
