package verify

import (
	"context"
	"iter"
	"os"
	"slices"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/project"
)

// ListRow is one row of a list: that of an artifact, or one of a directory. The other
// field is nil.
type ListRow struct {
	Artifact  *Row
	Directory *TreeRow
}

// List verifies the artifacts and directories of a list in order: artifacts like File, with
// the records next to them, and directories like Tree. The row of an entry with an error
// has this error.
//
// The setting Captures may have at most one path. An artifact is verified with the capture
// at this path, or with a capture that is found there. With CapturesOnly, the row of an
// entry that is not a directory is an error. The sequence stops when the context ends.
func List(ctx context.Context, paths iter.Seq[inputs.Entry], s TreeSettings) iter.Seq[ListRow] {
	return func(yield func(ListRow) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		l := &list{settings: s, find: &finder{jobs: 1, limit: MaxEntries}}
		for one := range ordered.Map(ctx, s.Jobs, paths, func(_ int, e inputs.Entry) listed { return l.verify(ctx, e) }) {
			if one.row != nil {
				if !yield(ListRow{Artifact: one.row}) {
					cancel() // the work on the rows that follow
					return
				}
				continue
			}
			for row := range Tree(ctx, one.dir, s) {
				if !yield(ListRow{Directory: &row}) {
					cancel()
					return
				}
			}
		}
	}
}

// list is a list that is verified.
type list struct {
	settings TreeSettings
	find     *finder
}

// listed is the row of an artifact, or a directory to verify.
type listed struct {
	row *Row
	dir string
}

// verify verifies an entry, unless it is a directory.
func (l *list) verify(ctx context.Context, e inputs.Entry) listed {
	info, err := os.Stat(e.Path)
	isDir := err == nil && info.IsDir()
	switch {
	case e.Err != nil:
		err = e.Err
	case isDir:
		return listed{dir: e.Path}
	case err == nil && l.settings.CapturesOnly:
		err = finding.New(finding.IOFailed, "%s is not a directory, and only the captures in directories are checked", finding.Escape(e.Path))
	default:
		captures := slices.Concat(l.settings.Captures, []string{""})
		return listed{row: new(verifyFile(ctx, e.Path, "", captures[0], l.settings.Signed, l.find, l.settings.progress()))}
	}
	row := Row{Artifact: e.Path}.withOutcome(nil, err)
	row.Verdict = project.Failed
	return listed{row: &row}
}
