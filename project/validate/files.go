package validate

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/internal/tarfs"
	"github.com/p20export/p20export/project/record"
)

// Settings configure the validation of several files.
type Settings struct {
	// Profile has the limits for artifacts. The default is artifact.V1.
	Profile artifact.Profile
	// Kind is the kind of all files, if it is not empty.
	Kind Kind
	// Jobs is the maximum number of files that are validated at the same time. It does
	// not affect the rows. The default is 1.
	Jobs int
}

// Files validates the files at paths like File, and returns their rows in order. For a
// directory, it validates the artifacts and envelopes in the directory and its
// subdirectories, sorted by path, component by component. If s.Kind is not empty, it
// validates only files of that kind. It recognizes the kinds by the suffixes of the names.
// The row of an entry with an error has this error.
//
// Files does not follow symbolic links in a directory and does not open pipes. The row
// of such an entry is an error if its name has one of the suffixes. The row of a
// directory is an error if the directory cannot be read or contains no matching file. The
// sequence stops when the context ends.
func Files(ctx context.Context, paths iter.Seq[inputs.Entry], s Settings) iter.Seq[Row] {
	all := func(yield func(target) bool) {
		for e := range paths {
			info, err := os.Stat(e.Path)
			switch {
			case e.Err != nil:
				err = e.Err
			case e.Path != "-" && err == nil && info.IsDir():
				if !s.each(e.Path, dirtree.Each(ctx, e.Path, 0, s.named), nil, yield) {
					return
				}
				continue
			default:
				err = nil
			}
			if !yield(target{path: e.Path, err: err}) {
				return
			}
		}
	}
	return s.rows(ctx, all)
}

// Archive is like Files for the members of the tar archive r, which may be compressed with
// gzip or zstd. The paths in the rows are the names of members, except for that of the
// whole archive, which is name. The artifacts, envelopes and records are kept in a temporary
// file without a name.
//
// The rows of members that are refused, such as links, come first. If the archive cannot
// be read to its end, no file is validated.
func Archive(ctx context.Context, r io.Reader, name string, s Settings) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		members, err := tarfs.New(ctx, r, name, s.needed, func(name string, why error) bool {
			return yield(s.failed(name, why)) && ctx.Err() == nil
		})
		if err != nil {
			yield(s.failed(name, err))
		}
		if members == nil {
			return
		}
		defer members.Close()
		all := func(yield func(target) bool) { s.each(name, members.Each(), members, yield) }
		for row := range s.rows(ctx, all) {
			if !yield(row) {
				return
			}
		}
	}
}

// target is a file to validate.
type target struct {
	path string
	in   fs.FS // nil for the file system
	err  error // why it cannot be validated
}

// rows validates files.
func (s Settings) rows(ctx context.Context, all iter.Seq[target]) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		work := func(_ int, t target) *Row {
			var row Row
			switch {
			case t.err != nil:
				row = s.failed(t.path, t.err)
			case t.in != nil:
				row = fileIn(t.in, t.path, s.Profile, s.Kind)
			case t.path == "-":
				return nil // standard input is read below, in the order of the paths
			default:
				row = File(ctx, t.path, s.Profile, s.Kind)
			}
			return &row
		}
		for row := range ordered.Map(ctx, s.Jobs, all, work) {
			if row == nil {
				row = new(File(ctx, "-", s.Profile, s.Kind))
			}
			if !yield(*row) {
				cancel() // the validation of the files that follow
				return
			}
		}
	}
}

// failed returns the row of a file that cannot be validated.
func (s Settings) failed(path string, err error) Row {
	row := newRow(path, s.Profile, s.Kind)
	row.setVerdict(err)
	row.Verdict = project.Failed
	return *row
}

// named reports whether a name has the suffix of a kind to validate.
func (s Settings) named(name string) bool {
	kind := kindByName(name)
	return kind != "" && (s.Kind == "" || s.Kind == kind)
}

// needed reports whether a member of an archive is validated, or can be the record of one.
func (s Settings) needed(name string) bool {
	return s.named(path.Base(name)) || strings.HasSuffix(name, record.Suffix)
}

// each passes the files to validate in a directory or archive to yield until it returns
// false. The listings are those of the directory and its subdirectories.
func (s Settings) each(dir string, listings iter.Seq2[dirtree.Listing, error], in fs.FS, yield func(target) bool) bool {
	none := true
	m := merger{yield: func(path string, e fs.DirEntry, err error) bool {
		if err == nil && !s.named(e.Name()) {
			return true
		}
		none = false
		if err == nil && !e.Type().IsRegular() {
			kind := (&dirtree.Entry{Mode: e.Type()}).Kind()
			err = finding.New(finding.IOFailed, "the entry is %s", kind).WithHint("replace it with the file itself, or give the file's path")
		}
		return yield(target{path, in, err})
	}}
	for l, err := range listings {
		if err != nil {
			return yield(target{path: dir, err: err})
		}
		if !m.add(l) {
			return false
		}
	}
	if !m.end() {
		return false
	}
	if none {
		what := "directory"
		if in != nil {
			what = "archive"
		}
		err := finding.New(finding.IOFailed, "the "+what+" contains no file to validate: no name ends in %s", suffixes(s.Kind)).WithHint("%s", hint.NameFiles)
		return yield(target{path: dir, err: err})
	}
	return true
}

// merger passes the entries of a tree to yield in the order of their path elements. It is
// given the listings of the tree, in which those of subdirectories follow. An entry with
// an error is a directory that could not be read.
type merger struct {
	yield  func(path string, e fs.DirEntry, err error) bool
	levels []dirtree.Listing // the last listing and those above it, with the entries that are left
}

// add adds the next listing.
func (m *merger) add(l dirtree.Listing) bool {
	for len(m.levels) > 0 && m.levels[len(m.levels)-1].Rel != filepath.Dir(l.Rel) {
		if !m.pass("") {
			return false
		}
	}
	if l.Rel != "." && !m.pass(filepath.Base(l.Rel)) {
		return false
	}
	if l.Err != nil {
		return m.yield(l.Path, nil, l.Err)
	}
	m.levels = append(m.levels, l)
	return true
}

// pass passes the entries of the last level that are before a name. If the name is empty,
// it passes all and removes the level.
func (m *merger) pass(before string) bool {
	l := &m.levels[len(m.levels)-1]
	for len(l.Entries) > 0 && (before == "" || l.Entries[0].Name() < before) {
		e := l.Entries[0]
		l.Entries = l.Entries[1:]
		if !e.IsDir() && !m.yield(dirtree.Join(l.Path, e.Name()), e, nil) {
			return false
		}
	}
	if before == "" {
		m.levels = m.levels[:len(m.levels)-1]
	}
	return true
}

// end passes the entries that are left.
func (m *merger) end() bool {
	for len(m.levels) > 0 {
		if !m.pass("") {
			return false
		}
	}
	return true
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
