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
func Import(ctx context.Context, r io.Reader, dir string, s Settings) (*Manifest, error) {
	if err := Vacant(dir); err != nil {
		return nil, err
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
		return nil, err
	}
	if s.Framing == "" {
		s.Framing = DetectFraming(prefix)
	}
	w, err := Create(dir, s)
	if err != nil {
		return nil, err
	}
	source := &failing{r: io.MultiReader(bytes.NewReader(prefix), r)}
	_, err = io.CopyBuffer(w, source, make([]byte, bufferBytes))
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
		return nil, closeErr
	}
	return m, err
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

// interruptible reads in a goroutine of its own, so that a Read ends with its
// context. The goroutine outlives that Read until r's own Read returns.
type interruptible struct {
	ctx     context.Context
	r       io.Reader
	chunks  chan chunk
	again   chan []byte
	pending chunk
}

// chunk is what one read brought.
type chunk struct {
	buf  []byte
	rest []byte // of buf, not yet handed on
	err  error
}

func (i *interruptible) Read(p []byte) (int, error) {
	if i.chunks == nil {
		i.chunks, i.again = make(chan chunk), make(chan []byte, 1)
		i.again <- make([]byte, bufferBytes)
		go i.pump()
	}
	if len(i.pending.rest) == 0 {
		if err := i.pending.err; err != nil {
			return 0, err
		}
		if i.ctx.Err() != nil {
			return 0, context.Cause(i.ctx)
		}
		if i.pending.buf != nil {
			i.again <- i.pending.buf
			i.pending = chunk{}
		}
		select {
		case <-i.ctx.Done():
			i.pending = chunk{err: context.Cause(i.ctx)}
			return 0, i.pending.err
		case i.pending = <-i.chunks:
		}
	}
	n := copy(p, i.pending.rest)
	i.pending.rest = i.pending.rest[n:]
	if len(i.pending.rest) == 0 && i.pending.err != nil {
		return n, i.pending.err
	}
	return n, nil
}

// pump reads whenever it is given a buffer, until an error or the context's end.
func (i *interruptible) pump() {
	for {
		select {
		case <-i.ctx.Done():
			return
		case buf := <-i.again:
			n, err := i.r.Read(buf)
			select {
			case <-i.ctx.Done():
				return
			case i.chunks <- chunk{buf, buf[:n], err}:
			}
			if err != nil {
				return
			}
		}
	}
}

// Interruptible returns a reader of r whose Read ends with ctx, even while r is
// waiting for bytes; r must not be used again then.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	return &interruptible{ctx: ctx, r: r}
}
