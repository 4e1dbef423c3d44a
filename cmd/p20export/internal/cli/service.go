package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/finding"
)

// defaultDrain is the default of --drain.
const defaultDrain = 30 * time.Second

// Service has the values of the flags that AddService adds.
type Service struct {
	*Server
	// Metrics is the address for metrics and health checks, or "".
	Metrics string
	// Hosts are the names that the Host header of a request may have in addition to those
	// of loopback.
	Hosts []string
	// Drain is the time for which open work may go on after a signal.
	Drain time.Duration
	// MaxRequestBytes limits a request body.
	MaxRequestBytes int64

	what             string // the open work
	certificate, key string
}

// AddService adds the flags of AddServer and others that a server has which runs until a
// signal and then waits for open work. The parameter what names that work, and maxRequest is
// the default of --max-request-bytes.
func AddService(cmd *cobra.Command, what string, maxRequest int64) *Service {
	s := &Service{Server: AddServer(cmd), Drain: defaultDrain, MaxRequestBytes: maxRequest, what: what}
	flags := cmd.Flags()
	flags.StringVar(&s.Metrics, "metrics", "", "`ADDRESS` for metrics and health checks, such as 127.0.0.1:9090")
	flags.StringVar(&s.certificate, "tls-cert", "", "serve TLS with the certificate chain in `FILE`, in PEM format")
	flags.StringVar(&s.key, "tls-key", "", "`FILE` with the private key of --tls-cert, in PEM format")
	flags.Var(Duration(&s.Drain), "drain", "wait this `DURATION` for open "+what+" after a signal, longer than most take; 0s: do not wait")
	flags.Var(Number(&s.MaxRequestBytes, "bytes"), "max-request-bytes", "refuse requests with more `BYTES`, a number without a unit")
	flags.StringArrayVar(&s.Hosts, "allow-host", nil, "accept requests for the host `NAME`; with --allow-remote, accept only these and loopback names (repeatable)")
	for _, name := range []string{"metrics", "drain", "max-request-bytes", "allow-host"} {
		Complete(cmd, name)
	}
	return s
}

// hostName matches the name of a host.
var hostName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`) })

// Check checks the values of the flags of cmd.
func (s *Service) Check(cmd *cobra.Command) error {
	if err := s.CheckAddress("listen", s.Address); err != nil {
		return err
	}
	if cmd.Flags().Changed("metrics") {
		if err := s.CheckAddress("metrics", s.Metrics); err != nil {
			return err
		}
		if _, port, err := net.SplitHostPort(s.Metrics); err == nil && port != "0" && s.Metrics == s.Address {
			return fmt.Errorf("--metrics %s is the address of --listen; give another port", finding.Quote(s.Metrics))
		}
	}
	for _, name := range s.Hosts {
		if !hostName().MatchString(name) && net.ParseIP(name) == nil {
			return fmt.Errorf("--allow-host %s must be the name or the address of a host, without a port", finding.Quote(name))
		}
	}
	switch {
	case s.Drain < 0:
		return fmt.Errorf("--drain cannot be negative; 0s cuts open %s off at once", s.what)
	case (s.certificate == "") != (s.key == ""):
		return errors.New("give both --tls-cert and --tls-key, or neither")
	}
	return nil
}

// LoadCertificate loads the files of --tls-cert and --tls-key. It returns nil if they are not
// given.
func (s *Service) LoadCertificate() (*tls.Certificate, error) {
	if s.certificate == "" {
		return nil, nil
	}
	c, err := tls.LoadX509KeyPair(s.certificate, s.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w\nnext: give the certificate chain and its private key as PEM files", finding.Quote(s.certificate), finding.Quote(s.key), err)
	}
	return &c, nil
}
