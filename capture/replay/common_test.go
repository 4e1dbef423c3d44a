package replay

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/testkit"
)

// stored describes a capture to write.
type stored struct {
	kind     capture.Kind // http if empty
	framing  capture.Framing
	status   int // 200 if zero, none if negative
	headers  map[string]string
	content  string // the content type
	body     string
	arrivals string // arrivals.tsv, or "" for none
	request  string // request.json, or "" for none
	started  time.Duration
	ended    time.Duration // since started; that of the last arrival if zero
	end      capture.End   // eof if empty
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// store writes the capture into the directory dir.
func (s stored) store(t *testing.T, dir string) {
	t.Helper()
	file := func(name, data string) *capture.File {
		testkit.Write(t, filepath.Join(dir, name), data)
		return &capture.File{Bytes: int64(len(data)), Digest: digest.Of([]byte(data))}
	}
	m := capture.Manifest{
		Schema: capture.ManifestSchema, Source: capture.Source{Kind: s.kind, Headers: s.headers, ContentType: s.content},
		Framing: s.framing, StartedAt: epoch.Add(s.started), End: s.end, Tool: capture.Tool{Name: "test", Version: "1"},
	}
	if m.Source.Kind == "" {
		m.Source.Kind = capture.KindHTTP
	}
	if m.Framing == "" {
		m.Framing = capture.SSE
	}
	if m.End == "" {
		m.End = capture.EndEOF
	}
	if s.status == 0 {
		s.status = 200
	}
	if s.status > 0 {
		m.Source.Status = &s.status
	}
	last := time.Duration(0)
	response := file(m.Framing.FileName(), s.body)
	switch m.Framing {
	case capture.NDJSON:
		m.Files.NDJSON = response
	case capture.JSON:
		m.Files.JSON = response
	case capture.Opaque:
		m.Files.Opaque = response
	default:
		m.Files.SSE = response
	}
	if s.arrivals != "" {
		m.Files.Arrivals = file(capture.ArrivalsName, s.arrivals)
		for line := range strings.Lines(s.arrivals) {
			var n, micros int64
			fmt.Sscanf(line, "%d\t%d\n", &n, &micros)
			last = time.Duration(micros) * time.Microsecond
			if m.FirstByteAt.IsZero() {
				m.FirstByteAt = m.StartedAt.Add(last)
			}
		}
	}
	if s.request != "" {
		m.Files.Request = file(capture.RequestName, s.request)
	}
	if m.EndedAt = m.StartedAt.Add(last); s.ended > 0 {
		m.EndedAt = m.StartedAt.Add(s.ended)
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, capture.ManifestName), b)
}

// one stores a capture and returns its directory.
func (s stored) one(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	s.store(t, dir)
	return dir
}

// serve replays path and returns the URL, and the log once the server has been closed.
func serve(t *testing.T, path string, s Settings) (url string, log func() string) {
	t.Helper()
	var lines bytes.Buffer
	s.Log = slog.New(slog.NewTextHandler(&lines, nil))
	r, err := New(t.Context(), path, s)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return server.URL, func() string { server.Close(); return lines.String() }
}

// answer is what a client received.
type answer struct {
	status int
	header http.Header
	body   string
	broken bool // the connection ended before the response
}

// post sends a request and reads the response without decoding it.
func post(t *testing.T, url, body string) answer {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	response, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(data), err != nil}
}

// fails requires that path cannot be replayed, for a reason.
func fails(t *testing.T, path string, s Settings, reason string) {
	t.Helper()
	s.Log = discard
	if _, err := New(t.Context(), path, s); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: error %v, want %q", path, err, reason)
	}
}

const request = `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"Hi"}]}`

var discard = slog.New(slog.DiscardHandler)

// postTo sends a request to r and returns the status.
func postTo(r *Replay, body string) int {
	q := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(body))
	w := httptest.NewRecorder()
	r.ServeHTTP(w, q)
	return w.Code
}
