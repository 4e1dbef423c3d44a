package live

import (
	"errors"
	"io"

	"github.com/p20export/p20export/capture"
)

// counter counts events of a response that comes piece by piece, without waiting
// for more and without keeping more than the event it is in.
type counter struct {
	splitter *capture.Splitter
	rest     []byte // of the piece being fed
	over     bool   // no piece will follow
	events   int
}

// errMore says that the next piece is not there yet. A Splitter goes on after it.
var errMore = errors.New("the next piece is not there yet")

func newCounter(f capture.Framing) *counter {
	c := &counter{}
	c.splitter = capture.NewSplitter(c, f)
	return c
}

// feed counts the events that p completes.
func (c *counter) feed(p []byte) {
	c.rest = p
	c.drain()
}

// end counts the event that only the end completes.
func (c *counter) end() {
	c.over = true
	c.drain()
}

func (c *counter) drain() {
	for {
		if _, err := c.splitter.Next(); err != nil {
			return
		}
		c.events++
	}
}

// Read gives the splitter what is left of the piece.
func (c *counter) Read(p []byte) (int, error) {
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
