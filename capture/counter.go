package capture

import (
	"errors"
	"io"

	"github.com/p20export/p20export/finding"
)

// Counter counts events of a response that comes piece by piece, without waiting
// for more and without keeping more than the event it is in.
type Counter struct {
	// Frame, when not nil, is called with each frame that is counted. The frame is
	// valid during the call.
	Frame func(Frame)

	splitter *Splitter
	rest     []byte // of the piece being fed
	over     bool   // no piece will follow
	events   int
}

// Events returns how many events were counted.
func (c *Counter) Events() int { return c.events }

// Findings returns, after End, what the framing shows: see Splitter.Findings.
func (c *Counter) Findings() []finding.Finding { return c.splitter.Findings() }

// errMore says that the next piece is not there yet. A Splitter goes on after it.
var errMore = errors.New("the next piece is not there yet")

// NewCounter returns a Counter of a response with that framing.
func NewCounter(f Framing) *Counter {
	c := &Counter{}
	c.splitter = NewSplitter(c, f)
	return c
}

// Feed counts the events that p, the next piece, completes.
func (c *Counter) Feed(p []byte) {
	c.rest = p
	c.drain()
}

// Finish counts the event that only the end of the response completes.
func (c *Counter) Finish() {
	c.over = true
	c.drain()
}

func (c *Counter) drain() {
	for {
		frame, err := c.splitter.Next()
		if err != nil {
			return
		}
		c.events++
		if c.Frame != nil {
			c.Frame(frame)
		}
	}
}

// Read implements io.Reader: it gives the splitter what is left of the piece.
func (c *Counter) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.over {
			return 0, io.EOF
		}
		return 0, errMore
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
