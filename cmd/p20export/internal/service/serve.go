package service

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// Serve serves connections until ctx is done. Then it calls drain, which returns when
// nothing is left to do, and closes the connections. It returns what drain returned, or
// why it could not serve.
func Serve(ctx context.Context, s *http.Server, l net.Listener, certificate *tls.Certificate, drain func() error) error {
	failed := make(chan error, 1)
	go func() {
		if certificate == nil {
			failed <- s.Serve(l)
			return
		}
		if s.TLSConfig == nil {
			s.TLSConfig = &tls.Config{}
		}
		s.TLSConfig.Certificates = []tls.Certificate{*certificate}
		failed <- s.ServeTLS(l, "", "")
	}()
	select {
	case err := <-failed:
		return errors.Join(err, drain(), s.Close())
	case <-ctx.Done():
	}
	err := drain()
	if closed := s.Close(); err == nil {
		err = closed
	}
	<-failed // http.ErrServerClosed
	return err
}
