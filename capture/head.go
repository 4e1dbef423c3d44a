package capture

import "io"

// KeepHead makes c keep the first limit bytes of the decoded response for Head. It must
// be called before Next.
func (c *Capture) KeepHead(limit int) {
	c.head = &head{r: c.splitter.r, limit: limit}
	c.head.add(c.splitter.buf[:c.splitter.end])
	c.splitter.r = c.head
}

// Head returns the first bytes of the decoded response, up to the limit of KeepHead, and
// whether the response has more bytes. It is valid after io.EOF.
func (c *Capture) Head() (kept []byte, more bool) {
	if c.head == nil {
		return nil, false
	}
	return c.head.kept, c.head.more
}

// head is a reader that keeps the first bytes it reads.
type head struct {
	r     io.Reader
	limit int
	kept  []byte
	more  bool
}

func (h *head) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.add(p[:n])
	return n, err
}

func (h *head) add(p []byte) {
	room := min(h.limit-len(h.kept), len(p))
	h.kept = append(h.kept, p[:room]...)
	h.more = h.more || room < len(p)
}
