package capture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// Import copies a response from r into a new capture directory, byte for byte and
// without arrivals. If s.Source.Kind is empty, it is set to KindFile. If s.Framing
// is empty, Import detects the framing. s.Request must be nil or a JSON object.
//
// If r fails or ctx is done before any byte that is not white space was read, Import
// leaves nothing on disk. If this happens later, Import keeps the bytes read so far
// and returns the manifest (end: error or cancelled) together with the error. Import
// returns as soon as ctx is done, even while r waits for bytes; the caller must not
// use r afterwards.
//
// If the response is longer than s.MaxBytes, Import keeps the first s.MaxBytes bytes
// and returns the manifest (end: limit) without an error.
//
// The returned Counter has counted the events in the stored bytes.
func Import(ctx context.Context, r io.Reader, dir string, s Settings) (*Manifest, *Counter, error) {
	i, err := importFrom(ctx, r, dir, s)
	return i.manifest, i.count, err
}

// imported is the result of importFrom.
type imported struct {
	manifest  *Manifest
	count     *Counter
	leftovers []string
	prefix    []byte // the first bytes of the response
}

func importFrom(ctx context.Context, r io.Reader, dir string, s Settings) (i imported, err error) {
	if s.Request != nil {
		if err := CheckRequest(s.Request); err != nil {
			return i, err
		}
	}
	if err := CheckCreate(dir, s); err != nil {
		return i, err
	}
	if s.Source.Kind == "" {
		s.Source.Kind = KindFile
	}
	s.Arrivals = false
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r = &interruptible{ctx: ctx, r: r}

	prefix, err := peek(r)
	if err != nil {
		return i, err
	}
	if s.Framing == "" {
		s.Framing = DetectFraming(prefix)
	}
	w, err := Create(dir, s)
	if err != nil {
		return i, err
	}
	limit := &limited{r: io.MultiReader(bytes.NewReader(prefix), r), left: s.MaxBytes}
	source := &errorRecorder{r: limit}
	if s.MaxBytes <= 0 {
		source.r = limit.r
	}
	count := NewCounter(s.Framing)
	count.Frame = s.Frame
	_, err = io.CopyBuffer(io.MultiWriter(w, feeder{count}), source, make([]byte, bufferBytes))
	count.Finish()
	end := EndEOF
	switch {
	case source.err == nil && err != nil: // the disk failed; Close reports it
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		end = EndCancelled
	case err != nil:
		end = EndError
	case limit.over:
		end = EndLimit
	}
	m, closeErr := w.Close(end)
	if m == nil {
		return i, closeErr
	}
	return imported{m, count, w.Leftovers(), prefix}, cmp.Or(closeErr, err)
}

// feeder is an io.Writer that feeds a Counter.
type feeder struct{ *Counter }

func (f feeder) Write(p []byte) (int, error) {
	f.Feed(p)
	return len(p), nil
}

// limited reads at most left bytes. At the limit it reads one more byte to detect
// whether the response is longer.
type limited struct {
	r    io.Reader
	left int64
	over bool // the response is longer
}

func (l *limited) Read(p []byte) (int, error) {
	if l.over {
		return 0, io.EOF
	}
	if l.left > 0 {
		n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
		l.left -= int64(n)
		return n, err
	}
	var more [1]byte
	n, err := l.r.Read(more[:])
	if n > 0 {
		l.over = true
		return 0, io.EOF
	}
	return 0, err
}

// errorRecorder records the error of a reader.
type errorRecorder struct {
	r   io.Reader
	err error
}

func (f *errorRecorder) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != io.EOF {
		f.err = err
	}
	return n, err
}

// Result describes a closed capture.
type Result struct {
	Manifest *Manifest
	// Events is the number of complete events in the response. If the response can
	// be decoded only in part, it is the number of events in that part. It is nil if
	// the events were not all counted.
	Events *int
	// Compression is that of an imported file, as Capture.Compression returns it.
	Compression string
	// Findings are about the response and the capture.
	Findings []finding.Finding
}

// ImportFile imports the file at path, or standard input if path is "-", as Import
// does. If the file is longer than s.MaxBytes, the findings include an error
// capture_cut_short.
func ImportFile(ctx context.Context, path, dir string, s Settings) (result Result, err error) {
	var r io.Reader = os.Stdin
	if path != "-" {
		f, err := OpenFile(ctx, path)
		if err != nil {
			return result, err
		}
		defer f.Close()
		r = f
	}
	i, err := importFrom(ctx, r, dir, s)
	if m := i.manifest; m != nil {
		result = Result{Manifest: m, Events: new(i.count.Events()), Compression: strictjson.DetectCompression(i.prefix), Findings: i.count.Findings()}
		for _, path := range i.leftovers {
			result.Findings = append(result.Findings, finding.Leftover(path))
		}
		if m.End == EndLimit {
			over := finding.New(finding.CaptureCutShort, "the input is longer than the limit of %d bytes", s.MaxBytes).WithSeverity(finding.Error)
			result.Findings = append([]finding.Finding{over}, result.Findings...)
		}
	}
	return result, err
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
