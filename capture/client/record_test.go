package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

const twoEvents = "data: a\n\ndata: b\n\n"

// secrets must not occur in any file or message.
var secrets = []string{"hunter2", "querykey", "bearer-token", "cookie-value", "fragment-part"}

func settings(url string) Settings {
	return Settings{URL: url, Body: []byte(`{"runId":"r"}`), Tool: capture.Tool{Name: "p20export", Version: "0.1.0"}}
}

// serve starts a server; requests are handled until the test ends.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// answer returns a handler that sends a complete body.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// record calls Record and checks that no secret occurs in files and messages.
func record(t *testing.T, ctx context.Context, s Settings) (dir string, result Result, err error) {
	t.Helper()
	parent := t.TempDir()
	dir = filepath.Join(parent, "parent", "c")
	result, err = Record(ctx, dir, s)
	said := fmt.Sprintf("%v %+v", err, result.Findings)
	for path, b := range testkit.Contents(t, parent) {
		if name := filepath.Base(path); name != "response.sse" && name != capture.RequestName {
			said += b
		}
	}
	for _, secret := range secrets {
		if strings.Contains(said, secret) {
			t.Errorf("the secret %q came out in: %s", secret, said)
		}
	}
	if err != nil {
		if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a directory is left after an error: %v", err)
		}
	}
	return dir, result, err
}

func codes(list []finding.Finding) []string {
	var codes []string
	for _, f := range list {
		codes = append(codes, string(f.Code)+" "+string(f.Severity))
	}
	return codes
}

// counted formats a number of events.
func counted(events *int) string {
	if events == nil {
		return "unknown"
	}
	return strconv.Itoa(*events)
}

// check reads the capture and compares it with the result of Record.
func check(t *testing.T, dir string, result Result, body string, end capture.End, events int, found ...string) {
	t.Helper()
	if result.Manifest.End != end || result.Events == nil || *result.Events != events {
		t.Errorf("end %s, %s events; want %s, %d", result.Manifest.End, counted(result.Events), end, events)
	}
	if diff := cmp.Diff(found, codes(result.Findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if got := testkit.Contents(t, dir)[result.Manifest.Framing.FileName()]; got != body {
		t.Errorf("body %q, want %q", got, body)
	}
	c, err := capture.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n := 0
	for {
		f, err := c.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.Arrived.IsZero() && c.Manifest().Source.Headers["content-encoding"] == "" {
			t.Errorf("event %d has no time of arrival", f.Index)
		}
		n++
	}
	if n != events {
		t.Errorf("the capture has %d events, want %d", n, events)
	}
	if diff := cmp.Diff(result.Manifest, c.Manifest()); diff != "" {
		t.Errorf("manifest (-result +disk):\n%s", diff)
	}
}

func TestRecord(t *testing.T) {
	type seen struct {
		Method, Host, Path, Query, User, Password, Body string
		Header                                          map[string]string
	}
	requests := make(chan seen, 1)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := seen{Method: r.Method, Host: r.Host, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body), Header: map[string]string{}}
		got.User, got.Password, _ = r.BasicAuth()
		for _, name := range []string{"Content-Type", "Accept", "Accept-Encoding", "User-Agent", "X-Key"} {
			got.Header[name] = strings.Join(r.Header.Values(name), "|")
		}
		requests <- got
		h := w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Server", "test")
		h.Add("Cache-Control", "no-cache")
		h.Add("Cache-Control", "no-transform")
		h.Set("Set-Cookie", "session=cookie-value")
		h.Set("X-Other", "bearer-token")
		io.WriteString(w, twoEvents)
	})
	s := settings(strings.Replace(server.URL, "http://", "http://alice:hunter2@", 1) + "/run?k=querykey#fragment-part")
	s.Header = http.Header{"x-key": {"bearer-token"}, "Host": {"agent.example"}, "Accept-Encoding": {"gzip"}}
	s.Labels = map[string]string{"integration": "test"}
	dir, result, err := record(t, t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := seen{
		Method: "POST", Host: "agent.example", Path: "/run", Query: "k=querykey", User: "alice", Password: "hunter2", Body: `{"runId":"r"}`,
		Header: map[string]string{
			"Content-Type": "application/json", "Accept": "text/event-stream", "Accept-Encoding": "identity",
			"User-Agent": "p20export/0.1.0", "X-Key": "bearer-token",
		},
	}
	if diff := cmp.Diff(want, <-requests); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	check(t, dir, result, twoEvents, capture.EndEOF, 2)
	m := result.Manifest
	if diff := cmp.Diff(capture.Source{
		Kind: capture.KindHTTP, Method: "POST", URL: server.URL + "/run", Status: new(200), ContentType: "text/event-stream; charset=utf-8",
		Headers: map[string]string{"server": "test", "cache-control": "no-cache, no-transform"},
	}, m.Source); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
	if m.Framing != capture.SSE || m.Labels["integration"] != "test" || m.FirstByteAt.Before(m.StartedAt) || m.EndedAt.Before(m.FirstByteAt) {
		t.Errorf("manifest %+v", m)
	}
	if got := testkit.Contents(t, dir)[capture.RequestName]; got != `{"runId":"r"}` {
		t.Errorf("request.json %q", got)
	}
}

