package proxy

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
)

// TestTLS passes exchanges with trailers in both directions through a proxy with TLS, with
// HTTP/1.1 and HTTP/2 on both sides.
func TestTLS(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		front, back bool // HTTP/2
	}{{"1 to 1", false, false}, {"1 to 2", false, true}, {"2 to 1", true, false}, {"2 to 2", true, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			large := strings.Repeat("data: 0123456789abcdef\n\n", 100_000)
			upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header()["Date"] = nil
				w.Header().Set("Trailer", "X-Digest, X-Got")
				w.Header().Set("X-Proto", r.Proto)
				io.WriteString(w, large)
				w.Header().Set("X-Digest", string(digest.Of(b)))
				w.Header().Set("X-Got", r.Trailer.Get("X-Sent"))
				if err != nil {
					w.Header().Set("X-Got", err.Error())
				}
			}))
			upstream.EnableHTTP2 = test.back
			upstream.StartTLS()
			defer upstream.Close()

			to, _ := url.Parse(upstream.URL)
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			watch := &watcher{ended: make(chan Exchange, 1)}
			p, err := New(Settings{Upstream: to, Captures: root, Tool: capture.Tool{Name: "p20export", Version: "0.1.0"}, Observer: watch})
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AddCert(upstream.Certificate())
			p.reverse.Transport.(*http.Transport).TLSClientConfig.RootCAs = roots
			front := httptest.NewUnstartedServer(nil)
			front.Config = NewServer(p, p.settings.Log)
			front.EnableHTTP2 = test.front
			front.StartTLS()
			defer front.Close()

			request, _ := http.NewRequest(http.MethodPost, front.URL+"/x?a=b", io.NopCloser(strings.NewReader(large)))
			request.Trailer = http.Header{"X-Sent": {"yes"}}
			response, err := front.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			b, err := io.ReadAll(response.Body)
			if err != nil || string(b) != large {
				t.Errorf("%d bytes, %v", len(b), err)
			}
			want := http.Header{"X-Digest": {string(digest.Of([]byte(large)))}, "X-Got": {"yes"}}
			if diff := cmp.Diff(want, response.Trailer); diff != "" {
				t.Errorf("trailers (-want +got):\n%s", diff)
			}
			if got, want := response.Header.Get("X-Proto"), map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[test.back]; got != want || response.ProtoMajor != map[bool]int{false: 1, true: 2}[test.front] {
				t.Errorf("%s, %s", got, response.Proto)
			}
			if _, dated := response.Header["Date"]; dated {
				t.Errorf("the proxy added %q", response.Header)
			}
			if x := <-watch.ended; x.End != capture.EndEOF || !x.Stored || x.Events != 100_000 {
				t.Errorf("%+v", x)
			}
		})
	}
}

// TestEarlyResponse checks that a response passes whose request does not end, and that the
// exchange ends with it.
func TestEarlyResponse(t *testing.T) {
	t.Parallel()
	for _, two := range []bool{false, true} {
		upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).EnableFullDuplex()
			b := make([]byte, 3)
			io.ReadFull(r.Body, b)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, twoEvents+string(b))
		})
		f := start(t, upstream, nil)
		front := httptest.NewUnstartedServer(nil)
		front.Config = NewServer(f.proxy, f.proxy.settings.Log)
		front.EnableHTTP2 = two
		front.StartTLS()
		t.Cleanup(front.Close)
		body, rest := io.Pipe()
		t.Cleanup(func() { rest.Close() })
		go io.WriteString(rest, "abc")
		response, err := front.Client().Post(front.URL, "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if b, err := io.ReadAll(response.Body); err != nil || string(b) != twoEvents+"abc" {
			t.Errorf("%q, %v", b, err)
		}
		x := <-f.ended
		if files := f.files(t, x); x.End != capture.EndEOF || !x.Stored || files["request.json"] != "abc" || files["response.sse"] != twoEvents+"abc" {
			t.Errorf("%+v %q", x, files)
		}
	}
}

// TestWrongCertificate checks that the certificate of the upstream is verified.
func TestWrongCertificate(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewUnstartedServer(http.NotFoundHandler())
	upstream.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	// The certificate is for 127.0.0.1.
	f := start(t, strings.Replace(upstream.URL, "127.0.0.1", "localhost", 1), nil)
	if response, _ := f.post(t, "/", "{}"); response.StatusCode != http.StatusBadGateway {
		t.Errorf("status %d", response.StatusCode)
	}
	<-f.ended
}

