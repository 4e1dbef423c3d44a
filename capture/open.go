package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// Open opens a capture directory, a plain file that contains a response, or
// standard input ("-"). If framing is empty, Open uses the manifest's framing, or
// detects the framing of a plain file.
//
// Open may return a finding: capture_unfinished for a directory without a manifest,
// capture_manifest_malformed, capture_file_missing, capture_file_link, framing_opaque, or
// content_coding_unsupported. Other errors are from the file system.
//
// The path may be a symbolic link, but the files of a capture directory must not be:
// captures are written without links, and the target of a link could change while
// the directory does not.
//
// Open and the methods of the capture return when ctx is done, even while standard
// input or a named pipe waits for bytes.
func Open(ctx context.Context, path string, framing Framing) (*Capture, error) {
	return Place{path: path}.Open(ctx, framing)
}

// Place is a path and the kind of file that was there when it was looked up.
type Place struct {
	path string
	info fs.FileInfo // nil if it is not known
}

// LookUp looks up a path, which may be "-" for standard input. The methods of the result
// do not look it up again.
func LookUp(path string) Place {
	p := Place{path: path}
	if info, err := os.Stat(path); path != "-" && err == nil {
		p.info = info
	}
	return p
}

// Path returns the path.
func (p Place) Path() string { return p.path }

// Name returns the name for output files, as Capture.Name does.
func (p Place) Name() string {
	if p.path == "-" {
		return "stdin"
	}
	return baseName(p.path, p.info)
}

// IsSearchRoot reports whether the path is a directory without a manifest, which Find
// searches.
func (p Place) IsSearchRoot() bool {
	if p.info == nil || !p.info.IsDir() {
		return false
	}
	_, err := os.Lstat(filepath.Join(p.path, ManifestName))
	return errors.Is(err, fs.ErrNotExist)
}

// Open opens the capture, as the function Open does.
func (p Place) Open(ctx context.Context, framing Framing) (*Capture, error) {
	path, info := p.path, p.info
	if path == "-" {
		c, err := OpenReader(Interruptible(ctx, os.Stdin), "stdin", framing)
		if err == nil {
			c.path = path
		}
		return c, err
	}
	if info == nil {
		var err error
		if info, err = os.Stat(path); err != nil {
			return nil, err
		}
	}
	if info.IsDir() {
		return openDir(ctx, onDisk(path), baseName(path, info), framing)
	}
	f, err := openFile(ctx, path, info)
	if err != nil {
		return nil, err
	}
	return openPlain(f, path, baseName(path, info), framing)
}

// OpenFS is Open for a capture directory or a plain file in a file system. The path
// must be valid for fs.FS, and the files of capture directories must implement
// io.ReaderAt.
func OpenFS(ctx context.Context, fsys fs.FS, path string, framing Framing) (*Capture, error) {
	info, err := fs.Stat(fsys, path)
	if err != nil {
		return nil, err
	}
	base := slashpath.Base(path)
	if base == "." {
		base = "capture"
	}
	if info.IsDir() {
		return openDir(ctx, inFS(fsys, path), base, framing)
	}
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	return openPlain(&readCloser{&contextReader{ctx, f}, f}, path, TrimExtension(base), framing)
}

// openPlain opens a plain file. The capture closes f.
func openPlain(f io.ReadCloser, path, name string, framing Framing) (*Capture, error) {
	c, err := OpenReader(f, name, framing)
	if err != nil {
		f.Close()
		return nil, err
	}
	c.path = path
	c.closers = append(c.closers, f)
	return c, nil
}

