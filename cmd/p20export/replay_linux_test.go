package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Replay lets the pages of --allow-origin read its responses.
func TestReplayAllowOrigin(t *testing.T) {
	t.Parallel()
	s, url := startServer(t, "replay", "../../discovery/captures/adk/refused", "--allow-origin", "https://a.example:443", "--allow-origin", "http://b.example")
	for origin, want := range map[string]string{"https://a.example": "https://a.example", "http://b.example": "http://b.example", "http://c.example": ""} {
		request, err := http.NewRequest("POST", url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Origin", origin)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil { // the response ends before the server
			t.Error(err)
		}
		response.Body.Close()
		if got := response.Header.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("%s: allowed %q, want %q", origin, got, want)
		}
	}
	s.stop(t)
}
