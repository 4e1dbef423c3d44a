package proxy

import (
	"bufio"
	"crypto/sha256"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// message is an HTTP message as it was on the wire.
type message struct {
	line    string
	headers []string // "name: value", names in lower case
	body    string   // without chunking
	trailer []string
}

// hop are the headers that are not end-to-end.
var hop = []string{"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "http2-settings", "proxy-connection"}

// readHead reads the first line and the headers of a message.
func readHead(r *bufio.Reader) (line string, headers []string, err error) {
	line, err = r.ReadString('\n')
	if err != nil {
		return "", nil, err
	}
	headers, err = readHeaders(r)
	return strings.TrimRight(line, "\r\n"), headers, err
}

func readHeaders(r *bufio.Reader) (headers []string, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			return headers, nil
		}
		name, value, _ := strings.Cut(line, ":")
		headers = append(headers, strings.ToLower(name)+": "+strings.TrimSpace(value))
	}
}

func value(headers []string, name string) string {
	for _, h := range headers {
		if v, ok := strings.CutPrefix(h, name+": "); ok {
			return v
		}
	}
	return ""
}

// readMessage reads a message with its body.
func readMessage(r *bufio.Reader) (m message, err error) {
	if m.line, m.headers, err = readHead(r); err != nil {
		return m, err
	}
	return readBody(r, m)
}

func readBody(r *bufio.Reader, m message) (message, error) {
	if value(m.headers, "transfer-encoding") == "chunked" {
		// The reader of package http ends before the trailers.
		for {
			size, err := r.ReadString('\n')
			if err != nil {
				return m, err
			}
			n := 0
			for _, c := range strings.TrimSpace(size) {
				n = n*16 + strings.IndexRune("0123456789abcdef", c|0x20&^0x10|c&0x10)
			}
			if n == 0 {
				m.trailer, err = readHeaders(r)
				return m, err
			}
			part := make([]byte, n+2)
			if _, err := io.ReadFull(r, part); err != nil {
				return m, err
			}
			m.body += string(part[:n])
		}
	}
	length := value(m.headers, "content-length")
	if length == "" {
		if strings.HasPrefix(m.line, "HTTP/") {
			b, err := io.ReadAll(r)
			m.body = string(b)
			return m, err
		}
		return m, nil
	}
	n := 0
	for _, c := range length {
		n = n*10 + int(c-'0')
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	m.body = string(b)
	return m, err
}

// endToEnd returns the end-to-end headers, sorted by name. The values of a header stay in
// their order.
func endToEnd(headers []string, except ...string) []string {
	kept := slices.DeleteFunc(slices.Clone(headers), func(h string) bool {
		name, _, _ := strings.Cut(h, ":")
		return slices.Contains(hop, name) || slices.Contains(except, name)
	})
	slices.SortStableFunc(kept, func(a, b string) int {
		a, _, _ = strings.Cut(a, ":")
		b, _, _ = strings.Cut(b, ":")
		return strings.Compare(a, b)
	})
	return kept
}

// rawUpstream starts an upstream that handles one connection after the other.
func rawUpstream(t *testing.T, handle func(conn net.Conn, r *bufio.Reader)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn, bufio.NewReader(conn))
			}()
		}
	}()
	return l.Addr().String()
}

// dial connects to the proxy.
func (f *fixture) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", f.front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, bufio.NewReader(conn)
}

// lines joins header lines as on the wire.
func lines(l ...string) string { return strings.Join(l, "\r\n") + "\r\n" }

