package capture

import (
	"bytes"
	"io"

	"github.com/p20export/p20export/finding"
)

// This file implements "Interpreting an event stream" (WHATWG HTML §9.2.6). A line
// ends with LF, CR or CRLF. An empty line dispatches the event. A data field appends
// its value and a line feed to the data; the last line feed is removed. Other
// fields, comments and events without a data field are ignored.

// sseState is the state of the SSE parser.
type sseState struct {
	part    linePart
	matched int // in partName, the number of bytes that match "data"
	lf, cr  int // the last results of seek for LF and CR
}

// linePart is the part of a line that the next byte belongs to.
type linePart int

const (
	partName    linePart = iota // the field name, or the end of an empty line
	partSpace                   // after "data:", where one space is skipped
	partValue                   // the value of a data field
	partIgnored                 // the rest of a comment or of another field
	partAfterCR                 // after a CR, where an LF belongs to the previous line
)

const dataName = "data"

// dataField is the start of a data field as nearly all producers write it.
const dataField = "data: "

// commonFrame reads the next event into s.frame and returns true if the buffer starts
// with the common form of an event: "data: ", data without CR or LF, LF, LF. Otherwise
// it returns false and consumes nothing. If the buffer is not empty, pos must be at the
// start of a line and no event open: it is if the part is partName, because if the last
// call ended within an event or a line, the reader returned an error and the buffer is
// empty. For each such event, nextEvent returns the same frame.
func (s *Splitter) commonFrame() bool {
	rest := s.buf[s.pos:s.end]
	if len(rest) < len(dataField) || string(rest[:len(dataField)]) != dataField {
		return false
	}
	n := bytes.IndexByte(rest[len(dataField):], '\n')
	lo := s.pos + len(dataField)
	hi := lo + n
	if n < 0 || hi+1 == s.end || s.buf[hi+1] != '\n' || int64(n) > s.limit {
		return false
	}
	if s.sse.cr = max(s.sse.cr, s.pos); s.sse.cr < hi {
		if s.sse.cr = s.seek(s.sse.cr, '\r'); s.sse.cr < hi {
			return false
		}
	}
	if s.counted < s.pos {
		s.lineAt(s.pos)
	}
	f := &s.frame
	f.Index, f.Offset, f.Bytes, f.Line = s.index, s.base+int64(lo), int64(n), s.lines+1
	f.End, f.Data, f.Problem = s.base+int64(hi+2), s.buf[lo:hi:hi], nil
	s.index++
	s.pos = hi + 2
	s.lines, s.counted = s.lines+2, s.pos
	return true
}

// nextEvent returns the next event in any form. A CR ends its line at once, so
// nextEvent does not wait for the byte after it.
func (s *Splitter) nextEvent() (*Frame, error) {
	for {
		if s.pos == s.end {
			if err := s.fill(); err != nil {
				if err == io.EOF {
					s.endSSE()
				}
				return nil, err
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

// name reads more bytes of a field name. It reports whether an empty line completed
// an event.
func (s *Splitter) name() bool {
	rest := s.buf[s.pos:s.end]
	if s.sse.matched == 0 && bytes.HasPrefix(rest, []byte(dataField)) {
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

// beginValue begins a data line whose value starts at pos.
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

// lineEnd returns the index of the next CR or LF, or end if the buffer has none.
func (s *Splitter) lineEnd() int {
	s.sse.lf = s.seek(s.sse.lf, '\n')
	s.sse.cr = s.seek(s.sse.cr, '\r')
	return min(s.sse.lf, s.sse.cr)
}

// endLine skips the CR or LF at pos.
func (s *Splitter) endLine() {
	s.sse.part = partName
	if s.buf[s.pos] == '\r' {
		s.sse.part = partAfterCR
	}
	s.sse.matched = 0
	s.pos++
}

// endSSE ends the stream. It discards an event without an empty line, as the
// standard requires, and reports it.
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
	s.report(finding.EventIncomplete, at, line, "the response ends before the blank line that would complete its last event; the event is ignored, because the standard discards it, although AG-UI clients deliver it")
}

// AppendSSE appends an event as text/event-stream to dst. An empty id adds no id; others
// must not contain CR, LF or U+0000. Each line of the data has a field of its own, so the
// text has no empty line except its end. A reader gets the same data, with LF in place of
// each CR and CRLF.
func AppendSSE(dst []byte, id string, data []byte) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	for {
		dst = append(dst, dataField...)
		end := bytes.IndexAny(data, "\r\n")
		if end < 0 {
			return append(append(dst, data...), "\n\n"...)
		}
		dst = append(append(dst, data[:end]...), '\n')
		if data[end] == '\r' && end+1 < len(data) && data[end+1] == '\n' {
			end++
		}
		data = data[end+1:]
	}
}
