package assay

import (
	"bytes"
	"errors"
	"io"
)

var errLine = errors.New("the line is too long")

// lineReader reads lines in pieces of 8 KiB, like the reference. If there are two
// faults, the size of the pieces determines which one is reported.
type lineReader struct {
	r     io.Reader
	limit int
	buf   [8 << 10]byte
	rest  []byte // unread bytes of buf
	line  []byte
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: r, limit: limit}
}

// next returns the next line including its line feed, if any. The line is valid until
// the next call.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		if len(l.rest) == 0 {
			n, err := l.r.Read(l.buf[:])
			if err == io.EOF && len(l.line) > 0 {
				return l.line, nil
			} else if err != nil {
				return nil, err
			}
			l.rest = l.buf[:n]
		}
		end := bytes.IndexByte(l.rest, '\n')
		piece := l.rest[:end+1]
		if end < 0 {
			piece, end = l.rest, len(l.rest)
		}
		if len(l.line)+end > l.limit {
			return nil, errLine
		}
		l.line = append(l.line, piece...)
		l.rest = l.rest[len(piece):]
		if end < len(piece) {
			return l.line, nil
		}
	}
}

// lineContent returns a line without its line end.
func lineContent(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// refuseLine returns the refusal for an error of lineReader, or nil if err is nil.
func refuseLine(err error, limit int) *Refusal {
	switch err {
	case nil:
		return nil
	case errLine:
		return refuse(limitLine, "exceeded line bytes limit of %d", limit)
	}
	return refuseRead(err, integrityIO, eventsName)
}
