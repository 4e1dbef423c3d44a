package assay

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Errors of tarReader.
var (
	errTarBlock   = errors.New("failed to read entire block")
	errTarSum     = errors.New("archive header checksum mismatch")
	errTarSkip    = errors.New("the archive ends within a member")
	errTarType    = errors.New("a member is not a plain file")
	errTarLink    = errors.New("a member header carries a link name or a name prefix")
	errTarSlash   = errors.New("a member name ends in a slash")
	errTarSize    = errors.New("a member size is not eleven octal digits")
	errTarTrailer = errors.New("non-zero data after the end of the tar archive")
)

// tarReader reads the members of a tar archive. It accepts only headers that all tar
// readers interpret in the same way.
type tarReader struct {
	r       io.Reader
	left    int64 // unread bytes of the member
	padding int64 // unread bytes of padding after the member
	dirty   bool  // the last padding was not all zero
	ended   bool  // a block of zeros ended the archive
}

// tarMember is the header of a member.
type tarMember struct {
	name string
	size int64 // from at most eleven octal digits
	raw  [tarBlock]byte
}

// next returns the next member. At a block of zeros or at the end of the input, it
// returns io.EOF.
func (t *tarReader) next() (*tarMember, error) {
	if err := t.skip(); err != nil {
		return nil, err
	}
	var m tarMember
	for n := 0; n < tarBlock; {
		k, err := t.r.Read(m.raw[n:])
		n += k
		if err == io.EOF && n == 0 {
			return nil, io.EOF
		} else if err == io.EOF {
			return nil, errTarBlock
		} else if err != nil {
			return nil, err
		}
	}
	if m.raw == [tarBlock]byte{} {
		t.ended = true
		return nil, io.EOF
	}
	sum := int64(8 * ' ')
	for i, c := range m.raw {
		if i < 148 || i >= 156 {
			sum += int64(c)
		}
	}
	if stored, ok := parseChecksum(m.raw[148:156]); !ok || stored != sum {
		return nil, errTarSum
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	t.left = m.size
	t.padding = -m.size & (tarBlock - 1)
	return &m, nil
}

// check checks and decodes a header with a valid checksum.
func (m *tarMember) check() error {
	if m.raw[156] != '0' && m.raw[156] != 0 {
		return errTarType
	}
	if !zero(m.raw[157:257]) || !zero(m.raw[345:]) {
		return errTarLink
	}
	m.name = string(untilNUL(m.raw[:100]))
	if strings.HasSuffix(m.name, "/") {
		return errTarSlash
	}
	size, err := strconv.ParseUint(string(m.raw[124:135]), 8, 63)
	if end := m.raw[135]; err != nil || end != 0 && end != ' ' {
		return errTarSize
	}
	m.size = int64(size)
	return nil
}

// Read reads from the current member. Like the reference, it returns io.EOF at the end
// of a truncated archive.
func (t *tarReader) Read(p []byte) (int, error) {
	if t.left == 0 {
		return 0, io.EOF
	}
	n, err := t.r.Read(p[:min(int64(len(p)), t.left)])
	t.left -= int64(n)
	return n, err
}

// skip reads the rest of the member and its padding.
func (t *tarReader) skip() error {
	buf := make([]byte, len(zeros))
	t.dirty = false
	for t.left+t.padding > 0 {
		n, err := t.r.Read(buf[:min(int64(len(buf)), t.left+t.padding)])
		if err == io.EOF {
			return errTarSkip
		} else if err != nil {
			return err
		}
		body := min(int64(n), t.left)
		t.left -= body
		t.padding -= int64(n) - body
		t.dirty = t.dirty || !zero(buf[body:n])
	}
	return nil
}

// parseChecksum parses the checksum field like the tar crate. It ignores everything
// after a NUL, surrounding white space and a leading plus sign.
func parseChecksum(field []byte) (int64, bool) {
	text := string(untilNUL(field))
	if !utf8.ValidString(text) {
		return 0, false
	}
	text = strings.TrimPrefix(strings.TrimSpace(text), "+")
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		return 0, false
	}
	sum, err := strconv.ParseInt(text, 8, 64)
	return sum, err == nil
}

func untilNUL(b []byte) []byte {
	b, _, _ = bytes.Cut(b, []byte{0})
	return b
}

// zeros is at least as long as any argument of zero.
var zeros [32 << 10]byte

func zero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }
