package serve

import (
	"errors"
	"log/slog"
	"math"
	"net/http"
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
	w := &exportWriter{sender: s.sender(q)}
	defer w.sender.end()
	switch err := transfer.WriteThread(q.Context(), s.settings.Log, q.key(), w); {
	case err == nil, errors.Is(err, errNoBody):
	case !w.began:
		s.fail(q, err)
	default:
		if _, known := refusalOf(err); !known && !errors.Is(err, errLeft) && q.Context().Err() == nil {
			s.say(slog.LevelWarn, "the log failed", "error", err)
		}
		s.settings.Logger.Debug("an export broke off", "error", err)
		panic(http.ErrAbortHandler)
	}
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

// Errors of an exportWriter.
var (
	errNoBody = errors.New("the response has no body")
	errLeft   = errors.New("the client has left, or does not read")
)

// exportWriter writes the body of an export. The first write sends the head.
type exportWriter struct {
	sender *sender
	began  bool
}

func (w *exportWriter) Write(text []byte) (int, error) {
	q := w.sender.request
	if !w.began {
		w.began = true
		h := q.w.Header()
		h.Set("Content-Type", "application/x-ndjson")
		h.Set("Content-Disposition", `attachment; filename="thread.ndjson"`)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		q.w.WriteHeader(http.StatusOK)
	}
	switch {
	case q.Method == http.MethodHead:
		return 0, errNoBody
	case !w.sender.send(text):
		return 0, errLeft
	}
	return len(text), nil
}
