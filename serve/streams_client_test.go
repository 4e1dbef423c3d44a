//go:build client

package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

// A streamWriter lets the conformance tests of Durable Streams write streams, which a Server
// reads. Each is the run of a thread in its log. It writes what the tests of reading need, and
// no more. The Server has streams of JSON values only; a text becomes a string, and bytes a string
// in base64.
type streamWriter struct {
	log    store.Log
	server http.Handler

	mu    sync.Mutex
	types map[string]string // the media types of the streams, by path
}

// ServeHTTP writes, or lets the Server read.
func (w *streamWriter) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	media, exists := w.types[r.URL.Path]
	w.mu.Unlock()
	switch {
	case r.Method == http.MethodPut && !exists:
		media = r.Header.Get("Content-Type")
		if media == "" {
			media = "application/octet-stream"
		}
		w.mu.Lock()
		w.types[r.URL.Path] = media
		w.mu.Unlock()
		w.write(rw, r, media, http.StatusCreated, store.Entry{Kind: store.Input, Data: []byte("{}")})
	case r.Method == http.MethodPost && exists:
		w.write(rw, r, media, http.StatusNoContent)
	case r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions:
		w.read(rw, r, media)
	default:
		http.Error(rw, "the writer does not do this", http.StatusNotFound)
	}
}

func isJSON(media string) bool { return strings.HasPrefix(media, "application/json") }

// streamOf returns the stream of the run r.
func streamOf() string {
	sum := sha256.Sum256([]byte("r"))
	return "serve:" + hex.EncodeToString(sum[:12]) + ":1"
}

// write appends entries, the messages of a body, and perhaps the end.
func (w *streamWriter) write(rw http.ResponseWriter, r *http.Request, media string, status int, entries ...store.Entry) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var messages []json.RawMessage
	switch {
	case len(body) == 0:
	case isJSON(media):
		if json.Unmarshal(body, &messages) != nil {
			messages = []json.RawMessage{body}
		}
	case strings.HasPrefix(media, "text/"):
		text, _ := json.Marshal(string(body))
		messages = []json.RawMessage{text}
	default:
		text, _ := json.Marshal(body)
		messages = []json.RawMessage{text}
	}
	for _, m := range messages {
		entries = append(entries, store.Entry{Kind: store.Event, Data: m})
	}
	if r.Header.Get("Stream-Closed") == "true" {
		entries = append(entries, store.Entry{Kind: store.End, Data: []byte("eof")})
		rw.Header().Set("Stream-Closed", "true")
	}
	key := store.Key{Thread: r.URL.Path}
	for i := range entries {
		entries[i].Stream, entries[i].Arrived = streamOf(), time.Now().Truncate(time.Microsecond)
	}
	for {
		t, _ := w.log.Thread(r.Context(), key)
		_, err := w.log.Append(r.Context(), key, t.Last, entries)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			status = http.StatusConflict // it is closed
		}
		break
	}
	head := httptest.NewRequest(http.MethodHead, w.path(r), nil)
	head.Host = r.Host
	answer := httptest.NewRecorder()
	w.server.ServeHTTP(answer, head)
	rw.Header().Set("Stream-Next-Offset", answer.Header().Get("Stream-Next-Offset"))
	rw.WriteHeader(status)
}

// path returns the path at which the Server reads a stream.
func (w *streamWriter) path(r *http.Request) string {
	return "/streams/" + url.PathEscape(r.URL.Path) + "/r"
}

// read lets the Server read, and makes texts and bytes of its strings.
func (w *streamWriter) read(rw http.ResponseWriter, r *http.Request, media string) {
	path := w.path(r)
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	inner := r.Clone(r.Context())
	inner.URL, _ = url.Parse(path)
	inner.RequestURI = path
	if media == "" || isJSON(media) {
		w.server.ServeHTTP(rw, inner)
		return
	}
	u := &untyped{ResponseWriter: rw, media: media}
	w.server.ServeHTTP(u, inner)
	if rw.Header().Get("Content-Type") == media {
		_, _ = rw.Write(u.join(u.pending, false))
	}
}

// untyped is a ResponseWriter for a stream that is not of JSON values.
type untyped struct {
	http.ResponseWriter
	media   string
	head    bool
	pending []byte // of an array, or of server-sent events
}

func (u *untyped) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func (u *untyped) isText() bool { return strings.HasPrefix(u.media, "text/") }

