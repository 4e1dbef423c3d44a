package monitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture/proxy"
)

func none() int64 { return 0 }

// get returns the status and the body of the answer to a GET request.
func get(t *testing.T, m *Monitor, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// ownMetrics returns the samples of the metrics of this program, without buckets.
func ownMetrics(t *testing.T, m *Monitor) (samples []string) {
	t.Helper()
	_, text := get(t, m, "/metrics")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "p20export_") && !strings.Contains(line, "_bucket{") {
			samples = append(samples, strings.TrimSpace(line))
		}
	}
	return samples
}

// The server is ready while it serves and the store can be written. The log says when that
// changes.
func TestReady(t *testing.T) {
	var log bytes.Buffer
	broken := errors.New("no space")
	m := NewProxy(func() error { return broken }, NewLogger(&log, "text"), none)
	m.patience = time.Hour
	check := func(when string, want int) {
		t.Helper()
		if got, text := get(t, m.Monitor, "/readyz"); got != want {
			t.Errorf("%s: status %d, want %d: %s", when, got, want, text)
		}
		if got, _ := get(t, m.Monitor, "/healthz"); got != http.StatusOK {
			t.Errorf("%s: health is %d", when, got)
		}
	}
	check("before serving", 503)
	m.Serving()
	check("without space", 503)
	m.Ended(proxy.Exchange{Name: "a", Stored: true})
	check("still without space", 503)
	broken = nil
	check("with space", 200)
	m.StoreFailed(errors.New("the queue is full"))
	check("after a failure that is over", 200)
	broken = errors.New("another directory")
	check("with another directory", 503)
	m.Draining()
	broken = nil
	check("when draining", 503)
	var got []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(line, "level=")
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{
		`ERROR msg="the store cannot be written" error="no space"`,
		`INFO msg="the store can be written again"`,
		`ERROR msg="the store cannot be written" error="another directory"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A store that hangs is not ready. It is probed only once until it answers.
func TestReadyHangs(t *testing.T) {
	var log bytes.Buffer
	probes, answer := 0, make(chan error)
	m := NewProxy(func() error { probes++; return <-answer }, NewLogger(&log, "text"), none)
	m.Serving()
	m.patience = 0
	for range 3 {
		if status, _ := get(t, m.Monitor, "/readyz"); status != 503 {
			t.Errorf("status %d", status)
		}
	}
	m.patience = time.Hour
	ready := make(chan int)
	go func() {
		status, _ := get(t, m.Monitor, "/readyz")
		ready <- status
	}()
	answer <- nil
	select {
	case status := <-ready: // it waited for the probe
		if status != 200 {
			t.Errorf("status %d", status)
		}
	case answer <- nil: // or came after it
		if status := <-ready; status != 200 {
			t.Errorf("status %d", status)
		}
		probes--
	}
	if probes != 1 {
		t.Errorf("%d probes", probes)
	}
	if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, errSlow.Error()) || !strings.Contains(text, "written again") {
		t.Error(text)
	}
}

func TestHandlerRefuses(t *testing.T) {
	m := NewProxy(nil, nil, none)
	for path, want := range map[string]int{"/": 404, "/debug/pprof/": 404} {
		if got, _ := get(t, m.Monitor, path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/metrics", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestNewLogger(t *testing.T) {
	for format, want := range map[string]string{"text": "drain=1m30s", "json": `"drain":90}`, "": `"drain":90}`} {
		var out bytes.Buffer
		NewLogger(&out, format).Info("listening", slog.String("address", "127.0.0.1:1\n\x1b"), slog.String("path", "a\x7f\u009b\u202e"), slog.String("del", "\x7f"), slog.Duration("drain", 90*time.Second))
		line := out.String()
		if !strings.Contains(line, want) || strings.Count(line, "\n") != 1 || strings.ContainsAny(line, "\x1b\x7f\u009b\u202e") {
			t.Errorf("%q: %q", format, line)
		}
		if format != "text" {
			if err := json.Unmarshal(out.Bytes(), new(map[string]any)); err != nil {
				t.Error(err)
			}
		}
	}
	r, w, err := os.Pipe() // a file that is no terminal
	if err != nil {
		t.Fatal(err)
	}
	NewLogger(w, "").Info("x")
	w.Close()
	if got, _ := io.ReadAll(r); !json.Valid(got) {
		t.Errorf("%s", got)
	}
}