// TestHeaders sends requests and responses with unusual headers through the proxy and
// compares what arrives at the other side value by value.
func TestHeaders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request  string // without Host; a blank line follows
		body     string
		path     string // at the upstream
		response string
		answer   string
	}{
		"many": {
			request: lines("POST /a%2Fb//c;d/%7e?x=1;y=%zz&&z HTTP/1.1",
				"X-Forwarded-For: 10.0.0.1", "X-Forwarded-For: 10.0.0.2", "X-Forwarded-Host: a.example", "X-Forwarded-Proto: https", "Forwarded: for=10.0.0.1",
				"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "Tracestate: a=1, b=2",
				"Cookie: a=1", "Cookie: b=2", "Authorization: Bearer x", "Accept-Encoding: br", "Accept: */*", "Accept: text/event-stream",
				"X-Empty:", "X-Latin: \xe9\xff", "X-Tab: a\tb", "User-Agent: a  b", "Via: 1.1 x", "Last-Event-ID: 7",
				"Content-Type: application/json; charset=UTF-8", "Content-Encoding: gzip", "Content-Length: 5"),
			body: "\x1f\x8b\x00ab", path: "/a%2Fb//c;d/%7e?x=1;y=%zz&&z",
			response: lines("HTTP/1.1 200 Fine", "Content-Type: text/event-stream; charset=utf-8; x=\"y\"", "Date: Thu, 01 Jan 1970 00:00:00 GMT",
				"Set-Cookie: a=1", "Set-Cookie: b=2; Path=/", "X-Latin: \xe9\xff", "X-Empty:", "Vary: a", "Vary: b", "Server: x/1 (y)",
				"Cache-Control: no-cache", "X-Accel-Buffering: no", "Access-Control-Allow-Origin: *", "Content-Encoding: br", "Content-Length: 4"),
			answer: "\x00\x01\xff\n",
		},
		"none": {
			request: lines("POST / HTTP/1.1", "Content-Length: 2"), body: "{}", path: "/",
			response: lines("HTTP/1.1 500 X", "Content-Length: 6"), answer: "<html>",
		},
		"get": {
			request: lines("GET /a? HTTP/1.1", "If-None-Match: \"a\"", "Range: bytes=0-1"), path: "/a?",
			response: lines("HTTP/1.1 206 Partial", "ETag: \"a\"", "Content-Range: bytes 0-1/3", "Content-Length: 2"), answer: "ab",
		},
		"nominated": {
			request: lines("POST / HTTP/1.1", "Content-Length: 0"), path: "/",
			response: lines("HTTP/1.1 404 Not Found", "Content-Type: application/json", "Content-Length: 0"),
		},
		"no body": {
			request: lines("PATCH /x HTTP/1.1", "Content-Length: 1"), body: "x", path: "/x",
			response: lines("HTTP/1.1 204 No Content", "X-A: b"),
		},
		"status without a name": {
			request: lines("POST / HTTP/1.1", "Content-Length: 1"), body: "x", path: "/",
			response: lines("HTTP/1.1 799 ", "Content-Length: 1", "Content-Type: a"), answer: "x",
		},
		"long": {
			request: lines("POST / HTTP/1.1", "X-Long: "+strings.Repeat("a", 60<<10), "Content-Length: 1"), body: "x", path: "/",
			response: lines("HTTP/1.1 200 OK", "X-Long: "+strings.Repeat("b", 60<<10), "Content-Length: 1"), answer: "x",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan message, 1)
			address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
				m, err := readMessage(r)
				if err != nil {
					t.Errorf("upstream: %v", err)
				}
				arrived <- m
				io.WriteString(conn, test.response+"\r\n"+test.answer)
			})
			f := start(t, "http://"+address, nil)
			conn, r := f.dial(t)
			line, rest, _ := strings.Cut(test.request, "\r\n")
			sent := line + "\r\nHost: localhost:1\r\n" + rest + "Connection: X-Drop, close\r\nX-Drop: 1\r\n\r\n" + test.body
			io.WriteString(conn, sent)
			got, err := readMessage(r)
			if err != nil {
				t.Fatal(err)
			}
			m := <-arrived
			_, want, _ := readHead(bufio.NewReader(strings.NewReader(sent)))
			want = append(endToEnd(want, "host", "x-drop"), "host: "+address)
			if diff := cmp.Diff(endToEnd(want), endToEnd(m.headers)); diff != "" {
				t.Errorf("request headers (-sent +arrived):\n%s", diff)
			}
			method, _, _ := strings.Cut(line, " ")
			if m.line != method+" "+test.path+" HTTP/1.1" || sha256.Sum256([]byte(m.body)) != sha256.Sum256([]byte(test.body)) {
				t.Errorf("the upstream got %q and %q", m.line, m.body)
			}
			status, want, _ := readHead(bufio.NewReader(strings.NewReader(test.response + "\r\n")))
			if diff := cmp.Diff(endToEnd(want), endToEnd(got.headers)); diff != "" {
				t.Errorf("response headers (-sent +arrived):\n%s", diff)
			}
			if got.line[:12] != status[:12] || sha256.Sum256([]byte(got.body)) != sha256.Sum256([]byte(test.answer)) {
				t.Errorf("the client got %q and %q", got.line, got.body)
			}
			<-f.ended
		})
	}
}

