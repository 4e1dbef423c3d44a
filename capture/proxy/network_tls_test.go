package proxy_test

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/internal/testkit"
)

// Both sides may use TLS and HTTP/2. The ends of exchanges are then those of streams.
func TestNetworkTLS(t *testing.T) {
	certificate := httptest.NewTLSServer(nil)
	defer certificate.Close()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	testkit.Write(t, roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate().Raw}))
	// The process reads them once. No other test of this package needs them.
	t.Setenv("SSL_CERT_FILE", roots)
	t.Setenv("SSL_CERT_DIR", t.TempDir())
	for name, version := range map[string]struct{ client, upstream int }{
		"both HTTP 2":     {2, 2},
		"client HTTP 2":   {2, 1},
		"upstream HTTP 2": {1, 2},
		"none HTTP 2":     {1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := &load{t: t, most: 20, open: make(map[string]*agentRun)}
			upstream := httptest.NewUnstartedServer(l)
			upstream.EnableHTTP2 = version.upstream == 2
			upstream.StartTLS()
			l.front = prepare(t, upstream.Listener.Addr().String(), func(s *proxy.Settings) { s.Upstream.Scheme = "https" })
			l.front.server.TLSConfig = &tls.Config{Certificates: certificate.TLS.Certificates}
			l.front.serve()
			transport := certificate.Client().Transport.(*http.Transport).Clone()
			transport.ForceAttemptHTTP2 = version.client == 2
			stop := l.through(upstream, "https", transport)
			l.clientVersion, l.upstreamVersion = version.client, version.upstream
			var workers sync.WaitGroup
			for i := range 8 {
				workers.Go(func() { l.run(i, func(n int) bool { return n < 10 }) })
			}
			workers.Wait()
			stop()
			testkit.RequireNames(t, l.front.captures)
			for kind := range l.counts {
				if l.counts[kind].Load() == 0 {
					t.Errorf("no exchange of kind %d", kind)
				}
			}
		})
	}
}
