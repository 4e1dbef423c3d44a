package main

import (
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// metricsURL returns the URL of --metrics.
func metricsURL(s *server) string {
	return "http://" + regexp.MustCompile(`"metrics":"([^"]+)"`).FindStringSubmatch(s.all.String())[1]
}

// monitoring gets a path of the address of --metrics.
func monitoring(t *testing.T, s *server, path string) (status int, text string) {
	t.Helper()
	response, err := http.Get(metricsURL(s) + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// metricsOf returns the metrics of a server.
func metricsOf(t *testing.T, s *server) string {
	t.Helper()
	_, text := monitoring(t, s, "/metrics")
	return text
}

// wantReady waits until /readyz has a status. On a busy machine, the probe can take longer
// than the second that it has, so one 503 says nothing.
func wantReady(t *testing.T, s *server, want int) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, text := monitoring(t, s, "/readyz")
		if status == want {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("/readyz has the status %d, want %d: %s", status, want, text)
		}
	}
}