// TestPragma checks that the manifest states no Cache-Control that package http may have
// added, which it does for Pragma: no-cache.
func TestPragma(t *testing.T) {
	t.Parallel()
	for headers, want := range map[string]string{
		"Pragma: no-cache\r\n":                                 "",
		"Pragma: no-cache\r\nCache-Control: no-cache\r\n":      "", // looks the same
		"Pragma: no-cache\r\nCache-Control: no-store\r\n":      `"cache-control": "no-store"`,
		"Pragma: other\r\nCache-Control: no-cache\r\n":         `"cache-control": "no-cache"`,
		"Cache-Control: no-cache\r\nX-Pragma: no-cache\r\n":    `"cache-control": "no-cache"`,
		"Pragma: no-cache\r\nCache-Control: no-cache, a=b\r\n": `"cache-control": "no-cache, a=b"`,
	} {
		address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
			readMessage(r)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1\r\n"+headers+"\r\nx")
		})
		f := start(t, "http://"+address, nil)
		f.post(t, "/", "{}")
		manifest := f.files(t, <-f.ended)["capture.json"]
		if !strings.Contains(manifest, want) || want == "" && strings.Contains(manifest, "cache-control") {
			t.Errorf("%q: %s, want %q", headers, manifest, want)
		}
	}
}

// TestEmptyStream checks that a response of unknown length without bytes gets no length.
func TestEmptyStream(t *testing.T) {
	t.Parallel()
	address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
		readMessage(r)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	})
	f := start(t, "http://"+address, nil)
	conn, r := f.dial(t)
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	m, err := readMessage(r)
	if err != nil || value(m.headers, "content-length") != "" || value(m.headers, "date") != "" || m.body != "" {
		t.Errorf("%+v, %v", m, err)
	}
	if x := <-f.ended; !x.Stored || x.Bytes != 0 || f.files(t, x)["response.sse"] != "" {
		t.Errorf("%+v", x)
	}
}

// TestTrailers checks that announced and other trailers pass in both directions.
func TestTrailers(t *testing.T) {
	t.Parallel()
	for _, announced := range []string{"", "X-One, X-Two", "X-One"} {
		arrived := make(chan message, 1)
		announce := ""
		if announced != "" {
			announce = "Trailer: " + announced + "\r\n"
		}
		const rest = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-One: 1\r\nX-One: 1b\r\nX-Two: 2\r\n\r\n"
		address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
			m, err := readMessage(r)
			if err != nil {
				t.Errorf("upstream: %v", err)
			}
			arrived <- m
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+announce+rest)
		})
		f := start(t, "http://"+address, nil)
		conn, r := f.dial(t)
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\n"+announce+rest)
		m, err := readMessage(r)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"x-one: 1", "x-one: 1b", "x-two: 2"}
		if diff := cmp.Diff(want, endToEnd(m.trailer)); diff != "" || m.body != "abc" {
			t.Errorf("announced %q: body %q, trailers of the response (-want +got):\n%s", announced, m.body, diff)
		}
		up := <-arrived
		if diff := cmp.Diff(want, endToEnd(up.trailer)); diff != "" || up.body != "abc" {
			t.Errorf("announced %q: body %q, trailers of the request (-want +got):\n%s", announced, up.body, diff)
		}
		if got := value(up.headers, "te"); got != "trailers" {
			t.Errorf("TE: %q", got)
		}
		if files := f.files(t, <-f.ended); files["response.sse"] != "abc" || files["request.json"] != "abc" {
			t.Errorf("%q", files)
		}
	}
}

