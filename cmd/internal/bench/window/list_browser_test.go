//go:build browser

package window_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit/browser"
	"github.com/p20export/p20export/store"
)

// list measures the list of threads.
func list(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("%d threads", *threads)
	s := newSite(t, func(l store.Log) error {
		random := rand.NewChaCha8([32]byte{})
		for i := range *threads {
			var bytes [16]byte
			random.Read(bytes[:])
			id := hex.EncodeToString(bytes[:])
			var entries []store.Entry
			for _, e := range []struct {
				kind store.Kind
				data string
			}{
				{store.Input, fmt.Sprintf(`{"threadId":%q,"runId":"r%d","messages":[{"id":"u","role":"user","content":"Go on"}]}`, id, i)},
				{store.Event, fmt.Sprintf(`{"type":"RUN_STARTED","threadId":%q,"runId":"r%d"}`, id, i)},
				{store.Event, fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":%q,"runId":"r%d"}`, id, i)},
				{store.End, string(capture.EndEOF)},
			} {
				entries = append(entries, store.Entry{Stream: "s", Kind: e.kind, Arrived: time.Now(), Data: []byte(e.data)})
			}
			if _, err := l.Append(t.Context(), store.Key{Thread: id}, 0, entries); err != nil {
				return err
			}
		}
		return nil
	})
	f := figures{}
	for round := range *rounds {
		find(s, f)
		progress(round, name, f, "search, p95 (ms)")
	}
	return table(t, []goal{
		{"first paint (ms)", 0},
		{"all threads are loaded (ms)", 0},
		{"search, p50 (ms)", 0},
		{"search, p95 (ms)", 100},
		{"search, longest (ms)", 100},
		{"frame while scrolling, p50 (ms)", 0},
		{"frame while scrolling, p95 (ms)", 0},
		{"frame while scrolling, longest (ms)", 0},
		{"load average at the end of a round", 0},
	}, []string{name}, []figures{f})
}

// find opens the list, searches, and scrolls through it.
func find(s *site, f figures) {
	s.Helper()
	open, stop := s.start()
	b := open("")
	f.add("first paint (ms)", browser.Evaluate[float64](b, "first"))
	f.add("all threads are loaded (ms)", browser.Evaluate[float64](b, `drawn(0, () => /^[\d,]+ threads$/.test(text(".count")))`))
	b.Focus("#find")
	var times []float64
	// The ends and times of the threads have none of these letters, so each finds fewer threads.
	for _, word := range []string{"abc", "bac", "cab", "acb", "bca", "cba"} {
		for _, letter := range word {
			times = append(times, answer(b, chromedp.KeyEvent(string(letter))))
		}
		for range word {
			times = append(times, answer(b, chromedp.KeyEvent(kb.Backspace)))
		}
	}
	f.addTimes("search", times)
	f.addTimes("frame while scrolling", browser.Evaluate[[]float64](b, `(async () => {
		const frames = [];
		for (let before = await new Promise(requestAnimationFrame); scrollY + innerHeight < document.documentElement.scrollHeight - 1;) {
			scrollBy({ top: innerHeight, behavior: "instant" });
			const now = await new Promise(requestAnimationFrame);
			frames.push(now - before);
			before = now;
		}
		return frames;
	})()`))
	f.addLoad(s.T)
	for _, p := range b.Problems() {
		s.Errorf("the browser says: %s", p)
	}
	b.Close()
	stop()
}
