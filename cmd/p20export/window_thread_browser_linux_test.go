//go:build browser

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/internal/testkit/browser"
)

// A threadWindow is a browser, and a server whose window it opens.
type threadWindow struct {
	*testing.T
	browser *browser.Browser
	serve   *server
	url     string
	args    []string
}

// openThreadWindow starts a server and a browser.
func openThreadWindow(t *testing.T, args ...string) *threadWindow {
	t.Helper()
	b, err := browser.Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	w := &threadWindow{T: t, browser: b, args: args}
	w.serve, w.url = startServer(t, args...)
	return w
}

// address returns the address of a thread at a position, or without one if it is 0.
func (w *threadWindow) address(thread string, at int) string {
	query := url.Values{"thread": {thread}}
	if at > 0 {
		query.Set("at", fmt.Sprint(at))
	}
	return w.url + "/?" + query.Encode()
}

// thread opens the page of a thread and waits until it shows a moment. The page can be judged.
func (w *threadWindow) thread(thread string, at int, width int64, scheme string) *browser.Tab {
	w.Helper()
	b := w.browser.Open(w.T, w.address(thread, at), width, scheme, browser.Command(cdppage.SetBypassCSP, cdppage.SetBypassCSPParams{Enabled: true}))
	b.Until(complete)
	return b
}

// clean reports what the browser has logged, and what the page loaded from elsewhere.
func (w *threadWindow) clean(b *browser.Tab) {
	w.Helper()
	for _, p := range b.Problems() {
		w.Errorf("the browser says: %s", p)
	}
	for _, address := range b.Loaded() {
		if !strings.HasPrefix(address, w.url+"/") && !strings.HasPrefix(address, "data:") && !strings.HasPrefix(address, "blob:"+w.url) {
			w.Errorf("the page loaded %s", address)
		}
	}
}

const (
	position = `Number(document.querySelector(".thread").dataset.position)`
	said     = `document.getElementById("said").textContent`
	// complete is true if a moment is shown, and the index and the runs are there.
	complete = `document.querySelector(".thread")?.dataset.position && document.querySelector(".thread").dataset.indexed === document.querySelector(".thread").dataset.last && document.querySelector(".run-row:enabled, .thread[data-runs='0']")`
)

// shownThread is JavaScript that reads what the page shows: messages and the state as values, and that
// makes the same from the answer of the server to restore.
const shownThread = `
const { pieces } = await import("./window/shared.js");
const visible = (text) => pieces(text, true).join("");
const deep = (v) => typeof v === "string" ? visible(v) : Array.isArray(v) ? v.map(deep) : v && typeof v === "object" ? Object.entries(v).map(([k, w]) => [pieces(k).join(""), deep(w)]) : v;
const wait = async (condition) => { while (!condition()) await new Promise(requestAnimationFrame); };
const open = async (root) => {
  for (;;) {
    const closed = [...root.querySelectorAll("details:not([open])")].filter((d) => !d.matches(".raw, .folded"));
    const more = [...root.querySelectorAll("button")].filter((b) => b.textContent.startsWith("Show "));
    if (closed.length + more.length === 0) return;
    for (const d of closed) d.open = true;
    for (const b of more) b.click();
    await new Promise((done) => setTimeout(done));
  }
};
// tree reads a value from a tree.
const tree = (li) => {
  const details = li.querySelector(":scope > details");
  if (details) {
    const items = [...details.querySelectorAll(":scope > ul > li")];
    const isList = details.querySelector(":scope > summary .size").textContent.startsWith("[");
    return items.map((item) => isList ? tree(item) : [item.querySelector(":scope > .k, :scope > details > summary > .k").textContent, tree(item)]);
  }
  const scalar = li.querySelector(":scope > .scalar");
  if (scalar) return JSON.parse(scalar.textContent);
  const text = [...li.childNodes].filter((n) => !n.matches?.(".k, .sr")).map((n) => n.textContent).join("").replace(li.querySelector(":scope > .k") ? /^: / : /^/, "");
  return text === "[]" || text === "{}" ? [] : text.slice(1, -1);
};
const trees = (root) => [...root.querySelectorAll(":scope > .tree > li")].map(tree);
const result = (root) => root.querySelector(":scope > .tree") ? trees(root)[0] : root.querySelector(":scope > .content, :scope > pre")?.textContent ?? "";
const page = async () => {
  await open(document.querySelector(".conversation"));
  await open(document.querySelector("[aria-labelledby=state]"));
  const results = new Map();
  const messages = [...document.querySelectorAll(".messages > .message")].map((li) => {
    const what = li.querySelector(":scope > .what > details.long") ?? li.querySelector(".what");
    for (const r of li.querySelectorAll(".result")) results.set(Number(r.dataset.index), { role: "tool", content: result(r) });
    return [Number(li.dataset.index), {
      role: li.querySelector(".who strong").textContent, content: result(what), media: what.querySelectorAll(":scope > .media").length,
      calls: [...what.querySelectorAll(":scope > .call")].map((c) => [c.querySelector("strong").textContent, result(c)]),
    }];
  });
  const all = new Map(messages);
  for (const [i, r] of results) all.set(i, { ...r, media: 0, calls: [] });
  return { messages: [...all].sort((a, b) => a[0] - b[0]).map((m) => m[1]), state: trees(document.querySelector("[aria-labelledby=state]"))[0] };
};
const json = (text) => { try { const v = JSON.parse(text); if (v && typeof v === "object") return deep(v); } catch {} return visible(text); };
const restored = (row) => ({
  messages: row.messages.map((m) => ({
    role: m.role,
    content: m.role === "tool" ? json(m.content) : typeof m.content === "string" ? visible(m.content) : Array.isArray(m.content) ? visible(m.content.find((p) => p.type === "text")?.text ?? "") : m.content ? deep(m.content) : "",
    media: Array.isArray(m.content) ? m.content.filter((p) => p.type !== "text").length : 0,
    calls: (m.toolCalls ?? []).map((c) => [visible(c.function.name) || "no name", c.function.arguments === "" ? "" : json(c.function.arguments)]),
  })),
  state: deep(row.state),
});
const flat = (m) => JSON.stringify(m.messages.map((x) => [x.role, x.content, x.media, x.calls]).concat([m.state]));
`

