//go:build browser

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/internal/testkit/browser"
)

// chat is what a tab with the example page needs: a real agent with a scripted model, serve
// in a process of its own, and the page from another origin.
type chat struct {
	*testing.T
	gate    *faucet
	browser *browser.Browser
	page    string
	serve   *server
	url     string   // of serve
	args    []string // of serve
	thread  string
}

func startChat(t *testing.T) *chat {
	dist := os.Getenv("P20EXPORT_CHAT")
	if dist == "" {
		t.Fatal("P20EXPORT_CHAT is not set; make browser sets it and runs these tests")
	}
	b, err := browser.Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	page := httptest.NewServer(http.FileServer(http.Dir(dist)))
	t.Cleanup(page.Close)
	c := &chat{T: t, gate: startGuide(t), browser: b, page: page.URL, thread: "a/b ü"}
	c.args = []string{"serve", "--store", "sqlite:" + filepath.Join(t.TempDir(), "chat.db"), "--upstream", "guide=" + c.gate.URL + "/chat", "--allow-origin", page.URL, "--drain", "1ms"}
	c.serve, c.url = startServer(t, c.args...)
	return c
}

// startGuide starts a real agent with a scripted model, behind a faucet. Its path is /chat.
func startGuide(t *testing.T) *faucet {
	t.Helper()
	var agent string
	for _, h := range loadHarnesses(t) {
		if h.Name == "pydantic-ai" {
			agent = runningHarness(t, h)
		}
	}
	return newFaucet(t, agent)
}

// load opens the page of the thread.
func (c *chat) load(width int64, scheme string) *browser.Tab {
	c.Helper()
	address := c.page + "/?" + url.Values{"agent": {"guide"}, "thread": {c.thread}, "server": {c.url}}.Encode()
	return c.browser.Open(c.T, address, width, scheme, browser.Command(cdppage.SetBypassCSP, cdppage.SetBypassCSPParams{Enabled: true}))
}

// open opens the page of the thread and waits until it has connected.
func (c *chat) open(width int64, scheme string) *browser.Tab {
	c.Helper()
	b := c.load(width, scheme)
	b.Until(state + ` !== "Starting…" && ` + state + ` !== "Connecting…"`)
	return b
}

// restart ends serve with a signal, and starts it again at the same address.
func (c *chat) restart(sig syscall.Signal, meanwhile func()) {
	c.Helper()
	c.serve.kill(c.T, sig)
	c.serve.wait(c.T)
	meanwhile()
	c.serve, _ = startServer(c.T, append(slices.Clone(c.args), "--listen", strings.TrimPrefix(c.url, "http://"))...)
}

// faucet is an agent that answers as another, but can stop in the middle of an answer.
type faucet struct {
	*httptest.Server
	mu       sync.Mutex
	hold     chan struct{} // answers stop until it is closed; nil: they do not
	after    int           // after how many words
	asks     bool          // answers end with a question
	arrived  chan struct{} // a request has arrived
	requests []request
}

// request is what the tests read of a request to the agent.
type request struct {
	ThreadID    string
	RunID       string
	ParentRunID string
	Messages    []struct{ Role, Content string }
	Resume      []struct{ InterruptID, Status string }
}

// question is the end of a run in which the agent asks for an approval.
const question = `data: {"type":"RUN_FINISHED","threadId":%q,"runId":%q,"outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"confirm"}]}}` + "\n"

func newFaucet(t *testing.T, agent string) *faucet {
	g := &faucet{arrived: make(chan struct{}, 100)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var seen request
		if err := json.Unmarshal(body, &seen); err != nil {
			t.Error(err)
		}
		g.mu.Lock()
		g.requests = append(g.requests, seen)
		hold, after, asks := g.hold, g.after, g.asks
		g.mu.Unlock()
		g.arrived <- struct{}{}
		// The agent behind has not asked, so it gets no answer.
		body = bytes.Replace(body, []byte(`"resume":`), []byte(`"unused":`), 1)
		response, err := http.Post(agent+r.URL.Path, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_ = http.NewResponseController(w).Flush()
		lines := bufio.NewReader(response.Body)
		for words, line := 0, "\n"; ; {
			if words == after && line == "\n" && hold != nil {
				select {
				case <-hold:
				case <-r.Context().Done():
					return
				}
			}
			line, err = lines.ReadString('\n')
			if asks && strings.Contains(line, "RUN_FINISHED") {
				line = fmt.Sprintf(question, seen.ThreadID, seen.RunID)
			}
			_, _ = io.WriteString(w, line)
			_ = http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
			if strings.Contains(line, "TEXT_MESSAGE_CONTENT") {
				words++
			}
		}
	}))
	t.Cleanup(g.Close)
	return g
}

