package capture

import "io"

// KeepHead makes the capture keep the first bytes of its response, as decoded, for
// Head: up to limit of them. It is called before Next.
func (c *Capture) KeepHead(limit int) {
	c.head = &head{r: c.splitter.r, limit: limit}
	c.splitter.r = c.head
}

// Head returns what KeepHead kept, and whether the response has more bytes. It is
// valid after io.EOF.
func (c *Capture) Head() (kept []byte, more bool) {
	if c.head == nil {
		return nil, false
	}
	return c.head.kept, c.head.more
}

// head keeps the first bytes that are read through it.
type head struct {
	r     io.Reader
	limit int
	kept  []byte
	more  bool
}

func (h *head) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	room := min(h.limit-len(h.kept), n)
	h.kept = append(h.kept, p[:room]...)
	h.more = h.more || room < n
	return n, err
}
