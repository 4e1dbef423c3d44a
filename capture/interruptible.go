package capture

import (
	"context"
	"io"
)

// interruptible reads r in a goroutine, so that its Read can return when the
// context is done. The goroutine remains until r's Read returns.
type interruptible struct {
	ctx     context.Context
	r       io.Reader
	chunks  chan chunk
	again   chan []byte
	pending chunk
}

// chunk is the result of one read.
type chunk struct {
	buf  []byte
	rest []byte // the bytes of buf that Read has not returned yet
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

// pump reads into each buffer from i.again, until an error or until the context is
// done.
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

// Interruptible returns a reader that reads from r and whose Read returns when ctx
// is done, even while r is waiting for bytes. The caller must not use r afterwards.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	return &interruptible{ctx: ctx, r: r}
}

// contextReader reads from r until ctx is done. It is for regular files, which never
// wait for bytes.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (g *contextReader) Read(p []byte) (int, error) {
	if g.ctx.Err() != nil {
		return 0, context.Cause(g.ctx)
	}
	return g.r.Read(p)
}

// neverWaits reports whether reads of r never wait for bytes.
func neverWaits(r io.Reader) bool {
	if f, ok := r.(*readCloser); ok {
		r = f.Reader
	}
	_, ok := r.(*contextReader)
	return ok
}