// holds makes the next answer stop after some words. The function that it returns lets it
// go on.
func (g *faucet) holds(after int) (release func()) {
	hold := make(chan struct{})
	g.set(hold, after)
	return sync.OnceFunc(func() { g.set(nil, 0); close(hold) })
}

func (g *faucet) set(hold chan struct{}, after int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold, g.after = hold, after
}

// ask makes answers end with a question, or no more.
func (g *faucet) ask(asks bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asks = asks
}

// last returns the last request.
func (g *faucet) last() request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests[len(g.requests)-1]
}

const (
	state    = `document.getElementById("state").textContent`
	messages = `[...document.querySelectorAll("#messages > li")].map((m) => m.className + ": " + m.lastChild.textContent)`
	answer   = `document.querySelector("#messages > li.assistant:last-child > p")?.textContent`
	runList  = `[...document.querySelectorAll("#runs > li > span")].map((r) => r.textContent)`
)

// say types a message and sends it.
func say(b *browser.Tab, text string) {
	b.Helper()
	b.Focus("#text")
	b.Keys(text, kb.Enter)
}

// finished waits until the page has a number of messages and the last answer is complete,
// and returns that answer.
func finished(b *browser.Tab, messages int) string {
	b.Helper()
	b.Until(fmt.Sprintf(`%s === "The answer is complete." && document.querySelectorAll("#messages > li").length === %d`, state, messages))
	return browser.Evaluate[string](b, answer)
}

// half waits until an answer has stopped in the middle, and returns what there is of it.
func half(b *browser.Tab, text string) string {
	b.Helper()
	b.Until(state + ` === "Answering…" && (` + answer + ` ?? "").includes(` + js(text) + `)`)
	return browser.Evaluate[string](b, answer)
}

