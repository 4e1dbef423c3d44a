package replay

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

// The client receives the status, the stored headers, the bytes and the end.
func TestReplayResponse(t *testing.T) {
	const events = "data: 1\n\ndata: 2\n\n"
	for name, c := range map[string]struct {
		stored
		content []string // the content types that the client sees
	}{
		"stream": {stored{body: events, arrivals: "9\t1\n18\t2\n", content: "text/event-stream; charset=utf-8", request: request,
			headers: map[string]string{"cache-control": "no-store", "server": "agent/1", "x-other": "not sent"}}, []string{"text/event-stream; charset=utf-8"}},
		"no arrivals":      {stored{body: events, content: "text/event-stream"}, []string{"text/event-stream"}},
		"empty":            {stored{content: "text/event-stream"}, []string{"text/event-stream"}},
		"no content type":  {stored{body: "<html>"}, nil},
		"error":            {stored{status: 422, framing: capture.JSON, body: `{"detail":"no"}`, content: "application/json"}, []string{"application/json"}},
		"unusual status":   {stored{status: 799, body: events, content: "a/b"}, []string{"a/b"}},
		"no content":       {stored{status: 204}, nil},
		"broken":           {stored{body: events + "data: 3", content: "text/event-stream", end: capture.EndError}, []string{"text/event-stream"}},
		"cancelled":        {stored{body: events, content: "text/event-stream", end: capture.EndCancelled}, []string{"text/event-stream"}},
		"limit":            {stored{body: events, content: "text/event-stream", end: capture.EndLimit}, []string{"text/event-stream"}},
		"broken at once":   {stored{content: "text/event-stream", end: capture.EndError}, []string{"text/event-stream"}},
		"imported":         {stored{kind: capture.KindFile, status: -1, body: events}, []string{"text/event-stream"}},
		"imported ndjson":  {stored{kind: capture.KindFile, status: -1, framing: capture.NDJSON, body: "{}\n"}, []string{"application/x-ndjson"}},
		"imported array":   {stored{kind: capture.KindFile, status: -1, framing: capture.JSON, body: "[]"}, []string{"application/json"}},
		"encoded":          {stored{body: gzipped(events), content: "text/event-stream", headers: map[string]string{"content-encoding": "gzip"}}, []string{"text/event-stream"}},
		"unknown coding":   {stored{body: "\x00\x01", content: "text/event-stream", headers: map[string]string{"content-encoding": "br"}}, []string{"text/event-stream"}},
		"opaque":           {stored{framing: capture.Opaque, body: "\x00\x01", content: "application/vnd.ag-ui.event+proto"}, []string{"application/vnd.ag-ui.event+proto"}},
		"storage":          {stored{body: events, content: "text/event-stream", end: capture.EndStorage}, []string{"text/event-stream"}},
		"bytes not events": {stored{body: "\x00\xff\r\n{", content: "text/event-stream"}, []string{"text/event-stream"}},
	} {
		t.Run(name, func(t *testing.T) {
			url, log := serve(t, c.one(t), Settings{Speed: 1000})
			got := post(t, url+"/any/path?q=1", "anything")
			want := c.status
			if want <= 0 {
				want = 200
			}
			if got.status != want || got.body != c.body {
				t.Errorf("status %d and %q, want %d and %q", got.status, got.body, want, c.body)
			}
			if got.broken != (c.end != "" && c.end != capture.EndEOF) {
				t.Errorf("broken is %t for the end %q", got.broken, c.end)
			}
			if types := got.header["Content-Type"]; strings.Join(types, "|") != strings.Join(c.content, "|") {
				t.Errorf("content type %q, want %q", types, c.content)
			}
			for _, name := range []string{"Cache-Control", "Server", "Content-Encoding"} {
				if got, want := got.header.Get(name), c.headers[strings.ToLower(name)]; got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if got.header.Get("X-Other") != "" || got.header.Get(AlteredHeader) != "" {
				t.Errorf("headers %v", got.header)
			}
			if lines := log(); strings.Contains(lines, "data:") || strings.Count(lines, "\n") != 1 {
				t.Errorf("log:\n%s", lines)
			}
		})
	}
}

// A plain file is a response without a status and times, also through a link that the
// caller names.
func TestReplayFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.sse")
	testkit.Write(t, file, "data: {}\n\n")
	link := file + ".link"
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link} {
		url, _ := serve(t, path, Settings{})
		for range 2 {
			if got := post(t, url, request); got.status != 200 || got.body != "data: {}\n\n" || got.header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%+v", got)
			}
		}
	}
}

