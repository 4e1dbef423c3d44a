package capture

import (
	"io"

	"github.com/p20export/p20export/finding"
)

// arrayState is where the parser stands within a JSON array (RFC 8259 §5).
// Strings and nesting are tracked only to find where an element ends; whether it
// is JSON is for its reader to say.
type arrayState struct {
	part    arrayPart
	some    bool  // an element or a comma has been met
	hollow  bool  // an empty element has been named
	depth   int64 // of arrays and objects open within the element
	text    bool  // within a string
	escaped bool  // just past a backslash within a string

	quote, slash int // what seek last returned for '"' and '\'
}

// arrayPart is the part of the file that the next byte belongs to.
type arrayPart int

const (
	partBefore   arrayPart = iota // before '['
	partElements                  // between '[' and ']'
	partAfter                     // after ']', where only white space may stand
	partBroken                    // past what is no array; read to the end
)

// nextElement returns the next element of the array. Nothing between two commas,
// or between a comma and the closing bracket, is an element without data; the
// first of them is named.
func (s *Splitter) nextElement() (Frame, error) {
	a := &s.array
	for {
		if s.pos == s.end {
			if err := s.fill(); err != nil {
				if err == io.EOF {
					s.endArray()
				}
				return Frame{}, err
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
			s.note(finding.ArrayMalformed, s.here(), s.lineAt(s.pos), "the response does not begin with '['")
			a.part = partBroken
		case a.part == partAfter:
			s.note(finding.ArrayMalformed, s.here(), s.lineAt(s.pos), "bytes follow the array's closing ']'")
			a.part = partBroken
		case s.buf[s.pos] == ']' && !a.some:
			s.pos++
			a.part = partAfter
		default:
			s.begin()
		}
	}
}

// element reads on in an element and reports whether its delimiter stands at pos.
func (s *Splitter) element() bool {
	a := &s.array
	i := s.pos
	for i < s.end {
		if a.text {
			i = s.inText(i)
			continue
		}
		switch s.buf[i] {
		case '"':
			a.text = true
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

// inText reads on in a string from index i and returns where it stopped: just
// past the string, just past a backslash, or at the end of the buffer.
func (s *Splitter) inText(i int) int {
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
		a.text = false
	}
	return at + 1
}

// delimit steps over the ',' or ']' at pos and closes the element it ends.
func (s *Splitter) delimit() Frame {
	a := &s.array
	a.some = true
	if e := s.event; e.last == e.offset && !a.hollow {
		a.hollow = true // one finding, however many commas there are
		s.note(finding.ArrayMalformed, e.offset, e.line, "an element of the array is empty")
	}
	if s.buf[s.pos] == ']' {
		a.part = partAfter
	}
	s.pos++
	return s.emit(s.here())
}

// endArray ends the response.
func (s *Splitter) endArray() {
	s.ended = true
	at, line := s.here(), s.lineAt(s.pos)
	switch s.array.part {
	case partBefore:
		s.note(finding.ArrayMalformed, at, line, "the response does not begin with '['")
	case partElements:
		if s.event.open {
			at, line = s.event.offset, s.event.line
		}
		s.event = event{}
		s.note(finding.EventIncomplete, at, line, "the response ends before the ']' that would close its array")
	}
}
