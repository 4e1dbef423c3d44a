package guard

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// A request is refused if another page caused it, or if the name of its host could be that of
// another page. The handler does not see it.
func TestPages(t *testing.T) {
	t.Parallel()
	local := Settings{}
	listed := Settings{AllowedOrigins: []string{"http://app.example:5173", "https://app.example"}}
	remote := Settings{AllowRemote: true}
	named := Settings{AllowRemote: true, AllowedHosts: []string{"api.example"}, AllowedOrigins: listed.AllowedOrigins}
	tokens := Settings{AllowRemote: true, TokenFile: writeTokens(t, "acme "+hashOf("secret"))}
	const token = "Authorization: Bearer secret"
	for _, test := range []struct {
		name     string
		settings Settings
		method   string
		target   string
		headers  []string
		want     int
	}{
		{"curl", local, "GET", "/threads", nil, 200},
		{"loopback", local, "GET", "/threads", []string{"Host: 127.0.0.1:8080"}, 200},
		{"rebound name", local, "GET", "/threads", []string{"Host: evil.example:8080"}, 421},
		{"rebound name of the same origin", local, "GET", "/threads", []string{"Host: evil.example", "Origin: http://evil.example", "Sec-Fetch-Site: same-origin"}, 421},
		{"no name", local, "GET", "/threads", []string{"Host: "}, 421},
		{"name with user info", local, "GET", "/threads", []string{"Host: localhost@evil.example"}, 400},
		{"remote address", remote, "GET", "/threads", []string{"Host: 192.0.2.7:8080"}, 200},
		{"remote name", remote, "GET", "/threads", []string{"Host: evil.example:8080"}, 421},
		{"remote name that is allowed", named, "GET", "/threads", []string{"Host: API.example"}, 200},
		{"remote name that is not allowed", named, "GET", "/threads", []string{"Host: evil.example"}, 421},
		{"remote address beside names", named, "GET", "/threads", []string{"Host: 192.0.2.7"}, 421},
		{"any name with a token", tokens, "GET", "/threads", []string{"Host: evil.example", token}, 200},
		{"any name without a token", tokens, "GET", "/threads", []string{"Host: evil.example"}, 401},

		{"absolute target", local, "GET", "http://localhost/threads", nil, 421},
		{"absolute target of another host", local, "GET", "http://evil.example/threads", nil, 421},
		{"asterisk", local, "OPTIONS", "*", nil, 421},
		{"CONNECT", local, "CONNECT", "localhost:80", nil, 421},
		{"two slashes", local, "GET", "//evil.example/threads", nil, 200},
		{"body of GET", local, "GET", "/threads", []string{"Transfer-Encoding: chunked"}, 400},
		{"body of HEAD", local, "HEAD", "/threads", []string{"Content-Length: 1"}, 400},
		{"two media types", local, "POST", "/agents/a", []string{jsonType, "Content-Type: text/plain"}, 400},
		{"two cursors", local, "GET", "/threads", []string{"Last-Event-ID: 1", "last-event-id: 2"}, 400},
		{"two origins", local, "GET", "/threads", []string{"Origin: http://localhost", "Origin: http://evil.example"}, 400},

		{"own page", local, "GET", "/threads", []string{"Host: localhost:8080", "Origin: http://localhost:8080", "Sec-Fetch-Site: same-origin"}, 200},
		{"own page behind TLS", local, "GET", "/threads", []string{"Host: app.localhost", "Origin: https://app.localhost"}, 200},
		{"own page with the default port", local, "GET", "/threads", []string{"Host: localhost:80", "Origin: http://localhost"}, 200},
		{"page of another port", local, "GET", "/threads", []string{"Host: localhost:8080", "Origin: http://localhost:3000"}, 403},
		{"page of the default port", local, "GET", "/threads", []string{"Host: localhost:8080", "Origin: http://localhost"}, 403},
		{"page of another host", local, "GET", "/threads", []string{"Origin: http://evil.example"}, 403},
		{"page with a long name", local, "GET", "/threads", []string{"Origin: http://localhost.evil.example"}, 403},
		{"page without an origin", local, "POST", "/agents/a", []string{jsonType, "Origin: null"}, 403},
		{"page with an empty origin", local, "GET", "/threads", []string{"Origin:"}, 403},
		{"file", local, "GET", "/threads", []string{"Origin: file://"}, 403},
		{"extension", local, "GET", "/threads", []string{"Origin: chrome-extension://localhost"}, 403},
		{"origin with a path", local, "GET", "/threads", []string{"Origin: http://localhost/"}, 403},
		{"origin with user info", local, "GET", "/threads", []string{"Origin: http://evil@localhost"}, 403},
		{"list of origins", local, "GET", "/threads", []string{"Origin: http://localhost http://evil.example"}, 403},
		{"image of a page", local, "GET", "/threads/t/events", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		{"page of another port without CORS", local, "GET", "/threads/t/events", []string{"Sec-Fetch-Site: same-site"}, 403},
		{"link of a page", local, "GET", "/threads", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 403},
		{"unknown site", local, "GET", "/threads", []string{"Sec-Fetch-Site: x"}, 403},
		{"address bar", local, "GET", "/threads", []string{"Sec-Fetch-Site: none"}, 200},
		{"own origin of another site", local, "GET", "/threads", []string{"Origin: http://localhost", "Sec-Fetch-Site: cross-site"}, 403},
		{"listed page", listed, "GET", "/threads", []string{"Origin: http://app.example:5173", "Sec-Fetch-Site: cross-site"}, 200},
		{"listed page at another host", named, "GET", "/threads", []string{"Host: api.example", "Origin: https://app.example", "Sec-Fetch-Site: same-site"}, 200},
		{"listed page in capitals", listed, "GET", "/threads", []string{"Origin: https://APP.example"}, 403},
		{"part of a listed page", listed, "GET", "/threads", []string{"Origin: http://app.example"}, 403},
		{"listed page with a token", Settings{TokenFile: tokens.TokenFile, AllowedOrigins: listed.AllowedOrigins}, "GET", "/threads", []string{"Origin: https://app.example", token}, 200},
		{"listed page without a token", Settings{TokenFile: tokens.TokenFile, AllowedOrigins: listed.AllowedOrigins}, "GET", "/threads", []string{"Origin: https://app.example"}, 401},

		{"form", local, "POST", "/agents/a", []string{"Content-Type: application/x-www-form-urlencoded"}, 415},
		{"text", local, "POST", "/agents/a", []string{"Content-Type: text/plain"}, 415},
		{"text with JSON as a parameter", local, "POST", "/agents/a", []string{`Content-Type: text/plain; x="application/json"`}, 415},
		{"multipart", local, "POST", "/agents/a", []string{"Content-Type: multipart/form-data; boundary=application/json"}, 415},
		{"no media type", local, "POST", "/threads/t/runs/r/cancel", nil, 415},
		{"malformed media type", local, "POST", "/agents/a", []string{"Content-Type: application/json; charset"}, 415},
		{"more than JSON", local, "POST", "/agents/a", []string{"Content-Type: application/json, text/plain"}, 415},
		{"JSON of another kind", local, "POST", "/agents/a", []string{"Content-Type: application/json-seq"}, 415},
		{"compressed", local, "POST", "/agents/a", []string{jsonType, "Content-Encoding: gzip"}, 415},
		{"JSON", local, "POST", "/agents/a", []string{"Content-Type: Application/JSON; charset=utf-8"}, 200},
		{"overridden method", local, "GET", "/threads/t/runs/r/cancel", []string{"X-HTTP-Method-Override: POST", "X-HTTP-Method: POST"}, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := open(t, test.settings)
			r := try(t, g, test.method, test.target, "", test.headers...)
			if body := text(r); r.StatusCode != test.want || strings.HasPrefix(body, "tenant") != (test.want == 200) {
				t.Errorf("%s, want %d: %s", r.Status, test.want, body)
			}
			if vary := r.Header.Get("Vary"); (r.StatusCode == 200 || r.StatusCode == 403) && vary != "Origin" {
				t.Errorf("Vary: %q", vary)
			}
			var origin string
			if strings.HasPrefix(test.name, "listed page") && test.want != 403 {
				for _, h := range test.headers {
					if o, ok := strings.CutPrefix(h, "Origin: "); ok {
						origin = o
					}
				}
			}
			if got := r.Header.Get("Access-Control-Allow-Origin"); got != origin {
				t.Errorf("the page may read: %q, want %q", got, origin)
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	g := open(t, Settings{AllowedOrigins: []string{"https://app.example"}, TokenFile: writeTokens(t, "acme "+hashOf("secret"))})
	const asked = "Access-Control-Request-Method: POST"
	for _, test := range []struct {
		name    string
		headers []string
		want    int
		allowed string
	}{
		{"listed", []string{"Origin: https://app.example", asked, "Access-Control-Request-Headers: authorization, content-type", "Access-Control-Request-Headers: last-event-id"}, 204, "authorization, content-type, last-event-id"},
		{"no headers", []string{"Origin: https://app.example", asked}, 204, ""},
		{"the tenant", []string{"Origin: https://app.example", asked, "Access-Control-Request-Headers: content-type,p20export-tenant"}, 403, ""},
		{"another page", []string{"Origin: https://evil.example", asked}, 403, ""},
		{"no origin", []string{"Origin: null", asked}, 403, ""},
		{"own page", []string{"Origin: http://localhost", asked}, 401, ""},
		{"no preflight", []string{"Origin: https://app.example"}, 401, ""},
	} {
		r := try(t, g, "OPTIONS", "/agents/a", "", append(test.headers, "Access-Control-Request-Private-Network: true")...)
		h := r.Header
		if r.StatusCode != test.want || h.Get("Access-Control-Allow-Headers") != test.allowed {
			t.Errorf("%s: %s, %v", test.name, r.Status, h)
		}
		if want := fmt.Sprint(test.want == 204); test.want == 204 && (h.Get("Access-Control-Allow-Private-Network") != want || h.Get("Access-Control-Allow-Methods") != "GET, HEAD, POST" ||
			h.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(strings.Join(h.Values("Vary"), ", "), "Access-Control-Request-Headers")) {
			t.Errorf("%s: %v", test.name, h)
		}
		if test.want != 204 && h.Get("Access-Control-Allow-Private-Network") != "" {
			t.Errorf("%s: %v", test.name, h)
		}
	}
}

func TestOriginsOfManyPages(t *testing.T) {
	for _, origin := range []string{"*", "null"} {
		if _, err := New(Settings{AllowedOrigins: []string{origin}}); err == nil {
			t.Errorf("%s is allowed", origin)
		}
	}
}

// With TLS, a page without TLS has another origin. Without, a proxy may end TLS.
func TestOwnOriginTLS(t *testing.T) {
	for _, test := range []struct {
		target, origin string
		same           bool
	}{
		{"https://localhost/", "https://localhost", true},
		{"https://localhost:8443/", "https://localhost:8443", true},
		{"https://localhost:443/", "https://localhost", true},
		{"https://localhost/", "http://localhost", false},
		{"https://localhost:80/", "http://localhost", false},
		{"https://localhost:8443/", "https://localhost", false},
		{"http://localhost/", "https://localhost", true},
		{"http://localhost/", "http://localhost", true},
		{"http://[::1]:80/", "http://[::1]", true},
		{"http://[::1]/", "http://[::2]", false},
	} {
		if same := sameOrigin(httptest.NewRequest("GET", test.target, nil), test.origin); same != test.same {
			t.Errorf("%s has the origin %s: %t", test.target, test.origin, same)
		}
	}
}
