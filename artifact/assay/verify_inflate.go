package assay

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
)

// inflater decompresses a deflate stream like the reference's decoder (miniz_oxide
// 0.9.1, inflate/stream.rs), because the reference's verdicts depend on these details:
//   - It decodes 32 KiB at a time. If the stream is corrupt, it discards all bytes that
//     it has not returned yet.
//   - A call ends at such a boundary if it already has bytes to return.
//   - References to positions before the beginning of the stream read zeros.
type inflater struct {
	r      *bufio.Reader
	window [len(zeros)]byte
	begin  int   // of the decoded bytes that were not returned yet
	end    int   // of these bytes
	err    error // why decoding ended: io.EOF, or a truncated or corrupt stream
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

// decode fills the rest of the window, and checks whether the stream is corrupt
// immediately after it.
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
