package capture

import (
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/finding"
)

// codingError is an error of the content coding, as opposed to one of the file.
type codingError struct{ err error }

func (e *codingError) Error() string { return "content coding: " + e.err.Error() }
func (e *codingError) Unwrap() error { return e.err }

// Coding returns the content coding of the stored response, or "" if it has none.
// Names are case-insensitive, and x-gzip means gzip (RFC 9110 §8.4).
func (m *Manifest) Coding() string {
	switch c := strings.ToLower(strings.TrimSpace(m.Source.Headers["content-encoding"])); c {
	case "identity":
		return ""
	case "x-gzip":
		return "gzip"
	default:
		return c
	}
}

// Decode returns a reader that undoes a content coding of Manifest.Coding. It returns
// decoded bytes as soon as it has read enough of r. The error is a finding
// content_coding_unsupported for other codings than gzip and zstd. Closing the reader
// does not close r.
func Decode(r io.Reader, coding string) (io.ReadCloser, error) {
	if coding == "" {
		return io.NopCloser(r), nil
	}
	d, err := decode(r, coding)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// decode returns a reader of the decoded response. Its errors are those of r or of
// type *codingError.
func decode(r io.Reader, coding string) (*decoder, error) {
	switch coding {
	case "gzip":
		return &decoder{source: &decoderSource{r: r}, open: openGzip}, nil
	case "zstd":
		return &decoder{source: &decoderSource{r: r}, open: openZstd}, nil
	}
	return nil, finding.New(finding.CodingUnsupported, "the response has the content coding %s", finding.Quote(coding))
}

// openGzip opens a gzip reader. It reads the header of the first member.
func openGzip(r io.Reader) (io.Reader, func(), error) {
	g, err := gzip.NewReader(r)
	return g, func() {}, err
}

// openZstd opens a zstd reader with a bounded window and without goroutines.
func openZstd(r io.Reader) (io.Reader, func(), error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	if err != nil {
		return nil, nil, err
	}
	return d, d.Close, nil
}

// decoder reads a decoded response. It opens the decoding reader at the first Read,
// so that Read reports damage. It distinguishes errors of the coding from those of
// the source.
type decoder struct {
	source *decoderSource
	open   func(io.Reader) (r io.Reader, release func(), err error)

	block   []byte    // nil until needed
	r       io.Reader // nil until opened
	release func()
	err     error // final
}

func (d *decoder) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.r == nil {
		r, release, err := d.open(d.source)
		if err != nil {
			d.err = d.classify(err)
			return 0, d.err
		}
		d.r, d.release = r, release
	}
	n, err := d.r.Read(p)
	d.err = d.classify(err)
	return n, d.err
}

// next implements blocks.
func (d *decoder) next() []byte {
	if d.block == nil {
		d.block = newBlock(bufferBytes)
	}
	return d.block
}

// Close releases the memory of the decoding reader.
func (d *decoder) Close() error {
	if d.block != nil {
		putBlock(d.block)
		d.block = nil
	}
	if d.release != nil {
		d.release()
	}
	d.err, d.release = io.ErrClosedPipe, nil
	return nil
}

// classify returns the error to report for err: the source's error, io.EOF or a
// *codingError. An empty file is an empty response.
func (d *decoder) classify(err error) error {
	switch {
	case err == nil:
		return nil
	case d.source.err != nil && d.source.err != io.EOF:
		return d.source.err
	case err == io.EOF && (d.r != nil || d.source.n == 0):
		return io.EOF
	}
	return &codingError{err}
}

// decoderSource counts the bytes read and records the error.
type decoderSource struct {
	r   io.Reader
	n   int64
	err error
}

func (s *decoderSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil {
		s.err = err
	}
	return n, err
}
