package capture

import (
	"context"
	"io"
)

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

// guarded reads a file, which never waits, until ctx ends.
type guarded struct {
	ctx context.Context
	r   io.Reader
}

func (g *guarded) Read(p []byte) (int, error) {
	if g.ctx.Err() != nil {
		return 0, context.Cause(g.ctx)
	}
	return g.r.Read(p)
}