func (u *untyped) WriteHeader(status int) {
	h := u.Header()
	switch {
	case u.head:
	case h.Get("Content-Type") == "application/json":
		h.Set("Content-Type", u.media)
		h.Del("Content-Length")
	case h.Get("Content-Type") == "text/event-stream" && !u.isText():
		h.Set("Stream-Sse-Data-Encoding", "base64")
	}
	u.head = true
	u.ResponseWriter.WriteHeader(status)
}

func (u *untyped) Write(p []byte) (int, error) {
	switch u.Header().Get("Content-Type") {
	case u.media:
		u.pending = append(u.pending, p...)
	case "text/event-stream":
		u.pending = append(u.pending, p...)
		for {
			event, rest, ok := bytes.Cut(u.pending, []byte("\n\n"))
			if !ok {
				break
			}
			u.pending = rest
			if data, ok := bytes.CutPrefix(event, []byte("event: data\n")); ok {
				data = bytes.ReplaceAll(append([]byte("\n"), data...), []byte("\ndata:"), nil)
				event = []byte("event: data")
				for line := range bytes.SplitSeq(u.join(data, true), []byte("\n")) {
					event = append(append(event, "\ndata:"...), line...)
				}
			}
			if _, err := u.ResponseWriter.Write(append(bytes.Clone(event), "\n\n"...)); err != nil {
				return 0, err
			}
		}
	default:
		return u.ResponseWriter.Write(p)
	}
	return len(p), nil
}

// join joins the strings of an array.
func (u *untyped) join(array []byte, encoded bool) (all []byte) {
	if u.isText() {
		var texts []string
		_ = json.Unmarshal(array, &texts)
		return []byte(strings.ReplaceAll(strings.Join(texts, ""), "\r", "\n"))
	}
	var parts [][]byte
	_ = json.Unmarshal(array, &parts)
	if all = bytes.Join(parts, nil); encoded {
		return []byte(base64.StdEncoding.EncodeToString(all))
	}
	return all
}

// TestClientStreams runs the conformance tests of Durable Streams for reading.
func TestClientStreams(t *testing.T) {
	modules := os.Getenv("P20EXPORT_STREAMS")
	if modules == "" {
		t.Fatal("P20EXPORT_STREAMS is not set: run make client")
	}
	log := newMemory(t)
	server, err := serve.New(serve.Settings{Log: log, PollTime: time.Second, Guard: serve.GuardSettings{AllowedOrigins: []string{"https://example.com"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	writer := httptest.NewServer(&streamWriter{log: log, server: server, types: map[string]string{}})
	defer writer.Close()
	report := filepath.Join(t.TempDir(), "report.json")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	leftOut := map[string]bool{}
	var names []string
	for line := range strings.Lines(string(testkit.Read(t, "testdata/streams/left-out.md"))) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "- "); ok {
			leftOut[name] = true
			names = append(names, regexp.QuoteMeta(name))
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(modules, "node_modules", ".bin", "vitest"), "run", "--root", modules,
		"--retry=5", "--reporter=json", "--outputFile="+report, // some cases have limits of time
		"--testNamePattern=^(?!(?:"+strings.Join(names, "|")+")$)")
	cmd.Env = append(os.Environ(), "STREAMS_URL="+writer.URL, "CI=1")
	out, err := cmd.CombinedOutput()
	if _, exit := err.(*exec.ExitError); err != nil && !exit {
		t.Fatalf("%v\n%s", err, out)
	}
	var results struct {
		TestResults []struct {
			AssertionResults []struct {
				FullName        string
				Status          string
				FailureMessages []string
			}
		}
	}
	if err := json.Unmarshal(testkit.Read(t, report), &results); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	passed, left := 0, 0
	for _, file := range results.TestResults {
		for _, r := range file.AssertionResults {
			switch {
			case leftOut[r.FullName] && r.Status == "skipped":
				left++
			case r.Status == "passed":
				passed++
			default:
				t.Errorf("%s: %s\n%s", r.FullName, r.Status, strings.Join(r.FailureMessages, "\n"))
			}
		}
	}
	t.Logf("%d cases passed, %d are left out", passed, left)
	if passed < 150 || left != len(names) {
		t.Errorf("%d cases passed, and %d of %d were left out\n%s", passed, left, len(names), out)
	}
}
