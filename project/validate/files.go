package validate

import (
	"context"
	"iter"
	"os"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// Files validates the files at paths like File. For a directory, it validates the
// artifacts and envelopes in the directory and its subdirectories, sorted by path,
// component by component. If kind is not empty, it validates only files of that kind.
// It recognizes the kinds by the suffixes of the names.
//
// Files does not follow symbolic links in a directory and does not open pipes. The row
// of such an entry is an error if its name has one of the suffixes. The row of a
// directory is an error if the directory cannot be read, contains no matching file or
// has more than 100,000 entries. The sequence stops when the context ends.
func Files(ctx context.Context, paths []string, p artifact.Profile, kind Kind) iter.Seq[Row] {
	return files(ctx, paths, p, kind, dirtree.MaxEntries)
}

// files is like Files, with a limit for the number of entries in each directory.
func files(ctx context.Context, paths []string, p artifact.Profile, kind Kind, limit int) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for _, path := range paths {
			one := func(yield func(Row) bool) { yield(File(ctx, path, p, kind)) }
			if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
				one = below(ctx, path, p, kind, limit)
			}
			for row := range one {
				if !yield(row) || ctx.Err() != nil {
					return
				}
			}
		}
	}
}

// below validates the files in a directory and its subdirectories.
func below(ctx context.Context, dir string, p artifact.Profile, kind Kind, limit int) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		failed := func(path string, err error) Row {
			row := newRow(path, p, kind)
			row.setVerdict(err)
			row.Verdict = project.Failed
			return *row
		}
		tree, err := dirtree.Walk(ctx, dir, limit)
		if err != nil {
			yield(failed(dir, err))
			return
		}
		none := true
		for _, e := range tree.Entries {
			unread := e.Mode.IsDir() // only unreadable directories are entries
			if named := kindByName(e.Path()); !unread && (named == "" || kind != "" && named != kind) {
				continue
			}
			var row Row
			switch {
			case e.Err != nil:
				row = failed(e.Path(), e.Err)
			case !e.Regular():
				row = failed(e.Path(), finding.New(finding.IOFailed, "the entry is %s", e.Kind()).WithHint("replace it with the file itself, or give the file's path"))
			default:
				row = File(ctx, e.Path(), p, kind)
			}
			none = false
			if !yield(row) {
				return
			}
		}
		if none {
			yield(failed(dir, finding.New(finding.IOFailed, "the directory contains no file to validate: no name ends in %s", suffixes(kind)).WithHint("%s", hint.NameFiles)))
		}
	}
}

// suffixes returns the suffix of a kind, or both suffixes if the kind is empty.
func suffixes(kind Kind) string {
	switch kind {
	case Artifact:
		return record.ArtifactSuffix
	case Envelope:
		return record.EnvelopeSuffix
	}
	return record.ArtifactSuffix + " or " + record.EnvelopeSuffix
}
