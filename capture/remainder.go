package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
)

// remainder is an unfinished capture that nobody is writing.
type remainder struct {
	name string
	dir  *os.Root
	// claim is locked. It is nil if there is none.
	claim *os.File
	// head is the manifest in the claim. If it is nil, headErr is the reason.
	head    *Manifest
	headErr error

	response, arrivals, request *os.File // nil if there is none

	kept  arrival // the bytes of the response that have a time, and the time of the last
	lost  int64   // the number of bytes after them
	first arrival // the first line of arrivals.tsv
	lines int64   // the size of the lines that are kept unchanged
	cut   []byte  // the line after them, if it has to be changed
}

// openRemainder opens and locks the unfinished capture in the directory name of root.
func openRemainder(root *os.Root, name string) (_ *remainder, err error) {
	r := &remainder{name: name}
	if r.dir, err = openChild(root, name); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := r.hold(); err != nil {
		return nil, err
	}
	if err := r.readHead(); err != nil {
		return nil, err
	}
	return r, r.open()
}

// hold locks the capture. It fails if the writer has finished until now.
func (r *remainder) hold() error {
	if err := r.lock(); err != nil {
		return err
	}
	info, err := lstat(r.dir, ManifestName)
	switch {
	case err == nil && info.IsDir():
		return finding.New(finding.CaptureFileMissing, "%s is a directory", finding.Escape(filepath.Join(r.dir.Name(), ManifestName)))
	case err == nil:
		return fmt.Errorf("%s: %w", r.dir.Name(), ErrFinished)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// lock opens and locks the claim, if there is one. A capture without a claim is not being
// written.
func (r *remainder) lock() (err error) {
	r.claim, err = openIn(r.dir, ClaimName, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		r.claim = nil
		return nil
	}
	if err != nil {
		return err
	}
	locked, err := atomicfile.TryLock(r.claim)
	switch {
	case err != nil:
		return &noLocksError{r.dir.Name(), err}
	case !locked:
		return fmt.Errorf("%s: %w", r.dir.Name(), ErrInUse)
	}
	return checkIs(r.dir, ClaimName, r.claim)
}

// readHead reads the manifest in the claim.
func (r *remainder) readHead() error {
	if r.claim == nil {
		r.headErr = errors.New("it is missing")
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(r.claim, MaxManifestBytes+1))
	switch {
	case err != nil:
		return err
	case len(b) > MaxManifestBytes:
		r.headErr = fmt.Errorf("it is longer than %d bytes", MaxManifestBytes)
	case len(b) == 0:
		r.headErr = errors.New("it is empty")
	default:
		r.head, r.headErr = DecodeManifest(b)
	}
	return nil
}

// open opens the other files, which an earlier call may have set aside.
func (r *remainder) open() (err error) {
	framings := framings()
	if r.head != nil {
		framings = []Framing{r.head.Framing}
	}
	for _, f := range framings {
		if r.response, err = r.openPart(f.FileName()); r.response != nil || err != nil {
			break
		}
	}
	if err == nil && (r.head == nil || r.head.Files.Arrivals != nil) {
		r.arrivals, err = r.openPart(ArrivalsName)
	}
	if err == nil {
		r.request, err = r.openPart(RequestName)
	}
	switch {
	case err != nil:
		return err
	case r.claim == nil && r.response == nil && r.arrivals == nil:
		return fmt.Errorf("%s is not an unfinished capture", r.dir.Name())
	}
	return nil
}

// openPart opens a file, or else the file with its name in a remainder. It returns nil if
// there is neither.
func (r *remainder) openPart(name string) (*os.File, error) {
	f, err := openIn(r.dir, name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) && r.claim != nil {
		f, err = openIn(r.dir, name+RemainderSuffix, os.O_RDONLY)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// close closes the files. It unlocks the claim.
func (r *remainder) close() {
	for _, f := range []*os.File{r.response, r.arrivals, r.request, r.claim} {
		if f != nil {
			f.Close()
		}
	}
	r.dir.Close()
}

// measure finds out how much of the response has a time of arrival.
func (r *remainder) measure(ctx context.Context) error {
	if err := r.measureResponse(ctx); err != nil {
		return err
	}
	// The claim may name another framing than that of the file.
	for _, f := range framings() {
		for _, name := range []string{f.FileName(), f.FileName() + RemainderSuffix} {
			info, err := lstat(r.dir, name)
			if err == nil && info.Mode().IsRegular() && !r.isResponse(info) {
				r.lost += info.Size()
			}
		}
	}
	return nil
}

// isResponse reports whether a file is the response that is recovered.
func (r *remainder) isResponse(info fs.FileInfo) bool {
	if r.response == nil {
		return false
	}
	is, err := r.response.Stat()
	return err == nil && os.SameFile(is, info)
}

// measureResponse is measure for the file that the claim names.
func (r *remainder) measureResponse(ctx context.Context) error {
	if r.response == nil {
		return nil
	}
	info, err := r.response.Stat()
	if err != nil {
		return err
	}
	size, err := r.responseSize(ctx)
	if err != nil {
		return err
	}
	switch {
	case r.head != nil && r.head.Files.Arrivals == nil:
		r.kept.bytes = size
	case r.head != nil && r.arrivals != nil:
		if err := r.measureArrivals(ctx, size); err != nil {
			return err
		}
	}
	r.lost = info.Size() - r.kept.bytes
	return nil
}

// responseSize returns the size of the response without the zero bytes at its end, if it
// is text.
func (r *remainder) responseSize(ctx context.Context) (int64, error) {
	if r.head == nil || r.head.Framing == Opaque || r.head.Coding() != "" {
		info, err := r.response.Stat()
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	return textSize(ctx, r.response)
}

// textSize returns the size of a file without the zero bytes at its end. After a loss of
// power, some file systems leave zeros in place of data that was not written yet, and
// neither an event nor a time of arrival contains a zero byte.
func textSize(ctx context.Context, f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size, buf := info.Size(), make([]byte, 64<<10)
	for size > 0 {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		part := buf[:min(size, int64(len(buf)))]
		start := size - int64(len(part))
		if _, err := f.ReadAt(part, start); err != nil {
			return 0, err
		}
		if text := bytes.TrimRight(part, "\x00"); len(text) > 0 {
			return start + int64(len(text)), nil
		}
		size = start
	}
	return 0, nil
}

// measureArrivals reads arrivals.tsv up to the line for the last byte of the response, or
// to the first line that is torn or malformed.
func (r *remainder) measureArrivals(ctx context.Context, size int64) error {
	info, err := r.arrivals.Stat()
	if err != nil {
		return err
	}
	lines := newArrivals(&contextReader{ctx, r.arrivals}, info.Size(), r.head.StartedAt)
	for r.kept.bytes < size {
		more, err := lines.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if lines.line == 1 {
			r.first = lines.last
		}
		r.kept = lines.last
		if r.kept.bytes > size { // only a part of the read was stored
			r.kept.bytes = size
			r.cut = r.kept.appendTo(nil)
			break
		}
		r.lines = lines.offset
	}
	return nil
}

// readResponse returns a reader of the bytes that are kept.
func (r *remainder) readResponse(ctx context.Context) io.Reader {
	if r.response == nil {
		return bytes.NewReader(nil)
	}
	return section(ctx, r.response, r.kept.bytes)
}

// readArrivals returns a reader of the lines that are kept, or nil if times were not
// recorded.
func (r *remainder) readArrivals(ctx context.Context) io.Reader {
	switch {
	case r.head.Files.Arrivals == nil:
		return nil
	case r.arrivals == nil:
		return bytes.NewReader(nil)
	}
	return io.MultiReader(section(ctx, r.arrivals, r.lines), bytes.NewReader(r.cut))
}

// readRequest returns a reader of the request, or nil if there is none. The name of the
// file exists only if it is complete.
func (r *remainder) readRequest(ctx context.Context) io.Reader {
	if r.request == nil {
		return nil
	}
	return section(ctx, r.request, math.MaxInt64)
}

// section returns a reader of the first n bytes of a file.
func section(ctx context.Context, f *os.File, n int64) io.Reader {
	return &contextReader{ctx, io.NewSectionReader(f, 0, n)}
}

// setAside appends RemainderSuffix to the names of all files of the capture, the claim
// last, so that the capture is found again if setAside is interrupted.
func (r *remainder) setAside() error {
	entries, err := fs.ReadDir(r.dir.FS(), ".")
	if err != nil {
		return err
	}
	ours := FileNames()
	for _, e := range entries {
		if name := e.Name(); name != ClaimName && (slices.Contains(ours, name) || atomicfile.IsTemporary(name)) {
			if err := r.appendSuffix(name); err != nil {
				return err
			}
		}
	}
	if err := atomicfile.SyncRoot(r.dir); err != nil {
		return err
	}
	if r.claim != nil {
		if err := r.appendSuffix(ClaimName); err != nil {
			return err
		}
	}
	return atomicfile.WrapUnsynced(r.dir.Name(), atomicfile.SyncRoot(r.dir))
}

// appendSuffix appends RemainderSuffix to the name of a file.
func (r *remainder) appendSuffix(name string) error {
	to := name + RemainderSuffix
	left, err := atomicfile.MoveIn(r.dir, name, to)
	if errors.Is(err, fs.ErrExist) && r.same(name, to) {
		left, err = true, nil
	}
	if left {
		err = r.dir.Remove(name)
	}
	if err != nil {
		return fmt.Errorf("%s could not be set aside: %w", filepath.Join(r.dir.Name(), name), err)
	}
	return nil
}

// same reports whether two names are those of one file, because a program was killed
// while it renamed the file by means of a hard link.
func (r *remainder) same(a, b string) bool {
	x, err1 := lstat(r.dir, a)
	y, err2 := lstat(r.dir, b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
