package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// schemaPrefix begins the schemas of all versions of the portable form, and portablePrefix
// every file in it.
const (
	schemaPrefix   = "p20export.log.v"
	portablePrefix = `{"schema":"` + schemaPrefix
)

// decoder reads a thread in the portable form. It accepts only what an encoder can write.
type decoder struct {
	r     *bufio.Reader
	limit int // of a line, in bytes
	buf   []byte
	line  int // the number of the line in buf
	hash  hash.Hash

	head head
	tail tail

	seals     []store.Seal // ordered by size
	sealBytes int
	maxSeals  int // limits sealBytes
}

// newDecoder returns a decoder that has read the head.
func newDecoder(r io.Reader) (*decoder, error) {
	return newLimitedDecoder(r, maxLineBytes)
}

func newLimitedDecoder(r io.Reader, limit int) (*decoder, error) {
	d := &decoder{r: bufio.NewReaderSize(r, 64<<10), limit: limit, hash: digest.Hash(), maxSeals: maxSealBytes}
	text, err := d.readLine()
	if err != nil {
		return nil, err
	}
	if err := decode(text, &d.head); err != nil {
		return nil, d.malformed(err)
	}
	switch h := d.head; {
	case h.Schema != Schema && h.Schema != SealedSchema:
		return nil, d.malformed(fmt.Errorf("the schema is %s, and not %s or %s; a newer release may know it", finding.Quote(h.Schema), Schema, SealedSchema))
	case h.After < 0 || h.After > math.MaxInt64/2:
		return nil, d.malformed(errors.New("the position in the first line is negative or too large"))
	}
	return d, nil
}

// entry returns the next entry. It returns io.EOF after the last one, when the seals were read
// and the number and the digest of the tail were checked. Other errors are findings or those of
// the reader.
func (d *decoder) entry() (*store.Entry, error) {
	for {
		sum := digest.Sum(d.hash)
		text, err := d.readLine()
		switch {
		case err != nil:
			return nil, err
		case bytes.HasPrefix(text, []byte(`{"entries":`)):
			return nil, d.end(text, sum)
		case bytes.HasPrefix(text, []byte(`{"seal":`)):
			if err := d.seal(text); err != nil {
				return nil, err
			}
		case len(d.seals) > 0:
			return nil, d.malformed(errors.New("only seals and the line with the digest may follow a seal"))
		default:
			return d.next(text)
		}
	}
}

// next returns the entry of a line.
func (d *decoder) next(text []byte) (*store.Entry, error) {
	e, err := decodeLine(text)
	if err == nil {
		err = d.check(e)
	}
	if err != nil {
		return nil, d.malformed(err)
	}
	d.tail.Entries++
	return e, nil
}

// check checks what the line of an entry cannot show.
func (d *decoder) check(e *store.Entry) error {
	want := d.head.After + d.tail.Entries + 1
	switch {
	case e.Position != want:
		return fmt.Errorf("the position is %d, want %d", e.Position, want)
	case e.Kind != store.Event && e.Kind != store.Input && e.Kind != store.Closing && e.Kind != store.End:
		return errors.New("the kind is not event, input, closing or end")
	case len(e.Data) > store.MaxEntryBytes:
		return fmt.Errorf("the data has more than %d bytes", store.MaxEntryBytes)
	}
	return nil
}

// end checks the tail. It returns io.EOF if the file ends with it and is complete.
func (d *decoder) end(text []byte, sum digest.Digest) error {
	var t tail
	if err := decode(text, &t); err != nil {
		return d.malformed(err)
	}
	switch {
	case t.Entries != d.tail.Entries:
		return d.malformed(fmt.Errorf("the file has %d entries, but its last line says %d", d.tail.Entries, t.Entries))
	case d.head.Schema == SealedSchema && len(d.seals) == 0:
		return d.malformed(fmt.Errorf("the file has no seal, so its schema must be %s", Schema))
	case t.Digest != sum:
		return d.malformed(fmt.Errorf("the lines have the digest %s, but the last line says %s", sum, t.Digest))
	}
	d.tail = t
	_, err := d.r.ReadByte()
	if err == nil {
		d.line++
		return d.malformed(errors.New("nothing may follow the line with the digest"))
	}
	return err
}

// readLine reads a line with its line feed. It is valid until the next call.
func (d *decoder) readLine() ([]byte, error) {
	if d.line++; cap(d.buf) > batchBytes {
		d.buf = nil
	}
	d.buf = d.buf[:0]
	for {
		part, err := d.r.ReadSlice('\n')
		d.buf = append(d.buf, part...)
		switch {
		case len(d.buf) > d.limit:
			return nil, d.malformed(fmt.Errorf("the line has more than %d bytes", d.limit))
		case err == io.EOF:
			return nil, d.malformed(errors.New("the file ends before the line with the digest: it is incomplete"))
		case err == nil:
			d.hash.Write(d.buf)
			return d.buf, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// malformed returns the finding for the current line.
func (d *decoder) malformed(err error) error {
	return finding.New(finding.LogFileMalformed, "%s", finding.Escape(err.Error())).WithLine(d.line)
}