// walk is JavaScript that moves the slider to every position of the thread, and returns the first
// difference between what the page shows and what the server restored. What an entry changed must
// be marked, and its exact text shown.
const walk = `(async () => {` + shownThread + `
const thread = new URLSearchParams(location.search).get("thread");
const article = document.querySelector(".thread");
const slider = document.getElementById("slider");
let before = null;
window.walked = 0;
for (let n = 1; n <= Number(slider.max); n++) {
  slider.value = String(n);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  await wait(() => Number(article.dataset.position) === n);
  const marked = [...document.querySelectorAll(".conversation mark")].map((m) => m.textContent);
  const changed = [...document.querySelectorAll(".messages :is(.added, .changed, .moved)[data-index]")].map((m) => Number(m.dataset.index));
  const entry = await (await fetch("threads/" + encodeURIComponent(thread) + "/entries/" + n)).text();
  const exact = document.querySelector(".exact")?.textContent ?? "";
  if (exact !== visible(entry)) return "position " + n + ": the text is " + exact;
  let event = {};
  try { event = JSON.parse(entry); } catch {}
  if (event.type === "TEXT_MESSAGE_CONTENT" && marked.join() !== visible(event.delta.toWellFormed())) return "position " + n + ": marked " + JSON.stringify(marked) + " of " + entry;
  const row = await (await fetch("threads/" + encodeURIComponent(thread) + "/restore?position=" + n)).json();
  const got = flat(await page()), want = flat(restored(row));
  if (got !== want) return "position " + n + ": shown " + got + " restored " + want;
  // Events without requests in between continue each other, so all changes are those of the event:
  // the messages between those at the beginning and at the end that are the same as before.
  let differ = null;
  if (event.type && before) {
    const [was, is] = [before, row.messages].map((list) => list.map((m) => JSON.stringify(m)));
    let start = 0, end = 0;
    while (start < Math.min(was.length, is.length) && was[start] === is[start]) start++;
    while (end < Math.min(was.length, is.length) - start && was.at(-1 - end) === is.at(-1 - end)) end++;
    differ = is.map((_, i) => i).slice(start, is.length - end);
  }
  if (differ && JSON.stringify(differ) !== JSON.stringify(changed.sort((a, b) => a - b))) return "position " + n + ": marked as changed " + changed + ", restored " + differ + " " + entry;
  before = event.type && !/^RUN_STARTED$/.test(event.type) ? row.messages : null;
  window.walked++;
}
return "";
})()`

// threadCaptures returns captures of several agents in which the threads have all kinds of messages.
func threadCaptures() []string {
	return []string{
		"adk/backend-tool", "adk/confirmation", "adk/multimodal", "adk/state-change", "agno/reasoning", "agno/unicode", "langgraph/two-agents",
		"copilotkit/client-tool", "langgraph/three-turns-1", "langgraph/three-turns-2", "langgraph/three-turns-3", "pydantic-ai/model-error", "agno/parent-run",
	}
}

