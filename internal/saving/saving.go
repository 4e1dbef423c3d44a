// Package saving writes values as bytes, and reads them again. One function does both, so that what
// is read is what was written:
//
//	func (p *point) code(c *saving.Coder) {
//		c.Int(&p.x)
//		c.Int(&p.y)
//	}
//
// What reads accepts any bytes. The package must not know what the values mean.
package saving

import "encoding/binary"

// A Coder writes values or, if Read returned it, reads them. The zero value is ready to write.
//
// After the first value that is not there, a Coder reads only zeros and empty texts.
type Coder struct {
	// Bytes is what was written, or what is left to read.
	Bytes   []byte
	reading bool
	failed  bool
}

// Read returns a Coder that reads bytes. Texts that it reads share memory with them.
func Read(b []byte) *Coder { return &Coder{Bytes: b, reading: true} }

// Reading reports whether the Coder reads.
func (c *Coder) Reading() bool { return c.reading }

// Int writes or reads a number.
func (c *Coder) Int(n *int) {
	if !c.reading {
		c.Bytes = binary.AppendVarint(c.Bytes, int64(*n))
		return
	}
	v, size := binary.Varint(c.Bytes)
	if size <= 0 || int64(int(v)) != v {
		c.Fail()
		v, size = 0, 0
	}
	*n, c.Bytes = int(v), c.Bytes[size:]
}

// Int64 writes or reads a number of 64 bits.
func (c *Coder) Int64(n *int64) {
	v := int(*n)
	c.Int(&v)
	*n = int64(v)
}

// Bool writes or reads a truth value.
func (c *Coder) Bool(b *bool) {
	n := 0
	if *b {
		n = 1
	}
	c.Int(&n)
	*b = n != 0
}

// Len writes n, or reads how many values follow. There are at least so many bytes.
func (c *Coder) Len(n int) int {
	if c.Int(&n); c.reading && (n < 0 || n > len(c.Bytes)) {
		c.Fail()
		return 0
	}
	return n
}

// Text writes or reads a text. What is appended to a text that was read goes elsewhere.
func (c *Coder) Text(text *[]byte) {
	n := c.Len(len(*text))
	if !c.reading {
		c.Bytes = append(c.Bytes, *text...)
		return
	}
	*text, c.Bytes = c.Bytes[:n:n], c.Bytes[n:]
}

// String writes or reads a string.
func (c *Coder) String(s *string) {
	n := c.Len(len(*s))
	if !c.reading {
		c.Bytes = append(c.Bytes, *s...)
		return
	}
	*s, c.Bytes = string(c.Bytes[:n]), c.Bytes[n:]
}

// List writes or reads a list, whose elements one writes or reads. A list of more than limit elements
// is not read.
func List[T any](c *Coder, list *[]T, limit int, one func(*T)) {
	n := c.Len(len(*list))
	if !c.reading {
		for i := range *list {
			one(&(*list)[i])
		}
		return
	}
	if *list = nil; n > limit {
		c.Fail()
	}
	for ; n > 0 && !c.failed; n-- {
		var v T
		one(&v)
		*list = append(*list, v)
	}
}

// Fail makes all further values zero.
func (c *Coder) Fail() { c.Bytes, c.failed = nil, true }

// Failed reports whether a value was not there, or Fail was called.
func (c *Coder) Failed() bool { return c.failed }

// Done reports whether everything was read, and all values were there.
func (c *Coder) Done() bool { return !c.failed && len(c.Bytes) == 0 }
