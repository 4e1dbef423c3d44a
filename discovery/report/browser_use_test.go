//go:build browser

package report

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/internal/testkit/browser"
)

// A click opens a group, and a click on one of its events shows the raw text.
func TestBrowserClick(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/backend-tool"), 1280, "light")
	const group = `#r1-timeline li:nth-child(7)`
	b.Click(group + ` > button`)
	b.Until(`document.querySelectorAll("` + group + ` ol > li").length === 7`)
	b.Holds(`document.querySelector("` + group + ` > button").getAttribute("aria-expanded") === "true"`)
	b.Click(group + ` ol > li:nth-child(2) > button`)
	b.Until(`document.querySelector("` + group + ` pre").textContent.endsWith('"delta":" rains"}')`)
	b.Click(group + ` > button`)
	b.Until(`document.querySelector("` + group + ` > div").hidden`)
	// A link to an event opens the event and everything that contains it.
	b.Script(`document.querySelector("#r1-timeline > details").open = false`)
	b.Click(`#r1 > details.folded > summary`)
	b.Click(`#r1 > details.folded a[data-event="15"]`)
	b.Until(`document.querySelectorAll("#r1-timeline ol.rows > li").length === 1 && document.activeElement.classList.contains("row")`)
	b.Holds(`document.querySelector("#r1-timeline pre").textContent.startsWith('{"type":"MESSAGES_SNAPSHOT"')`)
	b.Holds(`document.querySelectorAll("#r1-timeline .omission").length === 3`)
}

// Every control can be reached with Tab and used with the keyboard, and shows the focus.
func TestBrowserKeyboard(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/one-turn", captures+"/adk/backend-tool"), 1280, "light")
	const focus = `document.activeElement`
	b.Keys(kb.Tab)
	b.Holds(focus + `.className === "skip"`)
	b.Keys(kb.Enter)
	b.Until(`location.hash === "#main"`)
	b.Run(chromedp.Navigate(strings.TrimSuffix(browser.Evaluate[string](b.Tab, `location.href`), "#main")))
	b.Forgive()
	// On a page of several runs, the part below the header of a run is folded. Space opens
	// that part and the list of events in it.
	b.Focus(`#r1 > details.fold > summary`)
	b.Keys(" ")
	b.Focus(`#r1 details.timeline > summary`)
	b.Keys(" ")
	b.Until(`document.querySelectorAll("#r1-timeline ol.rows > li").length > 3`)
	b.Script(`for (const d of document.querySelectorAll("details")) d.open = true`)
	b.Until(`document.querySelectorAll("#r2-timeline ol.rows > li").length > 3`)
	want := browser.Evaluate[[]string](b.Tab, `[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter((e) => e.checkVisibility()).map((e, i) => e.dataset.stop = String(i))`)
	if len(want) < 35 {
		t.Fatalf("only %d controls", len(want))
	}
	b.Focus(`a.skip`)
	for i := range want {
		at := browser.Evaluate[[]string](b.Tab, `(() => { const e = document.activeElement, s = getComputedStyle(e); return [e.dataset.stop || e.outerHTML.slice(0, 80), s.outlineStyle, s.outlineWidth]; })()`)
		if at[0] != want[i] || at[1] != "solid" || at[2] != "2px" {
			t.Fatalf("Tab %d comes to %q, outlined %s", i, at, at[1:])
		}
		b.Keys(kb.Tab)
	}
	// "/" searches the run with the focus, j and the arrow keys move between rows, and Enter
	// opens a row.
	b.Focus(`#r1 > details.fold > summary`)
	// Send one key event with text, so that the page can prevent the input.
	b.Run(browser.Command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Text: "/"}))
	b.Holds(focus + `.id === "q1" && ` + focus + `.value === ""`)
	b.Keys("paris", kb.Tab, kb.Tab)
	b.Holds(focus + `.textContent.includes("TEXT_MESSAGE_CONTENT")`)
	b.Keys("j")
	b.Holds(focus + `.textContent.includes("MESSAGES_SNAPSHOT")`)
	b.Keys(kb.ArrowUp)
	b.Holds(focus + `.textContent.includes("TEXT_MESSAGE_CONTENT")`)
	b.Keys(kb.Enter)
	b.Holds(focus + `.nextSibling.querySelector("pre").textContent.includes(" Paris")`)
	// The index has a link to the run, and the bar has one back.
	b.Focus(`.index a[href="#r2"]`)
	b.Keys(kb.Enter)
	b.Until(`location.hash === "#r2" && document.getElementById("r2").getBoundingClientRect().top < innerHeight`)
}

