package capture

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/atomicfile"
)

// Settings are the settings of a new capture.
type Settings struct {
	Source  Source
	Framing Framing
	// StartedAt is the time at which the request was sent. Arrivals are relative to
	// it. They use the monotonic clock if StartedAt has such a reading. The zero
	// value means the current time.
	StartedAt time.Time
	// Request is the request body, or nil if it is not known.
	Request []byte
	// Labels are the operator's labels, stored unchanged.
	Labels map[string]string
	Tool   Tool
	// Arrivals makes every Write record its time in arrivals.tsv.
	Arrivals bool
	// MaxBytes is the maximum size of a response that Import stores. Zero means no
	// limit.
	MaxBytes int64
	// Frame, if not nil, is called with each frame that Import counts. The frame is
	// valid during the call.
	Frame func(*Frame)
}

// Writer writes a capture directory. The manifest is written last. A Writer is not
// safe for concurrent use.
type Writer struct {
	dir      *directory
	manifest Manifest
	started  time.Time // with a monotonic reading, if there is one
	now      func() time.Time

	claim    *os.File // locked
	response *stored
	arrivals *stored // nil if arrivals are not recorded

	last    arrival
	lines   []byte
	err     error // the first error of writing
	syncErr error // the first error of syncing; nothing can be trusted after it
	closed  bool
}

// ClaimName is the name of the file that marks a capture as being written. It is
// created first, so only one of several writers gets the directory, and is locked as
// long as the Writer is in use. It contains the manifest of the capture as if the
// response had broken off before its first byte, for Recover.
const ClaimName = ManifestName + ".tmp"

var errClosed = errors.New("the capture is closed")

// Create creates the directory dir, with its parents, and begins a capture in it. If
// dir exists, it must be an empty directory; otherwise the error matches fs.ErrExist.
// If Create fails, it removes everything it created.
func Create(dir string, s Settings) (*Writer, error) {
	return begin(s, func() (*directory, error) { return makeDirectory(dir) })
}

// CreateIn is like Create for the directory name in root, which must not exist. Only
// the owner has access to the directory and its files. No symbolic link is followed.
func CreateIn(root *os.Root, name string, s Settings) (*Writer, error) {
	return begin(s, func() (*directory, error) { return makeDirectoryIn(root, name) })
}

// begin begins a capture in the directory that make creates. What it created is durable
// when it returns.
func begin(s Settings, make func() (*directory, error)) (_ *Writer, err error) {
	w := &Writer{now: time.Now, started: s.StartedAt}
	if w.started.IsZero() {
		w.started = w.now()
	}
	w.manifest = newManifest(s, w.started)
	// Check now, not after the response, that the manifest can be encoded.
	if _, err := w.manifest.trial().Encode(); err != nil {
		return nil, err
	}
	if w.dir, err = make(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Abort())
		}
	}()
	if w.claim, err = w.dir.claim(); err != nil {
		return nil, err
	}
	if err = w.writeHead(s); err != nil {
		return nil, err
	}
	if w.response, err = w.dir.store(s.Framing.FileName()); err != nil {
		return nil, err
	}
	if s.Arrivals {
		if w.arrivals, err = w.dir.store(ArrivalsName); err != nil {
			return nil, err
		}
	}
	if s.Request != nil {
		if err = w.writeRequest(s.Request); err != nil {
			return nil, err
		}
	}
	return w, w.dir.sync()
}

// writeHead writes the claim and makes its content durable.
func (w *Writer) writeHead(s Settings) error {
	b, err := w.manifest.head(s.Arrivals).Encode()
	if err != nil {
		return err
	}
	if _, err := w.claim.Write(b); err != nil {
		return err
	}
	return w.claim.Sync()
}

// Arrival is a number of bytes of a response, and the time at which they arrived.
type Arrival struct {
	Bytes int
	At    time.Time
}

// Write appends p to the response. After an error, Write writes nothing more, and Close
// fails unless the end is EndStorage.
func (w *Writer) Write(p []byte) (int, error) {
	if len(p) == 0 && !w.closed && w.err == nil {
		return 0, nil
	}
	return w.WriteArrived(p, []Arrival{{len(p), w.now()}})
}

