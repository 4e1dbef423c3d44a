package monitor

import (
	"io"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"time"
)

const (
	bufferLines = 4096        // lines that a Buffer keeps
	flushTime   = time.Second // for what a Buffer still has when it is closed
)

// Buffer passes lines to a writer that may block, such as a pipe that nobody reads. It never
// blocks itself: lines for which there is no room are dropped.
type Buffer struct {
	w       io.Writer
	lines   chan []byte // nil is the last
	done    chan struct{}
	dropped atomic.Int64
	pipe    chan os.Signal // receives SIGPIPE if OpenLog made the Buffer
}

// NewBuffer returns a Buffer for w.
func NewBuffer(w io.Writer) *Buffer {
	b := &Buffer{w: w, lines: make(chan []byte, bufferLines), done: make(chan struct{}), pipe: make(chan os.Signal, 1)}
	go func() {
		defer close(b.done)
		for line := range b.lines {
			if line == nil {
				return
			}
			_, _ = b.w.Write(line) // there is no other place to report an error
		}
	}()
	return b
}

// Write adds one or more whole lines.
func (b *Buffer) Write(p []byte) (int, error) {
	select {
	case b.lines <- slices.Clone(p):
	default:
		b.dropped.Add(1)
	}
	return len(p), nil
}

// Dropped returns the number of calls of Write that had no effect.
func (b *Buffer) Dropped() int64 { return b.dropped.Load() }

// Fd returns the file descriptor of the writer, or an invalid one if it is not a file.
func (b *Buffer) Fd() uintptr {
	if f, ok := b.w.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// Close waits until everything is written, but not for a writer that blocks. Later lines
// may be lost.
func (b *Buffer) Close() {
	defer signal.Stop(b.pipe)
	after := time.After(flushTime)
	select {
	case b.lines <- nil:
	case <-after:
		return
	}
	select {
	case <-b.done:
	case <-after:
	}
}
