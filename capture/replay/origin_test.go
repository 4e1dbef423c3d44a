package replay

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParseOrigin(t *testing.T) {
	for in, want := range map[string]string{
		"*":                           "*",
		"http://localhost:5173":       "http://localhost:5173",
		"HTTPS://App.Example":         "https://app.example",
		"https://app.example:443":     "https://app.example",
		"http://app.example:80":       "http://app.example",
		"https://app.example:80":      "https://app.example:80",
		"http://[::1]:3000":           "http://[::1]:3000",
		"capacitor://localhost":       "capacitor://localhost",
		"":                            "",
		"localhost:5173":              "",
		"localhost":                   "",
		"http://":                     "",
		"http://:80":                  "",
		"http://app.example/":         "",
		"http://app.example/path":     "",
		"http://app.example?q":        "",
		"http://app.example#f":        "",
		"http://user@app.example":     "",
		"http://a.example, b.example": "",
		"*.example":                   "",
		"null":                        "",
	} {
		got, err := ParseOrigin(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}

// A page can read responses only if its origin is allowed, and then also those that refuse
// its request. Requests of other programs are answered as always.
func TestReplayOrigins(t *testing.T) {
	path := stored{body: "data: 1\n\n", content: "text/event-stream", request: request}.one(t)
	for _, c := range []struct {
		name, origin string
		allowed      []string
		want, vary   string // Access-Control-Allow-Origin, Vary
	}{
		{"not asked for", "http://localhost:5173", nil, "", ""},
		{"listed", "http://localhost:5173", []string{"https://a.example", "http://localhost:5173"}, "http://localhost:5173", "Origin"},
		{"not listed", "http://localhost:5174", []string{"http://localhost:5173"}, "", "Origin"},
		{"a longer one", "http://localhost:5173.evil.example", []string{"http://localhost:5173"}, "", "Origin"},
		{"no origin", "", []string{"http://localhost:5173"}, "", "Origin"},
		{"null", "null", []string{"http://localhost:5173"}, "", "Origin"},
		{"all", "http://localhost:5174", []string{"*"}, "*", ""},
		{"all, and null", "null", []string{"*", "http://localhost:5173"}, "*", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := New(t.Context(), path, Settings{Match: MatchInput, AllowedOrigins: c.allowed})
			if err != nil {
				t.Fatal(err)
			}
			do := func(method, body string) *http.Response {
				q := httptest.NewRequest(method, "http://localhost/", strings.NewReader(body))
				if c.origin != "" {
					q.Header.Set("Origin", c.origin)
				}
				if method == http.MethodOptions {
					q.Header.Set("Access-Control-Request-Method", "POST")
					q.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
				}
				w := httptest.NewRecorder()
				r.ServeHTTP(w, q)
				return w.Result()
			}
			check := func(what string, response *http.Response, status int) {
				t.Helper()
				if response.StatusCode != status {
					t.Errorf("%s: status %d, want %d", what, response.StatusCode, status)
				}
				if got := response.Header.Get("Access-Control-Allow-Origin"); got != c.want {
					t.Errorf("%s: allows %q, want %q", what, got, c.want)
				}
				if got := response.Header.Get("Access-Control-Expose-Headers"); (got == AlteredHeader) != (c.want != "") {
					t.Errorf("%s: exposes %q", what, got)
				}
				if got := response.Header.Get("Vary"); got != c.vary {
					t.Errorf("%s: Vary is %q, want %q", what, got, c.vary)
				}
			}
			check("POST", do("POST", request), 200)
			check("unknown", do("POST", `{"messages":[{"role":"user","content":"?"}]}`), 404)
			check("GET", do("GET", ""), 405)

			preflight := do("OPTIONS", "")
			switch {
			case c.want != "":
				if h := preflight.Header; preflight.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != c.want ||
					h.Get("Access-Control-Allow-Methods") != "POST" || h.Get("Access-Control-Allow-Headers") != "authorization,content-type" ||
					!strings.Contains(strings.Join(h["Vary"], ", "), "Access-Control-Request-Headers") {
					t.Errorf("preflight: %s, %v", preflight.Status, h)
				}
			case c.origin == "":
				check("OPTIONS", preflight, 405) // not of a browser
			default:
				check("preflight", preflight, 403)
			}
		})
	}
}

// An allowed origin does not make other hosts acceptable.
func TestReplayOriginHost(t *testing.T) {
	path := stored{body: "data: 1\n\n", content: "text/event-stream"}.one(t)
	r, err := New(t.Context(), path, Settings{AllowedOrigins: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	q := httptest.NewRequest("POST", "http://rebound.example/", nil)
	q.Header.Set("Origin", "http://rebound.example")
	w := httptest.NewRecorder()
	r.ServeHTTP(w, q)
	if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != http.StatusMisdirectedRequest || got != "" {
		t.Errorf("status %d, allows %q", w.Code, got)
	}
}
