//go:build browser

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit/browser"
)

// attacked returns a JSON value in which each text ends with an attack, except words of AG-UI. Ids
// stay the same for the same id.
func attacked(value any, key, attack, id string) any {
	switch v := value.(type) {
	case string:
		switch {
		case slices.Contains([]string{"type", "role", "op", "path", "from", "protocolVersion"}, key):
			return v
		case key == "id" || strings.HasSuffix(key, "Id"):
			return v + id
		}
		return v + attack
	case []any:
		for i := range v {
			v[i] = attacked(v[i], key, attack, id)
		}
	case map[string]any:
		for k := range v {
			v[k] = attacked(v[k], k, attack, id)
		}
		if slices.Contains([]string{"state", "snapshot", "metadata", "content"}, key) {
			v["__proto__"] = map[string]any{"owned": attack}
			v["constructor"] = attack
			v[attack] = attack
		}
	}
	return value
}

// attackedText returns a JSON text with an attack, see attacked.
func attackedText(t *testing.T, text, attack, id string) string {
	t.Helper()
	var value any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return text // of a response that is not JSON
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(attacked(value, "", attack, id)); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(out.String()), "SURROGATE", `\ud800`)
}

// hostileCaptures returns captures whose content tries to break out of a page, or to load something
// from an address: those of the tests of report, and committed captures in which every text and id
// is hostile.
func hostileCaptures(t *testing.T, elsewhere string) []string {
	t.Helper()
	attack := `</script><script>window.owned=1</script><img src=` + elsewhere + `/img onerror=window.owned=1><svg/onload=window.owned=1>` +
		`<style>@import url(` + elsewhere + `/css)</style><iframe srcdoc="<script>parent.owned=1</script>"></iframe><!-- ` + elsewhere + `/link ![x](` + elsewhere + `/md) ` +
		`[x](javascript:window.owned=1) {{constructor.constructor("window.owned=1")()}} ${window.owned=1} ` + "\u202egnp.exe\u2066 \u2028\u200b\ufeff\x00\x1b[2J SURROGATE"
	paths, err := filepath.Glob(captureOf("*/*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range paths {
		agent, scenario := filepath.Base(filepath.Dir(path)), filepath.Base(path)
		if !slices.Contains([]string{"backend-tool", "confirmation", "model-error", "multimodal", "reasoning", "state-change"}, scenario) {
			continue
		}
		id := "/" + agent + `/../"><img src=` + elsewhere + `/id onerror=window.owned=1>` + "\u202e"
		all = append(all, edited(t, agent+"/"+scenario, func(text string) string {
			if !strings.HasPrefix(text, "data: ") {
				return attackedText(t, text, attack, id)
			}
			lines := strings.Split(text, "\n")
			for i, line := range lines {
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					lines[i] = "data: " + attackedText(t, data, attack, id)
				}
			}
			return strings.Join(lines, "\n")
		}))
	}
	for _, damaged := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "hostile")
		if _, _, err := capture.Import(t.Context(), strings.NewReader(browser.Hostile(damaged)), dir, capture.Settings{Tool: capture.Tool{Name: "p20export", Version: "0"}}); err != nil {
			t.Fatal(err)
		}
		all = append(all, dir)
	}
	return all
}

// Hostile captures are inert in the list and on the pages of their threads: nothing runs, no
// request leaves, and nothing is logged. The pages have their content security policy, which would
// log what it prevents.
func TestBrowserWindowHostileCaptures(t *testing.T) {
	var asked sync.Map
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.URL.String(), true) }))
	t.Cleanup(elsewhere.Close)
	captures := hostileCaptures(t, elsewhere.URL)
	w := openThreadWindow(t, "log", "view", "--store", importCaptures(t, captures...))
	inert := func(b *browser.Tab) {
		t.Helper()
		b.Holds(`window.owned === undefined && ({}).owned === undefined`)
		b.Holds(`document.querySelectorAll("#app :is(img, script, iframe, object, embed, link, style)").length === 0 && document.scripts.length === window.scripts`)
		b.Holds(`[...document.querySelectorAll("a")].every((a) => a.origin === location.origin)`)
		b.Holds(`(document.body.textContent + document.title).match(/[^\P{C}\n\t]|[\u2028\u2029]/gu) === null`)
		b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
	}
	list := w.browser.Open(t, w.url+"/", 1280, "light")
	list.Until(counts + `?.endsWith(" threads") && document.querySelector(".threads .thread")`)
	list.Script(`window.scripts = document.scripts.length`)
	threads := browser.Evaluate[[]string](list, `fetch("threads?order=newest&limit=1000").then((r) => r.json()).then((l) => l.threads.map((t) => t.thread_id))`)
	if len(threads) < 71 || len(captures) != len(threads)+1 { // those of report have one thread
		t.Errorf("%d captures are %d threads", len(captures), len(threads))
	}
	list.Holds(counts + ` === ` + js(fmt.Sprint(len(threads), " threads")))
	for range 4 {
		inert(list)
		list.Script(`scrollBy(0, innerHeight)`)
	}
	w.clean(list)
	list.Close()

	for i, thread := range threads {
		width := []int64{1280, 390}[i%2]
		b := w.browser.Open(t, w.address(thread, 0), width, "light")
		b.Until(complete)
		b.Script(`window.scripts = document.scripts.length`)
		last := browser.Evaluate[int](b, position)
		for _, at := range []int{last / 2, last} {
			b.Script(fmt.Sprintf(`{ const slider = document.getElementById("slider"); slider.value = "%d"; slider.dispatchEvent(new Event("input", {bubbles: true})); }`, at))
			b.Until(fmt.Sprintf("%s === %d", position, at))
			b.Script(`for (const d of document.querySelectorAll("details")) d.open = true`)
			b.Until(`document.querySelector(".picture, .none, .note") && document.querySelector(".entry-row") && document.querySelector(".command")`)
			b.Script(`for (const b of document.querySelectorAll(".conversation button, [aria-labelledby=state] button")) if (b.textContent.startsWith("Show ")) b.click()`)
			inert(b)
		}
		w.clean(b)
		b.Close()
	}
	asked.Range(func(address, _ any) bool {
		t.Errorf("the page asked for %s", address)
		return true
	})
	t.Logf("%d hostile captures, %d threads", len(captures), len(threads))
}
