package tarball

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/internal/strictjson"
)

// maxZstdWindow is the largest window of a zstd archive. It is that of zstd's levels up to
// 19, and bounds the memory.
const maxZstdWindow = 8 << 20

// decompress sets a.plain to the decompressed archive.
func (a *archive) decompress() {
	a.plain, a.close = a.stored, func() {}
	buffered := a.stored.r.(*bufio.Reader)
	head, err := buffered.Peek(4)
	if err != nil {
		return // the next Read returns it
	}
	switch a.name = strictjson.DetectCompression(head); a.name {
	case "gzip":
		a.plain = &source{r: &lazy{open: func() (io.Reader, error) { return gzip.NewReader(a.stored) }}}
	case "zstd":
		a.plain = &source{r: &lazy{open: func() (io.Reader, error) {
			d, err := zstd.NewReader(a.stored, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
			if err == nil {
				a.close = d.Close
			}
			return d, err
		}}}
	}
}

// lazy opens a reader at the first Read, which returns the error of opening.
type lazy struct {
	open func() (io.Reader, error)
	r    io.Reader
	err  error
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.r == nil && l.err == nil {
		l.r, l.err = l.open()
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.r.Read(p)
}

// source counts what is read through it.
type source struct {
	r     io.Reader
	n     int64 // bytes
	zeros int64 // how many of the last bytes are zero, without others between them
	err   error // the last error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	zeros := 0
	for zeros < n && p[n-1-zeros] == 0 {
		zeros++
	}
	if zeros == n {
		s.zeros += int64(n)
	} else {
		s.zeros = int64(zeros)
	}
	if err != nil {
		s.err = err
	}
	return n, err
}
