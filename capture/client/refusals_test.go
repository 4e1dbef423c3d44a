package client

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

func TestRecordBadURL(t *testing.T) {
	for _, url := range []string{"", "localhost:8000", "ftp://h/", "http://", "/run", "http://u:hunter2@%zz/", "http://h/%zz?querykey", "http://h:port?querykey"} {
		_, _, err := record(t, t.Context(), settings(url))
		mustFail(t, err, "the URL")
	}
	// An invalid header is not quoted.
	s := settings("http://127.0.0.1:1/")
	s.Header = http.Header{"X-Key": {"bearer-token\n"}}
	_, _, err := record(t, t.Context(), s)
	mustFail(t, err, "X-Key")
}

// If the directory cannot be used, nothing is sent and nothing in it changes.
func TestRecordOccupied(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Record(t.Context(), dir, settings(server.URL)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(map[string]string{"x": "x"}, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// An empty directory is accepted.
	empty := t.TempDir()
	good := serve(t, answer(200, "text/event-stream", twoEvents))
	result, err := Record(t.Context(), empty, settings(good.URL))
	if err != nil {
		t.Fatal(err)
	}
	check(t, empty, result, twoEvents, capture.EndEOF, 2)
}

// Labels that cannot be stored are rejected before a directory is created.
func TestRecordBadLabels(t *testing.T) {
	server := serve(t, answer(200, "text/event-stream", twoEvents))
	s := settings(server.URL)
	s.Labels = map[string]string{"a": "\xff"}
	if _, _, err := record(t, t.Context(), s); err == nil {
		t.Error("no error")
	}
}

// An encoded body is stored unchanged. Its decoded events are counted.
func TestRecordCoded(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, twoEvents)
	z.Close()
	for _, c := range []struct {
		coding, body string
		events       int
		found        []string
	}{
		{"gzip", b.String(), 2, []string{"arrivals_malformed warning"}},
		{"identity", twoEvents, 2, nil},
	} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", c.coding)
			answer(200, "text/event-stream", c.body)(w, r)
		})
		dir, result, err := record(t, t.Context(), settings(server.URL))
		if err != nil {
			t.Fatal(err)
		}
		check(t, dir, result, c.body, capture.EndEOF, c.events, c.found...)
	}
	for coding, code := range map[string]string{"br": "content_coding_unsupported error", "gzip": "content_coding_damaged error"} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", coding)
			answer(200, "text/event-stream", twoEvents)(w, r)
		})
		dir, result, err := record(t, t.Context(), settings(server.URL))
		if err != nil {
			t.Fatal(err)
		}
		got := codes(result.Findings)
		if len(got) == 0 || got[len(got)-1] != code || testkit.Contents(t, dir)["response.sse"] != twoEvents {
			t.Errorf("%s: findings %v, files %v", coding, got, testkit.Contents(t, dir))
		}
	}
}

// Header values that are not UTF-8 are stored as UTF-8.
func TestRecordHeaderBytes(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "caf\xe9")
		answer(200, "text/event-stream", twoEvents)(w, r)
	})
	dir, result, err := record(t, t.Context(), settings(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	check(t, dir, result, twoEvents, capture.EndEOF, 2)
	if got := result.Manifest.Source.Headers["server"]; got != "caf\uFFFD" {
		t.Errorf("server %q", got)
	}
}
