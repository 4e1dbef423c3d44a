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
)

func none() int64 { return 0 }

// get returns the status and the body of the answer to a GET request.
func get(t *testing.T, m *Monitor, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// The server is ready while it serves and can store. After a failure, the next success or
// a successful probe makes it ready again.
func TestReady(t *testing.T) {
	probes, broken := 0, errors.New("no space")
	m := New(func() error { probes++; return broken }, none)
	check := func(when string, want int) {
		t.Helper()
		if got, text := get(t, m, "/readyz"); got != want {
			t.Errorf("%s: status %d, want %d: %s", when, got, want, text)
		}
		if got, _ := get(t, m, "/healthz"); got != http.StatusOK {
			t.Errorf("%s: health is %d", when, got)
		}
	}
	check("before serving", 503)
	m.Serving()
	check("when serving", 200)
	if probes != 0 {
		t.Errorf("%d probes without a failure", probes)
	}
	m.StoreFailed(broken)
	check("after a failure", 503)
	broken = nil
	check("after a successful probe", 200)
	if probes != 2 {
		t.Errorf("%d probes, want 2", probes)
	}
	m.Draining()
	check("when draining", 503)
}

func TestHandlerRefuses(t *testing.T) {
	m := New(nil, none)
	for path, want := range map[string]int{"/": 404, "/debug/pprof/": 404} {
		if got, _ := get(t, m, path); got != want {
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
		NewLogger(&out, format).Info("listening", slog.String("address", "127.0.0.1:1\n\x1b"), slog.Duration("drain", 90*time.Second))
		line := out.String()
		if !strings.Contains(line, want) || strings.Count(line, "\n") != 1 || strings.Contains(line, "\x1b") {
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
