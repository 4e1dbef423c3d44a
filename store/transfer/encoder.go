package transfer

import (
	"bufio"
	"hash"
	"io"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/store"
)

// encoder writes a thread in the portable form.
type encoder struct {
	w    *bufio.Writer
	hash hash.Hash
	head head
	tail tail
	size int64

	seals     int64
	sealBytes int
}

// newEncoder returns an encoder that has written the head.
func newEncoder(w io.Writer, h head) (*encoder, error) {
	e := &encoder{w: bufio.NewWriterSize(w, 64<<10), hash: digest.Hash(), head: h}
	line, err := encode(h)
	if err != nil {
		return nil, err
	}
	return e, e.write(line)
}

// entry writes the next entry.
func (e *encoder) entry(next *store.Entry) error {
	l, err := newLine(next)
	if err != nil {
		return err
	}
	line, err := l.encode()
	if err != nil {
		return err
	}
	e.tail.Entries++
	return e.write(line)
}

// end writes the tail.
func (e *encoder) end() error {
	e.tail.Digest = digest.Sum(e.hash)
	line, err := encode(e.tail)
	if err == nil {
		err = e.write(line)
	}
	if err == nil {
		err = e.w.Flush()
	}
	return err
}

func (e *encoder) write(line []byte) error {
	e.hash.Write(line)
	e.size += int64(len(line))
	_, err := e.w.Write(line)
	return err
}
