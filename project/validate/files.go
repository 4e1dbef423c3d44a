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

// Files judges the files that paths name, each as File does. A directory stands for
// the artifacts and envelopes in it and below it, as their names end, in the order
// of their paths name by name; with a kind, for those of that kind. Symbolic links
// in it are not followed and pipes not opened: one that is named so has a row that
// says so, as has a directory that cannot be read. A directory without any such
// file, or with more than 100,000 entries, is a row of its own. After the context
// ends no further row comes.
func Files(ctx context.Context, paths []string, p artifact.Profile, kind Kind) iter.Seq[Row] {
	return files(ctx, paths, p, kind, dirtree.MaxEntries)
}

// files is Files with a limit of the entries of each directory.
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

// below judges the files in a directory.
func below(ctx context.Context, dir string, p artifact.Profile, kind Kind, limit int) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		failed := func(path string, err error) Row {
			row := newRow(path, p, kind)
			row.judge(err)
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
			unread := e.Mode.IsDir() // or it would be no entry
			if named := kindByName(e.Path()); !unread && (named == "" || kind != "" && named != kind) {
				continue
			}
			var row Row
			switch {
			case e.Err != nil:
				row = failed(e.Path(), e.Err)
			case !e.Regular():
				row = failed(e.Path(), finding.New(finding.IOFailed, "it is %s", e.Kind()).WithHint("put the file itself there, or name it"))
			default:
				row = File(ctx, e.Path(), p, kind)
			}
			none = false
			if !yield(row) {
				return
			}
		}
		if none {
			yield(failed(dir, finding.New(finding.IOFailed, "the directory holds no file to validate: no name there ends in %s", suffixes(kind)).WithHint("%s", hint.NameFiles)))
		}
	}
}

// suffixes spells how the names of the files of a kind end, or of both.
func suffixes(kind Kind) string {
	switch kind {
	case Artifact:
		return record.ArtifactSuffix
	case Envelope:
		return record.EnvelopeSuffix
	}
	return record.ArtifactSuffix + " or " + record.EnvelopeSuffix
}
