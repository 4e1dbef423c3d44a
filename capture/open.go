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

// Open opens what path names: a capture directory, a plain file holding a
// response, or "-" for standard input. An empty framing means the manifest's, or
// for a plain file the one its first bytes tell.
//
// Errors that are findings: capture_unfinished for a directory without a
// manifest, capture_manifest_malformed, capture_file_missing, capture_file_link,
// and content_coding_unsupported. Others are of the file system.
//
// The path itself may be a symbolic link. A file of a capture directory may not:
// capture writes none, and what a link names can lie outside the directory and
// change without it.
//
// Opening and reading end with ctx, even while standard input or a named pipe is
// waiting for bytes.
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

// OpenReader reads a response from r as a plain file of the given name. With an
// empty framing it reads as far as it takes to tell the framing, at once. Close
// does not close r.
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
	response := &guarded{ctx, files[manifest.Framing.FileName()]}
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

// openRegular opens a file of a capture, which must be there and be a regular
// file (a named pipe would block, a device would not end) and no link to one.
func openRegular(dir, name string) (*os.File, error) {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == ManifestName:
		return nil, finding.New(finding.CaptureUnfinished, "the directory %s has no %s, so it is no closed capture", finding.Quote(filepath.Base(dir)), name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, finding.New(finding.CaptureFileMissing, "%s, which %s lists, is not there", name, ManifestName)
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, finding.New(finding.CaptureFileLink, "%s is a symbolic link, which is not followed", name)
	case !info.Mode().IsRegular():
		return nil, finding.New(finding.CaptureFileMissing, "%s is not a regular file", name)
	}
	return os.Open(path)
}

// peek reads as far as it takes to tell the framing, or to the end.
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

// BaseName returns the last element of a path, that of a file less its last
// extension. A name that is nothing but an extension is kept whole, and so is
// that of a directory: what stands after a point there is a version.
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