// buffer is a buffer for a log.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestLog checks that logs have no content of requests and responses.
func TestLog(t *testing.T) {
	t.Parallel()
	var l buffer
	log := slog.New(slog.NewTextHandler(&l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	answer := ""
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, answer)
	})
	f := start(t, upstream, func(s *Settings) { s.Log = log })
	for _, answer = range []string{
		"secret\r\n\r\n",
		"HTTP/1.1 secret\r\n\r\n",
		"HTTP/1.1 200 secret\r\nsecret\r\n\r\n",
		"HTTP/1.1 200 secret\r\nContent-Length: secret\r\n\r\n",
		"HTTP/1.1 200 secret\r\nTransfer-Encoding: secret\r\n\r\n",
		"HTTP/1.1 500 secret\r\nX: secret\r\n\r\nsecret",
		"HTTP/1.1 200 secret\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nsecret",
		"HTTP/1.1 200 secret\r\nContent-Type: text/event-stream\r\nContent-Length: 100\r\n\r\nsecret",
		"HTTP/1.1 200 secret\r\nContent-Type: text/event-stream\r\nContent-Length: 6\r\n\r\nsecretsecret",
	} {
		request, err := http.NewRequest(http.MethodPost, f.front.URL+"/?secret;secret", strings.NewReader("secret"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Secret", "secret")
		request.SetBasicAuth("secret", "secret")
		if response, err := http.DefaultClient.Do(request); err == nil {
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		<-f.ended
	}
	conn, r := f.dial(t)
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: secret\r\nContent-Length: 0\r\n\r\n")
	if m, err := readMessage(r); err != nil || !strings.Contains(m.line, "421") {
		t.Errorf("%+v %v", m, err)
	}
	conn, err := tls.Dial("tcp", f.front.Listener.Addr().String(), nil)
	if err == nil {
		conn.Close()
	}
	if text := l.String(); strings.Contains(text, "secret") || strings.Count(text, "\n") < 10 || !strings.Contains(text, "exchange stored") {
		t.Errorf("the log is\n%s", text)
	}
}

// TestCheck checks which requests are refused.
func TestCheck(t *testing.T) {
	t.Parallel()
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.RequestURI+" "+r.Header.Get("Upgrade"))
	})
	settings := map[string]func(*Settings){
		"":       nil,
		"path":   func(s *Settings) { s.Upstream.Path = "/base" },
		"names":  func(s *Settings) { s.AllowedHosts = []string{"agent.example"} },
		"remote": func(s *Settings) { s.AllowRemote = true },
		"both":   func(s *Settings) { s.AllowRemote, s.AllowedHosts = true, []string{"agent.example"} },
		"small":  func(s *Settings) { s.MaxRequestBytes = 3 },
	}
	for _, test := range []struct{ settings, request, want string }{
		{"", "GET /a HTTP/1.1|Host: localhost:1", "200 /a "},
		{"", "GET /a HTTP/1.1|Host: LocalHost.", "200 /a "},
		{"", "GET /a HTTP/1.1|Host: a.localhost", "200 /a "},
		{"", "GET /a HTTP/1.1|Host: 127.9.9.9:80", "200 /a "},
		{"", "GET /a HTTP/1.1|Host: [::1]:80", "200 /a "},
		{"", "GET /a HTTP/1.1|Host: [::ffff:127.0.0.1]", "200 /a "},
		{"", "GET /a HTTP/1.1|Host: localhost.example", "421"},
		{"", "GET /a HTTP/1.1|Host: 127.0.0.1.example", "421"},
		{"", "GET /a HTTP/1.1|Host: agent.example", "421"},
		{"", "GET /a HTTP/1.1|Host: 10.0.0.1", "421"},
		{"", "GET /a HTTP/1.1|Host: 0.0.0.0", "421"},
		{"", "GET /a HTTP/1.1|Host: [::1", "421"},
		{"", "GET /a HTTP/1.1|Host: ::1", "421"},
		{"", "GET /a HTTP/1.1|Host: [::1]x", "421"},
		{"", "GET /a HTTP/1.1|Host: [localhost]", "421"},
		{"", "GET /a HTTP/1.1|Host:", "421"},
		{"", "GET /a HTTP/1.0", "421"},
		{"names", "GET /a HTTP/1.1|Host: Agent.Example:8080", "200 /a "},
		{"names", "GET /a HTTP/1.1|Host: localhost", "200 /a "},
		{"names", "GET /a HTTP/1.1|Host: evil.agent.example", "421"},
		{"remote", "GET /a HTTP/1.1|Host: any.example", "200 /a "},
		{"both", "GET /a HTTP/1.1|Host: any.example", "421"},
		{"both", "GET /a HTTP/1.1|Host: agent.example", "200 /a "},
		{"", "GET http://localhost/a HTTP/1.1|Host: localhost", "421"},
		{"", "GET http://other.example/a HTTP/1.1|Host: localhost", "421"},
		{"remote", "GET http://other.example/a HTTP/1.1|Host: localhost", "421"},
		{"", "CONNECT other.example:80 HTTP/1.1|Host: localhost", "405"},
		{"", "CONNECT /a HTTP/1.1|Host: localhost", "405"},
		{"", "OPTIONS * HTTP/1.1|Host: localhost", "421"},
		{"", "GET /a HTTP/1.1|Host: localhost|Connection: Upgrade|Upgrade: websocket", "501"},
		{"", "GET /a HTTP/1.1|Host: localhost|Connection: Upgrade|Upgrade: h2c, websocket", "501"},
		{"", "GET /a HTTP/1.1|Host: localhost|Connection: Upgrade, HTTP2-Settings|Upgrade: h2c|HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA", "200 /a "},
		{"", "GET /../a/./b HTTP/1.1|Host: localhost", "200 /../a/./b "},
		{"path", "GET /a HTTP/1.1|Host: localhost", "200 /base/a "},
		{"path", "GET /a|b\"<>\\\xc3\xa4/%7e//? HTTP/1.1|Host: localhost", "200 /base/a|b\"<>\\\xc3\xa4/%7e//? "},
		{"", "GET //a/%2f HTTP/1.1|Host: localhost", "200 //a/%2f "},
		{"path", "GET //a/%2f HTTP/1.1|Host: localhost", "200 /base//a/%2f "},
		{"path", "GET /../a HTTP/1.1|Host: localhost", "400"},
		{"path", "GET /x/%2e%2E/a HTTP/1.1|Host: localhost", "400"},
		{"path", "GET /x%2f..%2fa HTTP/1.1|Host: localhost", "400"},
		{"path", "GET /x\\..\\a HTTP/1.1|Host: localhost", "400"},
		{"path", "GET /..a/b.. HTTP/1.1|Host: localhost", "200 /base/..a/b.. "},
		{"small", "POST /a HTTP/1.1|Host: localhost|Content-Length: 4||abcd", "413"},
		{"small", "POST /a HTTP/1.1|Host: localhost|Content-Length: 3||abc", "200 /a "},
		{"small", "POST /a HTTP/1.1|Host: localhost|Transfer-Encoding: chunked||4|abcd|0||", "413"},
		{"small", "POST /a HTTP/1.1|Host: localhost|Transfer-Encoding: chunked||3|abc|0||", "200 /a "},
	} {
		f := start(t, upstream, settings[test.settings])
		conn, r := f.dial(t)
		text := strings.ReplaceAll(strings.ReplaceAll(test.request, "|", "\r\n"), "a\r\nb", "a|b")
		if !strings.Contains(text, "\r\n\r\n") {
			text += "\r\n\r\n"
		}
		io.WriteString(conn, text)
		m, err := readMessage(r)
		if err != nil {
			t.Errorf("%s: %v", test.request, err)
			continue
		}
		got := m.line[9:12]
		if len(test.want) > 3 {
			got += " " + m.body
		} else if got != "200" && (m.body == "" || value(m.headers, "content-type") != "text/plain; charset=utf-8") {
			t.Errorf("%s: no reason: %+v", test.request, m)
		}
		if got != test.want {
			t.Errorf("%s (%s): %q, want %q", test.request, test.settings, got, test.want)
		}
	}
}

// TestSettings checks that New refuses settings with which nothing could be recorded.
func TestSettings(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, test := range []struct {
		upstream string
		change   func(*Settings)
	}{
		{"ftp://localhost", nil}, {"http:///a", nil}, {"localhost:80", nil}, {"http://u:p@localhost", nil},
		{"http://localhost?", nil}, {"http://localhost?a", nil}, {"http://localhost#a", nil},
		{"http://localhost", func(s *Settings) { s.Labels = map[string]string{"a": "\xff"} }},
		{"http://localhost", func(s *Settings) { s.Labels = map[string]string{"a": strings.Repeat("x", 1<<20)} }},
		{"http://localhost", func(s *Settings) { s.Tool = capture.Tool{} }},
		{"http://localhost", func(s *Settings) { s.MaxExchanges = -1 }},
	} {
		to, err := url.Parse(test.upstream)
		if err != nil {
			t.Fatal(err)
		}
		s := Settings{Upstream: to, Captures: root, Tool: capture.Tool{Name: "p20export", Version: "0.1.0"}}
		if test.change != nil {
			test.change(&s)
		}
		if _, err := New(s); err == nil {
			t.Errorf("New accepts %+v", test)
		}
	}
}
