package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/p20export/p20export/serve"
)

// Headers of the agent that a client may need reach the client that started the run, and others
// do not. Cookies pass in both directions if that is asked for.
func TestPassedHeaders(t *testing.T) {
	t.Parallel()
	for _, cookies := range []bool{false, true} {
		a := newAgent(t)
		p := start(t, newMemory(t), a, serve.Settings{PassCookies: cookies, Guard: serve.GuardSettings{AllowedOrigins: []string{"https://page.example"}}})
		respond := func(status int, mediaType string) {
			c := a.next()
			want := ""
			if cookies {
				want = "session=1"
			}
			same(t, c.header.Get("Cookie"), want)
			c.do(func(w http.ResponseWriter) {
				h := w.Header()
				h.Set("Content-Type", mediaType)
				h.Set("X-Request-ID", "17")
				h.Set("Server-Timing", strings.Repeat("x", 9000))
				h["X-Ratelimit-Remaining"] = []string{"3"}
				h["Set-Cookie"] = []string{"a=1", "b=2"}
				h.Set("X-Secret", "no")
				h.Set("Access-Control-Allow-Origin", "*")
				h.Set("X-Accel-Buffering", "yes")
				w.WriteHeader(status)
				w.(http.Flusher).Flush()
			})
			if status == http.StatusOK {
				c.send(started("t", "r"), finished("t", "r"))
			}
			c.end()
		}
		check := func(got *answer, status int, passes, sets bool) {
			t.Helper()
			same(t, got.status, status)
			text := map[bool]string{true: "17", false: ""}[passes]
			same(t, got.header.Get("X-Request-ID"), text)
			same(t, got.header.Get("X-RateLimit-Remaining"), map[bool]string{true: "3", false: ""}[passes])
			same(t, len(got.header.Values("Set-Cookie")), map[bool]int{true: 2, false: 0}[sets])
			same(t, got.header.Get("X-Secret")+got.header.Get("Server-Timing"), "")
			same(t, got.header.Get("Access-Control-Allow-Origin"), "https://page.example")
			same(t, strings.Contains(got.header.Get("Access-Control-Expose-Headers"), "X-Request-Id"), passes)
			got.text()
		}
		post := func() *answer {
			return p.post("/agents/a", input("t", "r"), "Cookie", "session=1", "Origin", "https://page.example")
		}
		go respond(http.StatusTeapot, "text/plain")
		check(post(), http.StatusTeapot, true, cookies)
		go respond(http.StatusOK, "text/event-stream")
		check(post(), http.StatusOK, true, cookies)
		check(post(), http.StatusOK, false, false) // attaches
	}
}
