package capture

import (
	"errors"
	"hash"
	"maps"
	"math"
	"os"
	"path/filepath"
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

	claim    *os.File // becomes the manifest
	response *stored
	arrivals *stored // nil if arrivals are not recorded
	request  *File

	last   arrival
	line   []byte
	err    error // the first error; the files are incomplete after it
	closed bool
}

// ClaimName is the name of the manifest while it is being written. This file is
// created first, so only one of several writers gets the directory.
const ClaimName = ManifestName + ".tmp"

var errClosed = errors.New("the capture is closed")

// Create creates the directory dir, with its parents, and begins a capture in it. If
// dir exists, it must be an empty directory; otherwise the error matches fs.ErrExist.
// If Create fails, it removes everything it created.
func Create(dir string, s Settings) (_ *Writer, err error) {
	w := &Writer{now: time.Now, started: s.StartedAt}
	if w.started.IsZero() {
		w.started = w.now()
	}
	w.manifest = newManifest(s, w.started)
	// Check now, not after the response, that the manifest can be encoded.
	if _, err := w.manifest.trial().Encode(); err != nil {
		return nil, err
	}
	if w.dir, err = makeDirectory(dir); err != nil {
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
	if w.response, err = w.store(s.Framing.FileName()); err != nil {
		return nil, err
	}
	if s.Arrivals {
		if w.arrivals, err = w.store(ArrivalsName); err != nil {
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

// Write appends p to the response. After an error, Write writes nothing more and
// Close fails.
func (w *Writer) Write(p []byte) (int, error) {
	switch {
	case w.closed:
		return 0, errClosed
	case w.err != nil:
		return 0, w.err
	case len(p) == 0:
		return 0, nil
	}
	micros := w.elapsed()
	n, err := w.response.Write(p)
	if err == nil && w.arrivals != nil {
		w.last = arrival{w.response.bytes, micros}
		w.line = w.last.appendTo(w.line[:0])
		if w.manifest.FirstByteAt.IsZero() {
			w.manifest.FirstByteAt = w.time(micros)
		}
		_, err = w.arrivals.Write(w.line)
	}
	w.err = err
	return n, err
}

// Close closes the capture. It syncs every file, writes and syncs the manifest under
// a temporary name, renames it, and syncs the directory. If the manifest was renamed,
// the capture is closed and Close returns the manifest. If Close returns an error as
// well, a system crash might lose the capture. If it returns only an error, the
// capture is unfinished. The error matches fs.ErrExist if a manifest exists already.
func (w *Writer) Close(end End) (*Manifest, error) {
	if w.closed {
		return nil, errClosed
	}
	w.closed = true
	w.manifest.End = end
	w.manifest.EndedAt = w.time(w.elapsed())
	err := errors.Join(w.err, w.closeFiles())
	if err == nil {
		err = w.writeManifest()
	}
	err = errors.Join(err, w.claim.Close())
	if err == nil {
		err = w.dir.publish(ManifestName)
	}
	if err != nil {
		return nil, unfinished{errors.Join(err, w.dir.remove(ClaimName))}
	}
	return &w.manifest, atomicfile.WrapUnsynced(w.dir.path, w.dir.sync())
}

// Leftover returns the path of the temporary file if Close could not remove it, and
// "" otherwise.
func (w *Writer) Leftover() string {
	if !w.dir.left {
		return ""
	}
	return filepath.Join(w.dir.path, ClaimName)
}

// Abort removes the files and directories that the Writer created. After Close it
// does nothing.
func (w *Writer) Abort() error {
	if w.closed {
		return nil
	}
	w.closed = true
	for _, s := range []*stored{w.response, w.arrivals} {
		if s != nil {
			s.file.Close()
		}
	}
	if w.claim != nil {
		w.claim.Close()
	}
	return w.dir.undo()
}

// closeFiles syncs and closes the response and the arrivals, and adds them and the
// request to the manifest.
func (w *Writer) closeFiles() error {
	response, err := w.response.close()
	*w.manifest.Files.response(w.manifest.Framing) = response
	w.manifest.Files.Request = w.request
	if w.arrivals != nil {
		var arrivalsErr error
		w.manifest.Files.Arrivals, arrivalsErr = w.arrivals.close()
		err = errors.Join(err, arrivalsErr)
	}
	return err
}

// writeManifest writes the manifest to the claim and syncs it.
func (w *Writer) writeManifest() error {
	b, err := w.manifest.Encode()
	if err != nil {
		return err
	}
	if _, err := w.claim.Write(b); err != nil {
		return err
	}
	return w.claim.Sync()
}

func (w *Writer) writeRequest(body []byte) error {
	s, err := w.store(RequestName)
	if err != nil {
		return err
	}
	_, err = s.Write(body)
	file, closeErr := s.close()
	w.request = file
	return errors.Join(err, closeErr)
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

// stored is a file that is being written, with its size and digest so far.
type stored struct {
	file  *os.File
	bytes int64
	hash  hash.Hash
}

func (w *Writer) store(name string) (*stored, error) {
	f, err := w.dir.create(name)
	if err != nil {
		return nil, err
	}
	return &stored{file: f, hash: digest.Hash()}, nil
}

func (s *stored) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.bytes += int64(n)
	s.hash.Write(p[:n])
	return n, err
}

// close syncs and closes the file, and returns its entry.
func (s *stored) close() (*File, error) {
	return &File{Bytes: s.bytes, Digest: digest.Sum(s.hash)}, errors.Join(s.file.Sync(), s.file.Close())
}
