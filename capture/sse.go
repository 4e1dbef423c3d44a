package capture

import (
	"bytes"
	"io"

	"github.com/p20export/p20export/finding"
)

// The rules are those of "Interpreting an event stream" (WHATWG HTML §9.2.6):
// a line ends in LF, CR or CRLF; an empty line dispatches the event; "data" adds
// its value and a line feed to the data, whose last line feed falls away; an
// event whose data has not one line is none. The other fields say nothing about
// the data and are read over, as are comments.

// sseState is where the parser stands within the stream.
type sseState struct {
	part    linePart
	matched int // while in the name: how many bytes of "data" it matches so far
	lf, cr  int // what seek last returned for LF and CR
}

// linePart is the part of a line that the next byte belongs to.
type linePart int

const (
	partName    linePart = iota // the field name, or the end of an empty line
	partSpace                   // just past "data:", where one space is read over
	partValue                   // the value of a data field
	partIgnored                 // the rest of a comment or of any other field
	partAfterCR                 // just past a CR, where a LF belongs to the line before
)

const dataName = "data"

// dataField is how a data field begins as nearly every producer writes it.
var dataField = []byte("data: ")

// nextSSE returns the next event. A CR completes its line at once, so an event
// never waits for the byte behind it.
func (s *Splitter) nextSSE() (Frame, error) {
	for {
		if s.pos == s.end {
			if err := s.fill(); err != nil {
				if err == io.EOF {
					s.endSSE()
				}
				return Frame{}, err
			}
		}
		switch s.sse.part {
		case partName:
			if s.name() {
				return s.emit(s.base + int64(s.pos)), nil
			}
		case partSpace:
			if s.buf[s.pos] == ' ' {
				s.pos++
			}
			s.beginValue()
		case partValue:
			end := s.lineEnd()
			s.take(end)
			if end < s.end {
				s.endLine()
			}
		case partIgnored:
			s.pos = s.lineEnd()
			if s.pos < s.end {
				s.endLine()
			}
		case partAfterCR:
			if s.buf[s.pos] == '\n' {
				s.pos++
			}
			s.sse.part = partName
		}
	}
}

// name reads on in a field name. It reports whether an empty line ended, and
// with it an event.
func (s *Splitter) name() bool {
	rest := s.buf[s.pos:s.end]
	if s.sse.matched == 0 && bytes.HasPrefix(rest, dataField) {
		s.pos += len(dataField)
		s.beginValue()
		return false
	}
	switch c := rest[0]; {
	case c == '\n' || c == '\r':
		complete := s.sse.matched == 0 && s.event.open
		if s.sse.matched == len(dataName) {
			s.beginValue()
		}
		s.endLine()
		return complete
	case s.sse.matched == len(dataName) && c == ':':
		s.pos++
		s.sse.part = partSpace
	case s.sse.matched < len(dataName) && c == dataName[s.sse.matched]:
		s.pos++
		s.sse.matched++
	default:
		s.sse.part = partIgnored
	}
	return false
}

// beginValue starts a data line whose value stands at pos.
func (s *Splitter) beginValue() {
	s.sse.part = partValue
	if !s.event.open {
		s.begin()
		return
	}
	s.spill()
	s.add([]byte{'\n'})
	s.event.last = s.here()
}

// lineEnd returns the index of the next CR or LF, or end when the buffer has none.
func (s *Splitter) lineEnd() int {
	s.sse.lf = s.seek(s.sse.lf, '\n')
	s.sse.cr = s.seek(s.sse.cr, '\r')
	return min(s.sse.lf, s.sse.cr)
}

// endLine steps over the CR or LF at pos.
func (s *Splitter) endLine() {
	s.sse.part = partName
	if s.buf[s.pos] == '\r' {
		s.sse.part = partAfterCR
	}
	s.sse.matched = 0
	s.pos++
}

// endSSE ends the stream. An event that no empty line closed is discarded, as
// the standard has it, and named.
func (s *Splitter) endSSE() {
	s.ended = true
	at, line := s.here(), s.lineAt(s.pos)
	switch {
	case s.event.open:
		at, line = s.event.offset, s.event.line
	case s.sse.part == partSpace, s.sse.part == partName && s.sse.matched == len(dataName):
	default:
		return
	}
	s.event = event{}
	s.note(finding.EventIncomplete, at, line, "the response ends before the blank line that would complete its last event")
}
