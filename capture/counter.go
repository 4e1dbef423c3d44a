package capture

import (
	"errors"
	"io"

	"github.com/p20export/p20export/finding"
)

// Counter counts the events of a response that arrives in pieces. It counts an event
// as soon as it is complete, and stores only an incomplete event. See Held.
type Counter struct {
	// Frame, if not nil, is called with each counted frame. The frame is valid during
	// the call.
	Frame func(*Frame)

	splitter *Splitter
	start    [16]byte // the first bytes, as far as they were read for the byte order mark
	rest     []byte   // unread bytes of the piece
	over     bool     // there are no more pieces
	events   int
}

// Events returns the number of events counted.
func (c *Counter) Events() int { return c.events }

// Held returns the bytes of memory in which the Counter stores an incomplete event.
func (c *Counter) Held() int { return cap(c.splitter.event.data) }

// Findings returns the findings about the framing, as Splitter.Findings does. It is
// valid after Finish.
func (c *Counter) Findings() []finding.Finding { return c.splitter.Findings() }

// errMore reports that the next piece has not arrived. A Splitter can continue after
// it.
var errMore = errors.New("the next piece has not arrived")

// NewCounter returns a Counter for a response with the given framing.
func NewCounter(f Framing) *Counter {
	c := &Counter{}
	c.splitter = newSplitter(c, c, f)
	return c
}

// Feed counts the events that p, the next piece of the response, completes.
func (c *Counter) Feed(p []byte) {
	c.rest = p
	c.drain()
}

// Finish ends the response. It counts an event that the end of the response
// completes.
func (c *Counter) Finish() {
	c.over = true
	c.drain()
}

func (c *Counter) drain() {
	for {
		frame, err := c.splitter.Next()
		if err != nil {
			c.splitter.shrink()
			return
		}
		c.events++
		if c.Frame != nil {
			c.Frame(frame)
		}
	}
}

// next implements blocks. A block is what is unread of the piece, so nothing is copied. But the
// byte order mark may be in several pieces.
func (c *Counter) next() []byte {
	if !c.splitter.begun {
		return c.start[:]
	}
	return c.rest
}

// Read implements io.Reader for the counter's splitter. It returns the unread bytes
// of the piece.
func (c *Counter) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.over {
			return 0, io.EOF
		}
		return 0, errMore
	}
	n := len(c.rest)
	if !c.splitter.begun {
		n = copy(p, c.rest)
	} // otherwise p is what next returned
	c.rest = c.rest[n:]
	return n, nil
}
