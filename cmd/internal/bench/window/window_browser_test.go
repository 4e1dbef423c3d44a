//go:build browser

// Package window_test measures the window in a real Chromium, with p20export serve on a log in
// SQLite, and writes its tables in docs/benchmarks.md. make bench-window runs it. make browser
// measures little, to test that it works.
package window_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/internal/testkit/browser"
	"github.com/p20export/p20export/store"
)

const root = "../../../../"

var (
	program = flag.String("program", root+".build/p20export", "the program to measure")
	doc     = flag.String("doc", "", "the page whose tables are replaced; if empty, nothing is")
	only    = flag.String("only", "", "measure only these tables, separated by commas: "+strings.Join(tableNames(), ", "))
	rounds  = flag.Int("rounds", 2, "the number of measurements")
	events  = flag.Int("events", 2000, "the number of events of a thread")
	runs    = flag.Int("runs", 20, "the number of runs that share them")
	steps   = flag.Int("steps", 20, "the number of steps through a thread")
	threads = flag.Int("threads", 300, "the number of threads in the list")
)

// tableNames lists the tables in the order in which they are measured.
func tableNames() []string { return []string{"thread", "list", "machine"} }

// TestBrowserBench measures the tables.
func TestBrowserBench(t *testing.T) {
	if err := page.CheckPlaces(root+"docs/benchmarks.md", "bench-window", tableNames()); err != nil {
		t.Error(err)
	}
	names, err := page.Choose(*only, tableNames())
	if err != nil {
		t.Fatal(err)
	}
	load := page.Load("window")
	tables := map[string]func() string{
		"thread": func() string { return thread(t) },
		"list":   func() string { return list(t) },
		"machine": func() string {
			text, err := logs.Place{Dir: t.TempDir()}.Machine(t.Context(), load, []string{logs.SQLite})
			if err != nil {
				t.Fatal(err)
			}
			version, err := exec.Command(os.Getenv("P20EXPORT_CHROMIUM"), "--version").Output()
			if err != nil {
				t.Fatal(err)
			}
			return text + page.Row("Chromium", strings.TrimSpace(string(version)))
		},
	}
	if err := page.Write(*doc, "bench-window", names, func(name string) (string, error) { return tables[name](), nil }); err != nil {
		t.Fatal(err)
	}
}

// A site is a log that a server shows, and a browser that has started long ago.
type site struct {
	*testing.T
	address string
	browser *browser.Browser
}

// newSite fills a log.
func newSite(t *testing.T, fill func(store.Log) error) *site {
	t.Helper()
	l, err := logs.Place{Dir: t.TempDir()}.Open(t.Context(), logs.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.CloseAndRemove() })
	b, err := browser.Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := fill(l); err != nil {
		t.Fatal(err)
	}
	return &site{t, "sqlite:" + l.Address, b}
}

// start starts a server, which has read nothing of the log. It returns how to open a page, of
// which the browser has no files, and how to end the server.
func (s *site) start() (open func(query string) *browser.Tab, stop func()) {
	s.Helper()
	path, err := filepath.Abs(*program)
	if err != nil {
		s.Fatal(err)
	}
	p, address, err := processes.Start(s.Context(), processes.Listening, path, "serve", "--listen", "127.0.0.1:0", "--store", s.address, "--log-format", "json")
	if err != nil {
		s.Fatal(err)
	}
	open = func(query string) *browser.Tab {
		return s.browser.Open(s, "http://"+address+"/?"+query, 1280, "light", browser.Command(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: clock}))
	}
	return open, func() {
		if err := p.Stop(); err != nil {
			s.Fatal(err)
		}
	}
}

// clock is JavaScript that measures a page. first is the time from the beginning of the
// navigation until a frame with contents is drawn, and answer the time from a key or a click until the
// frame with its result is. It asks for no frames itself, since drawing them takes time.
const clock = `
const drawn = (began, condition) => new Promise((done) => {
	const look = () => {
		if (!condition()) return;
		observer.disconnect();
		requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
	};
	const observer = new MutationObserver(look);
	observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
	look();
});
const text = (selector) => document.querySelector(selector)?.textContent ?? "";
const shown = () => document.querySelector("article.thread")?.dataset.position ?? text(".count");
const settled = () => { const slider = document.getElementById("slider"); return !slider || slider.value === shown(); };
var first = drawn(0, () => document.querySelector(".messages > .message, .threads .thread"));
var answer;
for (const type of ["keydown", "pointerdown"]) {
	addEventListener(type, (e) => {
		const before = shown();
		answer = drawn(e.timeStamp, () => shown() !== before && settled());
	}, true);
}`

// answer returns the milliseconds from an input until the frame with its result.
func answer(b *browser.Tab, input chromedp.Action[chromedp.Void]) float64 {
	b.Helper()
	b.Run(input)
	return browser.Evaluate[float64](b, "answer")
}

// figures are the values of a table, by what they measure, with one for each round.
type figures map[string][]float64

// add adds a value.
func (f figures) add(what string, value float64) { f[what] = append(f[what], value) }

// addTimes adds percentiles of the times of a round.
func (f figures) addTimes(what string, times []float64) {
	slices.Sort(times)
	f.add(what+", p50 (ms)", page.Percentile(times, 0.5))
	f.add(what+", p95 (ms)", page.Percentile(times, 0.95))
	f.add(what+", longest (ms)", page.Percentile(times, 1))
}

// addLoad adds the load of the machine, which includes that of the measurement.
func (f figures) addLoad(t *testing.T) {
	t.Helper()
	load, err := strconv.ParseFloat(page.Find("/proc/loadavg", `^(\S+)`), 64)
	if err != nil {
		t.Fatal(err)
	}
	f.add("load average at the end of a round", load)
}

// A goal is a row of a table, with the largest value that is good enough, or 0.
type goal struct {
	what  string
	value float64
}

// table formats the figures of columns.
func table(t *testing.T, goals []goal, names []string, columns []figures) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(page.Row(slices.Concat([]string{"what", "goal"}, names)...) + "|---|--:|" + strings.Repeat("--:|", len(names)) + "\n")
	for _, g := range goals {
		cells := []string{g.what, ""}
		if g.value > 0 {
			cells[1] = "≤ " + page.Number(g.value)
		}
		for _, f := range columns {
			if len(f[g.what]) != *rounds {
				t.Fatalf("%s has %d values; measured are %q", g.what, len(f[g.what]), slices.Sorted(maps.Keys(f)))
			}
			cells = append(cells, page.Range(f[g.what]))
		}
		text.WriteString(page.Row(cells...))
	}
	return text.String() + page.Measured(*rounds)
}

// progress reports on standard error what was measured.
func progress(round int, name string, f figures, what string) {
	fmt.Fprintf(os.Stderr, "  round %d of %d: %-28s %s: %s\n", round+1, *rounds, name, what, page.Number(f[what][round]))
}
