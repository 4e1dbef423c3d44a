package assay

import (
	"fmt"
	"io"
)

// tarBlock is the block size of a tar archive in bytes.
const tarBlock = 512

// tarHeader returns the header of a member as written by the reference writer: GNU
// magic, mode 0644, owner "assay" and no time.
func tarHeader(name string, size int64) [tarBlock]byte {
	var h [tarBlock]byte
	copy(h[0:100], name)
	copy(h[100:], "0000644\x00")
	copy(h[108:], "0000000\x00") // user
	copy(h[116:], "0000000\x00") // group
	copy(h[124:], fmt.Sprintf("%011o\x00", size))
	copy(h[136:], "00000000000\x00") // time
	copy(h[148:], "        ")        // the checksum counts itself as spaces
	copy(h[257:], "ustar  \x00")
	copy(h[265:], "assay")
	copy(h[297:], "assay")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%07o\x00", sum))
	return h
}

// tarWriter writes members. It keeps the first error.
type tarWriter struct {
	w       io.Writer
	written int64
	err     error
}

func (t *tarWriter) Write(data []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.w.Write(data)
	t.written += int64(n)
	t.err = err
	return n, err
}

// member begins a member. The caller writes its bytes next.
func (t *tarWriter) member(name string, size int64) {
	t.pad()
	h := tarHeader(name, size)
	t.Write(h[:])
}

func (t *tarWriter) pad() {
	var zeros [tarBlock]byte
	t.Write(zeros[:-t.written&(tarBlock-1)])
}

// close ends the archive with two blocks of zeros.
func (t *tarWriter) close() {
	t.pad()
	t.Write(make([]byte, 2*tarBlock))
}
