package assay

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
)

// inflater reads a deflate stream as the reference's decoder does (miniz_oxide
// 0.9.1, inflate/stream.rs), because its verdicts depend on it: it decodes 32
// KiB at a time and a corrupt stream costs all bytes that it has not given out
// by then, a call ends at such a boundary if it gave out anything before, and
// what a stream refers to before its beginning is zero.
type inflater struct {
	r      *bufio.Reader
	window [len(zeros)]byte
	begin  int   // of what was decoded and not given out
	end    int   // of it
	err    error // why no more is decoded: io.EOF, or that the stream is cut off or corrupt
}

func newInflater(r *bufio.Reader) *inflater {
	return &inflater{r: bufio.NewReader(flate.NewReaderDict(r, zeros[:]))}
}

func (f *inflater) Read(p []byte) (int, error) {
	n := copy(p, f.window[f.begin:f.end])
	f.begin += n
	if n > 0 {
		return n, nil
	}
	for f.err == nil && n < len(p) && f.begin == f.end {
		if f.decode(); f.err == errDeflate {
			break
		}
		m := copy(p[n:], f.window[f.begin:f.end])
		f.begin += m
		n += m
	}
	if n == 0 || f.err == errDeflate {
		return 0, f.err
	}
	return n, nil
}

// decode fills the rest of the window, and looks whether the stream is corrupt
// right behind it.
func (f *inflater) decode() {
	if f.end == len(f.window) {
		f.begin, f.end = 0, 0
	}
	for f.err == nil && f.end < len(f.window) {
		var n int
		n, f.err = f.r.Read(f.window[f.end:])
		f.end += n
	}
	if f.err == nil {
		if _, err := f.r.Peek(1); err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			f.err = err
		}
	}
	if f.err != nil && f.err != io.EOF && !errors.Is(f.err, io.ErrUnexpectedEOF) {
		f.err = errDeflate
	}
}