// js returns a value as JavaScript.
func js(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// The first answer of the scripted model: what it has after 20 words, and its end.
const (
	firstWords = "- each **line** is one row"
	lastWords  = "Shall I show you how to read one?"
)

// A tab is closed in mid-sentence and opened again, while nobody reads. The answer goes on to
// the same text that a tab has which was open all the time. So it does in a third tab.
func TestBrowserChatComesBack(t *testing.T) {
	c := startChat(t)
	release := c.gate.holds(20)
	b := c.open(1280, "light")
	b.Holds(state + ` === "Ready."`)
	say(b, "What is a CSV file?")
	before := half(b, firstWords)
	b.Close()

	again, stays := c.open(390, "dark"), c.open(1280, "light")
	if got := half(again, firstWords); got != before {
		t.Errorf("the answer was %q and is %q", before, got)
	}
	again.Judge()
	checkTree(again, "StaticText: Answering…", "button: Cancel the answer")
	half(stays, firstWords)
	release()
	full := finished(again, 2)
	if !strings.HasPrefix(full, before) || !strings.HasSuffix(full, lastWords) {
		t.Errorf("the answer is %q", full)
	}
	if got := finished(stays, 2); got != full {
		t.Errorf("another tab has %q", got)
	}
	again.Judge()
	again.Holds(`document.documentElement.scrollWidth <= innerWidth`)
	checkTree(again, "heading: You", "heading: Assistant", "StaticText: The answer is complete.", "button: Branch from run 1")
	for _, tab := range []*browser.Tab{again, stays} {
		tab.Until(`document.getElementById("heard").textContent === ` + js(full))
		for _, p := range tab.Problems() {
			t.Errorf("the browser says: %s", p)
		}
	}
	if got := browser.Evaluate[[]string](again, messages); len(got) != 2 || got[0] != "user: What is a CSV file?" {
		t.Errorf("%q", got)
	}
}

// A tab is closed before the agent has said anything, and opened again.
func TestBrowserChatWaits(t *testing.T) {
	c := startChat(t)
	release := c.gate.holds(0)
	b := c.open(1280, "light")
	say(b, "What is a CSV file?")
	<-c.gate.arrived
	b.Close()
	again := c.load(1280, "light")
	again.Until(state + ` === "Connecting…"`)
	release()
	if full := finished(again, 2); !strings.HasSuffix(full, lastWords) {
		t.Errorf("the answer is %q", full)
	}
}

// checkTree reports an error if the accessibility tree has not all the parts of the page, and
// the lines.
func checkTree(b *browser.Tab, lines ...string) {
	b.Helper()
	tree := b.Tree()
	for _, line := range append(lines, "heading: Resumable chat", "list: Messages", "textbox: Your message", "button: Send", "navigation: Runs") {
		if !strings.Contains(tree, line+"\n") {
			b.Errorf("the accessibility tree has no %s:\n%s", line, tree)
		}
	}
}

// Live regions change a few times during an answer of many words.
func TestBrowserChatAnnounces(t *testing.T) {
	c := startChat(t)
	b := c.open(1280, "light")
	b.Script(`window.said = []; for (const id of ["state", "heard"]) new MutationObserver(() => said.push(document.getElementById(id).textContent)).observe(document.getElementById(id), {childList: true})`)
	say(b, "What is a CSV file?")
	full := finished(b, 2)
	b.Until(`said.includes(` + js(full) + `)`)
	said := browser.Evaluate[[]string](b, `said`)
	for _, text := range said {
		if !slices.Contains([]string{"Working…", "Sending…", "Answering…", "The answer is complete.", full}, text) {
			t.Errorf("announced: %q", text)
		}
	}
	if len(said) > 6 {
		t.Errorf("%d announcements: %q", len(said), said)
	}
	// The focus stays where the next message is typed, and everything can be reached with Tab.
	b.Holds(`document.activeElement.id === "text"`)
	for _, want := range []string{"send", "cancel", ""} {
		b.Keys(kb.Tab)
		b.Holds(`document.activeElement.id === ` + js(want))
	}
	b.Holds(`document.activeElement.textContent === "Branch from run 1" && getComputedStyle(document.activeElement).outlineStyle === "solid"`)
}

// The history is there after serve was restarted. If it is killed in the middle of an answer,
// the page waits for it, says that the answer was interrupted, and can ask again.
func TestBrowserChatRestart(t *testing.T) {
	c := startChat(t)
	b := c.open(1280, "light")
	say(b, "What is a CSV file?")
	finished(b, 2)
	want := browser.Evaluate[[]string](b, messages)
	c.restart(syscall.SIGTERM, func() {})
	other := c.open(1280, "light")
	if got := browser.Evaluate[[]string](other, messages); !slices.Equal(want, got) {
		t.Errorf("the messages were %q and are %q", want, got)
	}
	other.Holds(state + ` === "The answer is complete."`)

	release := c.gate.holds(20)
	defer release()
	say(b, "How do I read it?")
	b.Until(state + ` === "Answering…" && document.querySelectorAll("#messages > li").length === 4`)
	c.restart(syscall.SIGKILL, func() {
		b.Until(state + ` === "The connection was lost. Trying again…"`)
	})
	b.Until(state + `.startsWith("The answer was interrupted:")`)
	b.Until(`document.querySelectorAll("#messages > li").length === 4`)
	b.Judge()
	release()
	say(b, "Once more, please.")
	finished(b, 6)
	if got := browser.Evaluate[[]string](b, runList); !slices.Equal(got, []string{"Run 1: finished", "Run 2: failed", "Run 3: finished"}) {
		t.Errorf("%q", got)
	}
}

// A message after branching continues the earlier run: the agent gets the conversation of
// that run alone, and the page shows both branches in its list.
func TestBrowserChatBranches(t *testing.T) {
	c := startChat(t)
	b := c.open(1280, "light")
	say(b, "What is a CSV file?")
	first := finished(b, 2)
	run := c.gate.last().RunID
	say(b, "How do I read it?")
	second := finished(b, 4)
	b.Until(`document.querySelectorAll("#runs > li").length === 2`)
	b.Click(`#runs > li:first-child button`)
	b.Until(state + ` === "Your next message continues run 1."`)
	b.Holds(answer + ` === ` + js(first))
	b.Judge()
	say(b, "Show me another way.")
	third := finished(b, 4)
	// The model counts the turns that it gets, so it gives its second answer again.
	if third != second || first == second {
		t.Errorf("the answers are %q, %q and %q", first, second, third)
	}
	got := c.gate.last()
	if got.ParentRunID != run || len(got.Messages) != 3 || got.Messages[1].Content != first || got.Messages[2].Content != "Show me another way." {
		t.Errorf("the agent got %+v", got)
	}
	b.Until(`document.querySelectorAll("#runs > li").length === 3`)
	b.Holds(runList + `[2] === "Run 3: finished, continues run 1"`)
	b.Judge()
	// Another conversation has the same agent and server.
	b.Holds(`((to) => to.get("agent") === "guide" && to.get("server") === ` + js(c.url) + ` && !to.has("thread"))(new URLSearchParams(document.getElementById("new").search))`)
	// A new tab shows the branch that the last run is in.
	other := c.open(1280, "light")
	if got := browser.Evaluate[[]string](other, messages); len(got) != 4 || got[2] != "user: Show me another way." {
		t.Errorf("%q", got)
	}
}

// An answer can be cancelled from a tab that did not ask.
func TestBrowserChatCancels(t *testing.T) {
	c := startChat(t)
	defer c.gate.holds(20)()
	b := c.open(1280, "light")
	say(b, "What is a CSV file?")
	half(b, firstWords)
	other := c.open(1280, "light")
	half(other, firstWords)
	other.Click("#cancel")
	for _, tab := range []*browser.Tab{other, b} {
		tab.Until(state + ` === "The answer was cancelled."`)
		tab.Holds(answer + `.includes(` + js(firstWords) + `)`)
	}
}

// What was typed is not lost when it cannot be sent.
func TestBrowserChatRefused(t *testing.T) {
	c := startChat(t)
	release := c.gate.holds(20)
	b, other := c.open(1280, "light"), c.open(1280, "light")
	say(b, "What is a CSV file?")
	half(b, firstWords)
	say(other, "Me too!")
	half(other, firstWords)
	release()
	other.Until(state + `.startsWith("Your message was not sent: ") && document.getElementById("text").value === "Me too!"`)
	if got := browser.Evaluate[[]string](other, messages); len(got) != 2 || got[0] != "user: What is a CSV file?" {
		t.Errorf("%q", got)
	}
	finished(b, 2)
}

// An agent asks for an approval, which the page has no form for. Another tab and a tab that is
// joined again say so, and the next message declines it.
func TestBrowserChatAsked(t *testing.T) {
	const asked = state + ` === "The agent asks for an approval. Your next message declines it."`
	c := startChat(t)
	c.gate.ask(true)
	b := c.open(1280, "light")
	say(b, "What is a CSV file?")
	b.Until(asked)
	other := c.open(1280, "light")
	other.Holds(asked)
	other.Until(`document.querySelectorAll("#runs > li").length === 1`)
	other.Click(`#runs > li:first-child button`)
	other.Until(state + ` === "Your next message continues run 1."`)
	other.Click("#latest")
	other.Until(asked + ` && document.querySelectorAll("#messages > li").length === 2`)
	other.Judge()
	c.gate.ask(false)
	say(other, "How do I read it?")
	finished(other, 4)
	if got := c.gate.last().Resume; len(got) != 1 || got[0].InterruptID != "i1" || got[0].Status != "cancelled" {
		t.Errorf("the agent got the answers %+v", got)
	}
}
