package proxy

import "time"

// SetPatience sets the time that one read of a request body may take.
func (p *Proxy) SetPatience(d time.Duration) { p.patience = d }