// key returns the events of a key with modifiers, as JavaScript.
func key(name, modifiers string) string {
	return `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "` + name + `", bubbles: true, cancelable: true` + modifiers + `}))`
}

// Keys move by events, messages and runs, from everywhere but fields, and the address follows.
// Going back shows the moment before a jump.
func TestBrowserWindowThreadKeys(t *testing.T) {
	w := openThreadWindow(t, "log", "view", "--store", logOf(t, "langgraph/three-turns-1", "langgraph/three-turns-2", "langgraph/three-turns-3"))
	b := w.thread("thread-three-turns", 1, 1280, "light")
	type column struct {
		Types, Kinds []string
		Type, Kind   []int
		Run          []int
	}
	_, text := look(t, w.url+"/threads/thread-three-turns/entries")
	var index column
	if err := json.Unmarshal([]byte(text), &index); err != nil {
		t.Fatal(err)
	}
	var messages, runs []int
	last := len(index.Type)
	for i, n := range index.Type {
		name := ""
		if n >= 0 {
			name = index.Types[n]
		}
		switch {
		case name == "TEXT_MESSAGE_END", name == "MESSAGES_SNAPSHOT", index.Kinds[index.Kind[i]] == "input":
			messages = append(messages, i+1)
		case name == "RUN_FINISHED":
			runs = append(runs, i+1)
		}
	}
	at := func(want int) {
		t.Helper()
		b.Until(fmt.Sprintf("%s === %d", position, want))
	}
	b.Keys(kb.ArrowRight)
	at(2)
	b.Keys(kb.ArrowLeft)
	at(1)
	for _, want := range messages {
		if want > 1 {
			b.Script(key("ArrowRight", ", shiftKey: true"))
			at(want)
		}
	}
	b.Script(key("ArrowLeft", ", shiftKey: true"))
	at(messages[len(messages)-2])
	b.Keys(kb.Home)
	at(1)
	for _, want := range runs {
		b.Script(key("ArrowRight", ", ctrlKey: true"))
		at(want)
	}
	b.Script(key("ArrowLeft", ", ctrlKey: true"))
	at(runs[len(runs)-2])
	b.Until(fmt.Sprintf(`new URLSearchParams(location.search).get("at") === "%d"`, runs[len(runs)-2]))
	b.Keys(kb.End)
	at(last)
	b.Until(`!new URLSearchParams(location.search).has("at")`)
	b.Holds(`document.querySelector(".live").textContent === "Live"`)
	b.Keys(kb.ArrowLeft)
	at(last - 1)
	b.Until(fmt.Sprintf(`/^The page stopped following the thread\. position %d of %d, RUN_FINISHED, .* s: nothing changed\.$/.test(%s)`, last-1, last, said))
	// The slider says where it is, and a move from elsewhere also says it.
	b.Focus("#slider")
	b.Keys(kb.Home)
	b.Until(said + ` === "message 1 user added."`)
	b.Keys(kb.ArrowRight)
	at(2)
	b.Until(said + ` === "nothing changed."`)
	b.Until(`/^position 2 of ` + fmt.Sprint(last) + `, RUN_STARTED, \+0\.000 s$/.test(document.getElementById("slider").getAttribute("aria-valuetext"))`)
	// Keys in a field are not for the page.
	b.Script(`document.querySelectorAll("details.folded").forEach((d) => d.open = true)`)
	b.Until(`document.getElementById("family")`)
	b.Focus("#family")
	b.Script(key("ArrowRight", ""))
	b.Script(`document.activeElement.blur()`)
	// A click on a run goes to its end, and back is where the reader was.
	b.Until(`new URLSearchParams(location.search).get("at") === "2"`)
	b.Click(".run-row")
	at(runs[0])
	b.Until(fmt.Sprintf(`new URLSearchParams(location.search).get("at") === "%d"`, runs[0]))
	b.Script(`history.back()`)
	at(2)
	b.Script(`history.forward()`)
	at(runs[0])
	w.clean(b)
	// A link shows the same moment.
	c := w.thread("thread-three-turns", runs[0], 1280, "dark")
	want := browser.Evaluate[string](b, `document.querySelector(".conversation").innerText`)
	if got := browser.Evaluate[string](c, `document.querySelector(".conversation").innerText`); got != want {
		t.Errorf("the link shows %q, want %q", got, want)
	}
}