// A nil body is sent as an empty body and not stored. Default headers can be replaced.
func TestRecordWithoutBody(t *testing.T) {
	accepts := make(chan string, 1)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		accepts <- r.Header.Get("Accept")
		answer(200, "text/event-stream", twoEvents)(w, r)
	})
	s := settings(server.URL)
	s.Body, s.Header = nil, http.Header{"Accept": {"application/x-ndjson"}}
	dir, result, err := record(t, t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	check(t, dir, result, twoEvents, capture.EndEOF, 2)
	if got := <-accepts; got != "application/x-ndjson" || result.Manifest.Files.Request != nil {
		t.Errorf("Accept %q, request %+v", got, result.Manifest.Files.Request)
	}
}

// scripted is a body that executes a step for every read.
type scripted struct{ steps []func(p []byte) (int, error) }

func (s *scripted) Read(p []byte) (int, error) {
	if len(s.steps) == 0 {
		return 0, io.EOF
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step(p)
}

func (s *scripted) Close() error { return nil }

func returns(text string, err error) func([]byte) (int, error) {
	return func(p []byte) (int, error) { return copy(p, text), err }
}

// play records a scripted body.
func play(t *testing.T, ctx, caller context.Context, s Settings, steps ...func([]byte) (int, error)) (dir string, result Result) {
	t.Helper()
	r := &recording{settings: s, dir: filepath.Join(t.TempDir(), "c"), target: "http://h/", started: time.Now(), response: &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: &scripted{steps},
	}}
	result, err := r.run(ctx, caller)
	if err != nil {
		t.Fatal(err)
	}
	return r.dir, result
}

// Every read has an arrival, including a last read that returns bytes and io.EOF.
func TestRecordArrivals(t *testing.T) {
	s := settings("http://h/")
	var seen []Progress
	s.Progress = func(p Progress) { seen = append(seen, p) }
	dir, result := play(t, t.Context(), t.Context(), s, returns("data: a\n", nil), returns("\nda", nil), returns("", nil), returns("ta: b\n\n", io.EOF))
	check(t, dir, result, twoEvents, capture.EndEOF, 2)
	var received []string
	for line := range strings.Lines(testkit.Contents(t, dir)[capture.ArrivalsName]) {
		bytes, _, _ := strings.Cut(line, "\t")
		received = append(received, bytes)
	}
	if diff := cmp.Diff([]string{"8", "11", "18"}, received); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
	if last := seen[len(seen)-1]; counted(last.Events) != "2" || last.Bytes != 18 || last.Elapsed <= 0 {
		t.Errorf("last progress %+v", last)
	}
	if first := seen[0]; counted(first.Events) != "0" || first.Bytes != 8 {
		t.Errorf("first progress %+v", first)
	}
	for i := 1; i < len(seen)-1; i++ {
		if seen[i].Elapsed-seen[i-1].Elapsed < progressEvery {
			t.Errorf("progress %v after %v", seen[i], seen[i-1])
		}
	}
}

