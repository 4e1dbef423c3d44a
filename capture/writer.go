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

// Settings say what a capture holds beside the response.
type Settings struct {
	Source  Source
	Framing Framing
	// StartedAt is when the request was sent. Arrivals count from it, by the
	// monotonic clock when it has that reading. Zero means now.
	StartedAt time.Time
	// Request is the request body; nil when it is not known.
	Request []byte
	// Labels are the operator's own, written as they are.
	Labels map[string]string
	Tool   Tool
	// Arrivals makes every Write note its moment in arrivals.tsv.
	Arrivals bool
	// MaxBytes bounds what Import keeps of a response; 0 means no bound.
	MaxBytes int64
	// Frame, when not nil, is called with each frame that Import counts. The frame
	// is valid during the call.
	Frame func(Frame)
}

// Writer writes a capture directory: the response as it comes, the manifest at
// last. It is used by one goroutine.
type Writer struct {
	dir      *directory
	manifest Manifest
	started  time.Time // with the monotonic clock, where there is one
	now      func() time.Time

	claim    *os.File // becomes the manifest
	response *stored
	arrivals *stored // nil when moments are not noted
	request  *File

	last   arrival
	line   []byte
	err    error // the first failure; what is on disk is incomplete from then on
	closed bool
}

// ClaimName is the manifest's name while it is being written. It is made first,
// so that of several writers one gets the directory.
const ClaimName = ManifestName + ".tmp"

var errClosed = errors.New("the capture is closed")

// Create makes the directory dir, parents included, and begins a capture in it.
// An existing directory must be empty; any other is refused with an error that
// matches fs.ErrExist, an unfinished capture too. When Create fails, nothing it
// made is left.
func Create(dir string, s Settings) (_ *Writer, err error) {
	w := &Writer{now: time.Now, started: s.StartedAt}
	if w.started.IsZero() {
		w.started = w.now()
	}
	w.manifest = newManifest(s, w.started)
	// A manifest that cannot be written is found now and not after the response.
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

// Write appends p to the response. After an error nothing more is written, and
// Close leaves the capture unfinished.
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
			w.manifest.FirstByteAt = w.moment(micros)
		}
		_, err = w.arrivals.Write(w.line)
	}
	w.err = err
	return n, err
}

// Close ends the capture: every file is synced, then the manifest is written
// beside its name, synced, given its name, and the directory synced. The manifest
// is returned when it has its name: then the capture is closed. An error beside it
// says that it is not known whether a crash would lose the capture. After any
// other error the capture stays unfinished; a manifest that is there already is
// such an error, and matches fs.ErrExist.
func (w *Writer) Close(end End) (*Manifest, error) {
	if w.closed {
		return nil, errClosed
	}
	w.closed = true
	w.manifest.End = end
	w.manifest.EndedAt = w.moment(w.elapsed())
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

// Leftover returns the path of a temporary file that Close could not remove, or
// "".
func (w *Writer) Leftover() string {
	if !w.dir.left {
		return ""
	}
	return filepath.Join(w.dir.path, ClaimName)
}

// Abort removes what the Writer made, directories included. It is for a capture
// to which nothing worth keeping came; after Close it does nothing.
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

// closeFiles syncs and closes the response and the arrivals, and lists them and
// the request in the manifest.
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

// writeManifest writes the manifest into the claim and syncs it.
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

// newManifest returns the manifest of a capture that begins.
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

// trial returns the longest manifest that could come of one that begins.
func (m Manifest) trial() *Manifest {
	longest := &File{Bytes: math.MaxInt64, Digest: digest.Of(nil)}
	m.FirstByteAt, m.End = m.StartedAt, EndCancelled
	m.Files = Files{Request: longest, Arrivals: longest}
	*m.Files.response(m.Framing) = longest
	return &m
}

// elapsed returns the microseconds since the start. They never fall.
func (w *Writer) elapsed() int64 {
	return max(w.now().Sub(w.started).Microseconds(), w.last.micros)
}

func (w *Writer) moment(micros int64) time.Time {
	return w.manifest.StartedAt.Add(time.Duration(micros) * time.Microsecond)
}

// stored is a file being written, with its size and digest so far.
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

// close syncs and closes the file and returns its entry.
func (s *stored) close() (*File, error) {
	return &File{Bytes: s.bytes, Digest: digest.Sum(s.hash)}, errors.Join(s.file.Sync(), s.file.Close())
}
