package sequence

// Limits returns the limits of c.
func (c *Checker) Limits() (ids, bytes int) { return c.maxIDs, c.maxBytes }

// SetLimits replaces the limits of c.
func (c *Checker) SetLimits(ids, bytes int) { c.maxIDs, c.maxBytes = ids, bytes }
