package capture

import (
	"github.com/p20export/p20export/finding"
)

// event is the event being read. Its data refers to the read buffer if it is
// contiguous there; otherwise it is copied.
type event struct {
	open   bool  // the first data byte, or its position, has been read
	offset int64 // offset of the first data byte
	line   int   // line of the first data byte
	last   int64 // offset after the last data byte

	lo, hi int // buf[lo:hi] is the data, unless copied
	copied bool
	data   []byte // the data if copied; len(data) <= limit
	over   bool   // the data is longer than the limit
}

// begin begins an event whose data starts at pos.
func (s *Splitter) begin() {
	e := &s.event
	e.open, e.offset, e.last = true, s.here(), s.here()
	e.line = s.lineAt(s.pos)
	e.lo, e.hi = s.pos, s.pos
}

// take adds buf[pos:hi] to the data and sets pos to hi.
func (s *Splitter) take(hi int) {
	e := &s.event
	piece := s.buf[s.pos:hi]
	switch {
	case !s.trims:
		e.last = s.base + int64(hi)
	default:
		if kept := trimSpace(piece); len(kept) > 0 {
			e.last = s.here() + int64(len(kept))
		}
	}
	if e.copied {
		s.add(piece)
	} else {
		e.hi = hi
	}
	s.pos = hi
}

// spill copies the data from the read buffer.
func (s *Splitter) spill() {
	e := &s.event
	if e.copied {
		return
	}
	e.copied = true
	s.add(s.buf[e.lo:e.hi])
}

// add appends piece to the copied data. If the data exceeds the limit, other than by
// white space that is trimmed, add marks the event.
func (s *Splitter) add(piece []byte) {
	e := &s.event
	if e.over {
		return
	}
	if room := s.limit - int64(len(e.data)); int64(len(piece)) > room {
		rest := piece[room:]
		if !s.trims || len(trimSpace(rest)) > 0 {
			e.over, e.data = true, nil
			return
		}
		piece = piece[:room]
	}
	e.data = append(e.data, piece...)
}

// shrink frees the memory of the last event if it was large and no event is open.
func (s *Splitter) shrink() {
	if e := &s.event; !e.open && cap(e.data) > bufferBytes {
		e.data = nil
	}
}

// emit ends the event and returns it as the frame that ends at the given offset.
func (s *Splitter) emit(end int64) *Frame {
	e := &s.event
	f := &s.frame
	*f = Frame{Index: s.index, Offset: e.offset, Line: e.line, Bytes: e.last - e.offset, End: end}
	s.index++

	data := e.data
	if !e.copied {
		data = s.buf[e.lo:e.hi]
	}
	if s.trims {
		// Trimmed data is contiguous in the file, so Bytes is its length.
		data = data[:min(int64(len(data)), f.Bytes)]
	}
	if e.over || int64(len(data)) > s.limit {
		f.Problem = finding.New(finding.EventTooLarge,
			"event %d has more than %d bytes of data", f.Index, s.limit).WithOffset(f.Offset).WithResponseLine(f.Line).WithEvent(f.Index)
	} else if f.Data = data[:len(data):len(data)]; f.Data == nil {
		f.Data = []byte{}
	}

	s.event = event{data: e.data[:0]}
	return f
}
