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
// it serves without TLS. It returns what drain returned, or why it could not serve.
func Serve(ctx context.Context, s *http.Server, l net.Listener, certificate *tls.Certificate, drain func() error) error {
	failed := make(chan error, 1)
	go func() {
		if certificate == nil {
			failed <- s.Serve(l)
			return
		}
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		failed <- s.ServeTLS(l, "", "")
	}()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	err = errors.Join(err, drain())
	// A response ends after its handler has returned.
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if s.Shutdown(soon) != nil {
		_ = s.Close() // of connections that are of no use any more
	}
	return err
}
