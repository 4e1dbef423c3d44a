//go:build browser

package report

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/internal/testkit/browser"
)

// thousandRuns returns a capture of a thousand runs. Of every four runs, one is exact, one
// reduced, one built and one refused.
func thousandRuns(t *testing.T) string {
	t.Helper()
	var events []string
	for i := range 1_000 {
		start, end := fmt.Sprintf(`"threadId":"t","runId":"id-%03d","timestamp":%d`, i, 1769860800123+i), ""
		switch i % 4 {
		case 0:
			end = snapshot
		case 1:
			end = richer
		case 2:
			end = `{"type":"TEXT_MESSAGE_CHUNK","messageId":"1","role":"user","delta":"hi"}`
		case 3:
			end = useless
		}
		events = append(events, `{"type":"RUN_STARTED",`+start+`}`, end, `{"type":"RUN_FINISHED",`+start+`}`)
	}
	return saved(t, "thousand.sse", events...)
}

const (
	rowsShown = `[...document.querySelectorAll(".index tbody tr")].filter((r) => r.checkVisibility()).length`
	runsShown = `[...document.querySelectorAll("article")].filter((a) => a.checkVisibility()).length`
	inBar     = `document.getElementById("here").textContent`
)

// types replaces the text in the filter.
func (b *tab) types(text string) {
	b.Helper()
	b.Script(`document.getElementById("find").value = ""; document.getElementById("find").focus()`)
	b.Keys(append([]string{" "}, text)...)
}

// scrollsTo scrolls to a run and waits for the bar to name it.
func (b *tab) scrollsTo(run int) {
	b.Helper()
	b.Script(fmt.Sprintf(`document.getElementById("r%d").scrollIntoView()`, run))
	b.Until(fmt.Sprintf(`%s.startsWith("thousand.sse run %d ")`, inBar, run))
}

// atTop waits until a run begins just below the bar and the bar names the run.
func (b *tab) atTop(run int, says string) {
	b.Helper()
	b.Until(fmt.Sprintf(`Math.abs(document.getElementById("r%d").getBoundingClientRect().top - document.querySelector(".bar").getBoundingClientRect().bottom) < 3`, run))
	b.Until(inBar + ` === "` + says + `"`)
}

// A page of a thousand runs can be filtered by verdict and by words, and the buttons move
// between the remaining runs.
func TestBrowserThousandRuns(t *testing.T) {
	page := pageOf(t, thousandRuns(t))
	b := open(t, page, 1280, "light")
	b.Holds(rowsShown + ` === 1000 && ` + runsShown + ` === 1000 && ` + inBar + ` === ""`)

	// The verdicts are buttons.
	b.Click(`.words li[data-verdict="refused"] button`)
	b.Until(rowsShown + ` === 250 && ` + runsShown + ` === 250`)
	b.Holds(`[...document.querySelectorAll(".index tbody tr:not([hidden]) .verdict")].every((v) => v.textContent === "refused")`)
	b.Holds(`document.querySelector("button[aria-pressed='true']").textContent === "refused 250" && ` + inBar + ` === "250 of 1,000 shown" && document.getElementById("status").textContent === "250 of 1,000 shown"`)
	b.Click(`#next`)
	b.atTop(4, "thousand.sse run 4 refused 1 of 250")
	b.Click(`#next`)
	b.atTop(8, "thousand.sse run 8 refused 2 of 250")
	b.Click(`#previous`)
	b.atTop(4, "thousand.sse run 4 refused 1 of 250")
	// Showing all runs again keeps the current run in view.
	b.Click(`#all`)
	b.atTop(4, "thousand.sse run 4 refused 4 of 1,000")
	b.Holds(rowsShown + ` === 1000 && !document.getElementById("all").checkVisibility()`)

	// Every word must match the row or the header of the run.
	b.types("id-01 reduced")
	b.Until(rowsShown + ` === 2 && ` + runsShown + ` === 2`)
	b.types("nowhere to be found")
	b.Until(inBar + ` === "No run matches." && ` + runsShown + ` === 0`)
	b.types("ID-499")
	b.Until(rowsShown + ` === 1`)
	b.Click(`.index tbody tr:not([hidden]) a`)
	b.atTop(500, "thousand.sse run 500 refused 1 of 1")
	b.Holds(`document.querySelector("#r500 .fold").open && !document.querySelector("#r499 .fold").open`)
	b.Click(`#all`)
	b.atTop(500, "thousand.sse run 500 refused 500 of 1,000")

	// A link to a hidden run shows the run.
	b.Click(`.words li[data-verdict="exact"] button`)
	b.Until(rowsShown + ` === 250`)
	b.Script(`location.hash = "#r1000"`)
	b.Until(inBar + ` === "thousand.sse run 1000 refused 1,000 of 1,000" && ` + rowsShown + ` === 1000`)

	// The bar stays at the top and names the current run.
	b.scrollsTo(700)
	b.atTop(700, "thousand.sse run 700 refused 700 of 1,000")
	b.Holds(`document.querySelector(".bar").getBoundingClientRect().top === 0`)
	b.Click(`.bar a`)
	b.Until(inBar + ` === ""`)

	for _, width := range []int64{320, 390, 1280} {
		b.Run(chromedp.EmulateViewport(width, 900))
		b.scrollsTo(300)
		b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
		b.Holds(`[...document.querySelectorAll(".bar, .bar *")].every((e) => e.getBoundingClientRect().right <= innerWidth)`)
		b.Script(`scrollTo(0, 0)`)
		b.Until(inBar + ` === ""`)
		b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
		// The run stays at the top while content above it gets its real height.
		b.Script(`document.querySelector(".words li[data-verdict='refused'] button").click(); document.getElementById("next").click()`)
		b.atTop(4, "thousand.sse run 4 refused 1 of 250")
		b.Click(`#all`)
		b.atTop(4, "thousand.sse run 4 refused 4 of 1,000")
	}
}

