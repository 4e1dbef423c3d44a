package serve_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// secret is in every event of the victim. No attacker may receive it.
const secret = "SECRET-OF-ANN"

// The headers of the victim and of the attacker.
const (
	asAnn = "Authorization: Bearer token-of-ann-0123456789\r\n"
	asBob = "Authorization: Bearer token-of-bob-0123456789\r\n"
)

// A target is a process that is attacked. The tenants ann and bob have threads with the same
// id, and only ann has the thread "ann".
type target struct {
	*process
	log     store.Log
	agent   *agent
	raw     *http.Server
	address string
}

// newTarget starts a process as the command does. With tokens, ann and bob have one each;
// otherwise everybody is ann.
func newTarget(t *testing.T, tokens bool, change func(*serve.Settings)) *target {
	t.Helper()
	g := &target{log: memory.New(), agent: newAgent(t)}
	for tenant, threads := range map[string][]string{"ann": {"ann", "both"}, "bob": {"both"}} {
		for _, thread := range threads {
			text := "of bob"
			if tenant == "ann" {
				text = secret
			}
			run := "run-" + thread
			var list []store.Entry
			for _, e := range []string{started(thread, run), fmt.Sprintf(`{"type":"CUSTOM","name":%q,"value":1}`, text), finished(thread, run)} {
				list = append(list, store.Entry{Stream: "serve:x:1", Kind: store.Event, Data: []byte(e)})
			}
			list = append(list, store.Entry{Stream: "serve:x:1", Kind: store.End, Data: []byte("eof")})
			if _, err := g.log.Append(t.Context(), store.Key{Tenant: tenant, Thread: thread}, 0, list); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := serve.Settings{Guard: serve.GuardSettings{Tenant: "ann", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}}
	if tokens {
		file := filepath.Join(t.TempDir(), "tokens")
		var text string
		for _, tenant := range []string{"ann", "bob"} {
			text += fmt.Sprintf("%s sha256:%x\n", tenant, sha256.Sum256([]byte("token-of-"+tenant+"-0123456789")))
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Guard.TokenFile = file
	} else {
		s.Guard.TrustedProxies = nil
	}
	if change != nil {
		change(&s)
	}
	g.process = start(t, g.log, g.agent, s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.raw, g.address = proxy.NewServer(g.server, slog.New(slog.DiscardHandler)), l.Addr().String()
	g.raw.ReadHeaderTimeout = time.Second // ten in the command
	go g.raw.Serve(l)
	t.Cleanup(func() { g.raw.Close() })
	return g
}

// send sends bytes and returns everything that comes back until the connection ends. The
// attacker sends no more, and waits.
func (g *target) send(t *testing.T, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go io.WriteString(conn, text) // the server may answer and close before it has read all
	b, _ := io.ReadAll(conn)      // a reset ends it too
	return string(b)
}

// ann returns all entries of the victim.
func (g *target) ann(t *testing.T) (list []string) {
	t.Helper()
	tenant := "ann"
	for thread, err := range g.log.Threads(t.Context(), store.ThreadQuery{Tenant: &tenant}) {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range g.log.Read(t.Context(), thread.Key, 0) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(thread.Thread, e.Position, e.Kind, string(e.Data)))
		}
	}
	return list
}

// request returns a request that asks the server to close the connection.
func request(line string, headers ...string) string {
	text := line + " HTTP/1.1\r\n"
	if !strings.HasPrefix(strings.Join(headers, ""), "Host:") {
		text += "Host: localhost\r\n"
	}
	return text + strings.Join(headers, "") + "Connection: close\r\n\r\n"
}

// post returns a POST request with a body.
func post(path, body string, headers ...string) string {
	if !strings.Contains(strings.Join(headers, ""), "Content-Type:") {
		headers = append(headers, "Content-Type: application/json\r\n")
	}
	return request("POST "+path, append(headers, fmt.Sprintf("Content-Length: %d\r\n", len(body)))...) + body
}

// An attack is what an attacker sends, and the statuses that may come back.
type attack struct {
	name, sent string
	want       string
}

// run sends attacks. The attacker never receives the secret, the victim's threads stay as
// they are, and the agent is not called.
func (g *target) run(t *testing.T, attacks []attack) {
	before := g.ann(t)
	for _, a := range attacks {
		got := g.send(t, a.sent)
		var statuses []string
		r := bufio.NewReader(strings.NewReader(got))
		for {
			response, err := http.ReadResponse(r, &http.Request{Method: a.sent[:max(0, strings.IndexByte(a.sent, ' '))]})
			if err != nil {
				break
			}
			io.Copy(io.Discard, response.Body)
			statuses = append(statuses, fmt.Sprint(response.StatusCode))
			if response.Header.Get("Set-Cookie") != "" || response.Header.Get("Location") != "" {
				t.Errorf("%s: %v", a.name, response.Header)
			}
		}
		if status := strings.Join(statuses, " "); status != a.want {
			t.Errorf("%s: status %s, want %s\n%.300s", a.name, status, a.want, got)
		}
		if strings.Contains(got, secret) {
			t.Errorf("%s: the attacker receives the secret\n%.1000s", a.name, got)
		}
		if strings.Contains(got, "panic") || strings.Contains(got, "goroutine ") {
			t.Errorf("%s: %.300s", a.name, got)
		}
	}
	if diff := cmp.Diff(before, g.ann(t)); diff != "" {
		t.Errorf("the threads of the victim changed\n%s", diff)
	}
	if n := len(g.agent.calls); n != 0 {
		t.Errorf("the agent was called %d times: %+v", n, <-g.agent.calls)
	}
	if got := g.send(t, request("GET /threads/ann/events?follow=false", asAnn)); !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.Contains(got, secret) {
		t.Errorf("the victim is not served any more: %.300s", got)
	}
}

// Without the victim's token, nobody is the victim.
func TestAttacksOnTokens(t *testing.T) {
	t.Parallel()
	g := newTarget(t, true, nil)
	const line = "GET /threads/ann/events?follow=false"
	body := input("ann", "run-ann")
	g.run(t, []attack{
		{"no token", request(line), "401"},
		{"no token, POST", post("/agents/a", body), "401"},
		{"unknown token", request(line, "Authorization: Bearer x\r\n"), "401"},
		{"empty token", request(line, "Authorization: Bearer\r\n"), "401"},
		{"name of the tenant", request(line, "Authorization: Bearer ann\r\n"), "401"},
		{"hash of a token", request(line, fmt.Sprintf("Authorization: Bearer %x\r\n", sha256.Sum256([]byte("token-of-ann-0123456789")))), "401"},
		{"basic", request(line, "Authorization: Basic dG9rZW4tb2YtYW5uLTAxMjM0NTY3ODk6\r\n"), "401"},
		{"token as the scheme", request(line, "Authorization: token-of-ann-0123456789\r\n"), "401"},
		{"prefix of a token", request(line, "Authorization: Bearer token-of-ann\r\n"), "401"},
		{"token with more", request(line, "Authorization: Bearer token-of-ann-0123456789 x\r\n"), "401"},
		{"token in the query", request(line + "&access_token=token-of-ann-0123456789"), "401"},
		{"token in a cookie", request(line, "Cookie: Authorization=Bearer token-of-ann-0123456789\r\n"), "401"},
		{"token of a proxy", request(line, "Proxy-"+asAnn), "401"},
		{"user info", request("GET http://ann:token@localhost/threads"), "421"},
		{"two tokens", request(line, asBob, asAnn), "400"},
		{"token in two cases", request(line, asBob, strings.ToLower(asAnn[:13])+asAnn[13:]), "400"},
		{"folded token of the attacker", request(line, "Authorization: Bearer\r\n token-of-bob-0123456789\r\n"), "200"},
		{"long token", request(line, "Authorization: Bearer "+strings.Repeat("x", 20_000)+"\r\n"), "401"},
		{"immense token", request(line, "Authorization: Bearer "+strings.Repeat("x", 200_000)+"\r\n"), "431"},
		{"forged tenant", request(line, "P20export-Tenant: ann\r\n"), "401"},
		{"forged tenant with a token", request(line, asBob, "P20export-Tenant: ann\r\n"), "200"},
		{"forged proxy", request(line, "P20export-Tenant: ann\r\n", "X-Forwarded-For: 192.0.2.1\r\n", "X-Real-IP: 192.0.2.1\r\n", "Forwarded: for=192.0.2.1\r\n", "Via: 192.0.2.1\r\n"), "401"},
		{"two tenants", request(line, asBob, "P20export-Tenant: bob\r\n", "P20export-Tenant: ann\r\n"), "400"},
		{"tenant with underscores", request(line, "P20export_Tenant: ann\r\n"), "401"},
		{"tenant named by the connection", request(line, "P20export-Tenant: ann\r\n", "Connection: P20export-Tenant\r\n"), "401"},
		{"tenant in a trailer", "POST /agents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\nConnection: close\r\n\r\n0\r\n" + asAnn + "\r\n", "401"},
		{"tenant in the query", request("GET /threads?tenant=ann", asBob), "200"},
		{"tenant in the path", request("GET /threads/ann%2Fann/runs", asBob), "404"},
		{"page of threads after another tenant's", request("GET /threads?after=aaa", asBob), "200"},
	})
}

// Another tenant's threads are like threads that do not exist.
func TestAttacksOnTenants(t *testing.T) {
	t.Parallel()
	g := newTarget(t, true, nil)
	before := g.ann(t)
	for _, route := range []string{
		"GET /threads/THREAD/events?follow=false", "GET /threads/THREAD/events?follow=false&view=compact", "GET /threads/THREAD/events?follow=false&after=2",
		"HEAD /threads/THREAD/events?follow=false", "GET /threads/THREAD/runs", "HEAD /threads/THREAD/runs", "GET /threads/THREAD/restore",
		"GET /threads/THREAD/restore?run=run-ann", "GET /threads/THREAD/restore?position=2", "GET /threads/THREAD", "DELETE /threads/THREAD",
		"POST /threads/THREAD/runs/run-ann/cancel", "GET /threads/THREAD/runs/run-ann", "POST /threads/THREAD/connect",
		"POST /agents/a/connect",
	} {
		ask := func(thread string) string {
			method, path, _ := strings.Cut(strings.ReplaceAll(route, "THREAD", thread), " ")
			text := request(method+" "+path, asBob)
			if method == "POST" {
				text = post(path, input(thread, "new"), asBob)
			}
			return g.send(t, text)
		}
		theirs, none := ask("ann"), ask("xyz")
		if secretless := strings.ReplaceAll(none, "xyz", "ann"); withoutDate(theirs) != withoutDate(secretless) || strings.Contains(theirs, secret) {
			t.Errorf("%s: the thread of another tenant is not like one that does not exist:\n%s\n%s", route, theirs, none)
		}
	}
	both := g.send(t, request("GET /threads/both/events?follow=false", asBob))
	if !strings.Contains(both, "of bob") || strings.Contains(both, secret) {
		t.Errorf("two tenants have the same thread id: %s", both)
	}
	// The same thread id, run id and body are another run, whose events only bob receives.
	go func() {
		c := g.agent.next()
		c.accept()
		c.send(started("ann", "run-ann"), finished("ann", "run-ann"))
		c.end()
	}()
	got := g.send(t, post("/agents/a", input("ann", "run-ann"), asBob))
	if !strings.Contains(got, "RUN_FINISHED") || strings.Contains(got, secret) {
		t.Errorf("the run of bob: %s", got)
	}
	if diff := cmp.Diff(before, g.ann(t)); diff != "" {
		t.Errorf("the threads of the victim changed\n%s", diff)
	}
}

// withoutDate returns a response without the header Date.
func withoutDate(response string) string {
	at := strings.Index(response, "Date: ")
	if at < 0 {
		return response
	}
	return response[:at] + response[at+strings.IndexByte(response[at:], '\n'):]
}

// A page in the browser of the victim, who needs no token, reaches nothing.
func TestAttacksOfPages(t *testing.T) {
	t.Parallel()
	g := newTarget(t, false, func(s *serve.Settings) { s.Guard.AllowedOrigins = []string{"https://app.example"} })
	const line, evil = "GET /threads/ann/events?follow=false", "Origin: http://evil.example\r\n"
	body := input("ann", "new")
	form := "threadId=ann&runId=new"
	g.run(t, []attack{
		{"rebound name", request(line, "Host: evil.example\r\n"), "421"},
		{"rebound name with the port", request(line, "Host: evil.example:"+g.address[strings.LastIndexByte(g.address, ':')+1:]+"\r\n"), "421"},
		{"rebound name, same origin", request(line, "Host: evil.example\r\n", evil, "Sec-Fetch-Site: same-origin\r\n"), "421"},
		{"rebound name with a dot", request(line, "Host: evil.example.\r\n"), "421"},
		{"name that begins with an address", request(line, "Host: 127.0.0.1.evil.example\r\n"), "421"},
		{"name that ends with ours", request(line, "Host: evillocalhost\r\n"), "421"},
		{"two names", request(line, "Host: localhost\r\n", "Host: evil.example\r\n"), "400"},
		{"no name", "GET /threads HTTP/1.1\r\n\r\n", "400"},
		{"empty name", request(line, "Host: \r\n"), "421"},
		{"absolute target", request("GET http://localhost/threads"), "421"},
		{"absolute target, other name", request("GET http://evil.example/threads"), "421"},
		{"CORS", request(line, evil), "403"},
		{"no CORS", request(line, "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Mode: no-cors\r\n"), "403"},
		{"link", request("GET /threads", "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Mode: navigate\r\n", "Sec-Fetch-Dest: document\r\n"), "403"},
		{"sandboxed page", request(line, "Origin: null\r\n"), "403"},
		{"page of another port", request(line, "Origin: http://localhost:3000\r\n", "Sec-Fetch-Site: same-site\r\n"), "403"},
		{"page like the allowed one", request(line, "Origin: https://app.example.evil.example\r\n"), "403"},
		{"page of the allowed host", request(line, "Origin: http://app.example\r\n"), "403"},
		{"two origins", request(line, "Origin: https://app.example\r\n", evil), "400"},
		{"form", post("/agents/a", form, "Content-Type: application/x-www-form-urlencoded\r\n", evil), "403"},
		{"form of an old browser", post("/agents/a", form, "Content-Type: application/x-www-form-urlencoded\r\n"), "415"},
		{"text form with JSON", post("/agents/a", body, "Content-Type: text/plain\r\n"), "415"},
		{"multipart form", post("/agents/a", body, "Content-Type: multipart/form-data; boundary=x\r\n"), "415"},
		{"beacon", post("/agents/a", body, "Content-Type: text/plain;charset=UTF-8\r\n", "Sec-Fetch-Site: cross-site\r\n"), "403"},
		{"JSON without a preflight", post("/agents/a", body, evil), "403"},
		{"JSON without an origin", post("/agents/a", body, "Sec-Fetch-Site: cross-site\r\n"), "403"},
		{"two media types", post("/agents/a", body, "Content-Type: text/plain\r\nContent-Type: application/json\r\n"), "400"},
		{"cancel by a form", post("/threads/ann/runs/run-ann/cancel", "", "Content-Type: text/plain\r\n"), "415"},
		{"cancel by an image", request("GET /threads/ann/runs/run-ann/cancel"), "405"},
		{"cancel by an overridden method", request("GET /threads/ann/runs/run-ann/cancel?_method=POST", "X-HTTP-Method-Override: POST\r\n"), "405"},
		{"preflight", request("OPTIONS /agents/a", evil, "Access-Control-Request-Method: POST\r\n"), "403"},
		{"preflight of a private network", request("OPTIONS /agents/a", evil, "Access-Control-Request-Method: POST\r\n", "Access-Control-Request-Private-Network: true\r\n"), "403"},
		{"preflight of the tenant", request("OPTIONS /agents/a", "Origin: https://app.example\r\n", "Access-Control-Request-Method: POST\r\n", "Access-Control-Request-Headers: p20export-tenant\r\n"), "403"},
		{"socket", request(line, evil, "Upgrade: websocket\r\n", "Sec-WebSocket-Key: x\r\n"), "403"},
	})
	for _, a := range []string{request(line, evil), request("OPTIONS /agents/a", evil, "Access-Control-Request-Method: POST\r\n")} {
		if got := g.send(t, a); strings.Contains(got, "Access-Control-Allow") {
			t.Errorf("a page may read %s", got)
		}
	}
}
