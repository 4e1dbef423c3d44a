package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/p20export/p20export/capture/internal/exchange"
)

// Proxy is a handler that passes requests to the upstream and records the exchanges.
type Proxy struct {
	settings *Settings
	recorder *Recorder
	reverse  *httputil.ReverseProxy
	idle     func()        // closes idle connections to the upstream
	patience time.Duration // exchange.BodyTimeout, except in tests

	mu       sync.Mutex
	open     map[*passing]struct{}
	draining bool
	drained  chan struct{} // closed when draining and nothing is open
}

// storeGrace is the time for which Drain waits for captures after its context is done.
const storeGrace = 10 * time.Second

// New returns a Proxy.
func New(s Settings) (*Proxy, error) {
	if err := s.checkUpstream(); err != nil {
		return nil, err
	}
	recorder, err := NewRecorder(s)
	if err != nil {
		return nil, err
	}
	transport := newTransport()
	p := &Proxy{
		settings: recorder.settings, recorder: recorder, idle: transport.CloseIdleConnections, patience: exchange.BodyTimeout,
		open: map[*passing]struct{}{}, drained: make(chan struct{}),
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      transport,
		FlushInterval:  -1,
		BufferPool:     newBuffers(),
		ModifyResponse: respond,
		ErrorHandler:   p.failed,
		ErrorLog:       exchange.ErrorLog(p.settings.Log),
	}
	return p, nil
}

// NewServer returns a server for a Proxy, with limits for the time and the size of request
// headers. Its own messages go to the log at debug level.
func NewServer(h http.Handler, l *slog.Logger) *http.Server { return exchange.NewServer(h, l) }

// ServeHTTP passes a request to the upstream and its response to the client.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if no := p.check(r); no != nil {
		p.refuse(w, r, *no)
		return
	}
	x := p.newPassing(w, r)
	if no := p.begin(x); no != nil {
		x.cancel(nil)
		p.refuse(w, r, *no)
		return
	}
	defer x.finish()
	// Otherwise the server would take bytes from the body of the request when the response
	// begins. It fails only for writers other than those of package http.
	http.NewResponseController(w).EnableFullDuplex()
	x.serve()
}

// begin adds an exchange, unless there are too many or the proxy is drained.
func (p *Proxy) begin(x *passing) *refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.draining:
		return &refusal{http.StatusServiceUnavailable, "the proxy is shutting down"}
	case len(p.open) >= p.settings.MaxExchanges:
		return &refusal{http.StatusServiceUnavailable, "too many exchanges are open"}
	}
	p.open[x] = struct{}{}
	p.settings.Observer.Begun()
	return nil
}

// remove removes an exchange that is over.
func (p *Proxy) remove(x *passing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, x)
	if p.draining && len(p.open) == 0 {
		close(p.drained)
	}
}

// DrainError reports that Drain had to end exchanges, or that captures were not closed.
type DrainError struct {
	Ended  int // exchanges that were ended, and recorded as cancelled
	Unsure int // captures that were not closed in time
}

func (e *DrainError) Error() string {
	return fmt.Sprintf("%d exchanges were ended, and %d captures were not closed", e.Ended, e.Unsure)
}

// Drain refuses new exchanges and waits for the open ones and their captures. When ctx is
// done, it ends the open exchanges, whose captures are then closed as cancelled, and waits
// for up to ten seconds for the captures. If it ended exchanges, or if captures were not
// closed, the error is a *DrainError.
func (p *Proxy) Drain(ctx context.Context) error {
	p.mu.Lock()
	if !p.draining {
		p.draining = true
		if len(p.open) == 0 {
			close(p.drained)
		}
	}
	p.mu.Unlock()
	defer p.idle()
	var e DrainError
	select {
	case <-p.drained:
	case <-ctx.Done():
		e.Ended = p.endAll()
		select {
		case <-p.drained:
		case <-time.After(storeGrace):
		}
	}
	e.Unsure = p.recorder.Wait(ctx, storeGrace)
	if e.Ended != 0 || e.Unsure != 0 {
		return &e
	}
	return nil
}

// endAll ends the open exchanges and returns their number.
func (p *Proxy) endAll() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for x := range p.open {
		x.cancel(errDrained)
	}
	return len(p.open)
}