// OpenReader returns a capture that reads r like a plain file with the given name.
// If framing is empty, OpenReader reads enough of r to detect the framing. Closing
// the capture does not close r.
func OpenReader(r io.Reader, name string, framing Framing) (*Capture, error) {
	c := &Capture{name: name, path: name, framing: framing}
	c.read(r)
	if framing == "" {
		prefix, err := c.splitter.peek()
		if err != nil {
			c.response.close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.framing = DetectFraming(prefix)
		c.splitter.setFraming(c.framing)
	}
	return c, nil
}

// files are the files of a capture directory.
type files struct {
	dir   string
	lstat func(name string) (fs.FileInfo, error)
	// open opens a regular file that had size bytes when it was looked up.
	open func(name string, size int64) (io.ReadCloser, error)
}

// onDisk returns the files of a directory.
func onDisk(dir string) *files {
	return &files{
		dir,
		func(name string) (fs.FileInfo, error) { return os.Lstat(filepath.Join(dir, name)) },
		func(name string, size int64) (io.ReadCloser, error) {
			return openRegular(filepath.Join(dir, name), size)
		},
	}
}

// inFS returns the files of a directory in a file system.
func inFS(fsys fs.FS, dir string) *files {
	return &files{
		dir,
		func(name string) (fs.FileInfo, error) { return fs.Lstat(fsys, slashpath.Join(dir, name)) },
		func(name string, _ int64) (io.ReadCloser, error) { return fsys.Open(slashpath.Join(dir, name)) },
	}
}

// inRoot returns the files of an open directory.
func inRoot(dir *os.Root) *files {
	return &files{
		dir.Name(),
		func(name string) (fs.FileInfo, error) { return lstat(dir, name) },
		func(name string, _ int64) (io.ReadCloser, error) { return openIn(dir, name, os.O_RDONLY) },
	}
}

// file is a file of a capture directory.
type file interface {
	io.ReadCloser
	io.ReaderAt
}

// openDir opens a capture directory.
func openDir(ctx context.Context, from *files, name string, framing Framing) (_ *Capture, err error) {
	c, response, err := openFiles(from)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	c.name, c.framing = name, cmp.Or(framing, c.manifest.Framing)
	if c.manifest.Framing == Opaque {
		status := ""
		if s := c.manifest.Source.Status; s != nil {
			status = fmt.Sprintf("; its HTTP status is %03d", *s)
		}
		return nil, finding.New(finding.FramingOpaque, "the response has none of the framings in which events can be read%s", status)
	}
	r := &contextReader{ctx, response}
	coding := c.manifest.Coding()
	if coding == "" {
		c.read(r)
		return c, nil
	}
	return c, c.readCoded(r, coding)
}

// openFiles opens the files of a capture directory. It returns the capture, which is not
// ready to read the response, and the response.
func openFiles(from *files) (_ *Capture, response file, err error) {
	manifest, sum, err := from.readManifest()
	if err != nil {
		return nil, nil, err
	}
	c := &Capture{path: from.dir, manifest: manifest, manifestDigest: sum}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	for _, e := range manifest.Files.entries() {
		f, _, err := from.openRegular(e.name)
		if err != nil {
			return nil, nil, err
		}
		c.closers = append(c.closers, f)
		switch e.name {
		case RequestName:
			c.request, c.requestLimit = f, maxRequestBytes
		case ArrivalsName:
			c.arrivalsFile = newHashReader(f)
			c.arrivals = newArrivals(c.arrivalsFile, e.file.Bytes, manifest.StartedAt)
			c.arrivals.within(manifest.FirstByteAt, manifest.EndedAt)
		default:
			response = f
		}
	}
	return c, response, nil
}

// readManifest reads the manifest.
func (d *files) readManifest() (*Manifest, digest.Digest, error) {
	f, size, err := d.openRegular(ManifestName)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	b, err := readSized(io.LimitReader(f, MaxManifestBytes+1), min(size, MaxManifestBytes))
	if err != nil {
		return nil, "", err
	}
	if len(b) > MaxManifestBytes {
		return nil, "", finding.New(finding.ManifestMalformed, "%s is longer than %d bytes", ManifestName, MaxManifestBytes)
	}
	m, err := DecodeManifest(b)
	if err != nil {
		return nil, "", err
	}
	return m, digest.Of(b), nil
}

// openRegular opens a file and returns its size. It must be regular, because a named pipe
// would block and a device would not end, and not a symbolic link.
func (d *files) openRegular(name string) (_ file, size int64, err error) {
	info, err := d.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == ManifestName:
		return nil, 0, finding.New(finding.CaptureUnfinished, "the directory %s has no %s, so the capture was not finished", finding.Quote(filepath.Base(d.dir)), name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, finding.New(finding.CaptureFileMissing, "%s is missing, but listed in %s", name, ManifestName)
	case err != nil:
		return nil, 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, 0, finding.New(finding.CaptureFileLink, "%s is a symbolic link, which is not followed", name)
	case !info.Mode().IsRegular():
		return nil, 0, finding.New(finding.CaptureFileMissing, "%s is not a regular file", name)
	}
	f, err := d.open(name, info.Size())
	if err != nil {
		return nil, 0, err
	}
	opened, ok := f.(file)
	if !ok {
		f.Close()
		return nil, 0, fmt.Errorf("%s does not implement io.ReaderAt", slashpath.Join(d.dir, name))
	}
	return opened, info.Size(), nil
}

// BaseName returns the last element of path. If path is a file, BaseName removes the
// last extension, unless the whole name is an extension. It keeps the extension of a
// directory, because it is probably part of a version number.
func BaseName(path string) string { return baseName(path, nil) }

// baseName is BaseName. If info is not nil, it describes the path.
func baseName(path string, info fs.FileInfo) string {
	if clean := filepath.Clean(path); filepath.Base(clean) == ".." || clean == "." {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
	}
	base := filepath.Base(path)
	if base == string(filepath.Separator) {
		return "capture"
	}
	name := TrimExtension(base)
	if name == base {
		return base
	}
	if info == nil {
		info, _ = os.Stat(path)
	}
	if info != nil && info.IsDir() {
		return base
	}
	return name
}

// TrimExtension returns the name of a file without its last extension, unless the whole
// name is an extension.
func TrimExtension(base string) string {
	return cmp.Or(strings.TrimSuffix(base, filepath.Ext(base)), base)
}
