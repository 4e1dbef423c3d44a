package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

// Odd ids and paths name nothing but what they spell, and odd cursors are refused.
func TestAttacksOnPaths(t *testing.T) {
	t.Parallel()
	g := newTarget(t, true, nil)
	get := func(path string) string { return request("GET "+path, asBob) }
	events := func(query string, headers ...string) string {
		return request("GET /threads/both/events?follow=false"+query, append(headers, asBob)...)
	}
	g.run(t, []attack{
		{"longest id", get("/threads/" + strings.Repeat("x", store.MaxIDBytes) + "/runs"), "404"},
		{"too long an id", get("/threads/" + strings.Repeat("x", store.MaxIDBytes+1) + "/runs"), "400"},
		{"huge id", get("/threads/" + strings.Repeat("x", 60_000) + "/runs"), "400"},
		{"id longer than headers may be", get("/threads/" + strings.Repeat("x", 200_000) + "/runs"), "431"},
		{"huge run id", request("POST /threads/both/runs/"+strings.Repeat("x", 60_000)+"/cancel", asBob, "Content-Type: application/json\r\n"), "400"},
		{"zero byte", get("/threads/ann%00/runs"), "400"},
		{"invalid UTF-8", get("/threads/%ff%fe/runs"), "400"},
		{"overlong slash", get("/threads/both%c0%afevents"), "404"},
		{"surrogate", get("/threads/%ed%a0%80/runs"), "400"},
		{"slash", get("/threads/both%2fevents"), "404"},
		{"backslash", get(`/threads/both\events`), "404"},
		{"dots", get("/threads/../threads/ann/runs"), "404"},
		{"escaped dots", get("/threads/%2e%2e/runs"), "404"},
		{"dots above the root", get("/../../etc/passwd"), "404"},
		{"escaped dots and slashes", get("/threads/..%2f..%2fann/runs"), "404"},
		{"dots twice escaped", get("/threads/%252e%252e%252fann/runs"), "404"},
		{"empty segment", get("/threads//runs"), "404"},
		{"two slashes", get("//threads"), "404"},
		{"slash at the end", get("/threads/both/runs/"), "404"},
		{"capitals", get("/THREADS/both/runs"), "404"},
		{"parameter of a segment", get("/threads/both;x=ann/runs"), "404"},
		{"encoded route", get("/threads/both/%72uns"), "404"},
		{"malformed escape", get("/threads/%zz/runs"), "400"},
		{"line feed", get("/threads/x%0d%0aSet-Cookie:%20a=b%0d%0aLocation:%20http:%2f%2fevil.example/runs"), "404"},
		{"line feed in a run id", request("POST /threads/both/runs/x%0d%0aSet-Cookie:a/cancel", asBob, "Content-Type: application/json\r\n"), "404"},
		{"agent by a path", post("/agents/..%2fa", input("both", "new"), asBob), "404"},
		{"agent by a URL", post("/agents/http:%2f%2fevil.example", input("both", "new"), asBob), "404"},
		{"fragment", get("/threads#/ann"), "404"},
		{"unknown method", request("BREW /threads", asBob), "405"},
		{"method in lower case", request("get /threads", asBob), "405"},
		{"TRACE", request("TRACE /threads", asBob), "405"},
		{"DELETE", request("DELETE /threads/both/runs", asBob), "405"},
		{"PUT of a run", request("PUT /agents/a", asBob), "405"},

		{"cursor of garbage", events("", "Last-Event-ID: x\r\n"), "400"},
		{"cursor beyond numbers", events("", "Last-Event-ID: 9223372036854775808\r\n"), "400"},
		{"cursor of many digits", events("", "Last-Event-ID: "+strings.Repeat("9", 10_000)+"\r\n"), "400"},
		{"negative cursor", events("", "Last-Event-ID: -1\r\n"), "400"},
		{"cursor with a sign", events("", "Last-Event-ID: +1\r\n"), "400"},
		{"cursor with zeros", events("", "Last-Event-ID: 0001\r\n"), "400"},
		{"cursor in another base", events("", "Last-Event-ID: 0x1\r\n"), "400"},
		{"cursor with a line", events("&after=1%0adata:%20x"), "400"},
		{"two cursors", events("", "Last-Event-ID: 1\r\n", "Last-Event-ID: 2\r\n"), "400"},
		{"cursor of three parts", events("&view=compact&after=1.1.1"), "400"},
		{"huge part of a cursor", events("&view=compact&after=1.99999999999999999999"), "400"},
		{"largest cursor", events("&after=9223372036854775807"), "400"},
		{"unknown view", events("&view=ann"), "400"},
		{"negative limit", get("/threads?limit=-1"), "400"},
		{"huge limit", get("/threads?limit=99999999999999999999"), "400"},
		{"zero byte after which to list", get("/threads?after=%00"), "400"},
		{"position beyond numbers", get("/threads/both/restore?position=9223372036854775808"), "400"},
		{"negative position", get("/threads/both/restore?position=-1"), "400"},
		{"malformed query", get("/threads?%zz&limit=1"), "400"},
	})
}

