package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/internal/testkit"
)

// After an interrupt while captures are read, discover prints no answers in either format,
// because some captures were not read.
func TestGateInterrupted(t *testing.T) {
	response := testkit.Read(t, "../../discovery/captures/adk/one-turn/response.sse")
	for _, f := range []render.Format{render.Text, render.JSON} {
		why := errors.New("interrupted by the test")
		ctx, cancel := context.WithCancelCause(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(response)
			_ = http.NewResponseController(w).Flush()
			cancel(why)
		}))
		defer server.Close()
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetContext(ctx)
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		p := newPrinter(cmd, &f)
		fl := discoverFlags{format: &f, failOn: new(render.FailOn), out: "out"}
		plan := &scenario.Plan{
			Scenarios: []scenario.Scenario{{Name: "a", Request: []byte("{}")}},
			Dir:       filepath.Join(t.TempDir(), "out"), Request: client.Settings{URL: server.URL, Tool: capture.Tool(build.Tool())},
		}
		_, err := fl.discover(cmd, p, plan, nil)
		if err := p.Close(nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "qualifies") || strings.Contains(out.String(), "qualification") || !errors.Is(err, why) {
			t.Errorf("%s: %v, said %s", f, err, out.String())
		}
	}
}

// A truncated response to a scenario that is not needed changes the exit status but not the
// answer, which explains the exit status.
func TestDiscoverBrokenOff(t *testing.T) {
	response := testkit.Read(t, "../../discovery/captures/adk/one-turn/response.sse")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(response)
		if r.URL.Path == "/other" {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer server.Close()
	list := filepath.Join(t.TempDir(), "list.json")
	testkit.Write(t, list, `{"scenarios": [{"name": "a", "needed": true, "request": {}}, {"name": "b", "path": "/other", "request": {}}]}`)
	var out, errs bytes.Buffer
	status := run([]string{"discover", server.URL, "--scenarios", list, "--quiet"}, &out, &errs)
	if want := "qualifies: 1 of 1 needed scenario; 1 other scenario was not captured completely\n"; status != int(render.Failed) || out.String() != want {
		t.Errorf("exit status %d, said %s%s", status, out.String(), errs.String())
	}
}