// The keys n and p, and j and k, move between runs. The key / goes to the filter.
func TestBrowserIndexKeys(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/one-turn", captures+"/adk/refused", captures+"/adk/backend-tool"), 1280, "light")
	b.Keys("n")
	b.Until(inBar + ` === "one-turn exact 1 of 3"`)
	// The focus moves too, so that the next key opens the run.
	b.Keys(kb.Enter)
	b.Until(`document.querySelector("#r1 .fold").open`)
	b.Holds(`document.getElementById("status").textContent === "one-turn, exact"`)
	b.Keys("j")
	b.Until(inBar + ` === "refused no run refused 2 of 3"`)
	b.Keys("k")
	b.atTop(1, "one-turn exact 1 of 3")
	// In a timeline, j and k move between rows.
	b.Script(`for (const d of document.querySelectorAll("#r1 details")) d.open = true`)
	b.Until(`document.querySelector("#r1-timeline .rows button")`)
	b.Focus(`#r1-timeline .rows li:first-child button`)
	b.Keys("j")
	b.Holds(`document.activeElement === document.querySelector("#r1-timeline .rows li:nth-child(2) button")`)
	b.Script(`document.getElementById("r1").scrollIntoView()`)
	b.Keys("p")
	b.Until(inBar + ` === "" && document.activeElement.id === "index"`)
	b.Keys("p") // there is none before
	b.Holds(inBar + ` === ""`)
	// In the filter, the keys type letters.
	b.Run(browser.Command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Text: "/"}))
	b.Until(`document.activeElement.id === "find"`)
	b.Keys("n", "p")
	b.Until(`document.getElementById("find").value === "np" && ` + inBar + ` === "No run matches."`)
}

// Without JavaScript, the index has links to every run and the runs have links back. No
// buttons are shown.
func TestBrowserIndexWithoutScript(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/one-turn", captures+"/adk/empty-ids", captures+"/adk/backend-tool"), 390, "light", browser.Command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.Holds(`document.querySelectorAll(".index tbody a").length === 3`)
	b.Holds(`[...document.querySelectorAll(".bar button, .find, #index-name button")].every((e) => !e.checkVisibility())`)
	b.Click(`.index tbody tr:nth-child(3) a`)
	b.Until(`Math.abs(document.getElementById("r3").getBoundingClientRect().top) < innerHeight && scrollY > 0`)
	b.Click(`.bar a`)
	b.Until(`Math.abs(document.getElementById("index").getBoundingClientRect().top - document.querySelector(".bar").getBoundingClientRect().bottom) < 40`)
}

// A page of several runs prints the index and the runs without the controls. Open parts
// are printed open, and hidden runs are not printed.
func TestBrowserIndexPrint(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/one-turn", captures+"/adk/empty-ids", captures+"/adk/backend-tool"), 1280, "dark")
	b.Click(`.words li[data-verdict="refused"] button`)
	b.Run(browser.Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	b.Until(`!document.querySelector(".bar").checkVisibility() && !document.querySelector(".find").checkVisibility()`)
	b.Holds(rowsShown + ` === 1 && ` + runsShown + ` === 1`)
	b.Holds(`getComputedStyle(document.querySelector("#r2")).contentVisibility === "visible"`)
	b.Holds(`getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)"`)
}

// axe-core reports no violations in an index of some dozens of runs.
func TestBrowserIndexAxe(t *testing.T) {
	paths, err := filepath.Glob(captures + "/adk/*")
	if err != nil || len(paths) < 20 {
		t.Fatal(paths, err)
	}
	other, _ := filepath.Glob(captures + "/langgraph/*")
	page := pageOf(t, append(paths, other...)...)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{390, 1280} {
			t.Run(fmt.Sprintf("%s %d", scheme, width), func(t *testing.T) {
				b := open(t, page, width, scheme, browser.Command(cdppage.SetBypassCSP, cdppage.SetBypassCSPParams{Enabled: true}))
				b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
				b.Judge()
				b.Click(`.words li[data-verdict="refused"] button`)
				b.Click(`#next`)
				b.Until(inBar + `.includes("refused")`)
				b.Judge()
			})
		}
	}
}
