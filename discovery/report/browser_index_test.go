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
	b.script(`document.getElementById("find").value = ""; document.getElementById("find").focus()`)
	b.keys(append([]string{" "}, text)...)
}

// scrollsTo scrolls to a run and waits for the bar to name it.
func (b *tab) scrollsTo(run int) {
	b.Helper()
	b.script(fmt.Sprintf(`document.getElementById("r%d").scrollIntoView()`, run))
	b.until(fmt.Sprintf(`%s.startsWith("thousand.sse run %d ")`, inBar, run))
}

// atTop waits until a run begins just below the bar and the bar names the run.
func (b *tab) atTop(run int, says string) {
	b.Helper()
	b.until(fmt.Sprintf(`Math.abs(document.getElementById("r%d").getBoundingClientRect().top - document.querySelector(".bar").getBoundingClientRect().bottom) < 3`, run))
	b.until(inBar + ` === "` + says + `"`)
}

// A page of a thousand runs can be filtered by verdict and by words, and the buttons move
// between the remaining runs.
func TestBrowserThousandRuns(t *testing.T) {
	page := pageOf(t, thousandRuns(t))
	b := open(t, page, 1280, "light")
	b.holds(rowsShown + ` === 1000 && ` + runsShown + ` === 1000 && ` + inBar + ` === ""`)

	// The verdicts are buttons.
	b.click(`.words li[data-verdict="refused"] button`)
	b.until(rowsShown + ` === 250 && ` + runsShown + ` === 250`)
	b.holds(`[...document.querySelectorAll(".index tbody tr:not([hidden]) .verdict")].every((v) => v.textContent === "refused")`)
	b.holds(`document.querySelector("button[aria-pressed='true']").textContent === "refused 250" && ` + inBar + ` === "250 of 1,000 shown" && document.getElementById("status").textContent === "250 of 1,000 shown"`)
	b.click(`#next`)
	b.atTop(4, "thousand.sse run 4 refused 1 of 250")
	b.click(`#next`)
	b.atTop(8, "thousand.sse run 8 refused 2 of 250")
	b.click(`#previous`)
	b.atTop(4, "thousand.sse run 4 refused 1 of 250")
	// Showing all runs again keeps the current run in view.
	b.click(`#all`)
	b.atTop(4, "thousand.sse run 4 refused 4 of 1,000")
	b.holds(rowsShown + ` === 1000 && !document.getElementById("all").checkVisibility()`)

	// Every word must match the row or the header of the run.
	b.types("id-01 reduced")
	b.until(rowsShown + ` === 2 && ` + runsShown + ` === 2`)
	b.types("nowhere to be found")
	b.until(inBar + ` === "No run matches." && ` + runsShown + ` === 0`)
	b.types("ID-499")
	b.until(rowsShown + ` === 1`)
	b.click(`.index tbody tr:not([hidden]) a`)
	b.atTop(500, "thousand.sse run 500 refused 1 of 1")
	b.holds(`document.querySelector("#r500 .fold").open && !document.querySelector("#r499 .fold").open`)
	b.click(`#all`)
	b.atTop(500, "thousand.sse run 500 refused 500 of 1,000")

	// A link to a hidden run shows the run.
	b.click(`.words li[data-verdict="exact"] button`)
	b.until(rowsShown + ` === 250`)
	b.script(`location.hash = "#r1000"`)
	b.until(inBar + ` === "thousand.sse run 1000 refused 1,000 of 1,000" && ` + rowsShown + ` === 1000`)

	// The bar stays at the top and names the current run.
	b.scrollsTo(700)
	b.atTop(700, "thousand.sse run 700 refused 700 of 1,000")
	b.holds(`document.querySelector(".bar").getBoundingClientRect().top === 0`)
	b.click(`.bar a`)
	b.until(inBar + ` === ""`)

	for _, width := range []int64{320, 390, 1280} {
		b.run(chromedp.EmulateViewport(width, 900))
		b.scrollsTo(300)
		b.holds(`document.documentElement.scrollWidth <= innerWidth`)
		b.holds(`[...document.querySelectorAll(".bar, .bar *")].every((e) => e.getBoundingClientRect().right <= innerWidth)`)
		b.script(`scrollTo(0, 0)`)
		b.until(inBar + ` === ""`)
		b.holds(`document.documentElement.scrollWidth <= innerWidth`)
		// The run stays at the top while content above it gets its real height.
		b.script(`document.querySelector(".words li[data-verdict='refused'] button").click(); document.getElementById("next").click()`)
		b.atTop(4, "thousand.sse run 4 refused 1 of 250")
		b.click(`#all`)
		b.atTop(4, "thousand.sse run 4 refused 4 of 1,000")
	}
}