// The focus is never lost: not by a button that can do nothing more or is gone, and not with a
// message that is not there at another position.
func TestBrowserWindowThreadFocus(t *testing.T) {
	w := openThreadWindow(t, "log", "view", "--store", logOf(t, "langgraph/backend-tool"))
	b := w.thread("thread-backend-tool", 58, 1280, "light")
	b.Until(said + `.startsWith("position 58 of 59, RUN_FINISHED") && ` + said + `.endsWith("The run: finished.")`)
	b.Focus(`[aria-label="Next event"]`)
	b.Keys(kb.Enter)
	b.Until(position + ` === 59 && document.activeElement.ariaDisabled === "true"`)
	b.Keys(kb.Enter, kb.ArrowLeft)
	b.Until(position + ` === 58 && document.activeElement.ariaLabel === "Next event"`)
	b.Focus(`.live button`)
	b.Keys(kb.Enter)
	b.Until(position + ` === 59 && document.activeElement.textContent === "Live"`)
	b.Focus(`.call summary`)
	b.Keys(kb.Home)
	b.Until(position + ` === 1 && document.activeElement.closest(".conversation")`)
	// It is not taken from a reader who has left the page's fields with the mouse.
	b.Keys(kb.End)
	b.Until(position + ` === 59`)
	b.Focus(`.call summary`)
	b.Click(`footer`)
	b.Keys(kb.Home)
	b.Until(position + ` === 1`)
	b.Holds(`document.activeElement === document.body`)
	w.clean(b)
}

// In a window of 320 × 256 pixels, which is 400 %, the bar does not stay over what is read. What
// the browser prints by itself has the long texts, and says which messages it has not.
func TestBrowserWindowThreadSmallAndPrinted(t *testing.T) {
	var messages []string
	for i := range 150 {
		messages = append(messages, fmt.Sprintf(`{"id":"m%d","role":"user","content":"%s"}`, i, strings.Repeat("long ", 1000)+"LAST"))
	}
	run := filepath.Join(t.TempDir(), "many.sse")
	text := `data: {"type":"RUN_STARTED","threadId":"many","runId":"r"}` + "\n\n" +
		`data: {"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(messages, ",") + `]}` + "\n\n" + `data: {"type":"RUN_FINISHED","threadId":"many","runId":"r"}` + "\n\n"
	if err := os.WriteFile(run, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := openThreadWindow(t, "log", "view", "--store", importCaptures(t, run))
	b := w.thread("many", 0, 1280, "light")
	b.Holds(`!document.querySelector(".conversation").textContent.includes("LAST")`)
	b.Script(`dispatchEvent(new Event("beforeprint"))`)
	b.Run(browser.Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	b.Until(`document.querySelector(".conversation").innerText.split("LAST").length === 101`)
	b.Holds(`document.querySelector(".conversation").innerText.includes("50 earlier messages are not printed.")`)
	b.Run(browser.Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "screen"}))
	b.Holds(`!document.querySelector(".conversation").innerText.includes("not printed")`)
	b.Run(browser.Command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 320, Height: 256, DeviceScaleFactor: 4}))
	b.Until(`innerWidth === 320`)
	b.Script(`scrollTo(0, 2000)`)
	b.Holds(`document.querySelector(".moment-bar").getBoundingClientRect().bottom < 0`)
	b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
	w.clean(b)
}

// axe-core finds nothing, and nothing is wider than the window.
func TestBrowserWindowThreadAxe(t *testing.T) {
	w := openThreadWindow(t, "log", "view", "--store", logOf(t, threadCaptures()...))
	for _, of := range []struct {
		thread string
		at     int
	}{{"thread-backend-tool", 8}, {"thread-confirmation", 0}, {"thread-multimodal", 0}, {"thread-state-change", 0}, {"thread-model-error", 0}} {
		for _, width := range []int64{390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				b := w.thread(of.thread, of.at, width, scheme)
				b.Script(`document.querySelectorAll("details").forEach((d) => d.open = true)`)
				b.Until(`document.querySelector(".picture") && document.querySelector(".entry-row") && document.querySelector(".command")`)
				b.Judge()
				b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
				w.clean(b)
				b.Close()
			}
		}
	}
	b := w.thread("thread-backend-tool", 0, 1280, "light")
	tree := b.Tree()
	for _, line := range []string{
		"heading: thread-backend-tool", "heading: The conversation 4 messages", "region: The moment", "slider: Position in the thread", "button: Previous event", "button: Next message",
		"heading: Runs 1 run", "list: Runs", "button: Run 1 run-backend-tool finished 73 ms", "button: Copy link",
	} {
		if !strings.Contains(tree, line+"\n") {
			t.Errorf("the accessibility tree has no %s:\n%s", line, tree)
		}
	}
}
