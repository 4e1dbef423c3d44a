package capture

import "io"

// nextLine returns the next line, without leading and trailing JSON white space
// (RFC 8259 §2). It skips lines that are empty then. Lines end with LF; a CR before
// the LF is white space. The last line need not end with LF.
func (s *Splitter) nextLine() (*Frame, error) {
	for {
		if s.pos == s.end {
			if err := s.fill(); err != nil {
				if err != io.EOF {
					return nil, err
				}
				s.ended = true
				if s.event.open {
					return s.emit(s.here()), nil
				}
				return nil, io.EOF
			}
		}
		if !s.event.open {
			if !s.skipSpace() {
				continue
			}
			s.begin()
		}
		end := s.seek(s.pos, '\n')
		s.take(end)
		if end < s.end {
			s.pos++
			return s.emit(s.here()), nil
		}
	}
}
