package document

import (
	"bytes"
	"io"
	"os"

	"github.com/p20export/p20export/internal/atomicfile"
)

// maxHeld is how many bytes of an incomplete document are kept in memory. Most documents
// are smaller and need no temporary file.
const maxHeld = 1 << 20

// spool stores the parts of a document that can only be written after its last row.
// After maxHeld bytes it stores them in an unnamed temporary file.
type spool struct {
	file *os.File // nil while everything is in memory
	held []byte
}

// add appends a part.
func (p *spool) add(part []byte) error {
	p.held = append(p.held, part...)
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

// reader returns a reader of all parts in order.
func (p *spool) reader() (io.Reader, error) {
	if p.file == nil {
		return bytes.NewReader(p.held), nil
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.MultiReader(p.file, bytes.NewReader(p.held)), nil
}

// close closes the temporary file, which deletes it.
func (p *spool) close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}