// Only POST requests to this machine are answered.
func TestReplayRefuses(t *testing.T) {
	dir := stored{body: "data: 1\n\n", request: request}.one(t)
	url, log := serve(t, dir, Settings{})
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT"} {
		q, _ := http.NewRequest(method, url, nil)
		response, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != 405 || response.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %s, %v", method, response.Status, response.Header)
		}
	}
	for host, want := range map[string]int{"rebound.example": 421, "localhost:1": 200, "[::1]": 200} {
		for _, anyHost := range []bool{false, true} {
			r, err := New(t.Context(), dir, Settings{AnyHost: anyHost, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			q := httptest.NewRequest("POST", "/", strings.NewReader(request))
			q.Host = host
			w := httptest.NewRecorder()
			r.ServeHTTP(w, q)
			if anyHost {
				want = 200
			}
			if w.Code != want {
				t.Errorf("host %s: status %d, want %d", host, w.Code, want)
			}
		}
	}
	q := httptest.NewRequest("POST", "/", io.LimitReader(zeros{}, MaxRequestBytes+1))
	q.Host = "localhost"
	w := httptest.NewRecorder()
	r, _ := New(t.Context(), dir, Settings{Log: slog.New(slog.DiscardHandler)})
	if r.ServeHTTP(w, q); w.Code != 413 {
		t.Errorf("a long request: status %d", w.Code)
	}
	q = httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("{"), failing{}))
	q.Host = "localhost"
	w = httptest.NewRecorder()
	if r.ServeHTTP(w, q); w.Code != 400 {
		t.Errorf("an incomplete request: status %d", w.Code)
	}
	if lines := log(); strings.Count(lines, "request refused") != 4 {
		t.Errorf("log:\n%s", lines)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type failing struct{}

func (failing) Read(p []byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// What cannot be replayed is refused when it is loaded, with the path and the reason.
func TestNewFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	fails(t, missing, Settings{}, missing)
	fails(t, "-", Settings{}, "standard input cannot be replayed")
	fails(t, t.TempDir(), Settings{}, "contains no captures")

	changed := stored{body: "data: 1\n\n"}.one(t)
	testkit.Write(t, filepath.Join(changed, "response.sse"), "data: 2\n\n")
	fails(t, changed, Settings{}, "the manifest says")
	fails(t, filepath.Dir(changed), Settings{}, changed)

	request := stored{body: "data: 1\n\n", request: request}.one(t)
	testkit.Write(t, filepath.Join(request, "request.json"), "{}")
	fails(t, request, Settings{}, "request.json has 2 bytes")

	unfinished := stored{body: "data: 1\n\n"}.one(t)
	if err := os.Remove(filepath.Join(unfinished, capture.ManifestName)); err != nil {
		t.Fatal(err)
	}
	fails(t, filepath.Dir(unfinished), Settings{}, unfinished+": the directory")

	linked := stored{body: "data: 1\n\n"}.one(t)
	response := filepath.Join(linked, "response.sse")
	if err := errors.Join(os.Rename(response, response+".away"), os.Symlink(response+".away", response)); err != nil {
		t.Fatal(err)
	}
	fails(t, linked, Settings{}, "symbolic link")

	fails(t, stored{status: 101}.one(t), Settings{}, "status 101")
	fails(t, stored{status: 204, body: "data: 1\n\n"}.one(t), Settings{}, "204")
	fails(t, stored{body: "data: 1\n\n"}.one(t), Settings{Match: MatchInput}, "no capture has a request")
	fails(t, stored{body: "data: 1\n\n"}.one(t), Settings{Speed: -1}, "negative")
}

// An unfinished capture in a directory is skipped, with a warning.
func TestUnfinishedIsSkipped(t *testing.T) {
	dir := t.TempDir()
	stored{body: "data: 1\n\n"}.store(t, filepath.Join(dir, "a"))
	stored{body: "data: 2\n\n"}.store(t, filepath.Join(dir, "b"))
	if err := os.Remove(filepath.Join(dir, "a", capture.ManifestName)); err != nil {
		t.Fatal(err)
	}
	url, log := serve(t, dir, Settings{})
	if got := post(t, url, ""); got.body != "data: 2\n\n" {
		t.Errorf("%+v", got)
	}
	if lines := log(); !strings.Contains(lines, "capture skipped") {
		t.Errorf("log:\n%s", lines)
	}
}

// A response that changed since it was verified is broken off, and so is one that cannot be
// read any more.
func TestChangedAfterwards(t *testing.T) {
	const body = "data: 1\n\n"
	for name, change := range map[string]func(path string) error{
		"other bytes": func(path string) error { return os.WriteFile(path, []byte("data: 2\n\n"), 0o644) },
		"longer":      func(path string) error { return os.WriteFile(path, []byte(body+body), 0o644) },
		"shorter":     func(path string) error { return os.WriteFile(path, []byte("data"), 0o644) },
		"link": func(path string) error {
			return errors.Join(os.Rename(path, path+".away"), os.Symlink(path+".away", path))
		},
		"removed": os.Remove,
	} {
		dir := stored{body: body}.one(t)
		url, log := serve(t, dir, Settings{})
		if err := change(filepath.Join(dir, "response.sse")); err != nil {
			t.Fatal(err)
		}
		got := post(t, url, "")
		if !got.broken && got.status != 500 {
			t.Errorf("%s: %+v", name, got)
		}
		if lines := log(); !strings.Contains(lines, "level=ERROR") {
			t.Errorf("%s: log:\n%s", name, lines)
		}
	}
}

// Serve ends with its context. A response that is open then is broken off, which is the
// only case in which Serve returns the cause.
func TestServe(t *testing.T) {
	const body = "data: 1\n\ndata: 2\n\n"
	stopped := errors.New("stopped by the test")
	for _, open := range []bool{false, true} {
		arrivals := "9\t0\n18\t0\n"
		if open {
			arrivals = "9\t0\n18\t3600000000\n"
		}
		r, err := New(t.Context(), stored{body: body, arrivals: arrivals}.one(t), Settings{Speed: 1, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- r.Serve(ctx, l) }()
		response, err := http.Post("http://"+l.Addr().String(), "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 9)
		if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != body[:9] {
			t.Fatalf("%q, %v", first, err)
		}
		var rest []byte
		if !open {
			rest, err = io.ReadAll(response.Body)
		}
		stop(stopped)
		if open {
			rest, err = io.ReadAll(response.Body)
		}
		if (err != nil) != open || !open && string(rest) != body[9:] {
			t.Errorf("open %t: %q, %v", open, rest, err)
		}
		response.Body.Close()
		if err := <-done; open != (err == stopped) || !open && err != nil {
			t.Errorf("open %t: Serve returned %v", open, err)
		}
	}
}

// A client that leaves ends its response, even in a pause.
func TestLeavingClient(t *testing.T) {
	url, log := serve(t, stored{body: "data: 1\n\ndata: 2\n\n", arrivals: "9\t0\n18\t3600000000\n"}.one(t), Settings{Speed: 1})
	ctx, cancel := context.WithCancel(t.Context())
	q, _ := http.NewRequestWithContext(ctx, "POST", url, nil)
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(response.Body, make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	cancel()
	response.Body.Close()
	if lines := log(); !strings.Contains(lines, "client left") { // waits for the handler
		t.Errorf("log:\n%s", lines)
	}
}

func TestParseSpeed(t *testing.T) {
	for in, want := range map[string]float64{"0": 0, "1": 1, "0.5": 0.5, "1000": 1000} {
		if got, err := ParseSpeed(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "-1", "NaN", "Inf", "1e9", "fast", "1x", "-0.1"} {
		if got, err := ParseSpeed(in); err == nil {
			t.Errorf("%s: %v", in, got)
		}
	}
}
