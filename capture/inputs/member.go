package inputs

import (
	"io"
	"io/fs"
	slashpath "path"
	"slices"
	"time"

	"github.com/p20export/p20export/capture"
)

// member is a capture of an archive, as a file system that contains only the capture.
type member struct {
	path  string
	store *store
	parts []part
}

// part is a file of a capture.
type part struct {
	file fileName
	content
}

// fileName is the number of a name in capture.FileNames, or plainFile.
type fileName int8

// plainFile is the file of a capture that is not a directory.
const plainFile fileName = -1

// newFileName returns the number of a name. If only plain captures have the name, it
// returns plainFile.
func newFileName(name string) fileName {
	return fileName(slices.Index(capture.FileNames(), name))
}

// isDir reports whether the capture is a directory.
func (m *member) isDir() bool { return m.parts[0].file != plainFile }

// newInput returns the input for a capture of an archive. The input releases the
// contents.
func (m *member) newInput() *Input {
	name := slashpath.Base(m.path)
	switch {
	case name == ".":
		name = "capture"
	case !m.isDir():
		name = capture.TrimExtension(name)
	}
	return &Input{Path: m.path, Name: name, RelDir: slashpath.Dir(m.path), member: m, release: m.store.take(m.parts)}
}

// find returns a file. It returns nil if the name is that of the directory.
func (m *member) find(op, name string) (*part, error) {
	if name == m.path {
		if m.isDir() {
			return nil, nil
		}
		return &m.parts[0], nil
	}
	if slashpath.Dir(name) == m.path && m.isDir() {
		file := newFileName(slashpath.Base(name))
		for i, p := range m.parts {
			if p.file == file {
				return &m.parts[i], nil
			}
		}
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Open implements fs.FS. A directory cannot be opened.
func (m *member) Open(name string) (fs.File, error) {
	p, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return &openPart{m.store.newReader(p.content), fileInfo{slashpath.Base(name), p}}, nil
}

// Stat implements fs.StatFS.
func (m *member) Stat(name string) (fs.FileInfo, error) {
	p, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	return fileInfo{slashpath.Base(name), p}, nil
}

// openPart is an open file.
type openPart struct {
	*io.SectionReader
	info fileInfo
}

// Stat implements fs.File.
func (o *openPart) Stat() (fs.FileInfo, error) { return o.info, nil }

// Close implements fs.File.
func (o *openPart) Close() error { return nil }

// fileInfo describes a regular file, or a directory if part is nil.
type fileInfo struct {
	name string
	part *part
}

// Name implements fs.FileInfo.
func (i fileInfo) Name() string { return i.name }

// Size implements fs.FileInfo.
func (i fileInfo) Size() int64 {
	if i.part == nil {
		return 0
	}
	return i.part.size
}

// Mode implements fs.FileInfo.
func (i fileInfo) Mode() fs.FileMode {
	if i.part == nil {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// ModTime implements fs.FileInfo. The time is not known.
func (i fileInfo) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (i fileInfo) IsDir() bool { return i.part == nil }

// Sys implements fs.FileInfo.
func (i fileInfo) Sys() any { return nil }
