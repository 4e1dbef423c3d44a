package guard

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hashOf returns the hash of a token as a token file has it.
func hashOf(token string) string {
	hash := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(hash[:])
}

// writeTokens writes a token file.
func writeTokens(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open returns a Guard.
func open(t *testing.T, s Settings) *Guard {
	t.Helper()
	g, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// shown is a handler that answers with the tenant and what it can see of credentials.
func shown(g *Guard) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := g.ReadBody(w, r)
		if !ok {
			return
		}
		fmt.Fprintf(w, "tenant %q, body %q, authorization %q, header %q", Tenant(r.Context()), body, r.Header["Authorization"], r.Header[TenantHeader])
	})
}

// try sends a request to a Guard, with headers "Name: value" and Host: localhost unless they
// have one, and returns the response.
func try(t *testing.T, g *Guard, method, target, body string, headers ...string) *http.Response {
	t.Helper()
	return tryFrom(t, g, "192.0.2.1:1234", method, target, body, headers...)
}

// tryFrom does the same with the given address of the peer.
func tryFrom(t *testing.T, g *Guard, peer, method, target, body string, headers ...string) *http.Response {
	t.Helper()
	text := method + " " + target + " HTTP/1.1\r\n"
	if !strings.HasPrefix(strings.Join(headers, "\n"), "Host:") {
		text += "Host: localhost\r\n"
	}
	for _, h := range headers {
		text += h + "\r\n"
	}
	if body != "" {
		text += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = peer
		g.Wrap(shown(g)).ServeHTTP(w, r)
	})
	server := httptest.NewUnstartedServer(h)
	server.Config.DisableGeneralOptionsHandler = true // as that of package exchange
	server.Start()
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, text+"\r\n"+body)
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	response.Body = io.NopCloser(strings.NewReader(string(b)))
	return response
}

// text returns the body of a response.
func text(r *http.Response) string {
	b, _ := io.ReadAll(r.Body)
	return string(b)
}

const jsonType = "Content-Type: application/json"

