package capture

import (
	"bytes"
	"io"
	"slices"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/frame"
)

// Frame is an event of a response.
type Frame = frame.Frame

// Splitter splits a response into frames in one pass. Its memory depends on the
// largest event that it stores, not on the response. It does not store bytes that
// are not data, or events larger than MaxEventBytes.
type Splitter struct {
	r     io.Reader
	from  blocks
	step  func() (*Frame, error) // nextEvent, nextLine or nextElement
	isSSE bool                   // step is nextEvent
	trims bool                   // white space around data is removed
	limit int64                  // MaxEventBytes, except in tests

	buf      []byte
	pos, end int   // 0 <= pos <= end <= len(buf); buf[pos:end] is unread
	base     int64 // offset of buf[0]
	lines    int   // LFs before buf[counted]
	counted  int   // 0 <= counted <= end
	err      error // the error that the last read returned with its bytes
	begun    bool  // the byte order mark was skipped
	ended    bool  // the end of the response was reached

	index int
	event event
	frame Frame // the last frame
	sse   sseState
	array arrayState

	findings []finding.Finding
}

// NewSplitter returns a Splitter that reads a response with framing f from r. An
// unknown framing is treated as SSE.
func NewSplitter(r io.Reader, f Framing) *Splitter {
	return newSplitter(r, buffer(make([]byte, bufferBytes)), f)
}

// newSplitter returns a Splitter that reads r into the given blocks.
func newSplitter(r io.Reader, from blocks, f Framing) *Splitter {
	s := &Splitter{r: r, from: from, limit: MaxEventBytes}
	s.setFraming(f)
	return s
}

// setFraming sets the framing. It must be called before Next.
func (s *Splitter) setFraming(f Framing) {
	s.isSSE = f != NDJSON && f != JSON
	switch f {
	case NDJSON:
		s.step, s.trims = s.nextLine, true
	case JSON:
		s.step, s.trims = s.nextElement, true
	default:
		s.step = s.nextEvent
	}
}

// blocks provides the buffers of a Splitter.
type blocks interface {
	// next returns a buffer of bufferBytes for the next read. The bytes of the last
	// read are no longer valid.
	next() []byte
}

// buffer is a block that is used for every read.
type buffer []byte

func (b buffer) next() []byte { return b }

// Next returns the next frame, or io.EOF after the last one. The frame is valid until
// the next call. Other errors are from the reader. Next may be called again after such
// an error, so a reader may return an error when it has no bytes yet.
func (s *Splitter) Next() (*Frame, error) {
	if s.isSSE && s.begun && s.sse.part == partName && s.commonFrame() {
		return &s.frame, nil
	}
	if s.ended {
		return nil, io.EOF
	}
	if !s.begun {
		if s.buf == nil {
			s.buf = s.from.next()
		}
		if err := s.skipBOM(); err != nil && err != io.EOF {
			return nil, err
		}
		s.begun = true
	}
	return s.step()
}

// Findings returns the findings about the framing. It is valid after io.EOF. An
// event_incomplete means that no blank line ends the last SSE event or no bracket
// closes the array. An array_malformed means that the response is not an array, has
// an empty element (only the first is reported), or has bytes after the array.
func (s *Splitter) Findings() []finding.Finding { return slices.Clone(s.findings) }

// fill reads the next bytes into the buffer. All bytes in the buffer must have been
// consumed. If an event is open, fill copies its data first.
func (s *Splitter) fill() error {
	if s.event.open {
		s.spill()
	}
	s.lineAt(s.end)
	s.base += int64(s.end)
	s.pos, s.end, s.counted = 0, 0, 0
	s.sse.lf, s.sse.cr, s.array.quote, s.array.slash = 0, 0, 0, 0
	s.buf = s.from.next()
	n, err := s.read(s.buf)
	s.end = n
	return err
}

// read reads into p, which must not be empty. It returns n > 0 or an error, never
// both.
func (s *Splitter) read(p []byte) (int, error) {
	for range maxEmptyReads {
		if err := s.err; err != nil {
			if err != io.EOF {
				s.err = nil
			}
			return 0, err
		}
		n, err := read(s.r, p)
		s.err = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, io.ErrNoProgress
}

// maxEmptyReads is the maximum number of consecutive reads that return neither bytes
// nor an error.
const maxEmptyReads = 100

// peek reads enough bytes to detect the framing, or all bytes if there are fewer, and
// returns them. It must be called before Next.
func (s *Splitter) peek() ([]byte, error) {
	s.buf = s.from.next()
	for s.end < len(s.buf) && !detected(s.buf[:s.end]) {
		n, err := s.read(s.buf[s.end:])
		s.end += n
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return s.buf[:s.end], nil
}

// skipBOM skips a byte order mark at the start. It reads no more bytes than needed to
// detect it.
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

// skipSpace skips JSON white space and reports whether the buffer has a byte after
// it.
func (s *Splitter) skipSpace() bool {
	for s.pos < s.end && isSpace(s.buf[s.pos]) {
		s.pos++
	}
	return s.pos < s.end
}

// seek returns the index of the first c in the buffer at or after both from and pos,
// or end if there is none. If from is the result of the last call, seek does not
// search any byte again.
func (s *Splitter) seek(from int, c byte) int {
	from = max(from, s.pos)
	if i := bytes.IndexByte(s.buf[from:s.end], c); i >= 0 {
		return from + i
	}
	return s.end
}

// here returns the offset of buf[pos].
func (s *Splitter) here() int64 { return s.base + int64(s.pos) }

// lineAt returns the line number of buf[i]. Offsets must not decrease from call to
// call.
func (s *Splitter) lineAt(i int) int {
	s.lines += bytes.Count(s.buf[s.counted:i], lineFeed)
	s.counted = i
	return s.lines + 1
}

var lineFeed = []byte{'\n'}

// report adds a finding with an offset and a line.
func (s *Splitter) report(code finding.Code, at int64, line int, message string) {
	s.findings = append(s.findings, finding.New(code, "%s", message).WithOffset(at).WithResponseLine(line))
}
