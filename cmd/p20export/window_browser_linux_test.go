//go:build browser

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/browser"
)

// A window is a browser with the window of a server.
type window struct {
	*testing.T
	browser *browser.Browser
	url     string // of the page
}

// openWindow starts a browser for the pages of a server.
func openWindow(t *testing.T, url string) *window {
	t.Helper()
	b, err := browser.Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return &window{t, b, url}
}

// tab opens a page of the window. At the end of the test, it checks that the page asked no other
// server for anything, and logged nothing but what expected matches.
func (w *window) tab(query string, width int64, scheme string, expected ...string) *browser.Tab {
	w.Helper()
	tab := w.browser.Open(w.T, w.url+query, width, scheme, browser.Command(cdppage.SetBypassCSP, cdppage.SetBypassCSPParams{Enabled: true}))
	w.Cleanup(func() {
		for _, address := range tab.Loaded() {
			if !strings.HasPrefix(address, w.url) && address != "data:," {
				w.Errorf("the page loaded %s", address)
			}
		}
		for _, p := range tab.Problems() {
			if !slices.ContainsFunc(expected, func(part string) bool { return strings.Contains(p, part) }) {
				w.Errorf("the browser says: %s", p)
			}
		}
	})
	return tab
}

// strict opens a page as tab does, but with its content security policy, which axe cannot have.
func (w *window) strict(query string) *browser.Tab {
	w.Helper()
	tab := w.browser.Open(w.T, w.url+query, 1280, "light")
	w.Cleanup(func() {
		for _, p := range tab.Problems() {
			w.Errorf("with the policy, the browser says: %s", p)
		}
	})
	return tab
}

const (
	rowIDs = `[...document.querySelectorAll(".threads .thread a")].map((a) => a.dataset.thread)`
	counts = `document.querySelector(".count")?.textContent`
)

// find types a search, and waits until the page has counted what it found.
func find(b *browser.Tab, text, want string) {
	b.Helper()
	b.Focus("#find")
	b.Script(`document.getElementById("find").select()`)
	if text == "" {
		b.Keys(kb.Escape)
	} else {
		b.Keys(text)
	}
	b.Until(counts + ` === ` + js(want))
}

// The list shows the threads of a log that captures were imported into, and finds them.
func TestBrowserWindowList(t *testing.T) {
	log := logOf(t, "adk/one-turn", "adk/backend-tool", "adk/model-error", "adk/confirmation", "adk/refused", "langgraph/three-turns-1", "langgraph/three-turns-2")
	_, url := startServer(t, "log", "view", "--store", log)
	w := openWindow(t, url)
	const all = "6 threads"

	b := w.tab("/", 1280, "light")
	b.Until(counts + ` === ` + js(all))
	b.Holds(`document.title === "Threads – p20export"`)
	b.Holds(`document.querySelector(".threads").getAttribute("aria-rowcount") === "7"`)
	// The newest is the one that was imported last, and has what the server says.
	b.Holds(rowIDs + `[0] === "thread-three-turns"`)
	b.Holds(`fetch("threads?order=newest").then((r) => r.json()).then((list) => {
		const shown = [...document.querySelectorAll(".threads .thread")].map((row) => [...row.children].map((cell) => cell.textContent));
		return list.threads.length === shown.length && list.threads.every((t, i) =>
			shown[i][0] === t.thread_id && shown[i][2] === (t.latest?.end ?? "no run") && shown[i][5] === String(t.runs) && shown[i][6].replaceAll(",", "") === String(t.entries) && shown[i][7].replaceAll(",", "") === String(t.bytes));
	})`)
	// Without a run there is no duration.
	b.Holds(`document.querySelector(".thread:has([data-thread=thread-refused]) [data-is=Duration]").textContent === "–"`)
	tree := b.Tree()
	for _, line := range []string{"heading: p20export Threads", "searchbox: Find threads", "table: Threads", "columnheader: Sealed up to", "link: thread-one-turn", "button: failed 1", "button: no run 1", "button: Keys"} {
		if !strings.Contains(tree, line+"\n") {
			t.Errorf("the accessibility tree has no %s:\n%s", line, tree)
		}
	}

	find(b, "one-turn", "1 of "+all)
	b.Until(`new URLSearchParams(location.search).get("find") === "one-turn"`)
	find(b, "TURN three", "1 of "+all)
	find(b, "end:failed", "1 of "+all)
	b.Holds(rowIDs + `.join() === "thread-model-error"`)
	find(b, "end:none", "1 of "+all)
	find(b, "after:2001-02-03 before:2001-02-04T01:00", "0 of "+all)
	find(b, "after:2001-02-03", "5 of "+all) // not the thread without a run
	find(b, "agent:chat", "0 of "+all)
	find(b, "after:yesterday", all)
	b.Holds(`document.querySelector(".note").textContent.includes("after:yesterday has no date")`)
	find(b, "", all)
	// The choices have the numbers, and are words of the search.
	b.Click(`.ends li:has(.end-bad) button`)
	b.Until(counts + ` === "1 of ` + all + `"`)
	b.Holds(`document.getElementById("find").value === "end:failed" && document.querySelector(".ends [aria-pressed=true]").textContent === "failed 1"`)
	b.Click(`.ends [aria-pressed=true]`)
	b.Until(counts + ` === ` + js(all))
	b.Click(`.find button`)
	b.Holds(`document.getElementById("how").checkVisibility()`)
	b.Holds(`document.querySelector(".find button").getAttribute("aria-expanded") === "true"`)

	// A link has what was searched for.
	again := w.tab("/?find=end:failed", 1280, "light")
	again.Until(counts + ` === "1 of ` + all + `"`)

	for _, width := range []int64{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b := w.tab("/", width, scheme)
			b.Until(counts + ` === ` + js(all))
			b.Judge()
			b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
			b.Click(`.find button`)
			b.Click(`.top button`)
			b.Until(`document.querySelector("dialog[open]")`)
			b.Holds(`axe.run().then((found) => found.violations.length === 0)`) // only of the dialog
			b.Keys(kb.Escape)
			b.Until(`!document.querySelector("dialog")`)
			b.Close()
		}
	}
	strict := w.strict("/")
	strict.Until(counts + ` === ` + js(all))
	strict.Holds(`getComputedStyle(document.querySelector(".threads .part")).position === "absolute"`)
}

