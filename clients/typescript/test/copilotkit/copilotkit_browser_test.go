//go:build browser

// Package copilotkit_test uses CopilotKit's chat in a real Chromium, with ThreadRunner in
// CopilotKit's runtime. make clients-copilotkit runs it.
package copilotkit_test

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/internal/testkit/browser"
)

// A process is serve or CopilotKit's runtime. It can be started again at the same address.
type process struct {
	*testing.T
	command func(listen string) *exec.Cmd
	cmd     *exec.Cmd
	stdin   io.Writer
	address string
}

// listening is in the line with which a process says that it listens.
var listening = regexp.MustCompile(`"msg":"listening","address":"(127\.0\.0\.1:\d+)"`)

// start starts the process and waits until it listens.
func (p *process) start() {
	p.Helper()
	if p.address == "" {
		p.address = "127.0.0.1:0"
	}
	cmd := p.command(p.address)
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		p.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.cmd = cmd
	p.Cleanup(func() { _ = cmd.Process.Kill() })
	output := bufio.NewReader(pipe)
	for said := ""; ; {
		line, err := output.ReadString('\n')
		said += line
		if err != nil {
			p.Fatalf("%s does not listen: %v\n%s", cmd, err, said)
		}
		if m := listening.FindStringSubmatch(line); m != nil {
			p.address = m[1]
			break
		}
	}
	to := io.Discard
	if testing.Verbose() {
		to = os.Stderr
	}
	go io.Copy(to, output)
}

// end ends the process with a signal.
func (p *process) end(sig syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.Fatal(err)
	}
	_ = p.cmd.Wait()
}

// A chat has a browser, CopilotKit's runtime, and serve with a log.
type chat struct {
	*testing.T
	browser        *browser.Browser
	serve, runtime process
	thread         string
}

// startChat starts everything. The store is a URL as --store takes it.
func startChat(t *testing.T, store string) *chat {
	program, dir := os.Getenv("P20EXPORT_PROGRAM"), os.Getenv("P20EXPORT_COPILOTKIT_TESTS")
	if program == "" || dir == "" {
		t.Fatal("P20EXPORT_PROGRAM or P20EXPORT_COPILOTKIT_TESTS is not set; make clients-copilotkit sets them and runs these tests")
	}
	c := &chat{T: t, browser: launch(t), thread: "a/b ü"}
	c.serve = process{T: t, command: func(listen string) *exec.Cmd {
		// A silent agent sends a batch every 10 seconds.
		return exec.Command(program, "serve", "--store", store, "--listen", listen, "--allow-append", "--append-timeout", "16s", "--drain", "1ms")
	}}
	c.serve.start()
	c.runtime = process{T: t, command: func(listen string) *exec.Cmd {
		return exec.Command("node", filepath.Join(dir, "runtime.js"), "http://"+c.serve.address, listen)
	}}
	c.runtime.start()
	return c
}

func launch(t *testing.T) *browser.Browser {
	t.Helper()
	b, err := browser.Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// tell tells the runtime whether answers stop in the middle of a sentence: "hold" or "release".
func (c *chat) tell(what string) {
	c.Helper()
	if _, err := fmt.Fprintln(c.runtime.stdin, what); err != nil {
		c.Fatal(err)
	}
}

// open opens the page of the thread in a browser.
func (c *chat) open(b *browser.Browser) *browser.Tab {
	c.Helper()
	tab := b.Open(c.T, "http://"+c.runtime.address+"/?"+url.Values{"thread": {c.thread}}.Encode(), 1280, "light")
	c.Cleanup(func() {
		for _, address := range tab.Loaded() {
			if !strings.HasPrefix(address, "http://"+c.runtime.address+"/") && !strings.HasPrefix(address, "data:") && !strings.HasPrefix(address, "blob:") {
				c.Errorf("the page loads %s", address)
			}
		}
	})
	tab.Until(`document.querySelector("` + field + `") !== null`)
	return tab
}

const (
	field = `[data-testid=copilot-chat-textarea]`
	// shown is what the page shows of the conversation.
	shown = `[...document.querySelectorAll("[data-testid=copilot-user-message], [data-testid=copilot-assistant-message]")].map((m) => m.innerText.trim()).filter(Boolean)`
	// known are the messages that the page would send to the agent.
	known = `JSON.stringify(agent.messages.map(({id, role, content, toolCalls, toolCallId}) => ({id, role, content, toolCalls, toolCallId})))`
	// joined holds after the page has read the thread to its end.
	joined = `performance.getEntriesByType("resource").some(({name, responseEnd}) => name.endsWith("/connect") && responseEnd > 0) && !agent.isRunning`
	// half is how far a held answer gets.
	half = "with a number of letters"
)

// say types a message and sends it. It waits until the page has joined the thread, because
// CopilotKit drops messages that are sent before.
func say(tab *browser.Tab, text string) {
	tab.Helper()
	tab.Until(joined)
	tab.Focus(field)
	tab.Keys(text, kb.Enter)
}

// until waits until the last that a page shows has a text.
func until(tab *browser.Tab, text string) {
	tab.Helper()
	tab.Until(fmt.Sprintf(`(%s.at(-1) ?? "").includes(%q)`, shown, text))
}

// compare reports an error if a page differs from one that never left.
func compare(stays, tab *browser.Tab) {
	tab.Helper()
	tab.Until(fmt.Sprintf(`%s === %q`, known, browser.Evaluate[string](stays, known)))
	want := browser.Evaluate[[]string](stays, shown)
	tab.Until(fmt.Sprintf(`%s.length === %d`, shown, len(want)))
	if got := browser.Evaluate[[]string](tab, shown); !slices.Equal(got, want) {
		tab.Errorf("the page shows\n%q, and one that never left\n%q", got, want)
	}
}

// stores are the URLs of the logs.
func stores(t *testing.T) map[string]string {
	t.Helper()
	address, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	if err != nil || address.Host == "" {
		t.Fatalf("P20EXPORT_POSTGRES is not set (%v); make clients-copilotkit sets it and runs these tests", err)
	}
	address.RawQuery = url.Values{"passfile": {os.Getenv("PGPASSFILE")}, "search_path": {"copilotkit"}}.Encode()
	return map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "chat.db"), "postgres": address.String()}
}

