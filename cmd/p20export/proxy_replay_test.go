package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/capture/replay"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/internal/testkit"
)

// TestProxyRecordsReplays replays every committed capture through proxy. What proxy records
// is what was recorded before: the same request, response, description of the response and
// end. The client receives the same bytes, and proxy and replay log no content.
func TestProxyRecordsReplays(t *testing.T) {
	t.Parallel()
	found, err := capture.Find(t.Context(), []string{"../../discovery/captures", "../../discovery/drift/captures"})
	if err != nil {
		t.Fatal(err)
	}
	store := t.TempDir()
	root, err := os.OpenRoot(store)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var log bytes.Buffer // written by one exchange after the other
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ends := map[capture.End]int{}
	for _, f := range found {
		agent, err := replay.New(t.Context(), f.Path, replay.Settings{Log: logger})
		if err != nil {
			t.Fatal(err)
		}
		upstream := httptest.NewServer(agent)
		target, err := url.Parse(upstream.URL)
		if err != nil {
			t.Fatal(err)
		}
		p, err := proxy.New(proxy.Settings{Upstream: target, Captures: root, Tool: capture.Tool(build.Tool()), Log: logger})
		if err != nil {
			t.Fatal(err)
		}
		front := proxy.NewServer(p, logger)
		server := httptest.NewUnstartedServer(nil)
		server.Config = front
		server.Start()
		request, want := testkit.Contents(t, f.Path)[capture.RequestName], readManifest(t, f.Path)
		body, broken := postBody(t, server.URL, request)
		if err := p.Drain(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("%s: %v", f.Path, err)
		}
		server.Close()
		upstream.Close()

		ends[want.End]++
		if name := want.Framing.FileName(); body != testkit.Contents(t, f.Path)[name] || broken != (want.End != capture.EndEOF) {
			t.Errorf("%s: the client received %d bytes, broken off: %t", f.Path, len(body), broken)
		}
		names, err := filepath.Glob(filepath.Join(store, "*"))
		if err != nil || len(names) != 1 {
			t.Fatalf("%s: the captures are %v (%v)", f.Path, names, err)
		}
		got := readManifest(t, names[0])
		if _, err := capture.Check(t.Context(), names[0]); err != nil {
			t.Errorf("%s: %v", f.Path, err)
		}
		want.Source.Kind, want.Source.URL = capture.KindProxy, upstream.URL+"/run"
		if diff := cmp.Diff(want.Source, got.Source); diff != "" {
			t.Errorf("%s (-committed +proxied):\n%s", f.Path, diff)
		}
		if got.Framing != want.Framing || got.End != want.End || *got.Response() != *want.Response() || *got.Files.Request != *want.Files.Request {
			t.Errorf("%s: recorded as %+v, want %+v", f.Path, got, want)
		}
		if err := os.RemoveAll(names[0]); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(ends)
	if ends[capture.EndEOF] < 200 || ends[capture.EndError] == 0 {
		t.Errorf("the captures have the ends %v", ends)
	}
	for _, content := range []string{"RUN_STARTED", "threadId", "capital of France", "uvicorn"} {
		if strings.Contains(log.String(), content) {
			t.Errorf("the log contains %q", content)
		}
	}
}

// postBody posts a request and returns the body of the response, and whether the connection
// broke off.
func postBody(t *testing.T, url, request string) (body string, broken bool) {
	t.Helper()
	response, err := http.Post(url+"/run", "application/json", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	return string(b), err != nil
}

func readManifest(t *testing.T, dir string) *capture.Manifest {
	t.Helper()
	m, err := capture.DecodeManifest(testkit.Read(t, filepath.Join(dir, capture.ManifestName)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
