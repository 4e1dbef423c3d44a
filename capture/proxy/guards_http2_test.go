package proxy_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	f.proxy.SetPatience(3 * time.Second) // also for the bodies that are not slow
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

// HTTP/2 can carry what HTTP/1.1 cannot. Such requests are refused: the upstream could
// read them in another way.
func TestGuardsHTTP2Only(t *testing.T) {
	var asked []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.RequestURI+" "+string(b))
	}))
	defer upstream.Close()
	certificate := httptest.NewTLSServer(nil)
	defer certificate.Close()
	f := prepare(t, upstream.Listener.Addr().String(), nil)
	f.server.TLSConfig = &tls.Config{Certificates: certificate.TLS.Certificates}
	f.serve()
	transport := certificate.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	transport.NextProtos = []string{"h2"}
	const (
		passed  = 0x88 // the response begins with :status 200 (RFC 7541, appendix A)
		refused = 0x8c // :status 400
		reset   = 0    // no response, but RST_STREAM or GOAWAY
		either  = 1    // refused or reset, whichever comes first
	)
	for _, c := range []struct {
		name, method, path, authority string
		fields                        []string // names and values
		want                          byte
		asked                         string
	}{
		{"usual", "POST", "/a?b=%20", "localhost", []string{"content-length", "3"}, passed, "POST /a?b=%20 abc"},
		{"other bytes", "POST", "/\xff\"", "localhost", nil, passed, "POST /\xff\" abc"},
		{"version in the path", "POST", "/x HTTP/1.1", "localhost", nil, refused, ""},
		{"old version in the path", "POST", "/x HTTP/0.9", "localhost", nil, refused, ""},
		{"other target", "POST", "/ /other HTTP/1.0", "localhost", nil, refused, ""},
		{"space in the query", "POST", "/x?a b", "localhost", nil, refused, ""},
		{"tab in the path", "POST", "/x\ta", "localhost", nil, reset, ""},
		{"line in the path", "POST", "/x HTTP/1.1\r\nX-A: 1", "localhost", nil, reset, ""},
		{"DEL in the path", "POST", "/x\x7f", "localhost", nil, reset, ""},
		{"space in the method", "POST /x", "/y", "localhost", nil, refused, ""},
		{"colon in the method", "POST:", "/y", "localhost", nil, refused, ""},
		{"line in the method", "POST / HTTP/1.1\r\nX-A:", "/y", "localhost", nil, reset, ""},
		{"line in a value", "POST", "/x", "localhost", []string{"x-a", "1\r\nx-b: 2"}, reset, ""},
		{"line in a name", "POST", "/x", "localhost", []string{"x-a: 1\r\nx-b", "2"}, reset, ""},
		{"space in a name", "POST", "/x", "localhost", []string{"x a", "2"}, reset, ""},
		{"transfer coding", "POST", "/x", "localhost", []string{"transfer-encoding", "chunked"}, refused, ""},
		{"connection", "POST", "/x", "localhost", []string{"connection", "x-a"}, refused, ""},
		{"two lengths", "POST", "/x", "localhost", []string{"content-length", "3", "content-length", "4"}, refused, ""},
		{"list of lengths", "POST", "/x", "localhost", []string{"content-length", "3, 3"}, either, ""},
		{"signed length", "POST", "/x", "localhost", []string{"content-length", "+3"}, either, ""},
		{"no length", "POST", "/x", "localhost", []string{"content-length", ""}, either, ""},
		{"two equal lengths", "POST", "/x", "localhost", []string{"content-length", "3", "content-length", "3"}, passed, "POST /x abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := tls.Dial("tcp", f.address, transport)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			asked = nil
			fields := append([]string{":method", c.method, ":scheme", "https", ":path", c.path, ":authority", c.authority}, c.fields...)
			var block []byte
			for i := 0; i < len(fields); i += 2 { // not indexed, short strings without coding
				block = append(append(block, 0, byte(len(fields[i]))), fields[i]...)
				block = append(append(block, byte(len(fields[i+1]))), fields[i+1]...)
			}
			const data, headers, rst, settings, goAway = 0, 1, 3, 4, 7
			io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+frame(settings, 0, 0, "")+frame(headers, 4, 1, string(block))+frame(data, 1, 1, "abc"))
			got := byte(reset)
			for {
				var head [9]byte
				if _, err := io.ReadFull(conn, head[:]); err != nil {
					t.Fatal(err)
				}
				payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
				if _, err := io.ReadFull(conn, payload); err != nil {
					t.Fatal(err)
				}
				if head[3] == headers {
					got = payload[0]
				}
				if kind := head[3]; kind == headers || kind == rst || kind == goAway {
					break
				}
			}
			if got != c.want && (c.want != either || got != refused && got != reset) {
				t.Errorf("the response begins with %#x, want %#x", got, c.want)
			}
			want := []string{c.asked}
			if c.asked == "" {
				want = nil
			}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("requests to the upstream (-want +got):\n%s", diff)
			}
		})
	}
	f.stop()
}

// frame returns a frame of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	n := len(payload)
	return string(binary.BigEndian.AppendUint32([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}, stream)) + payload
}