func TestTenants(t *testing.T) {
	t.Parallel()
	tokens := writeTokens(t, "# tenants", "acme "+hashOf("a-token"), "", `"two words"`+"\t"+hashOf("b-token"), `"" `+hashOf("c-token"), "acme "+hashOf("d-token"))
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	long := strings.Repeat("x", MaxTenantBytes)
	for _, test := range []struct {
		name     string
		settings Settings
		peer     string
		headers  []string
		want     string // the tenant, or the status
	}{
		{"open", Settings{Tenant: "me"}, "", nil, `"me"`},
		{"open, with headers", Settings{Tenant: "me"}, "", []string{"P20export-Tenant: other", "Authorization: Bearer a-token"}, `"me"`},
		{"token", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer a-token"}, `"acme"`},
		{"scheme in lower case", Settings{TokenFile: tokens}, "", []string{"Authorization: bearer a-token"}, `"acme"`},
		{"second token", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer d-token"}, `"acme"`},
		{"quoted", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer b-token"}, `"two words"`},
		{"default tenant", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer c-token"}, `""`},
		{"no token", Settings{TokenFile: tokens}, "", nil, "401"},
		{"unknown token", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer e-token"}, "401"},
		{"the hash as a token", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer " + hashOf("a-token")}, "401"},
		{"empty token", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer "}, "401"},
		{"no scheme", Settings{TokenFile: tokens}, "", []string{"Authorization: a-token"}, "401"},
		{"basic", Settings{TokenFile: tokens}, "", []string{"Authorization: Basic a-token"}, "401"},
		{"spaces", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer  a-token"}, "401"},
		{"two tokens in one", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer a-token, Bearer b-token"}, "401"},
		{"two headers", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer a-token", "Authorization: Bearer b-token"}, "400"},
		{"token and forged tenant", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer a-token", "P20export-Tenant: two words"}, `"acme"`},
		{"forged tenant", Settings{TokenFile: tokens}, "", []string{"P20export-Tenant: acme"}, "401"},
		{"long token", Settings{TokenFile: tokens}, "", []string{"Authorization: Bearer " + strings.Repeat("x", 5000)}, "401"},
		{"proxy", Settings{TrustedProxies: trusted}, "10.1.2.3:1", []string{"P20export-Tenant: acme"}, `"acme"`},
		{"proxy, IPv6", Settings{TrustedProxies: trusted}, "[fd00::1%eth0]:1", []string{"P20export-Tenant: acme"}, `"acme"`},
		{"proxy, IPv4 in IPv6", Settings{TrustedProxies: trusted}, "[::ffff:10.1.2.3]:1", []string{"P20export-Tenant: acme"}, `"acme"`},
		{"proxy, longest tenant", Settings{TrustedProxies: trusted}, "10.1.2.3:1", []string{"P20export-Tenant: " + long}, fmt.Sprintf("%q", long)},
		{"proxy, too long a tenant", Settings{TrustedProxies: trusted}, "10.1.2.3:1", []string{"P20export-Tenant: x" + long}, "400"},
		{"proxy, no tenant", Settings{TrustedProxies: trusted}, "10.1.2.3:1", nil, "401"},
		{"proxy, empty tenant", Settings{TrustedProxies: trusted}, "10.1.2.3:1", []string{"P20export-Tenant:"}, "400"},
		{"proxy, invalid UTF-8", Settings{TrustedProxies: trusted}, "10.1.2.3:1", []string{"P20export-Tenant: a\xff"}, "400"},
		{"proxy, two tenants", Settings{TrustedProxies: trusted}, "10.1.2.3:1", []string{"P20export-Tenant: a", "p20export-tenant: b"}, "400"},
		{"proxy and token", Settings{TrustedProxies: trusted, TokenFile: tokens}, "10.1.2.3:1", []string{"Authorization: Bearer a-token"}, `"acme"`},
		{"not the proxy", Settings{TrustedProxies: trusted}, "11.1.2.3:1", []string{"P20export-Tenant: acme"}, "401"},
		{"forwarded", Settings{TrustedProxies: trusted}, "11.1.2.3:1", []string{"P20export-Tenant: acme", "X-Forwarded-For: 10.1.2.3", "Forwarded: for=10.1.2.3", "X-Real-IP: 10.1.2.3"}, "401"},
		{"proxy with tenant, and token", Settings{TrustedProxies: trusted, TokenFile: tokens}, "10.1.2.3:1", []string{"P20export-Tenant: two words", "Authorization: Bearer a-token"}, `"two words"`},
		{"not the proxy, with token", Settings{TrustedProxies: trusted, TokenFile: tokens}, "11.1.2.3:1", []string{"P20export-Tenant: two words", "Authorization: Bearer a-token"}, `"acme"`},
		{"no address", Settings{TrustedProxies: trusted}, "@", []string{"P20export-Tenant: acme"}, "401"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := tryFrom(t, open(t, test.settings), test.peer, "GET", "/threads", "", test.headers...)
			body := text(r)
			if r.StatusCode == 401 && !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("no challenge: %v", r.Header)
			}
			got := fmt.Sprint(r.StatusCode)
			if r.StatusCode == 200 {
				got, _, _ = strings.Cut(strings.TrimPrefix(body, "tenant "), ",")
				if !strings.HasSuffix(body, "header []") || test.settings.TokenFile != "" && !strings.Contains(body, "authorization []") {
					t.Errorf("the handler sees %s", body)
				}
			}
			if got != test.want {
				t.Errorf("%s, want %s: %s", got, test.want, body)
			}
		})
	}
}

// The refusal of a request without a tenant says what is missing.
func TestTenantRefusals(t *testing.T) {
	t.Parallel()
	tokens, trusted := writeTokens(t, "acme "+hashOf("a-token")), []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, test := range []struct {
		settings Settings
		headers  []string
		want     string
	}{
		{Settings{TokenFile: tokens}, nil, "unauthorized: the request has no token that is known"},
		{Settings{TrustedProxies: trusted}, nil, "unauthorized: the request has no header P20export-Tenant, or is not from a trusted proxy"},
		{Settings{TrustedProxies: trusted}, []string{"P20export-Tenant:"}, "malformed_request: the header P20export-Tenant names no tenant: it is empty"},
		{Settings{TrustedProxies: trusted}, []string{"P20export-Tenant: " + strings.Repeat("x", MaxTenantBytes+1)}, fmt.Sprintf("malformed_request: the header P20export-Tenant names no tenant: the tenant has more than %d bytes", MaxTenantBytes)},
	} {
		r := tryFrom(t, open(t, test.settings), "10.1.2.3:1", "GET", "/threads", "", test.headers...)
		if got := strings.TrimSpace(text(r)); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