// WriteArrived is like Write for the bytes of several reads, with the size and the time
// of each. It is an error if the sizes are not positive or their sum is not len(p). A
// time before that of the preceding read becomes the time of that read.
//
// The times are written before the bytes, so that every byte of the response has a time
// of arrival even if the program is killed.
func (w *Writer) WriteArrived(p []byte, arrivals []Arrival) (int, error) {
	switch {
	case w.closed:
		return 0, errClosed
	case w.err != nil:
		return 0, w.err
	}
	last, first := w.last, int64(0)
	w.lines = w.lines[:0]
	for i, a := range arrivals {
		if a.Bytes <= 0 {
			return 0, fmt.Errorf("a read of %d bytes", a.Bytes)
		}
		last = arrival{last.bytes + int64(a.Bytes), max(a.At.Sub(w.started).Microseconds(), last.micros)}
		if i == 0 {
			first = last.micros
		}
		w.lines = last.appendTo(w.lines)
	}
	if sum := last.bytes - w.last.bytes; sum != int64(len(p)) {
		return 0, fmt.Errorf("the reads have %d bytes, not %d", sum, len(p))
	}
	if len(p) == 0 {
		return 0, nil
	}
	if w.arrivals != nil {
		if _, w.err = w.arrivals.file.Write(w.lines); w.err != nil {
			return 0, w.err
		}
	}
	var n int
	if n, w.err = w.response.file.Write(p); w.err != nil {
		return n, w.err
	}
	w.response.add(p)
	if w.arrivals != nil {
		w.arrivals.add(w.lines)
		if w.manifest.FirstByteAt.IsZero() {
			w.manifest.FirstByteAt = w.time(first)
		}
	}
	w.last = last
	return n, nil
}

// Sync makes everything durable that was written. After an error, Close fails, because
// the system may have lost data that was written before.
func (w *Writer) Sync() error {
	switch {
	case w.closed:
		return errClosed
	case w.err != nil:
		return w.err
	}
	for _, s := range slices.Backward(w.files()) { // no line may be durable before its bytes
		if err := s.file.Sync(); err != nil {
			w.err, w.syncErr = err, err
			return err
		}
	}
	return nil
}

// SetRequest stores the request body, if the Settings did not have it, and makes it
// durable. The capture has it completely or not at all.
func (w *Writer) SetRequest(body []byte) error {
	switch {
	case w.closed:
		return errClosed
	case w.err != nil:
		return w.err
	case w.manifest.Files.Request != nil:
		return errors.New("the capture already has a request")
	}
	w.err = w.writeRequest(body)
	if w.err == nil {
		w.err = w.dir.sync()
		w.syncErr = w.err
	}
	return w.err
}

// Close closes the capture. It syncs every file, writes and syncs the manifest under
// a temporary name, renames it, and syncs the directory. If the manifest was renamed,
// the capture is closed and Close returns the manifest. If Close returns an error as
// well, a system crash might lose the capture. If it returns only an error, the
// capture is unfinished, and Recover can close what arrived. The error matches
// fs.ErrExist if a manifest exists already.
//
// If a write failed, Close fails, unless the end is EndStorage. Then it first cuts the
// files back to the last complete write.
func (w *Writer) Close(end End) (*Manifest, error) {
	if w.closed {
		return nil, errClosed
	}
	w.closed = true
	defer w.dir.close()
	defer w.claim.Close() // last, because it unlocks the claim
	w.manifest.End = end
	w.manifest.EndedAt = w.time(w.elapsed())
	err := w.err
	if end == EndStorage && w.syncErr == nil {
		err = w.cutBack()
	}
	err = errors.Join(err, w.closeFiles())
	if err == nil {
		err = w.writeManifest()
	}
	if err != nil {
		return nil, unfinished{err}
	}
	// Until the name of the manifest is durable, only the claim has the head.
	err = w.dir.sync()
	if err != nil || w.dir.removeFile(ClaimName) != nil {
		w.dir.left = append(w.dir.left, ClaimName)
	}
	return &w.manifest, atomicfile.WrapUnsynced(w.dir.path, err)
}

// Leftovers returns the paths of the temporary files that Close could not remove.
func (w *Writer) Leftovers() (paths []string) {
	for _, name := range w.dir.left {
		paths = append(paths, filepath.Join(w.dir.path, name))
	}
	return paths
}