// The time limit ends a body, whether Read fails or not.
func TestRecordTimeout(t *testing.T) {
	for name, err := range map[string]error{"read fails": context.DeadlineExceeded, "read succeeds": nil} {
		ctx, cancel := context.WithCancelCause(t.Context())
		dir, result := play(t, ctx, t.Context(), settings("http://h/"), returns("data: a\n\n", nil), func(p []byte) (int, error) {
			cancel(ErrTimeLimit)
			return copy(p, "data: b\n\n"), err
		}, func([]byte) (int, error) {
			t.Errorf("%s: a read after the time limit", name)
			return 0, io.EOF
		})
		check(t, dir, result, twoEvents, capture.EndLimit, 2, "capture_cut_short error")
	}
}

func TestRecordOutcomes(t *testing.T) {
	long := strings.Repeat("<p>no\x1b[31m</p>", 100)
	for _, c := range []struct {
		name        string
		handler     http.HandlerFunc
		framing     capture.Framing
		wantFraming capture.Framing
		body        string
		events      int
		finding     string
		message     string // part of the first finding's message or hint
	}{
		{"404 without type", answer(404, "", "nothing here"), "", capture.SSE, "nothing here", 0, "http_status error", `404 and "nothing here"`},
		{"500 html", answer(500, "text/html", long), "", capture.SSE, long, 0, "http_status error", `\u001b[31m`},
		{"422 json", answer(422, "application/json", `{"detail":[]}`), "", capture.JSON, `{"detail":[]}`, 0, "http_status error", `{\"detail\":[]}`},
		{"500 stream", answer(500, "text/event-stream", twoEvents), "", capture.SSE, twoEvents, 2, "http_status error", "500"},
		{"204", answer(204, "text/event-stream", ""), "", capture.SSE, "", 0, "http_status error", "204 and no body"},
		{"other type", answer(200, "text/plain; charset=utf-8", twoEvents), "", capture.SSE, twoEvents, 2, "http_content_type error", `"text/plain"`},
		{"no type", answer(200, "", twoEvents), "", capture.SSE, twoEvents, 2, "http_content_type error", "without a content type"},
		{"json type", answer(200, "application/json", "[1,2]"), "", capture.JSON, "[1,2]", 2, "http_content_type error", `"application/json"`},
		{"ndjson type", answer(200, "application/x-ndjson", "1\n2"), "", capture.NDJSON, "1\n2", 2, "http_content_type error", `"application/x-ndjson"`},
		{"json asked for", answer(200, "application/json", "[1,2]"), capture.JSON, capture.JSON, "[1,2]", 2, "", ""},
		{"sse asked for", answer(200, "text/plain", twoEvents), capture.SSE, capture.SSE, twoEvents, 2, "", ""},
		{"type in capitals", answer(200, "Text/Event-Stream;x", twoEvents), "", capture.SSE, twoEvents, 2, "", ""},
		{"incomplete event", answer(200, "text/event-stream", twoEvents+"data: c"), "", capture.SSE, twoEvents + "data: c", 2, "event_incomplete warning", ""},
		{"no array", answer(200, "application/json", "{}"), capture.JSON, capture.JSON, "{}", 0, "array_malformed error", ""},
		{"empty", answer(200, "text/event-stream", ""), "", capture.SSE, "", 0, "", ""},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere?k=querykey#fragment-part", http.StatusTemporaryRedirect)
		}, "", capture.SSE, "", 0, "http_status error", "/elsewhere"},
		{"redirect with user", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://bob:hunter2@other.example/x")
			w.WriteHeader(http.StatusFound)
		}, "", capture.SSE, "", 0, "http_status error", "https://other.example/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, c.handler)
			s := settings(server.URL)
			s.Framing = c.framing
			dir, result, err := record(t, t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if result.Manifest.Framing != c.wantFraming {
				t.Errorf("framing %s, want %s", result.Manifest.Framing, c.wantFraming)
			}
			var found []string
			if c.finding != "" {
				found = []string{c.finding}
			}
			check(t, dir, result, c.body, capture.EndEOF, c.events, found...)
			for _, f := range result.Findings[:min(1, len(result.Findings))] {
				if said := f.Message + " " + f.Hint; !strings.Contains(said, c.message) || strings.ContainsAny(said, "\x1b\n") || len(said) > 600 {
					t.Errorf("the finding says %q", said)
				}
			}
		})
	}
}
