package lint

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/frame"
	"github.com/p20export/p20export/project/lint/producer"
)

// A Stream checks the events of one stream of a log, by the rules of AG-UI and those about
// producers. How a response was sent, and whether freeze accepts its runs, only a capture
// shows.
type Stream struct {
	linter *Linter
	reader *envelope.Reader
	bytes  int64 // of the events so far
}

// NewStream returns a Stream that applies to each run the version of AG-UI that it declares.
func NewStream() *Stream {
	l := New(event.Auto)
	l.features = new(features)
	l.producer = producer.New(l.noteProducer)
	s := &Stream{linter: l, reader: envelope.NewReader()}
	s.Forget()
	return s
}

// Seed sets the messages and the state that the first run begins with to those of a
// request. It must be called before the first event.
func (s *Stream) Seed(request []byte) { s.linter.producer.Seed(request) }

// Event checks the next event. The position stands for the index of the event in findings.
// Event returns the event, or nil if the text is not one. The event is valid until the next
// call.
func (s *Stream) Event(position int64, text []byte) *envelope.Event {
	f := frame.Frame{Index: int(position), Offset: s.bytes, Bytes: int64(len(text)), Data: text}
	s.bytes += f.Bytes + 1 // so that findings are in the order of the events, also of empty ones
	e, err := s.reader.Read(text)
	if err == nil {
		e.Index, e.Offset = f.Index, f.Offset
	} else {
		e = nil
	}
	s.linter.Frame(nil, &f, e)
	return e
}

// Forget drops the findings so far. What the rules know of the events stays.
func (s *Stream) Forget() {
	s.linter.found, s.linter.notes = finding.List{GravestFirst: true}, nil
}

// Findings returns the findings about the events since the last call of Forget, in their
// order, and the number of those that are not listed: up to finding.MaxListed are, errors
// first. If ended is set, the stream has no further event. No event may be checked
// afterwards.
func (s *Stream) Findings(ended bool) (list []finding.Finding, more int) {
	l := s.linter
	if ended {
		l.producer.End(l.last)
		for _, f := range l.checker.Truncated() {
			source, ok := finding.SourceOf(f.Rule)
			l.addJudged(judged{f, true, !ok || source.Enforced(l.protocol.Client())})
		}
	}
	l.addNotes()
	list = l.found.Findings()
	if more = l.found.Unlisted(); more > 0 {
		list = list[:len(list)-1] // the last one counts the others
	}
	return list, more
}