// Abort removes the files and directories that the Writer created. After Close it
// does nothing.
func (w *Writer) Abort() error {
	if w.closed {
		return nil
	}
	w.closed = true
	for _, s := range w.files() {
		s.file.Close()
	}
	if w.claim != nil {
		defer w.claim.Close()
	}
	return w.dir.undo()
}

// files returns the open files, those that are written first before the others.
func (w *Writer) files() []*stored {
	return slices.DeleteFunc([]*stored{w.arrivals, w.response}, func(s *stored) bool { return s == nil })
}

// cutBack removes what an incomplete write added to the files.
func (w *Writer) cutBack() error {
	if w.err == nil {
		return nil
	}
	for _, s := range w.files() {
		if err := s.file.Truncate(s.bytes); err != nil {
			return err
		}
	}
	return nil
}

// closeFiles syncs and closes the response and the arrivals, and adds them to the
// manifest.
func (w *Writer) closeFiles() error {
	response, err := w.response.close()
	*w.manifest.Files.response(w.manifest.Framing) = response
	if w.arrivals != nil {
		var arrivalsErr error
		w.manifest.Files.Arrivals, arrivalsErr = w.arrivals.close()
		err = errors.Join(err, arrivalsErr)
	}
	return err
}

// writeManifest writes the manifest.
func (w *Writer) writeManifest() error {
	b, err := w.manifest.Encode()
	if err != nil {
		return err
	}
	_, err = w.dir.publish(ManifestName, bytes.NewReader(b))
	return err
}

// writeRequest writes request.json and adds it to the manifest.
func (w *Writer) writeRequest(body []byte) error {
	file, err := w.dir.publish(RequestName, bytes.NewReader(body))
	if err == nil {
		w.manifest.Files.Request = file
	}
	return err
}

// newManifest returns the manifest of a new capture.
func newManifest(s Settings, started time.Time) Manifest {
	started = started.UTC().Truncate(time.Microsecond)
	m := Manifest{
		Schema: ManifestSchema, Source: s.Source, Framing: s.Framing,
		StartedAt: started, EndedAt: started, End: EndEOF,
		Labels: maps.Clone(s.Labels), Tool: s.Tool,
	}
	m.Source.Headers = maps.Clone(s.Source.Headers)
	return m
}

// head returns the manifest of the capture as if its response had broken off before the
// first byte.
func (m Manifest) head(arrivals bool) *Manifest {
	empty := &File{Digest: digest.Of(nil)}
	m.End = EndError
	*m.Files.response(m.Framing) = empty
	if arrivals {
		m.Files.Arrivals = empty
	}
	return &m
}

// trial returns a manifest that is as long as the longest that Close could write.
func (m Manifest) trial() *Manifest {
	longest := &File{Bytes: math.MaxInt64, Digest: digest.Of(nil)}
	m.FirstByteAt, m.End = m.StartedAt, EndCancelled
	m.Files = Files{Request: longest, Arrivals: longest}
	*m.Files.response(m.Framing) = longest
	return &m
}

// elapsed returns the microseconds since the start. They never decrease.
func (w *Writer) elapsed() int64 {
	return max(w.now().Sub(w.started).Microseconds(), w.last.micros)
}

func (w *Writer) time(micros int64) time.Time {
	return w.manifest.StartedAt.Add(time.Duration(micros) * time.Microsecond)
}

// stored is a file that is being written, with the size and the digest of its complete
// writes.
type stored struct {
	file  *os.File
	bytes int64
	hash  hash.Hash
}

func (d *directory) store(name string) (*stored, error) {
	f, err := d.create(name)
	if err != nil {
		return nil, err
	}
	return &stored{file: f, hash: digest.Hash()}, nil
}

// copy appends the bytes of r.
func (s *stored) copy(r io.Reader) error {
	n, err := io.Copy(io.MultiWriter(s.file, s.hash), r)
	s.bytes += n
	return err
}

// add adds bytes that were written to the size and the digest.
func (s *stored) add(p []byte) {
	s.bytes += int64(len(p))
	s.hash.Write(p)
}

// close syncs and closes the file, and returns its entry.
func (s *stored) close() (*File, error) {
	return &File{Bytes: s.bytes, Digest: digest.Sum(s.hash)}, errors.Join(s.file.Sync(), s.file.Close())
}