// One page asks and stays. Another is reloaded in mid-sentence, and a third is in another
// browser. serve is killed meanwhile. All have the same messages, also after everything was
// restarted.
func TestBrowserCopilotKit(t *testing.T) {
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			c := startChat(t, store)
			c.tell("hold")
			stays, reloaded := c.open(c.browser), c.open(c.browser)
			stays.Holds(`fetch("/copilotkit/info").then((r) => r.json()).then((info) => info.telemetryDisabled && !info.threadEndpoints.list)`)
			say(stays, "How long is this?")
			until(stays, half)
			for range 2 {
				reloaded.Close()
				reloaded = c.open(c.browser)
				until(reloaded, half)
			}
			elsewhere := c.open(launch(t))
			until(elsewhere, half)
			c.serve.end(syscall.SIGKILL)
			c.serve.start()
			c.tell("release")
			until(stays, "The page is teal now.")
			stays.Holds(`document.body.style.background === "teal"`)
			for _, tab := range []*browser.Tab{reloaded, elsewhere} {
				until(tab, "that I count first.")
			}
			compare(stays, c.open(c.browser))
			c.runtime.end(syscall.SIGTERM)
			c.serve.end(syscall.SIGTERM)
			c.serve.start()
			c.runtime.start()
			compare(stays, c.open(launch(t)))
			if got := browser.Evaluate[[]string](stays, shown); len(got) != 3 {
				t.Errorf("the page shows %q", got)
			}
		})
	}
}

// The page that asked is reloaded in mid-sentence, and stops the answer. Another page has
// joined the answer before, and never left. Both can go on.
func TestBrowserCopilotKitStopped(t *testing.T) {
	c := startChat(t, stores(t)["sqlite"])
	c.tell("hold")
	asks := c.open(c.browser)
	say(asks, "How long is this?")
	until(asks, half)
	stays := c.open(launch(t))
	until(stays, half)
	asks.Close()
	again := c.open(c.browser)
	until(again, half)
	again.Click(`[data-testid=copilot-send-button]`) // it stops an answer that is active
	for _, tab := range []*browser.Tab{again, stays} {
		tab.Until(`!agent.isRunning`)
	}
	compare(stays, again)
	c.tell("release")
	say(stays, "Once more!")
	until(stays, "The page is teal now.")
	compare(stays, c.open(c.browser))
}

// A page that does not know of the answer to another page gets an error when it asks.
func TestBrowserCopilotKitBusy(t *testing.T) {
	c := startChat(t, stores(t)["sqlite"])
	c.tell("hold")
	stays, busy := c.open(c.browser), c.open(c.browser)
	busy.Until(joined)
	say(stays, "How long is this?")
	until(stays, half)
	say(busy, "Me too!")
	busy.Until(`errors.includes("Thread already running")`)
	c.tell("release")
	until(stays, "The page is teal now.")
	compare(stays, c.open(c.browser))
}

// The runtime is killed in mid-sentence. serve ends the run, and then the thread works again.
func TestBrowserCopilotKitKilled(t *testing.T) {
	c := startChat(t, stores(t)["sqlite"])
	c.tell("hold")
	tab := c.open(c.browser)
	say(tab, "How long is this?")
	until(tab, half)
	c.runtime.end(syscall.SIGKILL)
	c.runtime.start()
	tab.Close()
	tab = c.open(c.browser)
	until(tab, half)
	tab.Until(`!agent.isRunning`)
	until(tab, half)
	say(tab, "Once more!")
	until(tab, "The page is teal now.")
	compare(tab, c.open(c.browser))
}
