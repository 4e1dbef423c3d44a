package proxy_test

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/internal/testkit"
)

// A guard is a stream of bytes that may ask for more than one exchange, or for one that
// the proxy must not pass on.
type guard struct {
	name, sent string
	// responses are the statuses that the client receives until the connection is closed.
	responses []string
	// requests are the complete requests that the upstream receives, with their bodies.
	requests []string
}

// run sends the bytes and reads all responses. The upstream answers each request.
func (g guard) run(t *testing.T, settings func(*proxy.Settings)) {
	t.Run(g.name, func(t *testing.T) {
		t.Helper()
		client, upstream, f := perform(t, play{
			client: func(c *side) {
				c.send(g.sent)
				c.closeWriteAfterResponses(len(g.responses))
			},
			upstream: func(u *side) {
				for u.whole() && u.message.End == complete {
					u.send("HTTP/1.1 200 OK\r\n", date, "Content-Length: 0\r\n\r\n")
				}
			},
			settings: settings,
		}, true)
		var responses, requests []string
		for _, m := range client {
			if m.Start != "" {
				responses = append(responses, m.Start)
			}
		}
		for _, m := range upstream {
			if m.Start == "" {
				continue
			}
			if m.End == complete {
				requests = append(requests, strings.TrimSpace(m.Start+" "+string(m.first)))
			}
			if host := m.Header["Host"]; !slices.Equal(host, []string{"the upstream"}) {
				t.Errorf("the upstream received the Host %q", host)
			}
		}
		if diff := cmp.Diff(g.responses, responses); diff != "" {
			t.Errorf("statuses (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(g.requests, requests); diff != "" {
			t.Errorf("requests to the upstream (-want +got):\n%s", diff)
		}
		if entries, err := os.ReadDir(f.captures); err != nil || len(entries) != 0 {
			t.Errorf("%d captures were made (%v)", len(entries), err)
		}
	})
}

// closeWriteAfterResponses reads the given number of responses, closes the direction of
// requests, and reads the rest.
func (s *side) closeWriteAfterResponses(n int) {
	for range n {
		if !s.whole() {
			return
		}
	}
	s.closeWrite()
	for s.whole() {
	}
}

// A request that can be understood in two ways is refused, or is passed on in one way.
func TestGuardsSmuggling(t *testing.T) {
	const (
		line   = "POST /1 HTTP/1.1\r\nHost: {host}\r\n"
		second = "GET /2 HTTP/1.1\r\nHost: {host}\r\n\r\n"
		chunks = "3\r\nabc\r\n0\r\n\r\n"
	)
	refused := []string{"400"}
	for _, g := range []guard{
		// RFC 9112 §6.3: the chunks count. The upstream does not receive the length.
		{"length and chunks", line + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + second, []string{"200", "200"}, []string{"POST /1 abc", "GET /2"}},
		{"chunks and length", line + "Transfer-Encoding: chunked\r\nContent-Length: 100\r\n\r\n" + chunks + second, []string{"200", "200"}, []string{"POST /1 abc", "GET /2"}},
		{"two lengths", line + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd" + second, refused, nil},
		{"two equal lengths", line + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc" + second, []string{"200", "200"}, []string{"POST /1 abc", "GET /2"}},
		{"list of lengths", line + "Content-Length: 3, 3\r\n\r\nabc" + second, refused, nil},
		{"signed length", line + "Content-Length: +3\r\n\r\nabc" + second, refused, nil},
		{"negative length", line + "Content-Length: -3\r\n\r\nabc" + second, refused, nil},
		{"hexadecimal length", line + "Content-Length: 0x3\r\n\r\nabc" + second, refused, nil},
		{"empty length", line + "Content-Length: \r\n\r\nabc" + second, refused, nil},
		{"huge length", line + "Content-Length: 18446744073709551619\r\n\r\nabc" + second, refused, nil},
		{"space before the colon", line + "Content-Length : 3\r\n\r\nabc" + second, refused, nil},
		{"two codings", line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + second, []string{"501"}, nil},
		{"chunked twice", line + "Transfer-Encoding: chunked, chunked\r\n\r\n" + chunks + second, []string{"501"}, nil},
		{"unknown coding", line + "Transfer-Encoding: xchunked\r\n\r\n" + chunks + second, []string{"501"}, nil},
		{"coding with a control character", line + "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunks + second, refused, nil},
		{"coding identity", line + "Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc" + second, []string{"501"}, nil},
		{"coding in HTTP/1.0", "POST /1 HTTP/1.0\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + second, []string{"200"}, []string{"POST /1"}},
		{"folded field", line + "X-A: 1\r\n Content-Length: 3\r\n\r\n" + second, []string{"200", "200"}, []string{"POST /1", "GET /2"}},
		{"folded first field", "POST /1 HTTP/1.1\r\n Host: {host}\r\n\r\n" + second, refused, nil},
		{"line feeds alone", "POST /1 HTTP/1.1\nHost: {host}\nContent-Length: 3\n\nabc" + second, []string{"200", "200"}, []string{"POST /1 abc", "GET /2"}},
		{"line feed after the size of a chunk", line + "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n" + second, refused, nil},
		{"line feed in the extension of a chunk", line + "Transfer-Encoding: chunked\r\n\r\n3;\nabc\r\n0\r\n\r\n" + second, refused, nil},
		{"carriage return in a field", line + "X-A: 1\rContent-Length: 3\r\n\r\nabc" + second, refused, nil},
		{"NUL in a field", line + "X-A: 1\x00\r\n\r\n" + second, refused, nil},
		{"field without a colon", line + "Content-Length\r\n\r\n" + second, refused, nil},
		{"size of a chunk that overflows", line + "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n" + second, refused, nil},
		{"size of a chunk with a prefix", line + "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n" + second, refused, nil},
		{"chunk without an end", line + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\n" + second, refused, nil},
		{"GET with a body", "GET /1 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\nabc" + second, []string{"200", "200"}, []string{"GET /1 abc", "GET /2"}},
		{"length in the trailers", line + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 100\r\n\r\n" + second, []string{"200", "200"}, []string{"POST /1 abc", "GET /2"}},
		{"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []string{"421"}, nil},
		{"version 3", "GET / HTTP/3.0\r\nHost: {host}\r\n\r\n", []string{"505"}, nil},
		{"no version", "GET /\r\n\r\n", refused, nil},
		{"space in the target", "GET /a b HTTP/1.1\r\nHost: {host}\r\n\r\n", refused, nil},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", refused, nil},
	} {
		g.run(t, nil)
	}
}

// Only the upstream can be reached, and only by clients that name this machine.
func TestGuardsTarget(t *testing.T) {
	for _, g := range []guard{
		{"absolute form", "GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n", []string{"421"}, nil},
		{"absolute form of this host", "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"421"}, nil},
		{"absolute form without a path", "POST http:other HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"421"}, nil},
		{"other scheme", "GET file:///etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"421"}, nil},
		{"CONNECT", "CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n", []string{"405"}, nil},
		{"CONNECT to a path", "CONNECT / HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"405"}, nil},
		{"no slash", "GET other.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"400"}, nil},
		{"user info", "GET @other.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"400"}, nil},
		{"asterisk", "OPTIONS * HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"421"}, nil},
		{"asterisk with GET", "GET * HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"421"}, nil},
		{"no host", "GET / HTTP/1.1\r\n\r\n", []string{"400"}, nil},
		{"empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", []string{"421"}, nil},
		{"no host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", []string{"421"}, nil},
		{"host with user info", "GET / HTTP/1.1\r\nHost: localhost@other.example\r\n\r\n", []string{"400"}, nil},
		{"host with a fragment", "GET / HTTP/1.1\r\nHost: other.example#localhost\r\n\r\n", []string{"400"}, nil},
		{"two hosts", "GET / HTTP/1.1\r\nHost: {host}\r\nHost: other.example\r\n\r\n", []string{"400"}, nil},
		{"websocket", "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", []string{"501"}, nil},
		{"websocket without connection", "GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n\r\n", []string{"501"}, nil},
		{"h2c and websocket", "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: h2c, websocket\r\n\r\n", []string{"501"}, nil},
	} {
		g.run(t, nil)
	}
	get := func(host string) string { return "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n" }
	for _, host := range []string{
		"other.example", "other.example:80", "127.0.0.1.other.example", "localhost.other.example", "otherlocalhost",
		"0.0.0.0", "[::]", "10.0.0.1", "169.254.169.254", "2130706433", "0x7f.1", "[fe80::1]", "[::ffff:10.0.0.1]", "127.0.0.1:80:80", "[::1", "::1]:80", "localhost..", "agent.example",
	} {
		guard{"host " + host, get(host), []string{"421"}, nil}.run(t, nil)
	}
	for _, host := range []string{"localhost", "LOCALHOST:1", "localhost.", "x.localhost", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:80", "[::ffff:127.0.0.1]"} {
		guard{"host " + host, get(host), []string{"200"}, []string{"GET /"}}.run(t, nil)
	}
	allow := func(s *proxy.Settings) { s.AllowedHosts = []string{"agent.example"} }
	guard{"allowed host", get("agent.example:80"), []string{"200"}, []string{"GET /"}}.run(t, allow)
	guard{"allowed host in capitals", get("AGENT.example"), []string{"200"}, []string{"GET /"}}.run(t, allow)
	guard{"not an allowed host", get("other.example"), []string{"421"}, nil}.run(t, allow)
	guard{"below an allowed host", get("x.agent.example"), []string{"421"}, nil}.run(t, allow)
	remote := func(s *proxy.Settings) { s.AllowRemote = true }
	guard{"remote host", get("other.example"), []string{"200"}, []string{"GET /"}}.run(t, remote)
	below := func(s *proxy.Settings) { s.Upstream.Path = "/agent/" }
	for _, target := range []string{"/../x", "/a/../../x", "/%2e%2e/x", "/.%2E/x", "/..%2fx", "/a%2f..%2f..%2fx", `/..\x`, "/..%5cx", "/.."} {
		guard{"target " + target, "GET " + target + " HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"400"}, nil}.run(t, below)
	}
}

// The sizes of what a client sends are limited.
func TestGuardsSizes(t *testing.T) {
	const line = "POST /1 HTTP/1.1\r\nHost: {host}\r\n"
	limit := func(s *proxy.Settings) { s.MaxRequestBytes = 1000 }
	long := strings.Repeat("x", 1000)
	for _, g := range []guard{
		{"longest body", line + "Content-Length: 1000\r\n\r\n" + long, []string{"200"}, []string{"POST /1 " + long}},
		{"too long body", line + "Content-Length: 1001\r\n\r\n" + long + "y", []string{"413"}, nil},
		{"longest chunks", line + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + long + "\r\n0\r\n\r\n", []string{"200"}, []string{"POST /1 " + long}},
		{"large head", line + "X-A: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", []string{"431"}, nil},
		{"many fields", line + strings.Repeat("X-A: 1\r\n", 100_000) + "\r\n", []string{"431"}, nil},
		{"long target", "GET /" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: {host}\r\n\r\n", []string{"431"}, nil},
		{"many trailers", line + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("X-A: 1\r\n", 100_000) + "\r\n", []string{"400"}, nil},
	} {
		g.run(t, limit)
	}
	// An upstream that has begun to receive a body never receives its end.
	play{
		name:     "too long chunks",
		settings: limit,
		client: func(c *side) {
			c.send(line, "Transfer-Encoding: chunked\r\n\r\n")
			c.chunk(long)
			if c.proxied {
				c.wait("received")
				c.chunk("y")
				c.whole()
			}
		},
		upstream: func(u *side) {
			u.head()
			u.expect(long)
			u.once("received")
			u.rest()
		},
		clientSees: func([]*message) []*message { return own("413") },
	}.run(t)
}

// A client that is too slow is disconnected.
func TestGuardsSlow(t *testing.T) {
	for _, sent := range []string{"", "G", "POST / HTTP/1.1\r\nHost: {host}\r\nX-A: "} {
		f := prepare(t, "127.0.0.1:1", nil)
		f.server.ReadHeaderTimeout, f.server.IdleTimeout = 20*time.Millisecond, 20*time.Millisecond
		f.serve()
		conn, err := net.Dial("tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, sent)
		answer, err := io.ReadAll(conn)
		if err != nil || strings.Contains(string(answer), "200") {
			t.Errorf("after %q: %q, %v", sent, answer, err)
		}
		f.stop()
	}
}

// A client that does not go on with a request body is disconnected, and the upstream never
// receives the end of the body.
func TestGuardsSlowBody(t *testing.T) {
	for name, c := range map[string]struct {
		framing string
		begin   func(*side)
	}{
		"length": {"Content-Length: 28", func(c *side) { c.send(input[:10]) }},
		"chunks": {"Transfer-Encoding: chunked", func(c *side) { c.chunk(input[:10]) }},
	} {
		play{
			name:    name,
			prepare: func(f *front) { f.proxy.SetPatience(50 * time.Millisecond) },
			client: func(s *side) {
				s.send(head, c.framing, "\r\n\r\n")
				c.begin(s)
				if s.proxied {
					s.whole()
					s.gone()
				}
			},
			upstream:   func(u *side) { u.whole() },
			clientSees: func([]*message) []*message { return own("408") },
			anyRequest: true,
		}.run(t)
	}
}

// No more than the given number of exchanges are open at once.
func TestGuardsExchanges(t *testing.T) {
	upstream := listen(t)
	release := make(chan struct{})
	asked := make(chan struct{}, 10)
	go serveHeld(upstream, asked, release)
	f := start(t, upstream.Addr().String(), func(s *proxy.Settings) { s.MaxExchanges = 2 })
	open := func() net.Conn {
		conn, err := net.Dial("tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprint(conn, strings.ReplaceAll(post, "{host}", f.address))
		return conn
	}
	status := func(conn net.Conn) string {
		b := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(conn, b); err != nil {
			t.Fatal(err)
		}
		return string(b[9:])
	}
	first, second := open(), open()
	<-asked
	<-asked
	third := open()
	answer := make([]byte, 1000)
	n, _ := third.Read(answer)
	if text := string(answer[:n]); !strings.HasPrefix(text, "HTTP/1.1 503 ") || !strings.Contains(text, "Retry-After: ") {
		t.Errorf("the third exchange: %q", text)
	}
	close(release)
	if a, b := status(first), status(second); a != "200" || b != "200" {
		t.Errorf("the others have the statuses %s and %s", a, b)
	}
	f.stop()
	if len(f.ended) != 2 || len(asked) != 0 {
		t.Errorf("%d exchanges, %d more requests", len(f.ended), len(asked))
	}
}

// serveHeld answers requests when release is closed.
func serveHeld(l net.Listener, asked chan<- struct{}, release <-chan struct{}) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			b := make([]byte, 4096)
			for n := 0; !strings.HasSuffix(string(b[:n]), input); {
				m, err := conn.Read(b[n:])
				if err != nil {
					return
				}
				n += m
			}
			asked <- struct{}{}
			<-release
			io.WriteString(conn, sized("", event1))
		}()
	}
}

// Links that somebody puts into the store are not followed.
func TestGuardsLinks(t *testing.T) {
	for name, c := range map[string]struct {
		plant  func(t *testing.T, f *front, name, victim string)
		end    capture.End
		stored bool
	}{
		"store": {func(t *testing.T, f *front, _, victim string) {
			moved := f.captures + ".moved"
			rename(t, f.captures, moved)
			link(t, victim, f.captures)
			t.Cleanup(func() { os.RemoveAll(moved) })
		}, capture.EndEOF, true},
		"capture": {func(t *testing.T, f *front, name, victim string) {
			rename(t, filepath.Join(f.captures, name), filepath.Join(f.captures, "moved"))
			link(t, victim, filepath.Join(f.captures, name))
		}, capture.EndEOF, true},
		"capture within the store": {func(t *testing.T, f *front, name, _ string) {
			rename(t, filepath.Join(f.captures, name), filepath.Join(f.captures, "moved"))
			if err := os.Mkdir(filepath.Join(f.captures, "other"), 0o700); err != nil {
				t.Fatal(err)
			}
			link(t, "other", filepath.Join(f.captures, name))
		}, capture.EndEOF, true},
		"manifest": {func(t *testing.T, f *front, name, victim string) {
			link(t, filepath.Join(victim, "x"), filepath.Join(f.captures, name, capture.ManifestName))
		}, capture.EndEOF, false},
		"request": {func(t *testing.T, f *front, name, victim string) {
			link(t, filepath.Join(victim, "x"), filepath.Join(f.captures, name, capture.RequestName))
		}, capture.EndStorage, true},
	} {
		t.Run(name, func(t *testing.T) {
			victim := t.TempDir()
			client, upstream, f := perform(t, play{
				client: func(s *side) {
					s.send(head, "Transfer-Encoding: chunked\r\n\r\n")
					s.chunk(input[:10])
					s.head()
					s.expect(event1)
					s.open("read")
					s.wait("planted")
					s.chunk(input[10:])
					s.chunk("")
					s.rest()
				},
				upstream: func(u *side) {
					u.head()
					u.send(stream)
					u.chunk(event1)
					u.wait("read")
					c.plant(t, u.front, u.front.awaitCapture(u), victim)
					u.open("planted")
					u.rest()
					u.chunk(event2)
					u.chunk("")
				},
			}, true)
			if len(client) != 1 || client[0].End != complete || len(upstream) != 1 || upstream[0].End != complete {
				t.Errorf("the traffic was disturbed: %+v, %+v", client, upstream)
			}
			testkit.RequireNames(t, victim)
			if len(f.ended) != 1 || f.ended[0].Stored != c.stored || f.ended[0].End != c.end {
				t.Errorf("exchanges %+v, want %s, stored %t", f.ended, c.end, c.stored)
			}
			if other := filepath.Join(f.captures, "other"); name == "capture within the store" {
				testkit.RequireNames(t, other)
			}
		})
	}
}

// Only the user who runs the proxy can read what it stores.
func TestGuardsModes(t *testing.T) {
	_, _, f := perform(t, play{client: ask(post), upstream: answer(sized("", event1))}, true)
	files := 0
	err := filepath.WalkDir(f.captures, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == f.captures {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		if want := map[bool]fs.FileMode{true: 0o700 | fs.ModeDir, false: 0o600}[d.IsDir()]; info.Mode() != want {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || files != 5 {
		t.Errorf("%d files: %v", files, err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// Other handlers of the program are reached by the names of the proxy only, and by
// addresses if other machines may connect: a page cannot choose these.
func TestGuardsHosts(t *testing.T) {
	for _, c := range []struct {
		host    string
		remote  bool
		allowed []string
		want    int
	}{
		{"localhost:1", false, nil, 200},
		{"127.0.0.1:1", false, nil, 200},
		{"evil.example", false, nil, 421},
		{"192.0.2.1:1", false, nil, 421},
		{"", false, nil, 421},
		{"a.example", false, []string{"a.example"}, 200},
		{"evil.example", true, nil, 200},
		{"evil.example", true, []string{"a.example"}, 421},
		{"a.example", true, []string{"a.example"}, 200},
		{"192.0.2.1:1", true, []string{"a.example"}, 200},
		{"192.0.2.1", true, []string{"a.example"}, 200},
		{"[2001:db8::1]:1", true, []string{"a.example"}, 200},
		{"[2001:db8::1]", true, []string{"a.example"}, 200},
	} {
		f := prepare(t, "127.0.0.1:1", func(s *proxy.Settings) { s.AllowRemote, s.AllowedHosts = c.remote, c.allowed })
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = c.host
		f.proxy.CheckHost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%q, remote %t, allowed %q: status %d, want %d", c.host, c.remote, c.allowed, w.Code, c.want)
		}
	}
}
