package capture

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/p20export/p20export/finding"
)

// Frame is one event of a response: its payload and where it lay. All offsets
// count bytes from the start of the (decoded) response file.
type Frame struct {
	// Index counts the capture's events from 0.
	Index int
	// Offset is that of the first data byte. For an event with empty data it
	// is where that byte would stand.
	Offset int64
	// Bytes is the extent from Offset to the last data byte, that one included.
	// For SSE data over several lines it covers what lies between the lines too.
	Bytes int64
	// Line is the line number of Offset in the response, from 1. Only LF ends a
	// line, under every framing.
	Line int
	// End is just past the byte that completed the event: for SSE the first byte
	// of the blank line's terminator, otherwise the line feed, ',' or ']' that
	// ended it, or the end of the file. Offset+Bytes <= End.
	End int64
	// Data is the payload; the data lines of SSE are joined by line feeds. It is
	// valid until the next call of Next.
	Data []byte
	// Arrived is when the read that completed the event came in. It is zero
	// when that is not known.
	Arrived time.Time
	// Problem is not nil when the frame could not be kept (event_too_large). Data
	// is nil then, and the next frame follows as if nothing had happened.
	Problem *finding.Finding
}

// Splitter cuts a response into frames in one pass. Its memory is bounded by the
// largest event it kept, never by the response: whatever is no data is read over
// in a buffer of fixed size, and so is an event past MaxEventBytes.
type Splitter struct {
	r     io.Reader
	step  func() (Frame, error) // nextSSE, nextLine or nextElement
	trims bool                  // white space around data is no data
	limit int64                 // of an event's data; MaxEventBytes outside tests

	buf      []byte
	pos, end int   // 0 <= pos <= end <= len(buf); buf[pos:end] is unread
	base     int64 // offset of buf[0]
	lines    int   // LFs before buf[counted]
	counted  int   // 0 <= counted <= end
	err      error // what the last read returned beside its bytes
	begun    bool  // the byte order mark is behind
	ended    bool  // the end of the response is behind

	index int
	event event
	sse   sseState
	array arrayState

	findings []finding.Finding
}

// NewSplitter returns a Splitter of what r holds. A framing that is none of the
// known ones is taken for SSE.
func NewSplitter(r io.Reader, f Framing) *Splitter {
	s := &Splitter{r: r, limit: MaxEventBytes, buf: make([]byte, bufferBytes)}
	switch f {
	case NDJSON:
		s.step, s.trims = s.nextLine, true
	case JSON:
		s.step, s.trims = s.nextElement, true
	default:
		s.step = s.nextSSE
	}
	return s
}

// Next returns the next frame, or io.EOF after the last one, when r has been read
// to its end. Any other error is r's own; Next can be called again after it and
// goes on where it stood, so a reader that has no more bytes for now may say so
// with an error of its own.
func (s *Splitter) Next() (Frame, error) {
	if s.ended {
		return Frame{}, io.EOF
	}
	if !s.begun {
		if err := s.skipBOM(); err != nil && err != io.EOF {
			return Frame{}, err
		}
		s.begun = true
	}
	return s.step()
}

// Findings returns what is known after io.EOF: event_incomplete for an SSE event
// without its blank line or an array without its bracket, and array_malformed
// for an array that is none, that has an empty element (the first is named), or
// that has bytes after it.
func (s *Splitter) Findings() []finding.Finding { return slices.Clone(s.findings) }

// fill replaces the buffer, which must have been read to its end. The bytes of
// an event begun in it are saved first.
func (s *Splitter) fill() error {
	if s.event.open {
		s.spill()
	}
	s.lineAt(s.end)
	s.base += int64(s.end)
	s.pos, s.end, s.counted = 0, 0, 0
	s.sse.lf, s.sse.cr, s.array.quote, s.array.slash = 0, 0, 0, 0
	n, err := s.read(s.buf)
	s.end = n
	return err
}

// read fills part of p, which is not empty. It returns 0 < n with no error, or 0
// with one.
func (s *Splitter) read(p []byte) (int, error) {
	for range maxEmptyReads {
		if err := s.err; err != nil {
			if err != io.EOF {
				s.err = nil
			}
			return 0, err
		}
		n, err := s.r.Read(p)
		if n < 0 || n > len(p) {
			return 0, errors.New("capture: a reader returned an impossible count")
		}
		s.err = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, io.ErrNoProgress
}

// maxEmptyReads is how many reads in a row may bring neither bytes nor an error.
const maxEmptyReads = 100

// skipBOM steps over one U+FEFF at the start. It waits for no more bytes than it
// takes to tell.
func (s *Splitter) skipBOM() error {
	for s.end < len(bom) && bytes.HasPrefix(bom, s.buf[:s.end]) {
		n, err := s.read(s.buf[s.end:])
		s.end += n
		if err != nil {
			return err
		}
	}
	if bytes.HasPrefix(s.buf[:s.end], bom) {
		s.pos = len(bom)
	}
	return nil
}

// skipSpace steps over JSON white space and reports whether a byte stands behind
// it in the buffer.
func (s *Splitter) skipSpace() bool {
	for s.pos < s.end && isSpace(s.buf[s.pos]) {
		s.pos++
	}
	return s.pos < s.end
}

// seek returns the index of the first c in the buffer at or after both from and
// pos, or end when there is none. Called with its own last result it looks at no
// byte twice.
func (s *Splitter) seek(from int, c byte) int {
	from = max(from, s.pos)
	if i := bytes.IndexByte(s.buf[from:s.end], c); i >= 0 {
		return from + i
	}
	return s.end
}

// here returns the offset of buf[pos].
func (s *Splitter) here() int64 { return s.base + int64(s.pos) }

// lineAt returns the line that buf[i] is on. No call may ask for a byte before that
// of an earlier one.
func (s *Splitter) lineAt(i int) int {
	s.lines += bytes.Count(s.buf[s.counted:i], lineFeed)
	s.counted = i
	return s.lines + 1
}

var lineFeed = []byte{'\n'}

// note records a finding at an offset, on a line.
func (s *Splitter) note(code finding.Code, at int64, line int, message string) {
	s.findings = append(s.findings, finding.New(code, "%s", message).WithOffset(at).OnResponseLine(line))
}
