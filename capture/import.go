package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// Import copies a response from r into a new capture directory of kind file
// (unless Settings names another kind), byte for byte and without arrivals. An
// empty framing is told from the first bytes.
//
// When r fails, or ctx ends, before anything but white space came, nothing is
// left on disk. When that happens later, what came is kept, and the manifest
// (end: error or cancelled) is returned together with the error. Import returns as soon as ctx
// ends, even while r is waiting for bytes; r must not be used again then.
//
// The counter has counted the events of what was kept.
func Import(ctx context.Context, r io.Reader, dir string, s Settings) (*Manifest, *Counter, error) {
	if err := Vacant(dir); err != nil {
		return nil, nil, err
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
		return nil, nil, err
	}
	if s.Framing == "" {
		s.Framing = DetectFraming(prefix)
	}
	w, err := Create(dir, s)
	if err != nil {
		return nil, nil, err
	}
	source := &failing{r: io.MultiReader(bytes.NewReader(prefix), r)}
	count := NewCounter(s.Framing)
	_, err = io.CopyBuffer(io.MultiWriter(w, feeder{count}), source, make([]byte, bufferBytes))
	count.End()
	end := EndEOF
	switch {
	case source.err == nil && err != nil: // the disk failed; Close reports it
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		end = EndCancelled
	case err != nil:
		end = EndError
	}
	m, closeErr := w.Close(end)
	if closeErr != nil {
		return nil, nil, closeErr
	}
	return m, count, err
}

// feeder makes a Counter usable as an io.Writer.
type feeder struct{ *Counter }

func (f feeder) Write(p []byte) (int, error) {
	f.Feed(p)
	return len(p), nil
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
