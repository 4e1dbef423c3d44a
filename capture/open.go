package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
// capture_manifest_malformed, capture_file_missing, capture_file_link, or
// content_coding_unsupported. Other errors are from the file system.
//
// The path may be a symbolic link, but the files of a capture directory must not be:
// captures are written without links, and the target of a link could change while
// the directory does not.
//
// Open and the methods of the capture return when ctx is done, even while standard
// input or a named pipe waits for bytes.
func Open(ctx context.Context, path string, framing Framing) (*Capture, error) {
	if path == "-" {
		c, err := OpenReader(Interruptible(ctx, os.Stdin), "stdin", framing)
		if err == nil {
			c.path = path
		}
		return c, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openDir(ctx, path, framing)
	}
	f, err := OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	c, err := OpenReader(f, BaseName(path), framing)
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
	if framing == "" {
		prefix, err := peek(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		framing = DetectFraming(prefix)
		r = io.MultiReader(bytes.NewReader(prefix), r)
	}
	c := &Capture{name: name, path: name, framing: framing}
	c.read(r)
	return c, nil
}

// openDir opens a capture directory.
func openDir(ctx context.Context, dir string, framing Framing) (_ *Capture, err error) {
	manifest, sum, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	if framing == "" {
		framing = manifest.Framing
	}
	c := &Capture{name: BaseName(dir), path: dir, framing: framing, manifest: manifest, manifestDigest: sum}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	files := map[string]*os.File{}
	for _, e := range manifest.Files.entries() {
		f, err := openRegular(dir, e.name)
		if err != nil {
			return nil, err
		}
		c.closers = append(c.closers, f)
		files[e.name] = f
	}
	if f := files[ArrivalsName]; f != nil {
		c.arrivalsFile = newHashReader(f)
		c.arrivals = newArrivals(c.arrivalsFile, manifest.StartedAt)
		c.arrivals.within(manifest.FirstByteAt, manifest.EndedAt)
	}
	c.request, c.requestLimit = files[RequestName], maxRequestBytes
	response := &contextReader{ctx, files[manifest.Framing.FileName()]}
	coding := manifest.coding()
	if coding == "" {
		c.read(response)
		return c, nil
	}
	return c, c.readCoded(response, coding)
}

// readManifest reads the manifest of a capture directory.
func readManifest(dir string) (*Manifest, digest.Digest, error) {
	f, err := openRegular(dir, ManifestName)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxManifestBytes+1))
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

// openRegular opens a file of a capture directory. The file must be regular, because
// a named pipe would block and a device would not end, and not a symbolic link.
func openRegular(dir, name string) (*os.File, error) {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == ManifestName:
		return nil, finding.New(finding.CaptureUnfinished, "the directory %s has no %s, so the capture was not finished", finding.Quote(filepath.Base(dir)), name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, finding.New(finding.CaptureFileMissing, "%s is missing, but listed in %s", name, ManifestName)
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, finding.New(finding.CaptureFileLink, "%s is a symbolic link, which is not followed", name)
	case !info.Mode().IsRegular():
		return nil, finding.New(finding.CaptureFileMissing, "%s is not a regular file", name)
	}
	return os.Open(path)
}

// peek reads enough bytes to detect the framing, or all bytes if there are fewer.
func peek(r io.Reader) ([]byte, error) {
	buf := make([]byte, 0, 512)
	for empty := 0; !detected(buf) && len(buf) < maxDetectBytes; {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), maxDetectBytes)])
		buf = buf[:len(buf)+n]
		switch empty++; {
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		case n > 0:
			empty = 0
		case empty >= maxEmptyReads:
			return nil, io.ErrNoProgress
		}
	}
	return buf, nil
}

// BaseName returns the last element of path. If path is a file, BaseName removes the
// last extension, unless the whole name is an extension. It keeps the extension of a
// directory, because it is probably part of a version number.
func BaseName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	base := filepath.Base(path)
	if base == string(filepath.Separator) {
		return "capture"
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return base
	}
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		return name
	}
	return base
}
