package main

import (
	"bytes"
	"context"
	"errors"
	"io"
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

// Who interrupts the reading of the captures gets no answer from what was not
// read, in either format.
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
