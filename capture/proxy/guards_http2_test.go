package proxy_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The guards also apply to HTTP/2, whose heads have another form.
func TestGuardsHTTP2(t *testing.T) {
	asked := make(chan string, 10)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			asked <- r.Method + " " + r.RequestURI
		}
	}))
	defer upstream.Close()
	certificate := httptest.NewTLSServer(nil)
	defer certificate.Close()
	f := prepare(t, upstream.Listener.Addr().String(), nil)
	f.proxy.SetPatience(50 * time.Millisecond)
	f.server.TLSConfig = &tls.Config{Certificates: certificate.TLS.Certificates}
	f.serve()
	transport := certificate.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	defer transport.CloseIdleConnections()
	silent, writer := io.Pipe()
	defer writer.Close()
	for _, c := range []struct {
		name, method, host, path string
		body                     io.Reader
		status                   int
		asked                    string
	}{
		{"usual", "POST", "", "/a", strings.NewReader(input), 200, "POST /a"},
		{"other host", "POST", "other.example", "/a", strings.NewReader(input), 421, ""},
		{"loopback", "GET", "localhost:1", "/a", nil, 200, "GET /a"},
		{"CONNECT", "CONNECT", "", "", nil, 405, ""},
		{"slow body", "POST", "", "/a", silent, 408, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), c.method, "https://"+f.address+c.path, c.body)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = c.host
			response, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.ProtoMajor != 2 || response.StatusCode != c.status {
				t.Errorf("%s, status %d; want HTTP/2.0, %d", response.Proto, response.StatusCode, c.status)
			}
			got := ""
			select {
			case got = <-asked:
			default:
			}
			if got != c.asked {
				t.Errorf("the upstream was asked %q, want %q", got, c.asked)
			}
		})
	}
	f.stop()
	upstream.Close()
	if len(asked) > 0 {
		t.Errorf("the upstream was also asked %q", <-asked)
	}
}
