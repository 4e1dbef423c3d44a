package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/finding"
)

// get returns a request without a body.
func get(target string, fields ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: {host}\r\n" + strings.Join(append(fields, ""), "\r\n") + "\r\n"
}

// sized returns a response with a body.
func sized(fields, body string) string {
	return ok + fields + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body
}

const date = "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"

// Requests reach the upstream as the client has sent them.
func TestNetworkRequests(t *testing.T) {
	empty := answer("HTTP/1.1 200 OK\r\n", date, "Content-Length: 0\r\n\r\n")
	for _, target := range []string{
		"/", "/?", "/?a=1;b=2&c=%zz&&=", "/a%2Fb%2fc", "//other/x", "/a//b/", "/a/../b/./c", "/a|b^c`d{e}", "/[x]", "/%C3%A4", "/ä", "/a+b%20c", "/:x@y", "/;v=1", "/*", "/%00",
		`/"<>\`, "/'(),!$&~", "/a%7Eb%7eb", `/?q=a|b^"c"`, "/?x=http://other/",
	} {
		play{name: "target " + target, client: ask(get(target)), upstream: empty}.run(t)
	}
	for _, method := range []string{"HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "M-SEARCH", "post"} {
		play{
			name: "method " + method, client: ask(method + " / HTTP/1.1\r\nHost: {host}\r\n\r\n"), upstream: empty,
			upstreamSees: addLength(method),
		}.run(t)
	}
	for name, fields := range map[string][]string{
		"none":                 nil,
		"forwarded":            {"Forwarded: for=1.2.3.4", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 5.6.7.8", "X-Forwarded-Host: h", "X-Forwarded-Proto: https", "Via: 1.0 x", "X-Real-Ip: 1.2.3.4"},
		"codings":              {"Accept-Encoding: br;q=1.0, gzip;q=0"},
		"no codings":           {"Accept-Encoding:"},
		"user agent":           {"User-Agent: x/1"},
		"several values":       {"X-A: 1", "x-a: 2", "X-B: ", "X-A: 1", "Cookie: a=b", "Cookie: c=d"},
		"bytes":                {"X-A: \xe4\xff\t\"x\"  y"},
		"trace context":        {"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Tracestate: a=b", "Baggage: k=v"},
		"credentials":          {"Authorization: Bearer x"},
		"hop by hop":           {"Connection: X-A, close", "X-A: 1", "X-B: 2", "Keep-Alive: timeout=5"},
		"hop by hop forwarded": {"Connection: X-Forwarded-For", "X-Forwarded-For: 1.2.3.4"},
		"te":                   {"TE: trailers"},
		"h2c":                  {"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"},
		"range":                {"Range: bytes=0-1", "If-None-Match: \"x\"", "Cache-Control: no-cache", "Pragma: no-cache"},
		"large":                {"X-A: " + strings.Repeat("x", 60<<10)},
		"many":                 strings.Split(strings.TrimSuffix(strings.Repeat("X-A: 1|", 5000), "|"), "|"),
	} {
		play{name: "fields " + name, client: ask(get("/", fields...)), upstream: empty}.run(t)
	}
	for name, request := range map[string]string{
		"empty":                "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n",
		"no length":            "POST / HTTP/1.1\r\nHost: {host}\r\n\r\n",
		"empty chunks":         "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunks with trailers": "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-B\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-B: 2\r\n\r\n",
		"unannounced trailers": "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
		"length in trailers":   "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 100\r\nTransfer-Encoding: x\r\nHost: x\r\n\r\n",
		"coded":                "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x00",
		"body of GET":          "GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\nabc",
	} {
		play{name: "body " + name, client: ask(request), upstream: empty, upstreamSees: addLength(name)}.run(t)
	}
	// These are for the proxy itself (RFC 9110 §11.7), and an empty User-Agent cannot be
	// passed on by net/http.
	play{
		name:     "fields that are not passed on",
		client:   ask(get("/", "Proxy-Authorization: Basic x", "User-Agent:")),
		upstream: empty,
		upstreamSees: func(list []*message) []*message {
			delete(list[0].Header, "Proxy-Authorization")
			delete(list[0].Header, "User-Agent")
			return list
		},
	}.run(t)
	play{
		name:     "below the path of the upstream",
		client:   ask(get("/a%2Fb?x")),
		upstream: empty,
		settings: func(s *proxy.Settings) { s.Upstream.Path = "/base" },
		upstreamSees: func(list []*message) []*message {
			list[0].Start = "GET /base/a%2Fb?x"
			return list
		},
	}.run(t)
}

// addLength returns what the upstream sees of a request without a body. net/http always
// sends the length of a body that is expected with the method (RFC 9110 §8.6).
func addLength(name string) func([]*message) []*message {
	if name != "PUT" && name != "PATCH" && name != "no length" {
		return nil
	}
	return func(list []*message) []*message {
		list[0].Header["Content-Length"] = []string{"0"}
		return list
	}
}

// Responses reach the client as the upstream has sent them.
func TestNetworkResponses(t *testing.T) {
	html := kept{end: capture.EndEOF, framing: capture.Opaque, unreadable: finding.FramingOpaque}
	for _, c := range []struct {
		name, response string
		kept           []kept
		clientSees     func([]*message) []*message
	}{
		{"no type", "HTTP/1.1 200 OK\r\n" + date + "Content-Length: 13\r\n\r\n<html></html>", nil, nil},
		{"no date", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", nil, nil},
		{"unusual type", "HTTP/1.1 200 OK\r\n" + date + "Content-Type: TEXT/Event-Stream ; charset=UTF-8\r\nContent-Length: 3\r\n\r\n\n\n\n", []kept{{end: capture.EndEOF}}, nil},
		{"two types", "HTTP/1.1 200 OK\r\n" + date + "Content-Type: text/event-stream\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n\n\n\n", []kept{{end: capture.EndEOF}}, nil},
		{"ndjson", "HTTP/1.1 200 OK\r\n" + date + "Content-Type: application/x-ndjson\r\nContent-Length: 3\r\n\r\n{}\n", []kept{{end: capture.EndEOF, framing: capture.NDJSON}}, nil},
		{"protobuf", "HTTP/1.1 200 OK\r\n" + date + "Content-Type: application/vnd.ag-ui.event+proto\r\nContent-Length: 3\r\n\r\n\x00\x01\x02", []kept{html}, nil},
		{"page", "HTTP/1.1 200 OK\r\n" + date + "Content-Type: text/html\r\nContent-Length: 3\r\n\r\nabc", nil, nil},
		{"failure", "HTTP/1.1 500 Internal Server Error\r\n" + date + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", []kept{{end: capture.EndEOF, framing: capture.JSON}}, nil},
		{"failure without body", "HTTP/1.1 404 Not Found\r\n" + date + "Content-Length: 0\r\n\r\n", []kept{html}, nil},
		{"unauthorized", "HTTP/1.1 401 Unauthorized\r\n" + date + "WWW-Authenticate: Basic realm=\"x\"\r\nProxy-Authenticate: Basic realm=\"y\"\r\nContent-Length: 3\r\n\r\nabc", []kept{html}, without("Proxy-Authenticate")},
		{"redirect", "HTTP/1.1 307 Temporary Redirect\r\n" + date + "Location: http://127.0.0.1:1/other?x#y\r\nContent-Length: 0\r\n\r\n", nil, nil},
		{"status 299", "HTTP/1.1 299 Unusual\r\n" + date + "Content-Length: 0\r\n\r\n", nil, nil},
		{"status 999", "HTTP/1.1 999 Request denied\r\n" + date + "Content-Length: 0\r\n\r\n", []kept{html}, nil},
		{"status 099", "HTTP/1.1 099 Low\r\n" + date + "Content-Length: 0\r\n\r\n", nil, badGateway},
		{"switched protocol", "HTTP/1.1 101 Switching Protocols\r\n" + date + "Connection: Upgrade\r\nUpgrade: x\r\n\r\n", nil, badGateway},
		{"no content", "HTTP/1.1 204 No Content\r\n" + date + "X-A: 1\r\n\r\n", nil, nil},
		{"not modified", "HTTP/1.1 304 Not Modified\r\n" + date + "ETag: \"x\"\r\nContent-Length: 100\r\n\r\n", nil, without("Content-Length")},
		{"fields", ok + "Set-Cookie: a=b\r\nSet-Cookie: c=d\r\nX-A: \r\nX-B: \xe4\t\"\r\nServer: x\r\nVia: 1.0 y\r\nX-Accel-Buffering: no\r\nContent-Length: 0\r\n\r\n", []kept{{end: capture.EndEOF}}, nil},
		{"hop by hop", ok + "Connection: close, X-A\r\nX-A: 1\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n", []kept{{end: capture.EndEOF}}, nil},
		{"large field", ok + "X-A: " + strings.Repeat("x", 60<<10) + "\r\nContent-Length: 0\r\n\r\n", []kept{{end: capture.EndEOF}}, nil},
		{"too large field", ok + "X-A: " + strings.Repeat("x", 1<<20) + "\r\nContent-Length: 0\r\n\r\n", nil, badGateway},
		{"field without a name", ok + ": x\r\nContent-Length: 0\r\n\r\n", nil, badGateway},
		{"early hints", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + sized("", event1), []kept{{end: capture.EndEOF}}, nil},
		{"trailers", ok + "Transfer-Encoding: chunked\r\nTrailer: X-Sum, X-B\r\n\r\n3\r\n\n\n\n\r\n0\r\nX-Sum: 1\r\nX-B: 2\r\nX-B: 3\r\n\r\n", []kept{{end: capture.EndEOF}}, nil},
		{"unannounced trailers", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\n\n\n\n\r\n0\r\nX-Sum: 1\r\n\r\n", []kept{{end: capture.EndEOF}}, nil},
		{"trailers without a body", ok + "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n0\r\nX-Sum: 1\r\n\r\n", []kept{{end: capture.EndEOF}}, nil},
		{"announced trailers that do not come", ok + "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\n\n\n\n\r\n0\r\n\r\n", []kept{{end: capture.EndEOF}}, nil},
		{"gzip", sized("Content-Encoding: gzip\r\n", zipped(t)), []kept{{end: capture.EndEOF}}, nil},
		{"zstd", sized("Content-Encoding: zstd\r\n", zstandard(t)), []kept{{end: capture.EndEOF}}, nil},
		{"br", sized("Content-Encoding: br\r\n", "\x0b\x02\x80abc\x03"), []kept{{end: capture.EndEOF, unreadable: finding.CodingUnsupported}}, nil},
		{"damaged gzip", sized("Content-Encoding: gzip\r\n", "not gzip"), []kept{{end: capture.EndEOF}}, nil},
		{"identity", sized("Content-Encoding: identity\r\n", event1), []kept{{end: capture.EndEOF}}, nil},
	} {
		play{name: c.name, client: ask(post), upstream: answerOnce(c.response), clientSees: c.clientSees, kept: c.kept}.run(t)
	}
	play{
		name:     "of HEAD",
		client:   ask("HEAD / HTTP/1.1\r\nHost: {host}\r\n\r\n"),
		upstream: answerOnce(ok, "Content-Length: 1000\r\n\r\n"),
	}.run(t)
}

// without returns what the client sees without a field of the response. Proxy-Authenticate
// is for the next client only (RFC 9110 §11.7.1), and the length of a body that a 304
// response does not have cannot be passed on by net/http.
func without(name string) func([]*message) []*message {
	return func(list []*message) []*message {
		delete(list[0].Header, name)
		return list
	}
}

func zipped(t *testing.T) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, event1+event2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstandard(t *testing.T) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(event1+event2), nil))
}
