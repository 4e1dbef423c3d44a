// Package tarfs opens the members of a tar archive by their names.
//
// It keeps the members in a temporary file without a name. So no member can be written to
// another place, and nothing remains when the program ends, even if it is killed.
package tarfs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/humanize"
)

// FS is the file system of the members of an archive. Its methods may be called by several
// goroutines. Their errors contain the names of members, like those of package os.
type FS struct {
	content *content
	members []member // in the order of their path elements
}

// member is a member of an archive. An archive can have very many, so it is small.
type member struct {
	name         string
	offset, size int64 // of the content
}

// MaxMembers is the maximum number of members of an archive.
const MaxMembers = 1_000_000

// limits bound the memory for the members of an archive.
type limits struct {
	members int
	names   int // bytes of all names
}

// New reads the archive r to its end, as inputs.Members does. The file system has the members
// for whose names keep returns true, or all if keep is nil. New calls refuse with the name of
// each member that is refused, and the reason; if refuse returns false, New returns nil.
//
// New returns an error if the archive cannot be read to its end, if ctx is done, or if the
// temporary file cannot be written. When ctx is done, files cannot be read any more. New
// returns a *dirtree.LimitError with the given path if there are more than MaxMembers
// members, and the finding archive_limit if their names are too long together.
func New(ctx context.Context, r io.Reader, path string, keep func(name string) bool, refuse func(name string, why error) bool) (*FS, error) {
	return newFS(ctx, r, path, limits{MaxMembers, 128 << 20}, keep, refuse)
}

// newFS is New with the given limits.
func newFS(ctx context.Context, r io.Reader, path string, limits limits, keep func(string) bool, refuse func(string, error) bool) (*FS, error) {
	file, err := atomicfile.CreateUnnamed("")
	if err != nil {
		return nil, err
	}
	f := &FS{content: &content{ctx, file}}
	done, err := f.read(ctx, r, limits, keep, refuse)
	if _, ok := errors.AsType[*dirtree.LimitError](err); ok {
		err = &dirtree.LimitError{Root: path, Limit: limits.members}
	}
	if err == nil && !done || err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// read reads the archive. It returns false if refuse did.
func (f *FS) read(ctx context.Context, r io.Reader, limits limits, keep func(string) bool, refuse func(string, error) bool) (bool, error) {
	w := bufio.NewWriterSize(f.content, 256<<10)
	offset, names := int64(0), 0
	for m, err := range inputs.Members(r) {
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case err != nil:
			return false, err
		case m.Refused != nil:
			if !refuse(m.Name, m.Refused) {
				return false, nil
			}
			continue
		case keep != nil && !keep(m.Name):
			continue
		case len(f.members) == limits.members:
			return false, &dirtree.LimitError{}
		}
		if names += len(m.Name); names > limits.names {
			return false, finding.New(finding.ArchiveLimit, "the names of the members are longer than %s", humanize.Bytes(int64(limits.names)))
		}
		n, err := io.Copy(w, m)
		if err != nil {
			return false, err
		}
		f.members = append(f.members, member{strings.Clone(m.Name), offset, n})
		offset += n
	}
	if err := w.Flush(); err != nil {
		return false, err
	}
	sort.Slice(f.members, func(i, j int) bool { return before(f.members[i].name, f.members[j].name) })
	return f.refuseBelow(refuse), nil
}

// refuseBelow removes the members that have the name of another member as a directory.
func (f *FS) refuseBelow(refuse func(string, error) bool) bool {
	kept := f.members[:0]
	for _, m := range f.members {
		if n := len(kept); n > 0 && strings.HasPrefix(m.name, kept[n-1].name+"/") {
			why := finding.New(finding.ArchiveMemberRefused, "the member %s is in a directory, but %s is a file", finding.Quote(m.name), finding.Quote(kept[n-1].name))
			if !refuse(m.name, why) {
				return false
			}
			continue
		}
		kept = append(kept, m)
	}
	f.members = kept
	return true
}

// before reports whether the path elements of a are before those of b.
func before(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	switch {
	case i == len(a) || i == len(b):
		return len(a) < len(b)
	case a[i] == '/' || b[i] == '/':
		return a[i] == '/'
	}
	return a[i] < b[i]
}

// Close removes the temporary file.
func (f *FS) Close() error { return f.content.file.Close() }

// Open implements fs.FS. The files implement io.ReaderAt.
func (f *FS) Open(name string) (fs.File, error) {
	m, at, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	return &file{io.NewSectionReader(f.content, f.offset(at), m.size), m}, nil
}

// Stat implements fs.StatFS.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	m, _, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// offset returns the offset of the content of a member, or 0 for a directory.
func (f *FS) offset(at int) int64 {
	if at < 0 {
		return 0
	}
	return f.members[at].offset
}

// find returns the file or directory with the given name, and its index in members or -1.
func (f *FS) find(op, name string) (info, int, error) {
	if !fs.ValidPath(name) {
		return info{}, 0, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	at := sort.Search(len(f.members), func(i int) bool { return !before(f.members[i].name, name) })
	switch {
	case at < len(f.members) && f.members[at].name == name:
		return info{path.Base(name), f.members[at].size, 0o444}, at, nil
	case name == "." || at < len(f.members) && strings.HasPrefix(f.members[at].name, name+"/"):
		return info{path.Base(name), 0, fs.ModeDir | 0o555}, -1, nil
	}
	return info{}, 0, &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
}

// Each returns the directories of the archive like dirtree.Each. The root has the path ".".
func (f *FS) Each() iter.Seq2[dirtree.Listing, error] {
	return func(yield func(dirtree.Listing, error) bool) {
		each(".", f.members, func(l dirtree.Listing) bool { return yield(l, nil) })
	}
}

// each passes the listing of a directory with the given members, and then those of the
// directories below it, to yield until it returns false.
func each(dir string, members []member, yield func(dirtree.Listing) bool) bool {
	prefix := 0
	if dir != "." {
		prefix = len(dir) + 1
	}
	l := dirtree.Listing{Path: dir, Rel: dir}
	var below [][]member // the members of each directory
	for len(members) > 0 {
		first, n := members[0], 1
		entry := info{first.name[prefix:], first.size, 0o444}
		if name, _, ok := strings.Cut(entry.name, "/"); ok {
			entry = info{name, 0, fs.ModeDir | 0o555}
			path := first.name[:prefix+len(name)+1]
			n = sort.Search(len(members), func(i int) bool { return !strings.HasPrefix(members[i].name, path) })
			below = append(below, members[:n])
		}
		l.Entries = append(l.Entries, fs.FileInfoToDirEntry(entry))
		members = members[n:]
	}
	if !yield(l) {
		return false
	}
	l = dirtree.Listing{} // not needed from here on
	for _, members := range below {
		name := members[0].name
		if !each(name[:prefix+strings.IndexByte(name[prefix:], '/')], members, yield) {
			return false
		}
	}
	return true
}

// info implements fs.FileInfo.
type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// file implements fs.File.
type file struct {
	*io.SectionReader
	info info
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// content is the temporary file. Its errors name the directory for temporary files. It
// cannot be used when ctx is done.
type content struct {
	ctx  context.Context
	file *os.File
}

func (c *content) Write(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	n, err := c.file.Write(p)
	return n, atomicfile.WrapUnnamed("", err)
}

func (c *content) ReadAt(p []byte, offset int64) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	n, err := c.file.ReadAt(p, offset)
	return n, atomicfile.WrapUnnamed("", err)
}
