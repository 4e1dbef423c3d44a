package render

import (
	"bytes"
	"io"
	"os"

	"github.com/p20export/p20export/internal/atomicfile"
)

// maxHeld is how many bytes of a document that is not complete yet are held in
// memory, so that most documents need no temporary file.
const maxHeld = 1 << 20

// pieces keeps what a document can only write once its last row is known. What
// passes maxHeld goes to a temporary file without a name.
type pieces struct {
	file *os.File // nil while everything is held
	held []byte
}

// add appends a piece.
func (p *pieces) add(piece []byte) error {
	p.held = append(p.held, piece...)
	if len(p.held) < maxHeld {
		return nil
	}
	if p.file == nil {
		file, err := atomicfile.CreateUnnamed("")
		if err != nil {
			return err
		}
		p.file = file
	}
	_, err := p.file.Write(p.held)
	p.held = p.held[:0]
	return atomicfile.WrapUnnamed("", err)
}

// reader reads the pieces in their order.
func (p *pieces) reader() (io.Reader, error) {
	if p.file == nil {
		return bytes.NewReader(p.held), nil
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.MultiReader(p.file, bytes.NewReader(p.held)), nil
}

// close gives back the temporary file.
func (p *pieces) close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}
