package serve_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// BenchmarkMoment reads moments of a thread of 100,000 events over HTTP: forward, back and at
// random. It reports the 95th percentile.
func BenchmarkMoment(b *testing.B) {
	for _, runs := range []int{1, 1000} {
		log, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "log.db"), true)
		if err != nil {
			b.Fatal(err)
		}
		defer log.Close()
		last := int64(0)
		for run := range runs {
			var entries []store.Entry
			add := func(kind store.Kind, format string, args ...any) {
				entries = append(entries, store.Entry{Stream: fmt.Sprintf("s%d", run), Kind: kind, Data: fmt.Appendf(nil, format, args...)})
			}
			add(store.Input, `{"threadId":"t","runId":"r%d","parentRunId":"r%d","messages":[{"id":"u%d","role":"user","content":"Go on"}],"state":{"n":[]}}`, run, run-1, run)
			add(store.Event, `{"type":"RUN_STARTED","threadId":"t","runId":"r%d"}`, run)
			for n := 0; n < 100_000/runs; n++ {
				switch id := n / 40; n % 40 {
				case 0:
					add(store.Event, `{"type":"TEXT_MESSAGE_START","messageId":"m%d-%d","role":"assistant"}`, run, id)
				case 39:
					add(store.Event, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/n/-","value":%d}]}`, n)
				default:
					add(store.Event, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d-%d","delta":"some words, part %d; "}`, run, id, n)
				}
			}
			add(store.Event, `{"type":"RUN_FINISHED","threadId":"t","runId":"r%d"}`, run)
			if last, err = log.Append(b.Context(), store.Key{Thread: "t"}, last, entries); err != nil {
				b.Fatal(err)
			}
		}
		v, err := serve.New(serve.Settings{Log: log})
		if err != nil {
			b.Fatal(err)
		}
		server := httptest.NewServer(v)
		defer server.Close()
		read := func(position int64) {
			r, err := http.Get(fmt.Sprintf("%s/threads/t/moment?position=%d", server.URL, position))
			if err != nil {
				b.Fatal(err)
			}
			defer r.Body.Close()
			if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
				b.Fatal(r.StatusCode, err)
			}
		}
		read(last)
		at := last / 2
		for _, c := range []struct {
			name string
			next func() int64
		}{
			{"forward", func() int64 { at++; return at }},
			{"back", func() int64 { at--; return at }},
			{"random", func() int64 { return 1 + rand.Int64N(last) }},
		} {
			b.Run(fmt.Sprintf("%d-runs/%s", runs, c.name), func(b *testing.B) {
				var times []time.Duration
				for b.Loop() {
					start := time.Now()
					read(c.next())
					times = append(times, time.Since(start))
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
			})
		}
	}
}