// The keys n and p, and j and k, move between runs. The key / goes to the filter.
func TestBrowserIndexKeys(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/one-turn", captures+"/adk/refused", captures+"/adk/backend-tool"), 1280, "light")
	b.keys("n")
	b.until(inBar + ` === "one-turn exact 1 of 3"`)
	// The focus moves too, so that the next key opens the run.
	b.keys(kb.Enter)
	b.until(`document.querySelector("#r1 .fold").open`)
	b.holds(`document.getElementById("status").textContent === "one-turn, exact"`)
	b.keys("j")
	b.until(inBar + ` === "refused no run refused 2 of 3"`)
	b.keys("k")
	b.atTop(1, "one-turn exact 1 of 3")
	// In a timeline, j and k move between rows.
	b.script(`for (const d of document.querySelectorAll("#r1 details")) d.open = true`)
	b.until(`document.querySelector("#r1-timeline .rows button")`)
	b.focus(`#r1-timeline .rows li:first-child button`)
	b.keys("j")
	b.holds(`document.activeElement === document.querySelector("#r1-timeline .rows li:nth-child(2) button")`)
	b.script(`document.getElementById("r1").scrollIntoView()`)
	b.keys("p")
	b.until(inBar + ` === "" && document.activeElement.id === "index"`)
	b.keys("p") // there is none before
	b.holds(inBar + ` === ""`)
	// In the filter, the keys type letters.
	b.run(command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Text: "/"}))
	b.until(`document.activeElement.id === "find"`)
	b.keys("n", "p")
	b.until(`document.getElementById("find").value === "np" && ` + inBar + ` === "No run matches."`)
}

// Without JavaScript, the index has links to every run and the runs have links back. No
// buttons are shown.
func TestBrowserIndexWithoutScript(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/one-turn", captures+"/adk/empty-ids", captures+"/adk/backend-tool"), 390, "light", command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.holds(`document.querySelectorAll(".index tbody a").length === 3`)
	b.holds(`[...document.querySelectorAll(".bar button, .find, #index-name button")].every((e) => !e.checkVisibility())`)
	b.click(`.index tbody tr:nth-child(3) a`)
	b.until(`Math.abs(document.getElementById("r3").getBoundingClientRect().top) < innerHeight && scrollY > 0`)
	b.click(`.bar a`)
	b.until(`Math.abs(document.getElementById("index").getBoundingClientRect().top - document.querySelector(".bar").getBoundingClientRect().bottom) < 40`)
}

// A page of several runs prints the index and the runs without the controls. Open parts
// are printed open, and hidden runs are not printed.
func TestBrowserIndexPrint(t *testing.T) {
	b := open(t, pageOf(t, captures+"/adk/one-turn", captures+"/adk/empty-ids", captures+"/adk/backend-tool"), 1280, "dark")
	b.click(`.words li[data-verdict="refused"] button`)
	b.run(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	b.until(`!document.querySelector(".bar").checkVisibility() && !document.querySelector(".find").checkVisibility()`)
	b.holds(rowsShown + ` === 1 && ` + runsShown + ` === 1`)
	b.holds(`getComputedStyle(document.querySelector("#r2")).contentVisibility === "visible"`)
	b.holds(`getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)"`)
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
				b := open(t, page, width, scheme, command(cdppage.SetBypassCSP, cdppage.SetBypassCSPParams{Enabled: true}))
				b.holds(`document.documentElement.scrollWidth <= innerWidth`)
				b.judge()
				b.click(`.words li[data-verdict="refused"] button`)
				b.click(`#next`)
				b.until(inBar + `.includes("refused")`)
				b.judge()
			})
		}
	}
}
