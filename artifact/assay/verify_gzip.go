package assay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Errors of gzipMember.
var (
	errGzipHeader = errors.New("invalid gzip header")
	errGzipSum    = errors.New("corrupt gzip stream does not have a matching checksum")
	errDeflate    = errors.New("corrupt deflate stream")
)

// maxGzipField bounds a file name or comment in a gzip header, in bytes. It is the
// limit of flate2 1.1.
const maxGzipField = 65535

// source counts the bytes of a bundle and stops after the limit is exceeded.
type source struct {
	r     io.Reader
	n     int64
	limit int64
	err   error // an error of r
}

func (s *source) over() bool { return s.n > s.limit }

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.over() {
		return 0, io.ErrUnexpectedEOF
	}
	p = p[:min(int64(len(p)), s.limit+1-s.n)]
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// gzipMember decompresses the only gzip member of a bundle, up to a limit of
// decompressed bytes. It does not read past the end of the member. It compares the
// checksum in a separate call of Read, after it returned all bytes.
type gzipMember struct {
	r       *bufio.Reader
	inflate *inflater
	header  [10]byte
	sum     uint32
	decoded int64
	limit   int64
	err     error // returned by all further calls
}

func newGzipMember(r *bufio.Reader, limit int64) *gzipMember {
	g := &gzipMember{r: r, limit: limit}
	g.err = g.readHeader()
	g.inflate = newInflater(r)
	return g
}

// readHeader reads the header (RFC 1952 §2.3).
func (g *gzipMember) readHeader() error {
	const (
		hasSum, hasExtra, hasName, hasComment = 1 << 1, 1 << 2, 1 << 3, 1 << 4
		reserved                              = 0xe0
	)
	if _, err := io.ReadFull(g.r, g.header[:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	flags := g.header[3]
	if g.header[0] != 0x1f || g.header[1] != 0x8b || g.header[2] != 8 || flags&reserved != 0 {
		return errGzipHeader
	}
	sum := crc32.ChecksumIEEE(g.header[:])
	if flags&hasExtra != 0 {
		var size [2]byte
		if _, err := io.ReadFull(g.r, size[:]); err != nil {
			return io.ErrUnexpectedEOF
		}
		extra := make([]byte, binary.LittleEndian.Uint16(size[:]))
		if _, err := io.ReadFull(g.r, extra); err != nil {
			return io.ErrUnexpectedEOF
		}
		sum = crc32.Update(crc32.Update(sum, crc32.IEEETable, size[:]), crc32.IEEETable, extra)
	}
	for _, flag := range []byte{hasName, hasComment} {
		for n := 0; flags&flag != 0; n++ {
			c, err := g.r.ReadByte()
			if err != nil {
				return io.ErrUnexpectedEOF
			}
			sum = crc32.Update(sum, crc32.IEEETable, []byte{c})
			if c == 0 {
				break
			}
			if n == maxGzipField {
				return errGzipHeader
			}
		}
	}
	if flags&hasSum != 0 {
		var stored [2]byte
		if _, err := io.ReadFull(g.r, stored[:]); err != nil {
			return io.ErrUnexpectedEOF
		}
		if binary.LittleEndian.Uint16(stored[:]) != uint16(sum) {
			return errGzipSum
		}
	}
	return nil
}

func (g *gzipMember) Read(p []byte) (int, error) {
	if g.err != nil || len(p) == 0 {
		return 0, g.err
	}
	if g.decoded == g.limit { // check for one more byte
		n, err := g.fill(make([]byte, 1))
		if n > 0 {
			err = errDecoded
		}
		g.err = err
		return 0, err
	}
	n, err := g.fill(p[:min(int64(len(p)), g.limit-g.decoded)])
	g.decoded += int64(n)
	if n > 0 {
		return n, nil
	}
	g.err = err
	return 0, err
}

// fill reads once from the deflate stream. At its end, it also reads the trailer.
func (g *gzipMember) fill(p []byte) (int, error) {
	n, err := g.inflate.Read(p)
	g.sum = crc32.Update(g.sum, crc32.IEEETable, p[:n])
	if n > 0 || err != io.EOF {
		return n, err
	}
	var trailer [8]byte
	if _, err := io.ReadFull(g.r, trailer[:]); err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	if binary.LittleEndian.Uint32(trailer[:4]) != g.sum || binary.LittleEndian.Uint32(trailer[4:]) != uint32(g.decoded) {
		return 0, errGzipSum
	}
	return 0, io.EOF
}
