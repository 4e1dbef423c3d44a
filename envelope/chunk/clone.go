package chunk

import "maps"

// Clone returns an Expander with the same open streams. Events of one have no effect on the
// other.
func (x *Expander) Clone() *Expander {
	c := &Expander{lanes: maps.Clone(x.lanes), held: maps.Clone(x.held), opened: x.opened, bytes: x.bytes}
	for sh, byID := range c.held {
		c.held[sh] = maps.Clone(byID) // a stream is never changed after it was begun
	}
	return c
}
