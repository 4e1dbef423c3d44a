//go:build browser

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/internal/testkit/browser"
)

// askGuide starts a run at a server as any client does. The function that it returns waits for the end
// of the response, and returns the text of its messages.
func askGuide(t *testing.T, url, thread, run, text string) (all func() string) {
	t.Helper()
	response := askAgent(t, url, "", thread, run, text)
	got := make(chan string, 1)
	go func() {
		var text strings.Builder
		for lines := bufio.NewScanner(response); lines.Scan(); {
			var event struct{ Type, Delta string }
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &event) == nil && event.Type == "TEXT_MESSAGE_CONTENT" {
				text.WriteString(event.Delta)
			}
		}
		got <- text.String()
	}()
	return func() string {
		t.Helper()
		select {
		case text := <-got:
			return text
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
			return ""
		}
	}
}

const (
	shownEnd  = `document.querySelector(".where .verdict")?.textContent`
	shownRuns = `[...document.querySelectorAll(".run-row .id")].map((id) => id.textContent).join()`
	lastShown = `fetch("threads/" + encodeURIComponent(new URLSearchParams(location.search).get("thread")) + "/entries?limit=1").then((r) => r.json()).then(({ last }) => ` + position + ` === last)`
)

// Runs of a real agent, in a log in PostgreSQL. Two servers share it: clients start runs at one,
// and the window is of the other, which is killed and started under the open page.
func TestBrowserWindowHarness(t *testing.T) {
	gate := startGuide(t)
	log := postgresAddress(t, "window_harness")
	args := []string{"serve", "--store", log, "--upstream", "guide=" + gate.URL + "/chat", "--drain", "1ms"}
	_, runs := startServer(t, args...)
	w := openThreadWindow(t, args...)
	restart := func(meanwhile func()) {
		t.Helper()
		w.serve.kill(t, syscall.SIGKILL)
		w.serve.wait(t)
		meanwhile()
		w.serve, _ = startServer(t, append(args, "--listen", strings.TrimPrefix(w.url, "http://"))...)
	}
	const thread = "a/b ü"
	checked := 0
	check := func() {
		t.Helper()
		b := w.thread(thread, 0, 1280, "light")
		defer b.Close()
		last := browser.Evaluate[int](b, position)
		if difference := browser.Evaluate[string](b, strings.Replace(walk, "let n = 1;", fmt.Sprintf("let n = %d;", checked+1), 1)); difference != "" {
			t.Error(difference)
		}
		t.Logf("positions %d to %d are those of restore", checked+1, last)
		checked = last
		w.clean(b)
	}

	// The list is open when another client starts a run. Its thread appears, and is opened.
	list := w.browser.Open(t, w.url+"/", 1280, "light")
	list.Until(`document.querySelector(".empty")`)
	release := gate.holds(20)
	first := askGuide(t, runs, thread, "r1", "What is a CSV file?")
	list.Until(rowIDs + `.join() === ` + js(thread))
	list.Script(`document.querySelector(".threads a").focus()`)
	list.Keys(kb.Enter)
	second := w.thread(thread, 0, 390, "dark")
	tabs := []*browser.Tab{list, second}
	for _, tab := range tabs {
		tab.Until(spoken + `?.includes(` + js(firstWords) + `) && ` + shownEnd + ` === "open"`)
		tab.Holds(`!` + spoken + `.includes(` + js(lastWords) + `)`)
		tab.Until(`document.querySelector(".live").textContent === "Live"`)
	}
	// The run goes on while the server of the window is away.
	var full string
	restart(func() {
		for _, tab := range tabs {
			tab.Until(`document.querySelector(".live").textContent.startsWith("The connection was lost")`)
		}
		release()
		full = first()
	})
	if !strings.HasSuffix(full, lastWords) {
		t.Errorf("the client got %q", full)
	}
	for _, tab := range tabs {
		tab.Until(spoken + ` === ` + js(full) + ` && ` + shownEnd + ` === "finished"`)
		tab.Until(lastShown)
		tab.Until(complete)
		tab.Forgive() // that the server did not answer
	}
	second.Close()
	check()

	// The server is killed that calls the agent. What the agent had said is there, and that the run
	// failed.
	release = gate.holds(20)
	askGuide(t, w.url, thread, "r2", "How do I read it?")
	list.Until(shownRuns + ` === "r1,r2" && ` + shownEnd + ` === "open" && ` + spoken + `?.includes(` + js(firstWords) + `)`)
	half := browser.Evaluate[string](list, spoken)
	restart(release)
	list.Until(shownEnd + ` === "failed" && document.querySelector(".run-end.failed")`)
	list.Holds(spoken + `.startsWith(` + js(half) + `)`)
	list.Forgive()
	check()

	// The first run is continued through the window, so that there is a branch.
	list.Click(".run-row")
	list.Until(spoken + ` === ` + js(full) + ` && ` + shownEnd + ` === "finished"`)
	list.Script(`[...document.querySelectorAll("details.folded")].at(-1).open = true`)
	click := func(text string) {
		t.Helper()
		find := `[...document.querySelectorAll("button")].find((b) => b.textContent === ` + js(text) + ` && !b.disabled)`
		list.Until(find + ` !== undefined`)
		list.Script(find + `.click()`)
	}
	click("Show the request")
	list.Until(`document.querySelector("form.continue textarea")`)
	list.Focus("form.continue textarea")
	list.Keys("Show me another way.")
	list.Until(`document.querySelector("form.continue .tree").textContent.includes("Show me another way.")`)
	click("Send it")
	list.Until(`document.querySelectorAll(".run-row").length === 3 && ` + shownEnd + ` === "finished" && document.querySelectorAll(".messages > .message").length === 4`)
	got := gate.last()
	if got.ParentRunID != "r1" || len(got.Messages) != 3 || got.Messages[1].Content != full || got.Messages[2].Content != "Show me another way." {
		t.Errorf("the agent got %+v", got)
	}
	list.Until(`document.getElementById("runs").textContent === "Runs 3 runs in 2 branches"`)
	list.Holds(`document.querySelectorAll(".run-row")[2].textContent.includes("continues run 1, branch 2")`)
	list.Holds(`![...document.querySelectorAll(".messages > .message")].some((m) => m.textContent.includes("How do I read it?"))`)
	list.Until(lastShown)
	check()

	// A run is cancelled through the window, in which another client asked.
	defer gate.holds(20)()
	cancelled := askGuide(t, runs, thread, "r4", "What is a CSV file?")
	other := w.thread(thread, 0, 1280, "dark")
	for _, tab := range []*browser.Tab{list, other} {
		tab.Until(shownEnd + ` === "open" && ` + spoken + `.includes(` + js(firstWords) + `)`)
	}
	list.Click(".cancel button")
	click("Cancel it")
	for _, tab := range []*browser.Tab{list, other} {
		tab.Until(shownEnd + ` === "cancelled" && !document.querySelector(".cancel")`)
		tab.Until(lastShown)
		w.clean(tab)
	}
	if text := cancelled(); !strings.Contains(text, firstWords) || strings.Contains(text, lastWords) {
		t.Errorf("the client got %q", text)
	}
	check()
}
