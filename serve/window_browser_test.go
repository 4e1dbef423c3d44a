//go:build browser

package serve_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/p20export/p20export/internal/testkit/browser"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// manyThreads is the number of threads of the list in TestBrowserWindowMany.
const manyThreads = 10_000

// A list of 10,000 threads has only the rows that are seen, wherever it is scrolled to. What is
// read stays in its place when runs come above it, and a search shows all that it finds. The
// test logs times, and does not judge them.
func TestBrowserWindowMany(t *testing.T) {
	log := memory.New()
	t.Cleanup(func() { log.Close() })
	for i := range manyThreads {
		fill(t, log, store.Key{Thread: fmt.Sprintf("thread-%05d", i)}, "r")
	}
	s, err := serve.New(serve.Settings{Log: log, Window: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	chromium, err := browser.Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chromium.Close)

	for i, width := range []int64{390, 1280} {
		b := chromium.Open(t, server.URL+"/", width, "light", browser.Command(cdppage.SetBypassCSP, cdppage.SetBypassCSPParams{Enabled: true}))
		b.Until(fmt.Sprintf(`document.querySelector(".count")?.textContent === "10,00%d threads"`, 2*i))
		b.Holds(fmt.Sprintf(`document.querySelector(".threads").getAttribute("aria-rowcount") === "1000%d"`, 2*i+1))
		b.Judge()
		// In each frame of a scroll through the list, rows cover the window.
		frames := browser.Evaluate[[]struct {
			Rows  int
			Gap   float64
			Took  float64
			First string
		}](b, `(async () => {
			const frames = [];
			const height = document.documentElement.scrollHeight;
			for (let y = 0; y <= height; y += height / 50) {
				const began = performance.now();
				scrollTo(0, y);
				await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
				const rows = [...document.querySelectorAll(".thread")].map((row) => row.getBoundingClientRect());
				const all = document.querySelector(".threads .all").getBoundingClientRect();
				const top = Math.max(0, all.top), bottom = Math.min(innerHeight, all.bottom);
				frames.push({Rows: rows.length, Gap: bottom <= top ? 0 : Math.max(rows[0].top - top, bottom - rows.at(-1).bottom), Took: performance.now() - began, First: document.querySelector(".thread a").dataset.thread});
			}
			return frames;
		})()`)
		var times []float64
		firsts := map[string]bool{}
		for i, f := range frames {
			if f.Rows > 100 || f.Rows == 0 || f.Gap > 1 {
				t.Errorf("at %d pixels, frame %d has %d rows, and %g pixels without a row", width, i, f.Rows, f.Gap)
			}
			times, firsts[f.First] = append(times, f.Took), true
		}
		if len(firsts) < 40 {
			t.Errorf("at %d pixels, the list shows only %d parts", width, len(firsts))
		}
		slices.Sort(times)
		t.Logf("%d pixels: a jump of 200 threads takes %.0f ms, at most %.0f ms, with the frame", width, times[len(times)/2], times[len(times)-1])

		// A run that comes while the list is scrolled does not move what is read.
		b.Script(`scrollTo(0, document.documentElement.scrollHeight / 2)`)
		b.Until(`/^thread-0[45]/.test(document.querySelector(".thread a").dataset.thread)`)
		const seen = `(() => { for (const row of document.querySelectorAll(".thread")) { const top = row.getBoundingClientRect().top; if (top > 100) return row.querySelector("a").dataset.thread + " " + Math.round(top) + " " + row.getAttribute("aria-rowindex"); } })()`
		before := browser.Evaluate[string](b, seen)
		fill(t, log, store.Key{Thread: fmt.Sprint("new-", width)}, "r")
		b.Until(`document.querySelector(".above")?.textContent.includes("1 row above")`)
		place := strings.Fields(before)
		var index int
		fmt.Sscan(place[2], &index)
		if after, want := browser.Evaluate[string](b, seen), fmt.Sprint(place[0], " ", place[1], " ", index+1); after != want {
			t.Errorf("at %d pixels, the row was %q and is %q, want %q", width, before, after, want)
		}
		b.Click(`.above`)
		b.Until(`scrollY === 0 && document.querySelector(".thread a").dataset.thread === "new-` + fmt.Sprint(width) + `"`)
		b.Until(`!document.querySelector(".above")`)

		// At the top, a new run appears.
		fill(t, log, store.Key{Thread: fmt.Sprint("newer-", width)}, "r")
		b.Until(`document.querySelector(".thread a").dataset.thread === "newer-` + fmt.Sprint(width) + `"`)

		for text, found := range map[string]string{"ad-09": "1,000", "thread-00": "1,000", "thread-09999": "1", "nothing such": "0"} {
			b.Script(fmt.Sprintf(`document.getElementById("find").value = %q; document.getElementById("find").dispatchEvent(new Event("input", {bubbles: true}))`, text))
			b.Until(`document.querySelector(".count").textContent.startsWith("` + found + ` of ")`)
		}
		searches := browser.Evaluate[[]float64](b, `(async () => {
			const field = document.getElementById("find");
			const times = [];
			for (const text of ["ad-09", "9", "thread", "end:finished", "nothing such", "after:2026-01-01 r", ""]) {
				field.value = text;
				const began = performance.now();
				field.dispatchEvent(new Event("input", {bubbles: true}));
				await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
				times.push(performance.now() - began);
			}
			return times.sort((a, b) => a - b);
		})()`)
		t.Logf("%d pixels: a search takes %.0f ms, at most %.0f ms, with the frame", width, searches[len(searches)/2], searches[len(searches)-1])

		// All rows are there when the page is printed, up to a limit.
		b.Holds(`dispatchEvent(new Event("beforeprint")) && document.querySelectorAll(".thread").length === 5000`)
		b.Script(`dispatchEvent(new Event("afterprint"))`)
		b.Until(`document.querySelectorAll(".thread").length < 100`)
		for _, p := range b.Problems() {
			t.Errorf("the browser says: %s", p)
		}
		b.Close()
	}
}

// Threads that are loaded page by page have the order of the server, also those of one time.
func TestBrowserWindowPages(t *testing.T) {
	log := memory.New()
	t.Cleanup(func() { log.Close() })
	for i := range 2500 {
		fill(t, log, store.Key{Thread: fmt.Sprintf("t%d", i)}, "r")
	}
	s, err := serve.New(serve.Settings{Log: log, Window: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	chromium, err := browser.Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chromium.Close)
	b := chromium.Open(t, server.URL+"/", 1280, "light")
	b.Until(`document.querySelector(".count")?.textContent === "2,500 threads"`)
	b.Holds(`(async () => {
		const want = [];
		for (let after = ""; after !== null;) {
			const page = await (await fetch("threads?order=newest&limit=1000&after=" + encodeURIComponent(after))).json();
			want.push(...page.threads.map((t) => t.thread_id));
			after = page.next;
		}
		const got = [];
		for (let y = 0; got.length < want.length && y < 200; y++) {
			for (const row of document.querySelectorAll(".thread")) got[row.getAttribute("aria-rowindex") - 2] = row.querySelector("a").dataset.thread;
			scrollBy(0, innerHeight / 2);
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
		}
		return JSON.stringify(got) === JSON.stringify(want);
	})()`)
}