// tenThousand returns a capture of ten thousand events, most of one family.
func tenThousand(t *testing.T) string {
	events := []string{started}
	for i := range 9_000 {
		text := fmt.Sprintf("word %d", i)
		if i == 4_321 {
			text = "the NEEDLE"
		}
		events = append(events, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%s"}`, text))
	}
	for i := range 998 {
		events = append(events, fmt.Sprintf(`{"type":"%s","toolCallId":"%d"}`, []string{"TOOL_CALL_START", "TOOL_CALL_END"}[i%2], i/2))
	}
	return saved(t, "ten-thousand.sse", append(events, finished)...)
}

// The JSON of a message is next to the message if there is room, and otherwise below. No
// page scrolls sideways.
func TestBrowserConversation(t *testing.T) {
	pages := []string{
		pageOf(t, captures+"/adk/backend-tool"), pageOf(t, captures+"/langgraph/two-agents"), pageOf(t, captures+"/adk/long-reply"), pageOf(t, captures+"/adk/refused"),
		pageOf(t, captures+"/adk/model-error"), pageOf(t, "../drift/captures/adk-0.4.0/two-agents"),
	}
	for i, page := range pages {
		for _, width := range []int64{320, 390, 899, 900, 1280} {
			b := open(t, page, width, "light")
			b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
			if i > 0 {
				continue
			}
			b.Holds(`document.querySelectorAll(".messages > li").length === 4 && document.querySelectorAll(".messages > li")[1].className === "ghost"`)
			b.Holds(`[...document.querySelectorAll(".blocks i")].map((e) => e.className).join() === "kept,gone,part,kept"`)
			b.Click(`.messages > .ghost > .raw > summary`)
			const ghost, raw = `document.querySelector(".ghost .what").getBoundingClientRect()`, `document.querySelector(".ghost .tree").getBoundingClientRect()`
			b.Until(raw + `.height > 0`)
			b.Holds(fmt.Sprintf(`%t ? %s.left >= %s.right : %s.top >= %s.bottom`, width >= 900, raw, ghost, raw, ghost))
			b.Holds(`document.querySelector(".ghost .tree").textContent.includes("left out: content_missing")`)
			b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
		}
	}
}

// Ten thousand events are first shown as a few rows, and the search finds each event.
func TestBrowserTenThousandEvents(t *testing.T) {
	b := open(t, pageOf(t, tenThousand(t)), 1280, "light")
	b.Holds(`!document.querySelector("#r1-timeline > details").open`)
	b.Click(`#r1-timeline > details > summary`)
	b.Until(`document.querySelector("#r1-timeline .rows")`)
	const rows, said = `document.querySelectorAll("#r1-timeline > details > ol > li:not(.more)").length`, `document.querySelector("#r1-timeline p.count").textContent`
	b.Holds(rows + ` === 100`)
	b.Holds(`document.querySelectorAll("*").length < 2000`)
	b.Holds(said + ` === "10,000 listed in 1,001 rows"`)
	b.Holds(`document.querySelector("#r1-timeline .rows > li:nth-child(2)").textContent.includes("TEXT_MESSAGE_CONTENT × 9,000")`)
	b.Click(`#r1-timeline .rows > li:nth-child(2) > button`)
	b.Until(`document.querySelectorAll("#r1-timeline .rows > li:nth-child(2) ol > li").length === 101`)
	b.Click(`#r1-timeline .rows > li:nth-child(2) ol > li.more > button`)
	b.Until(`document.querySelectorAll("#r1-timeline .rows > li:nth-child(2) ol > li").length === 201`)
	b.Holds(`document.activeElement.textContent.startsWith("#101")`)
	search := func(text string, want string) {
		t.Helper()
		b.Script(`document.getElementById("q1").value = ""; document.getElementById("q1").focus()`)
		b.Keys(text)
		b.Until(said + ` === "` + want + `"`)
	}
	search("needle", "1 of 10,000 listed")
	b.Holds(rows + ` === 1 && document.querySelector("#r1-timeline .row .at").textContent === "#4322"`)
	search("#9999", "1 of 10,000 listed")
	b.Holds(`document.querySelector("#r1-timeline .row .type").textContent === "RUN_FINISHED"`)
	search("tool_call", "998 of 10,000 listed")
	b.Script(`document.getElementById("t1").value = "=TOOL_CALL_END"; document.getElementById("t1").dispatchEvent(new Event("change"))`)
	b.Until(said + ` === "499 of 10,000 listed"`)
	b.Holds(rows + ` === 100`)
	search("nowhere to be found", "0 of 10,000 listed")
}

// The button copies a digest, or selects the digest if the page may not copy.
func TestBrowserCopy(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/one-turn"), 1280, "light")
	b.Click(`#r1-digests > summary`)
	const digest, status = `document.querySelector("#r1-digests code").textContent`, `document.getElementById("status").textContent`
	b.Holds(digest + `.startsWith("sha256:")`)
	b.Script(`Object.defineProperty(navigator, "clipboard", {configurable: true, value: {writeText: async (text) => { window.copied = text; }}})`)
	b.Click(`#r1-digests button`)
	b.Until(status + ` === "Copied."`)
	b.Holds(`window.copied === ` + digest)
	b.Script(`Object.defineProperty(navigator, "clipboard", {value: undefined})`)
	b.Click(`#r1-digests button`)
	b.Until(status + `.startsWith("Selected.")`)
	b.Holds(`getSelection().toString() === ` + digest)
}

// Without JavaScript, the page still shows the facts.
func TestBrowserWithoutScript(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/backend-tool"), 1280, "light", browser.Command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	text := browser.Evaluate[string](b.Tab, `document.body.innerText`)
	for _, want := range []string{
		"reduced", "Kept 3 of 4 messages · 3 of 17 events · 1 message without text left out", "intact: every digest matches capture.json", "RUN_FINISHED",
		"It rains in Oslo, at 4 degrees.", "Left out: a message without text. It called get_weather.", "left out: toolCallId", "829 bytes", "The list of events needs JavaScript",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if strings.Contains(text, "Copy") {
		t.Error("a button is shown that does nothing")
	}
}

// The index fits windows of any width without scrolling sideways.
func TestBrowserIndexFits(t *testing.T) {
	long := saved(t, strings.Repeat("a-long-name-", 12)+".sse", started, finished)
	page := pageOf(t, captures+"/adk/backend-tool", captures+"/adk/model-error", captures+"/langgraph/two-agents", captures+"/adk/refused", long)
	for _, width := range []int64{320, 390, 800, 961, 1280} {
		b := open(t, page, width, "light")
		b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
		b.Holds(`[...document.querySelectorAll(".index tbody *")].every((e) => e.getBoundingClientRect().right <= innerWidth)`)
		// If the column headings are hidden, each cell has its own label.
		b.Holds(`[...document.querySelectorAll(".index td[data-is]:not(:empty)")].every((td) => (getComputedStyle(td, "::before").content === "none") === document.querySelector(".index thead").checkVisibility())`)
		b.Holds(`document.querySelector(".index thead").checkVisibility() === ` + fmt.Sprint(width > 960))
	}
}

// The printed page shows the artifact and hides the controls.
func TestBrowserPrint(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/backend-tool"), 1280, "dark")
	b.Script(`addEventListener("beforeprint", () => { window.opened = document.querySelector("details.folded:not(.timeline)").open; })`)
	pdf := browser.Get(b.Tab, chromedp.PrintToPDF())
	if !strings.HasPrefix(string(pdf), "%PDF-") || len(pdf) < 10_000 {
		t.Errorf("%d bytes of PDF", len(pdf))
	}
	b.Holds(`window.opened && !document.querySelector("details.folded:not(.timeline)").open`)
	b.Run(browser.Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	b.Until(`!document.querySelector(".search").checkVisibility() && !document.querySelector("button.copy").checkVisibility()`)
}

// The policy protects the page even if hostile content gets into it: no script runs, no text
// becomes markup, and nothing is loaded.
func TestBrowserPolicy(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	b := open(t, pageOf(t, captures+"/adk/one-turn"), 1280, "light")
	b.Holds(`(() => { try { document.body.innerHTML = "<p>"; return false; } catch (e) { return e instanceof TypeError; } })()`)
	b.Holds(`(() => { try { document.body.setAttribute("onclick", "window.owned = 1"); document.body.click(); } catch {} return !window.owned; })()`)
	b.Holds(`(() => { try { const s = document.createElement("script"); s.text = "window.owned = 1"; document.body.append(s); } catch {} return !window.owned; })()`)
	b.Holds(`fetch("` + server.URL + `").then(() => false, () => true)`)
	b.Holds(`new Promise((done) => { const i = new Image(); i.onload = () => done(false); i.onerror = () => done(true); i.src = "` + server.URL + `"; })`)
	if asked.Load() != 0 {
		t.Errorf("%d requests came", asked.Load())
	}
	b.Forgive() // the violations that the policy logged
}
