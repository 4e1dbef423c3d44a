package capture

import (
	"io"

	"github.com/p20export/p20export/finding"
)

// arrayState is the state of the parser of a JSON array (RFC 8259 §5). It tracks
// strings and nesting only to find the ends of elements. It does not check that
// elements are valid JSON.
type arrayState struct {
	part     arrayPart
	nonEmpty bool  // an element or a comma was read
	reported bool  // an empty element was reported
	depth    int64 // number of open arrays and objects in the element
	inString bool
	escaped  bool // after a backslash in a string

	quote, slash int // the last results of seek for '"' and '\'
}

// arrayPart is the part of the file that the next byte belongs to.
type arrayPart int

const (
	partBefore   arrayPart = iota // before '['
	partElements                  // between '[' and ']'
	partAfter                     // after ']', where only white space is allowed
	partBroken                    // after an error; the rest is ignored
)

// nextElement returns the next element of the array. If there is nothing between two
// commas, or between a comma and the closing bracket, the element has no data.
// nextElement reports the first such element.
func (s *Splitter) nextElement() (*Frame, error) {
	a := &s.array
	for {
		if s.pos == s.end {
			if err := s.fill(); err != nil {
				if err == io.EOF {
					s.endArray()
				}
				return nil, err
			}
		}
		switch {
		case a.part == partBroken:
			s.pos = s.end
		case s.event.open:
			if s.element() {
				return s.delimit(), nil
			}
		case !s.skipSpace():
		case a.part == partBefore && s.buf[s.pos] == '[':
			s.pos++
			a.part = partElements
		case a.part == partBefore:
			s.report(finding.ArrayMalformed, s.here(), s.lineAt(s.pos), "the response does not begin with '['")
			a.part = partBroken
		case a.part == partAfter:
			s.report(finding.ArrayMalformed, s.here(), s.lineAt(s.pos), "bytes follow the array's closing ']'")
			a.part = partBroken
		case s.buf[s.pos] == ']' && !a.nonEmpty:
			s.pos++
			a.part = partAfter
		default:
			s.begin()
		}
	}
}

// element reads more bytes of an element and reports whether pos is at its
// delimiter.
func (s *Splitter) element() bool {
	a := &s.array
	i := s.pos
	for i < s.end {
		if a.inString {
			i = s.skipString(i)
			continue
		}
		switch s.buf[i] {
		case '"':
			a.inString = true
		case '{', '[':
			a.depth++
		case '}', ']':
			if a.depth == 0 && s.buf[i] == ']' {
				s.take(i)
				return true
			}
			a.depth = max(a.depth-1, 0)
		case ',':
			if a.depth == 0 {
				s.take(i)
				return true
			}
		}
		i++
	}
	s.take(i)
	return false
}

// skipString skips bytes of a string from index i. It returns the index after the
// string, after a backslash, or the end of the buffer.
func (s *Splitter) skipString(i int) int {
	a := &s.array
	if a.escaped {
		a.escaped = false
		return i + 1
	}
	a.quote = s.seek(max(a.quote, i), '"')
	a.slash = s.seek(max(a.slash, i), '\\')
	at := min(a.quote, a.slash)
	if at == s.end {
		return at
	}
	if at == a.slash {
		a.escaped = true
	} else {
		a.inString = false
	}
	return at + 1
}

// delimit skips the ',' or ']' at pos and emits the element before it.
func (s *Splitter) delimit() *Frame {
	a := &s.array
	a.nonEmpty = true
	if e := s.event; e.last == e.offset && !a.reported {
		a.reported = true
		s.report(finding.ArrayMalformed, e.offset, e.line, "an element of the array is empty")
	}
	if s.buf[s.pos] == ']' {
		a.part = partAfter
	}
	s.pos++
	return s.emit(s.here())
}

// endArray ends the response and reports an incomplete array.
func (s *Splitter) endArray() {
	s.ended = true
	at, line := s.here(), s.lineAt(s.pos)
	switch s.array.part {
	case partBefore:
		s.report(finding.ArrayMalformed, at, line, "the response does not begin with '['")
	case partElements:
		if s.event.open {
			at, line = s.event.offset, s.event.line
		}
		s.event = event{}
		s.report(finding.EventIncomplete, at, line, "the response ends before the ']' that would close its array")
	}
}