// What is not HTTP as both ends must understand it is refused, and a request that hides in
// another one does not become one.
func TestAttacksOnFraming(t *testing.T) {
	t.Parallel()
	g := newTarget(t, true, nil)
	const head = "POST /agents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + asBob
	hidden := "GET /threads/ann/events?follow=false HTTP/1.1\r\nHost: localhost\r\n\r\n"
	many := strings.Repeat(strings.TrimSuffix(request("GET /threads", asBob), "Connection: close\r\n\r\n")+"\r\n", 100)
	g.run(t, []attack{
		{"length and chunks", head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "400"},
		{"two lengths", head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}   " + hidden, "400"},
		{"list of lengths", head + "Content-Length: 2, 2\r\n\r\n{}", "400"},
		{"signed length", head + "Content-Length: +2\r\n\r\n{}", "400"},
		{"negative length", head + "Content-Length: -1\r\n\r\n", "400"},
		{"length beyond numbers", head + "Content-Length: 99999999999999999999\r\n\r\n", "400"},
		{"immense length", head + "Content-Length: 9223372036854775807\r\n\r\n", "413"},
		{"length of GET", "GET /threads HTTP/1.1\r\nHost: localhost\r\n" + asBob + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hidden)) + hidden, "400"},
		{"chunks of GET", "GET /threads HTTP/1.1\r\nHost: localhost\r\n" + asBob + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "400"},
		{"other coding", head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "501"},
		{"two codings", head + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "501"},
		{"coding twice", head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "501"},
		{"coding with a space", head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400"},
		{"coding after a tab", head + "Transfer-Encoding:\tchunked\r\nConnection: close\r\n\r\n0\r\n\r\n", "400"},
		{"huge chunk", head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "400"},
		{"malformed chunk", head + "Transfer-Encoding: chunked\r\n\r\nx\r\n", "400"},
		{"long extension of a chunk", head + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 100_000) + "\r\n{\r\n", "400"},
		{"chunk without its end", head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}" + hidden, "400"},
		{"compressed body", head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", "415"},
		{"hidden request in a refused body", "POST /agents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n" + asBob + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hidden)) + hidden, "415"},
		{"line feeds alone", "GET /threads HTTP/1.1\nHost: localhost\n" + asBob + "Connection: close\n\n", "200"},
		{"zero byte in a header", request("GET /threads", asBob, "X: a\x00b\r\n"), "400"},
		{"line feed in a header", request("GET /threads", "X: a\rAuthorization: Bearer token-of-ann-0123456789\r\n"), "400"},
		{"space in the name of a header", request("GET /threads", "Authorization : Bearer token-of-bob-0123456789\r\n"), "400"},
		{"header without a name", request("GET /threads", ": x\r\n"), "400"},
		{"folded first header", "GET /threads HTTP/1.1\r\n Host: localhost\r\n\r\n", "400"},
		{"space in the target", request("GET /threads /x", asBob), "400"},
		{"tab in the target", request("GET /threads\t/x", asBob), "400"},
		{"control character in the target", request("GET /threads/\x7f", asBob), "400"},
		{"target without a slash", request("GET threads", asBob), "400"},
		{"target of all", request("OPTIONS *", asBob), "421"},
		{"CONNECT", request("CONNECT localhost:80", asBob), "421"},
		{"HTTP/0.9", "GET /threads\r\n\r\n", "400"},
		{"HTTP/1.0", "GET /threads HTTP/1.0\r\nHost: localhost\r\n" + asBob + "\r\n", "200"},
		{"HTTP/1.0 without a host", "GET /threads HTTP/1.0\r\n" + asBob + "\r\n", "421"},
		{"HTTP/1.0 with chunks", "POST /agents/a HTTP/1.0\r\nHost: localhost\r\n" + asBob + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		{"HTTP/1.9", "GET /threads HTTP/1.9\r\nHost: localhost\r\n" + asBob + "Connection: close\r\n\r\n", "200"},
		{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "421"},
		{"HTTP/3", "GET /threads HTTP/3.0\r\nHost: localhost\r\n\r\n", "505"},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"},
		{"one long header", request("GET /threads", "X: "+strings.Repeat("x", 1<<20)+"\r\n"), "431"},
		{"many headers", request("GET /threads", strings.Repeat("X: x\r\n", 100_000)), "431"},
		{"many names of headers", request("GET /threads", manyNames(20_000)), "431"},
		{"requests without waiting", many + request("GET /threads", asBob), strings.TrimSpace(strings.Repeat("200 ", 101))},
		{"requests without waiting and a token", strings.ReplaceAll(many, asBob, ""), "401"},
	})
}

