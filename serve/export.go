package serve

import (
	"io"
	"math"
	"sync"

	"github.com/p20export/p20export/store/transfer"
)

// export serves GET /threads/{thread}/export: the thread in the portable form, while it is read.
// If that fails after the head was sent, the response breaks off.
func (s *Server) export(q *request) {
	end, ok := s.exporting.begin(q.tenant, s.maxTenantExports())
	if !ok {
		s.refuse(q, Overloaded, "too many exports of the tenant are being sent: try again")
		return
	}
	defer end()
	leave, ok := s.enter(q, s.exports)
	if !ok {
		return
	}
	defer leave()
	s.download(q, "thread.ndjson", "application/x-ndjson", func(w io.Writer) error {
		return transfer.WriteThread(q.Context(), s.settings.Log, q.key(), w)
	})
}

// maxTenantExports returns the maximum number of exports of a tenant. If there are several
// tenants, none can keep the others from exporting by reading slowly.
func (s *Server) maxTenantExports() int {
	if s.settings.Guard.TokenFile != "" || len(s.settings.Guard.TrustedProxies) > 0 {
		return maxHeavy / 2
	}
	return math.MaxInt
}

// tenants counts something by tenant.
type tenants struct {
	mu     sync.Mutex
	counts map[string]int
}

// begin counts one of a tenant until end is called, unless the tenant has most already.
func (t *tenants) begin(tenant string, most int) (end func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[tenant] >= most {
		return nil, false
	}
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[tenant]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.counts[tenant]--; t.counts[tenant] == 0 {
			delete(t.counts, tenant)
		}
	}, true
}
