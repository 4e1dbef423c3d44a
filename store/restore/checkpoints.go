package restore

import (
	"slices"

	"github.com/p20export/p20export/envelope/lineage"
)

// checkpointEntries is the least number of entries between two checkpoints. Applying so many
// takes a few milliseconds.
const checkpointEntries = 512

// checkpoints are copies of a replay at many of its entries. If they take more memory than the
// limit, those of the base that was used longest ago are dropped, and of the present base every
// second one.
type checkpoints struct {
	limit, bytes int64
	bases        []*series // the last one was used last
}

// A series has the checkpoints of a base.
type series struct {
	base
	spots   []*spot
	spacing int64 // in entries
}

// of returns the checkpoints of a base, or nil.
func (c *checkpoints) of(b base) *series {
	i := slices.IndexFunc(c.bases, func(s *series) bool { return s.base == b })
	if i < 0 {
		return nil
	}
	found := c.bases[i]
	c.bases = append(slices.Delete(c.bases, i, i+1), found)
	return found
}

// nearest returns the last checkpoint that leads to runs as of a position, or nil.
func (c *checkpoints) nearest(b base, used []*lineage.Node, position int64) (nearest *spot) {
	of := c.of(b)
	if of == nil {
		return nil
	}
	for _, s := range of.spots {
		if (nearest == nil || s.entries > nearest.entries) && s.leadsTo(used, position) {
			nearest = s
		}
	}
	return nearest
}

// add adds a checkpoint after an entry was applied, if it is time for one. The first entry of a
// request that was compared with earlier runs gets one, because that took a while.
func (c *checkpoints) add(s *spot) {
	if s.entries%checkpointEntries != 0 && (s.entries != 1 || s.to == 0) {
		return
	}
	of := c.of(s.base)
	if of == nil {
		of = &series{base: s.base, spacing: checkpointEntries}
		c.bases = append(c.bases, of)
	}
	if s.entries%of.spacing != 0 && s.entries != 1 {
		return
	}
	if slices.ContainsFunc(of.spots, func(o *spot) bool { return o.applied == s.applied && o.last == s.last }) {
		return
	}
	kept := s.copy()
	var before *spot
	if n := len(of.spots); n > 0 {
		before = of.spots[n-1]
	}
	kept.bytes = kept.memory(before)
	c.bytes += kept.bytes
	of.spots = append(of.spots, kept)
	for c.bytes > c.limit && len(c.bases) > 1 {
		for _, s := range c.bases[0].spots {
			c.bytes -= s.bytes
		}
		c.bases = slices.Delete(c.bases, 0, 1)
	}
	for c.bytes > c.limit && len(of.spots) > 0 {
		c.thin(of)
	}
}

// thin drops every second checkpoint of a base, or the only one.
func (c *checkpoints) thin(of *series) {
	var kept []*spot
	var before *spot
	for i, s := range of.spots {
		c.bytes -= s.bytes
		if i%2 == 1 || len(of.spots) == 1 {
			continue
		}
		s.bytes = s.memory(before)
		c.bytes += s.bytes
		kept, before = append(kept, s), s
	}
	of.spots = kept
	of.spacing *= 2
}

// join makes the checkpoints those of a thread that has grown.
func (c *checkpoints) join(t *Thread) {
	for _, of := range c.bases {
		for _, s := range of.spots {
			s.join(t)
		}
	}
}