// TestInformational checks that 1xx responses pass.
func TestInformational(t *testing.T) {
	t.Parallel()
	address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
		readMessage(r)
		io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"+
			"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1\r\n\r\nx")
	})
	f := start(t, "http://"+address, nil)
	conn, r := f.dial(t)
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	var got []string
	for range 3 {
		line, headers, err := readHead(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line, strings.Join(headers, "|"))
	}
	want := []string{"HTTP/1.1 103 Early Hints", "link: </a>", "HTTP/1.1 102 Processing", "", "HTTP/1.1 200 OK", "content-length: 1|content-type: text/event-stream"}
	slices.Sort(strings.Split(got[5], "|"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	<-f.ended
}

// TestInformationalOld checks that a client of HTTP/1.0, which would take a 1xx response for
// the final one, does not get it (RFC 9110 §15.2).
func TestInformationalOld(t *testing.T) {
	t.Parallel()
	address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
		readMessage(r)
		io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
	})
	f := start(t, "http://"+address, nil)
	conn, r := f.dial(t)
	io.WriteString(conn, "POST / HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	if m, err := readMessage(r); err != nil || m.line != "HTTP/1.0 200 OK" || m.body != "x" || value(m.headers, "link") != "" {
		t.Errorf("%+v, %v", m, err)
	}
	<-f.ended
}

// TestExpect checks that the client gets 100 Continue if and only if the upstream sent it.
func TestExpect(t *testing.T) {
	t.Parallel()
	t.Run("continue", func(t *testing.T) {
		t.Parallel()
		address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
			line, headers, _ := readHead(r)
			io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
			m, _ := readBody(r, message{line: line, headers: headers})
			io.WriteString(conn, "HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\n"+m.body+value(headers, "expect")[:1])
		})
		f := start(t, "http://"+address, nil)
		conn, r := f.dial(t)
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
		if line, headers, err := readHead(r); line != "HTTP/1.1 100 Continue" || len(headers) > 0 {
			t.Fatalf("%q %q %v", line, headers, err)
		}
		io.WriteString(conn, "{}")
		m, err := readMessage(r)
		if err != nil || m.line != "HTTP/1.1 400 Bad Request" || m.body != "{}1" {
			t.Errorf("%+v %v", m, err)
		}
		if files := f.files(t, <-f.ended); files["request.json"] != "{}" {
			t.Errorf("%q", files)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
			readHead(r)
			io.WriteString(conn, "HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno")
			r.ReadByte() // until the proxy closes the connection
		})
		f := start(t, "http://"+address, nil)
		conn, r := f.dial(t)
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
		m, err := readMessage(r)
		if err != nil || !strings.HasPrefix(m.line, "HTTP/1.1 417 ") || m.body != "no" {
			t.Errorf("%+v %v", m, err)
		}
		// The body that may still come must not be read as a request.
		if value(m.headers, "connection") != "close" {
			t.Errorf("%q", m.headers)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("the connection is open: %v", err)
		}
		x := <-f.ended
		if _, known := f.files(t, x)["request.json"]; known || x.Status != http.StatusExpectationFailed {
			t.Errorf("%+v", x)
		}
	})
}
