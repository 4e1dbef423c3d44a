//go:build client

package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/serve/servetest"
)

// Stop and the next message work in the reference client, which only closes the connection:
// its next run supersedes the one that it has left.
func TestClientStops(t *testing.T) {
	t.Parallel()
	checkStops(t, "P20EXPORT_CLIENT", "stop.mjs")
}

// They work in CopilotKit's front end, whose runtime stops the run of its client.
func TestClientStopsCopilotKit(t *testing.T) {
	t.Parallel()
	checkStops(t, "P20EXPORT_COPILOTKIT", "stop-copilotkit.mjs")
}

// checkStops lets a script of testdata stop runs, with the modules of a directory that the
// environment names.
func checkStops(t *testing.T, modules, script string) {
	t.Helper()
	installed := os.Getenv(modules)
	if installed == "" {
		t.Fatalf("%s does not name the directory of the client: run make client", modules)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
	testkit.Write(t, filepath.Join(dir, script), string(testkit.Read(t, filepath.Join("testdata", script))))
	// The agent never ends a run that is to be stopped.
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ ThreadID, RunID string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		message := []string{
			started(in.ThreadID, in.RunID),
			fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":"m-%s","role":"assistant"}`, in.RunID),
			fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m-%s","delta":"%s"}`, in.RunID, in.RunID),
		}
		if strings.HasPrefix(in.RunID, "stopped") {
			fmt.Fprint(w, testkit.SSE(message...))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, testkit.SSE(append(message, fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":"m-%s"}`, in.RunID), finished(in.ThreadID, in.RunID))...))
	}))
	t.Cleanup(agent.Close)
	log := newMemory(t)
	front := startServe(t, log, agent.URL, serve.Replace)
	const rounds = 5
	cmd := exec.Command("node", "--preserve-symlinks", filepath.Join(dir, script), front.URL+"/agents/"+servetest.Upstream, "t", fmt.Sprint(rounds))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Errors   int
		End      string
		Messages []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	var want []string
	for i := range rounds {
		want = append(want, fmt.Sprint("stopped-", i), fmt.Sprint("next-", i))
	}
	same(t, got.Messages, want)
	same(t, got.End, fmt.Sprintf("next-%d success", rounds-1))
	same(t, got.Errors, 0)
	list := entries(t, log, "t")
	for i := range rounds {
		run := fmt.Sprint("stopped-", i)
		if !slices.Contains(list, stopped("t", run, "superseded", supersededText)) || !slices.Contains(list, fmt.Sprintf(`closing {"type":"TEXT_MESSAGE_END","messageId":"m-%s"}`, run)) {
			t.Errorf("the run %s was not closed in order: %q", run, list)
		}
	}
}
