//go:build browser

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/browser"
)

// captureOf returns the path of a capture of the project.
func captureOf(name string) string { return filepath.Join("../../discovery/captures", name) }

// edited writes a copy of a capture of the project, whose request and response were edited, and
// returns its path.
func edited(t *testing.T, name string, edit func(text string) string) string {
	t.Helper()
	path := captureOf(name)
	c, err := capture.Open(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	request := testkit.Read(t, filepath.Join(path, "request.json"))
	response := testkit.Read(t, filepath.Join(path, c.Framing().FileName()))
	dir := filepath.Join(t.TempDir(), "capture")
	s := capture.Settings{Tool: capture.Tool{Name: "p20export", Version: "0"}, Framing: c.Framing(), Request: []byte(edit(string(request)))}
	if _, _, err := capture.Import(t.Context(), strings.NewReader(edit(string(response))), dir, s); err != nil {
		t.Fatal(err)
	}
	return dir
}

// importCaptures imports captures into a new log, and returns its URL.
func importCaptures(t *testing.T, paths ...string) string {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "events.db")
	if out, err := program(t, append([]string{"log", "import", "--store", url}, paths...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return url
}

// walkedCaptures lists the captures in which TestBrowserWindowThreadMoments moves the slider, by
// their agents. They have tools, reasoning, states and their patches, activities, questions, media,
// errors, several agents and several runs.
func walkedCaptures() map[string][]string {
	turns := func(more ...string) []string {
		return append([]string{"three-turns-1", "three-turns-2", "three-turns-3"}, more...)
	}
	return map[string][]string{
		"adk":              turns("backend-tool", "confirmation", "multimodal", "state-change"),
		"agent-framework":  {"two-agents", "reasoning"},
		"agentscope-java":  {"client-tool", "model-error"},
		"agno":             turns("reasoning", "unicode", "state-change", "two-agents"),
		"claude-agent-sdk": {"confirmation", "reasoning"},
		"copilotkit":       {"client-tool", "state-change"},
		"crewai":           {"confirmation", "two-agents"},
		"langgraph":        turns("two-agents"),
		"langgraph-ts":     {"confirmation"},
		"llama-index":      {"backend-tool", "state-change"},
		"mastra":           {"confirmation", "state-change"},
		"pydantic-ai":      turns("model-error", "reasoning", "state-change"),
		"strands":          {"multimodal", "reasoning"},
	}
}

// The slider moves to every event of committed captures. What the page shows is what the server
// restores.
func TestBrowserWindowThreadMoments(t *testing.T) {
	all := walkedCaptures()
	captures, moments, branched := 0, 0, 0
	for agent, names := range all {
		var paths []string
		for _, name := range names {
			paths = append(paths, captureOf(agent+"/"+name))
		}
		if names[0] == "three-turns-1" {
			// Another run continues the first of three, so there are two branches.
			paths = append(paths, edited(t, agent+"/parent-run", func(text string) string {
				return strings.NewReplacer("thread-parent-run", "thread-three-turns", "run-before", "run-three-turns-1").Replace(text)
			}))
		}
		captures += len(paths)
		w := openThreadWindow(t, "log", "view", "--store", importCaptures(t, paths...))
		_, text := look(t, w.url+"/threads")
		var list struct {
			Threads []struct {
				ThreadID      string `json:"thread_id"`
				Runs, Entries int
			}
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Threads) == 0 {
			t.Fatalf("%s: %v\n%s", agent, err, text)
		}
		runs := 0
		for _, thread := range list.Threads {
			b := w.thread(thread.ThreadID, 1, 1280, "light")
			if difference := browser.Evaluate[string](b, walk); difference != "" {
				t.Errorf("%s, %s: %s", agent, thread.ThreadID, difference)
			}
			b.Holds(fmt.Sprintf("window.walked === %d && document.getElementById('slider').max === '%[1]d'", thread.Entries))
			if browser.Evaluate[bool](b, `document.getElementById("runs").textContent.endsWith("in 2 branches")`) {
				branched++
			}
			runs += thread.Runs
			moments += thread.Entries
			w.clean(b)
			b.Close()
		}
		if runs != len(paths) {
			t.Errorf("%s: %d runs of %d captures", agent, runs, len(paths))
		}
		w.serve.stop(t)
		w.browser.Close()
	}
	if captures < 20 || len(all) < 10 || branched < 4 {
		t.Errorf("%d captures of %d agents, %d threads with branches", captures, len(all), branched)
	}
	t.Logf("%d captures of %d agents, %d moments, %d threads with branches", captures, len(all), moments, branched)
}