// manyNames returns n headers with different names.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X-%d: x\r\n", i)
	}
	return b.String()
}

// A body that is not a RunAgentInput starts no run.
func TestAttacksOnBodies(t *testing.T) {
	t.Parallel()
	g := newTarget(t, true, func(s *serve.Settings) { s.Guard.MaxRequestBytes = 4 << 20 })
	run := func(body string) string { return post("/agents/a", body, asBob) }
	deep := strings.Repeat("[", 1<<20)
	long := strings.Repeat("x", 2000)
	g.run(t, []attack{
		{"empty", run(""), "400"},
		{"deep", run(deep), "400"},
		{"deep and closed", run(`{"threadId":"t","runId":"r","state":` + deep + strings.Repeat("]", 1<<20) + `}`), "400"},
		{"deep objects", run(strings.Repeat(`{"a":`, 1<<18)), "400"},
		{"two threads", run(`{"threadId":"t","threadId":"ann","runId":"r"}`), "400"},
		{"two threads, one escaped", run(`{"threadId":"t","thread\u0049d":"ann","runId":"r"}`), "400"},
		{"two runs", run(`{"threadId":"t","runId":"r","runId":"s"}`), "400"},
		{"invalid UTF-8", run("{\"threadId\":\"t\xff\",\"runId\":\"r\"}"), "400"},
		{"half a character", run(`{"threadId":"t\ud800","runId":"r"}`), "400"},
		{"zero byte in an id", run(`{"threadId":"t\u0000","runId":"r"}`), "400"},
		{"number as an id", run(`{"threadId":1,"runId":"r"}`), "400"},
		{"null as an id", run(`{"threadId":null,"runId":"r"}`), "400"},
		{"list as an id", run(`{"threadId":["ann"],"runId":"r"}`), "400"},
		{"no run", run(`{"threadId":"t"}`), "400"},
		{"empty ids", run(`{"threadId":"","runId":""}`), "400"},
		{"long thread", run(`{"threadId":"` + long + `","runId":"r"}`), "400"},
		{"long run", run(`{"threadId":"t","runId":"` + long + `"}`), "400"},
		{"names in other cases", run(`{"ThreadID":"t","runid":"r"}`), "400"},
		{"two documents", run(`{"threadId":"t","runId":"r"}{}`), "400"},
		{"rest", run(`{"threadId":"t","runId":"r"}x`), "400"},
		{"list", run(`[{"threadId":"t","runId":"r"}]`), "400"},
		{"comment", run(`{"threadId":"t",/**/"runId":"r"}`), "400"},
		{"not a number", run(`{"threadId":"t","runId":"r","state":NaN}`), "400"},
		{"too large", run(`{"threadId":"t","runId":"r","state":"` + strings.Repeat("x", 4<<20) + `"}`), "413"},
		{"too large in chunks", "POST /agents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + asBob + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + strings.Repeat("100000\r\n"+strings.Repeat(" ", 1<<20)+"\r\n", 5), "413"},
	})
}

// Who is slow is not waited for: headers, and the body of a request that is refused.
func TestAttacksOfSlowClients(t *testing.T) {
	t.Parallel()
	g := newTarget(t, true, nil)
	g.run(t, []attack{
		{"nothing", "", ""},
		{"slow first line", "GET /thr", "400"},
		{"slow headers", "GET /threads HTTP/1.1\r\nHost: localhost\r\nX: ", ""},
		{"slow body without a token", "POST /agents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", "401"},
		{"slow chunks without a token", "POST /agents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{", "401"},
		{"slow body of another kind", "POST /agents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n" + asBob + "Content-Length: 1000\r\n\r\n{", "415"},
		{"slow body of GET", "GET /threads HTTP/1.1\r\nHost: localhost\r\n" + asBob + "Content-Length: 1000\r\n\r\n{", "400"},
		{"slow body for another host", "POST /agents/a HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", "421"},
		{"body that is awaited", "POST /agents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n", "401"},
	})
}

// One tenant cannot take all places of readers.
func TestAttacksOfManyReaders(t *testing.T) {
	t.Parallel()
	g := newTarget(t, true, func(s *serve.Settings) { s.Guard.MaxReaders, s.Guard.MaxTenantReaders = 20, 10 })
	statuses := map[int]int{}
	for i := range 30 {
		conn, err := net.Dial("tcp", g.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		target := []string{"GET /threads/both/events", "GET /threads/none/events", "GET /threads/both/events?view=compact"}[i%3]
		io.WriteString(conn, strings.Replace(request(target, asBob), "Connection: close\r\n", "", 1))
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		statuses[response.StatusCode]++
	}
	if statuses[200] != 10 || statuses[503] != 20 {
		t.Errorf("the readers of one tenant: %v", statuses)
	}
	g.run(t, nil) // ann reads
}

// A client that does not read is dropped, and the events that wait for it take little memory.
// It is not parallel, because it measures the memory of the process.
func TestAttacksOfReadersThatDoNotRead(t *testing.T) {
	const readers, most = 20, 64 << 20
	g := newTarget(t, true, func(s *serve.Settings) { s.ReaderTimeout = 2 * time.Second })
	key, last := store.Key{Tenant: "bob", Thread: "large"}, int64(0)
	for range 64 { // of a megabyte
		event := store.Entry{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"CUSTOM","name":"x","value":"` + strings.Repeat("x", 1<<20) + `"}`)}
		appended, err := g.log.Append(t.Context(), key, last, []store.Entry{event})
		if err != nil {
			t.Fatal(err)
		}
		last = appended
	}
	before := heap()
	for range readers {
		conn, err := net.Dial("tcp", g.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, request("GET /threads/large/events", asBob))
	}
	var highest uint64
	g.seen.until(t, "the readers are dropped", func() bool {
		highest = max(highest, heap())
		return g.seen.dropped == readers
	})
	if grown := int64(highest - before); highest > before && grown > most {
		t.Errorf("%d readers that do not read take %d MiB", readers, grown>>20)
	}
	g.run(t, nil)
}

// heap returns the bytes in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// With HTTP/2, the same requests are refused, also while their bodies are on the way.
func TestAttacksWithHTTP2(t *testing.T) {
	t.Parallel()
	g := newTarget(t, true, nil)
	server := httptest.NewUnstartedServer(nil)
	server.Config = proxy.NewServer(g.server, slog.New(slog.DiscardHandler))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for _, test := range []struct {
		name, method, path, host string
		body                     string // "..." for one that never ends
		headers                  []string
		want                     int
	}{
		{"no token", "GET", "/threads/ann/events?follow=false", "", "", nil, 401},
		{"forged tenant", "GET", "/threads/ann/events?follow=false", "", "", []string{"P20export-Tenant: ann"}, 401},
		{"two tokens", "GET", "/threads", "", "", []string{asBob, asAnn}, 400},
		{"rebound name", "GET", "/threads", "evil.example", "", []string{asBob}, 421},
		{"page without TLS", "GET", "/threads", "localhost", "", []string{asBob, "Origin: http://localhost"}, 403},
		{"page", "GET", "/threads", "localhost", "", []string{asBob, "Origin: https://localhost"}, 200},
		{"another tenant", "GET", "/threads/ann/runs", "", "", []string{asBob}, 404},
		{"form", "POST", "/agents/a", "", "a=b", []string{asBob, "Content-Type: application/x-www-form-urlencoded"}, 415},
		{"body of GET", "GET", "/threads", "", "x", []string{asBob}, 400},
		{"no input", "POST", "/agents/a", "", "{}", []string{asBob, "Content-Type: application/json"}, 400},
		{"slow body without a token", "POST", "/agents/a", "", "...", []string{"Content-Type: application/json"}, 401},
		{"slow body of another kind", "POST", "/agents/a", "", "...", []string{asBob, "Content-Type: text/plain"}, 415},
	} {
		var body io.Reader
		switch test.body {
		case "":
		case "...":
			r, w := io.Pipe()
			defer w.Close()
			body = r
		default:
			body = strings.NewReader(test.body)
		}
		r, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = test.host
		for _, h := range test.headers {
			name, value, _ := strings.Cut(strings.TrimSpace(h), ": ")
			r.Header.Add(name, value)
		}
		response, err := server.Client().Do(r)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.ProtoMajor != 2 || response.StatusCode != test.want || strings.Contains(string(text), secret) {
			t.Errorf("%s: %s %s, want %d: %.300s", test.name, response.Proto, response.Status, test.want, text)
		}
	}
	g.run(t, nil)
}
