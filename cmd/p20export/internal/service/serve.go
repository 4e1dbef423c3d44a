package service

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// shutdownTime limits the time for the ends of responses whose handlers have returned.
const shutdownTime = 5 * time.Second

// Serve serves connections until ctx is done. Then it calls drain, which returns when all
// handlers have returned or were ended, and closes the connections. Without a certificate
// it serves without TLS. The error is what drain returned, or why it could not serve; cut reports
// whether a client did not read the end of a response in time.
func Serve(ctx context.Context, s *http.Server, l net.Listener, certificate *tls.Certificate, drain func() error) (cut bool, err error) {
	failed := make(chan error, 1)
	go func() {
		if certificate == nil {
			failed <- s.Serve(l)
			return
		}
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		failed <- s.ServeTLS(l, "", "")
	}()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	err = errors.Join(err, drain())
	// A response ends after its handler has returned.
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if cut = s.Shutdown(soon) != nil; cut {
		_ = s.Close() // of connections that are of no use any more
	}
	return cut, err
}