// Everything can be reached with the keyboard alone, and the browser's history works.
func TestBrowserWindowKeys(t *testing.T) {
	log := logOf(t, "adk/one-turn", "adk/backend-tool", "adk/model-error")
	_, url := startServer(t, "log", "view", "--store", log)
	w := openWindow(t, url)
	b := w.tab("/", 1280, "light", "404 (Not Found)")
	b.Until(counts + ` === "3 threads"`)
	const focused = `document.activeElement.dataset.thread === `
	ids := browser.Evaluate[[]string](b, rowIDs)
	b.Keys("?")
	b.Until(`document.querySelector("dialog[open]")`)
	b.Keys(kb.Escape)
	b.Until(`!document.querySelector("dialog")`)
	b.Keys("/")
	b.Holds(`document.activeElement.id === "find"`)
	b.Keys("jk/?") // are text here
	b.Until(counts + ` === "0 of 3 threads"`)
	b.Keys(kb.Escape)
	b.Until(counts + ` === "3 threads"`)
	b.Keys(kb.ArrowDown)
	b.Until(focused + js(ids[0]))
	b.Keys("j")
	b.Until(focused + js(ids[1]))
	b.Keys(kb.ArrowDown)
	b.Until(focused + js(ids[2]))
	b.Keys(kb.ArrowDown) // there is no other
	b.Until(focused + js(ids[2]))
	b.Keys(kb.Home)
	b.Until(focused + js(ids[0]))
	b.Keys(kb.End)
	b.Until(focused + js(ids[2]))
	b.Keys("k")
	b.Until(focused + js(ids[1]))
	b.Keys(kb.Enter)
	b.Until(`document.title === ` + js(ids[1]+" – p20export"))
	b.Holds(`new URLSearchParams(location.search).get("thread") === ` + js(ids[1]))
	b.Until(`document.getElementById("said").textContent === ` + js(ids[1]))
	b.Script(`history.back()`)
	b.Until(counts + ` === "3 threads"`)
	b.Until(`document.title === "Threads – p20export"`)
	b.Script(`history.forward()`)
	b.Until(`document.title === ` + js(ids[1]+" – p20export"))
	b.Script(`document.querySelector(".top a").click()`)
	b.Until(counts + ` === "3 threads"`)
	// The skip link leads past the head.
	b.Script(`document.querySelector(".skip").focus()`)
	b.Keys(kb.Enter)
	b.Holds(`document.activeElement.id === "main"`)

	dots := w.tab("/?thread=..", 1280, "light")
	dots.Until(`document.body.textContent.includes("Browsers cannot ask for a thread with this id")`)
}

