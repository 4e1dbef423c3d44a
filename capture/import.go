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

// Import copies a response from r into a new capture directory of kind file
// (unless Settings names another kind), byte for byte and without arrivals. An
// empty framing is told from the first bytes. A request must be a JSON object.
//
// When r fails, or ctx ends, before anything but white space came, nothing is
// left on disk. When that happens later, what came is kept, and the manifest
// (end: error or cancelled) is returned together with the error. Import returns
// as soon as ctx ends, even while r is waiting for bytes; r must not be used
// again then.
//
// A response longer than Settings.MaxBytes is kept so far, and the manifest (end:
// limit) is returned without an error.
//
// The counter has counted the events of what was kept.
func Import(ctx context.Context, r io.Reader, dir string, s Settings) (*Manifest, *Counter, error) {
	i, err := importFrom(ctx, r, dir, s)
	return i.manifest, i.count, err
}

// imported is what came of an import.
type imported struct {
	manifest *Manifest
	count    *Counter
	leftover string
	prefix   []byte // the first bytes of the response
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
	source := &failing{r: limit}
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
	return imported{m, count, w.Leftover(), prefix}, cmp.Or(closeErr, err)
}

// feeder makes a Counter usable as an io.Writer.
type feeder struct{ *Counter }

func (f feeder) Write(p []byte) (int, error) {
	f.Feed(p)
	return len(p), nil
}

// limited ends after left bytes. At the limit one more byte tells whether the
// response ends there.
type limited struct {
	r    io.Reader
	left int64
	over bool // there was more
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

// failing remembers the error of a reader.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != io.EOF {
		f.err = err
	}
	return n, err
}

// Result is a closed capture and what its bytes show.
type Result struct {
	Manifest *Manifest
	// Events counts the complete events of the response, as far as its content
	// coding can be undone. It is nil when they were not all counted.
	Events *int
	// Compression names what an imported file begins as, as Capture.Compression does.
	Compression string
	// Findings tell what was wrong, about the capture Manifest describes.
	Findings []finding.Finding
}

// ImportFile is Import of the file that path names; "-" is standard input. A
// file longer than Settings.MaxBytes is the finding capture_cut_short, an error.
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
		if i.leftover != "" {
			result.Findings = append(result.Findings, finding.Leftover(i.leftover))
		}
		if m.End == EndLimit {
			over := finding.New(finding.CaptureCutShort, "the input is longer than the limit of %d bytes", s.MaxBytes).WithSeverity(finding.Error)
			result.Findings = append([]finding.Finding{over}, result.Findings...)
		}
	}
	return result, err
}
