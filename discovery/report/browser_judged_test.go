//go:build browser

package report

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit/browser"
)

// hostileCapture returns a capture whose content tries to break out of a page. If damaged
// is set, its run is also refused.
func hostileCapture(t *testing.T, damaged bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "hostile")
	if _, _, err := capture.Import(context.Background(), strings.NewReader(browser.Hostile(damaged)), dir, capture.Settings{Tool: capture.Tool{Name: "p20export", Version: "0"}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// openAll opens everything that is folded.
func (b *tab) openAll() {
	b.Helper()
	b.Script(`for (const d of document.querySelectorAll("details")) d.open = true`)
	b.Until(`[...document.querySelectorAll("details.timeline")].every((d) => d.querySelector(".rows"))`)
	b.Script(`for (const r of document.querySelectorAll("button.row")) r.click()`)
}

// All content of a hostile capture is shown and is inert.
func TestBrowserHostile(t *testing.T) {
	for _, damaged := range []bool{true, false} {
		page := pageOf(t, hostileCapture(t, damaged))
		for _, width := range []int64{1280, 390} {
			b := open(t, page, width, "light")
			b.openAll()
			b.Until(`document.querySelectorAll("#r1-timeline pre").length >= 5`)
			b.Holds(`window.owned === undefined && document.images.length === 0 && document.scripts.length === 2`)
			b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
			b.Holds(`(document.body.textContent.match(/[^\P{C}\n\t]|[\u2028\u2029]/gu) || []).length === 0`)
			if damaged {
				shows(b, "#r1-timeline pre", "</script><script>window.owned=1</script>", "⟨U+202E⟩gnp.exe⟨U+2066⟩", "⟨U+2028⟩", "not JSON ␛[2J␀⟨xFF⟩ </script>")
				continue
			}
			shows(b, ".messages .content", "</script><script>window.owned=1</script><img src=x onerror=window.owned=1><!--⟨U+202E⟩gnp.exe⟨U+2066⟩ ⟨U+2028⟩ ⟨U+200B⟩⟨U+FEFF⟩ {{.}} ${x} \u05e9\u05dc\u05d5\u05dd", strings.Repeat("W", 200_000))
			shows(b, ".messages .tree", `"x": "`+strings.Repeat("W", 159)+`…`, "left out: key_outside_subset")
			shows(b, ".tree", `"⟨U+202E⟩<b>": 1`, `left out: key_outside_subset`, `"x": "`+strings.Repeat("W", 159)+`…`, strings.Repeat("W", 1<<20))
		}
	}
}

// shows reports wanted texts that the selected elements do not show.
func shows(b *tab, selector string, want ...string) {
	b.Helper()
	text := browser.Evaluate[string](b.Tab, `[...document.querySelectorAll("`+selector+`")].map((p) => p.textContent).join("\n")`)
	for _, w := range want {
		if !strings.Contains(text, w) {
			b.Errorf("%s does not show %.200q", selector, w)
		}
	}
}

// axe-core reports no violations in any page, in light and dark schemes, in wide and narrow
// windows, with everything open.
func TestBrowserAxe(t *testing.T) {
	for _, p := range []struct {
		name string
		path string
		wide bool // only: axe-core takes a minute for a megabyte on thirty thousand lines
	}{
		{name: "one", path: pageOf(t, captures+"/adk/backend-tool")},
		{name: "built", path: pageOf(t, captures+"/adk/model-error")},
		{name: "chosen", path: pageOf(t, captures+"/langgraph/two-agents")},
		{name: "refused", path: pageOf(t, captures+"/adk/empty-ids")},
		{name: "incomplete", path: pageOf(t, "../drift/captures/adk-0.4.0/two-agents")},
		{name: "without times", path: pageOf(t, captures+"/adk/backend-tool/response.sse")},
		{name: "no run", path: pageOf(t, captures+"/adk/refused")},
		{name: "index", path: pageOf(t, captures+"/adk/one-turn", captures+"/langgraph/one-turn", captures+"/adk/refused", captures+"/adk/model-error")},
		{name: "traces", path: tracesFile(t, "../drift/captures/adk-0.4.0/backend-tool", captures+"/adk/backend-tool")},
		{name: "hostile", path: pageOf(t, hostileCapture(t, false)), wide: true},
	} {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				if p.wide && width == 390 {
					continue
				}
				t.Run(fmt.Sprintf("%s %s %d", p.name, scheme, width), func(t *testing.T) {
					// axe-core itself writes markup, which the page's policy forbids.
					b := open(t, p.path, width, scheme, browser.Command(cdppage.SetBypassCSP, cdppage.SetBypassCSPParams{Enabled: true}))
					b.Holds(`matchMedia("(prefers-color-scheme: ` + scheme + `)").matches && innerWidth === ` + fmt.Sprint(width))
					b.openAll()
					b.Judge()
				})
			}
		}
	}
}
