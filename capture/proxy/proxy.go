// Package proxy is a reverse proxy that passes exchanges on and records them as captures.
//
// A POST request that is answered with a stream of events is recorded, and so is one whose
// response has a status of 400 or more. Everything else passes unrecorded. What a read of
// the response returns is copied to a queue in memory and passed on at once; a goroutine of
// the recording writes the queue to the capture. The client never waits for the disk. If
// the queue is full or the capture cannot be written, the capture ends and the exchange
// goes on, unless Settings.FailOnStore is set.
//
// A Caller has no client. It posts requests and passes the events of the responses to a
// Receiver, at the speed of the Receiver.
//
// The package knows HTTP and package capture. It must not know AG-UI.
package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
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

	open *exchanges
}

// New returns a Proxy.
func New(s Settings) (*Proxy, error) {
	if err := CheckUpstream(s.Upstream); err != nil {
		return nil, err
	}
	recorder, err := NewRecorder(s)
	if err != nil {
		return nil, err
	}
	transport := newTransport()
	p := &Proxy{
		settings: recorder.settings, recorder: recorder, idle: transport.CloseIdleConnections, patience: exchange.BodyTimeout,
		open: newExchanges(recorder.settings.MaxExchanges),
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
// headers, and for the number and the age of idle connections. Its own messages go to the
// log, most at debug level.
func NewServer(h http.Handler, l *slog.Logger) *http.Server { return exchange.NewServer(h, l) }

// MaxIdle returns the number of idle connections that a server of NewServer keeps.
func MaxIdle() int { return exchange.MaxIdle() }

// ServeHTTP passes a request to the upstream and its response to the client.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if no := p.check(r); no != nil {
		p.refuse(w, r, *no)
		return
	}
	x := p.newPassing(w, r)
	if err := p.open.add(x, x.cancel); err != nil {
		x.cancel(nil)
		no := refusal{http.StatusServiceUnavailable, ErrBusy.Error()}
		if errors.Is(err, ErrDrained) {
			no.reason = "the proxy is shutting down"
		}
		p.refuse(w, r, no)
		return
	}
	p.settings.Observer.Begun()
	defer x.finish()
	// Otherwise the server would take bytes from the body of the request when the response
	// begins. It fails only for writers other than those of package http.
	http.NewResponseController(w).EnableFullDuplex()
	x.serve()
}

// Drain refuses new exchanges and waits for the open ones and their captures. When ctx is
// done, it ends the open exchanges, whose captures are then closed as cancelled, and waits
// for up to ten seconds for the captures. If it ended exchanges, or if captures were not
// closed, the error is a *DrainError.
func (p *Proxy) Drain(ctx context.Context) error {
	defer p.idle()
	return p.open.drain(ctx, p.recorder)
}