// The list goes on by itself: threads of another process appear, and a server that was away is
// asked again.
func TestBrowserWindowLive(t *testing.T) {
	log := logOf(t, "adk/refused")
	deleteThread := func(id string) {
		t.Helper()
		if out, err := program(t, "log", "delete", id, "--store", log, "--yes").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	deleteThread("thread-refused")
	args := []string{"log", "view", "--store", log}
	s, url := startServer(t, args...)
	w := openWindow(t, url)
	b := w.tab("/", 1280, "light", "ERR_CONNECTION_REFUSED")
	b.Until(`document.querySelector(".empty")?.textContent.includes("p20export log import")`)
	b.Script(`window.same = true`)
	importCapture := func(name string) {
		t.Helper()
		if out, err := program(t, "log", "import", "--store", log, filepath.Join("../../discovery/captures", name)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	importCapture("adk/one-turn")
	b.Until(rowIDs + `.join() === "thread-one-turn"`)
	importCapture("adk/model-error")
	b.Until(rowIDs + `.join() === "thread-model-error,thread-one-turn"`)

	s.kill(t, syscall.SIGTERM)
	s.wait(t)
	b.Until(`document.querySelector(".note")?.textContent.startsWith("The server does not answer. The page tries again by itself.")`)
	b.Until(`document.getElementById("said").textContent.startsWith("The server does not answer.")`)
	b.Holds(rowIDs + `.length === 2`)
	importCapture("adk/backend-tool")
	startServer(t, append(args, "--listen", strings.TrimPrefix(url, "http://"))...)
	b.Until(rowIDs + `.join() === "thread-backend-tool,thread-model-error,thread-one-turn"`)
	b.Until(`!document.querySelector(".note") && document.getElementById("said").textContent === "The server answers again."`)
	deleteThread("thread-model-error")
	b.Until(rowIDs + `.join() === "thread-backend-tool,thread-one-turn"`)
	b.Holds(`window.same`)
}

// The page asks for a token, keeps it for the tab, and shows a tenant's threads to nobody else.
func TestBrowserWindowToken(t *testing.T) {
	log := "sqlite:" + filepath.Join(t.TempDir(), "events.db")
	tokens := filepath.Join(t.TempDir(), "tokens")
	for _, tenant := range []string{"acme", "umbrella"} {
		if out, err := program(t, "log", "import", "--store", log, "--tenant", tenant, filepath.Join("../../discovery/captures/adk", map[string]string{"acme": "one-turn", "umbrella": "model-error"}[tenant])).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	testkit.Write(t, tokens, tokensOf("acme", "umbrella"))
	_, url := startServer(t, "serve", "--store", log, "--token-file", tokens)
	w := openWindow(t, url)
	const asks = `document.querySelector(".login h2")?.textContent === "The server asks for a token"`
	for _, width := range []int64{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b := w.tab("/", width, scheme, "401 (Unauthorized)")
			b.Until(asks)
			b.Judge()
			b.Close()
		}
	}
	b := w.tab("/?find=thread", 1280, "light", "401 (Unauthorized)")
	b.Until(asks)
	b.Until(`document.activeElement.id === "token" && document.activeElement.type === "password"`)
	b.Keys("another", kb.Enter)
	b.Until(`document.querySelector(".login .note")?.textContent === "The server does not accept this token."`)
	b.Script(`document.getElementById("token").value = ""; document.getElementById("token").focus()`)
	b.Keys("token-of-acme", kb.Enter)
	b.Until(rowIDs + `.join() === "thread-one-turn"`)
	b.Holds(`document.querySelector(".tenant").textContent === "Tenant acme"`)
	b.Holds(`!location.href.includes("token-of") && !document.cookie && Object.keys(localStorage).length === 0`)
	// A reload keeps the token; another tab has none.
	b.Run(chromedp.Reload())
	b.Until(rowIDs + `.join() === "thread-one-turn"`)
	other := w.tab("/", 1280, "light", "401 (Unauthorized)", "404 (Not Found)")
	other.Until(asks + ` && document.activeElement.id === "token"`)
	other.Keys("token-of-umbrella", kb.Enter)
	other.Until(rowIDs + `.join() === "thread-model-error"`)
	// The thread of another tenant does not exist.
	other.Script(`history.pushState(null, "", "?thread=thread-one-turn"); dispatchEvent(new PopStateEvent("popstate"))`)
	other.Until(`document.title.startsWith("thread-one-turn")`)
	other.Holds(`fetch("threads/thread-one-turn/runs", {headers: {Authorization: "Bearer token-of-umbrella"}}).then((r) => r.status === 404)`)

	b.Click(`.top button`)
	b.Until(asks)
	b.Holds(`sessionStorage.length === 0`)
}
