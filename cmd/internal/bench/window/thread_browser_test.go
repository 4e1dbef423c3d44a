//go:build browser

package window_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit/browser"
	"github.com/p20export/p20export/store"
)

// thread measures the page of a thread.
func thread(t *testing.T) string {
	t.Helper()
	var names []string
	var sites []*site
	var columns []figures
	for _, n := range []int{1, *runs} {
		names = append(names, fmt.Sprintf("%d × %d events", n, *events/n))
		sites = append(sites, newSite(t, func(l store.Log) error { return fillThread(t.Context(), l, n) }))
		columns = append(columns, figures{})
	}
	for round := range *rounds {
		for i := range sites {
			i = (round + i) % len(sites)
			walk(sites[i], columns[i])
			progress(round, names[i], columns[i], "first paint (ms)")
		}
	}
	return table(t, []goal{
		{"first paint (ms)", 1000},
		{"first paint, again (ms)", 1000},
		{"step forward, p50 (ms)", 0},
		{"step forward, p95 (ms)", 50},
		{"step back, p50 (ms)", 0},
		{"step back, p95 (ms)", 50},
		{"jump, p50 (ms)", 0},
		{"jump, p95 (ms)", 0},
		{"memory of the page (MB)", 150},
		{"memory without garbage (MB)", 150},
		{"load average at the end of a round", 0},
	}, names, columns)
}

// fillThread writes a thread whose events are in runs. In each, an agent answers a user with
// messages of 40 events, and a state grows.
func fillThread(ctx context.Context, l store.Log, runs int) error {
	last, arrived := int64(0), time.Now().Add(-time.Hour)
	for run := range runs {
		var entries []store.Entry
		add := func(kind store.Kind, format string, args ...any) {
			arrived = arrived.Add(20 * time.Millisecond)
			entries = append(entries, store.Entry{Stream: fmt.Sprint("s", run), Kind: kind, Arrived: arrived, Data: fmt.Appendf(nil, format, args...)})
		}
		add(store.Input, `{"threadId":"bench","runId":"r%d","parentRunId":"r%d","messages":[{"id":"u%d","role":"user","content":"Go on"}],"state":{"n":[]}}`, run, run-1, run)
		add(store.Event, `{"type":"RUN_STARTED","threadId":"bench","runId":"r%d"}`, run)
		for n := range *events/runs - 2 {
			switch id := n / 40; n % 40 {
			case 0:
				add(store.Event, `{"type":"TEXT_MESSAGE_START","messageId":"m%d-%d","role":"assistant"}`, run, id)
			case 39:
				add(store.Event, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/n/-","value":%d}]}`, n)
			default:
				add(store.Event, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d-%d","delta":"some words, part %d; "}`, run, id, n)
			}
		}
		add(store.Event, `{"type":"RUN_FINISHED","threadId":"bench","runId":"r%d"}`, run)
		add(store.End, string(capture.EndEOF))
		var err error
		if last, err = l.Append(ctx, store.Key{Thread: "bench"}, last, entries); err != nil {
			return err
		}
	}
	return nil
}

// walk opens a thread twice, and moves through it: from its middle forward, by jumps, and then
// back.
func walk(s *site, f figures) {
	s.Helper()
	open, stop := s.start()
	b := open("thread=bench")
	f.add("first paint (ms)", browser.Evaluate[float64](b, "first"))
	b.Close()
	b = open("thread=bench")
	f.add("first paint, again (ms)", browser.Evaluate[float64](b, "first"))
	b.Until(`document.querySelector("article.thread").dataset.indexed === document.querySelector("article.thread").dataset.last && document.querySelector(".run-row") && document.querySelector(".picture rect")`)
	// A click moves the slider to a share of its length.
	jump := func(share float64) float64 {
		at := browser.Evaluate[[]float64](b, `(({ left, width, top, height }) => [left, width, top + height / 2])(document.getElementById("slider").getBoundingClientRect())`)
		return answer(b, chromedp.MouseClickXY(at[0]+share*at[1], at[2]))
	}
	press := func(key string) []float64 {
		var times []float64
		for range *steps * 2 / 5 {
			times = append(times, answer(b, chromedp.KeyEvent(key)))
		}
		return times
	}
	jump(0.5)
	f.addTimes("step forward", press(kb.ArrowRight))
	var times []float64
	for i := range *steps / 5 {
		// To the other half, so that there is always something to move.
		times = append(times, jump(0.1+0.35*rand.Float64()+0.45*float64(i%2)))
	}
	f.addTimes("jump", times)
	f.addTimes("step back", press(kb.ArrowLeft))
	f.add("memory of the page (MB)", memory(b))
	b.Run(browser.Command(heapprofiler.CollectGarbage, cdp.Empty{}))
	f.add("memory without garbage (MB)", memory(b))
	f.addLoad(s.T)
	for _, p := range b.Problems() {
		s.Errorf("the browser says: %s", p)
	}
	b.Close()
	stop()
}

// memory returns the size of the heaps of a page, JavaScript's and that of the document, with
// buffers.
func memory(b *browser.Tab) float64 {
	b.Helper()
	var sum float64
	b.Run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		u, err := cdp.Call(ctx, t, runtime.GetHeapUsage, cdp.Empty{})
		sum = u.UsedSize + u.EmbedderHeapUsedSize + u.BackingStorageSize
		return err
	}))
	return sum / 1e6
}
