package restore_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
	"github.com/p20export/p20export/store/sqlite"
)

// longThread returns a thread of about so many events in runs that continue each other. A message
// has 40 deltas, and a state delta follows.
func longThread(runs, events int) (entries []store.Entry) {
	add := func(run int, kind store.Kind, format string, args ...any) {
		entries = append(entries, store.Entry{Stream: fmt.Sprintf("s%d", run), Kind: kind, Data: fmt.Appendf(nil, format, args...)})
	}
	id := 0
	for run := range runs {
		add(run, store.Input, `{"threadId":"t","runId":"r%d"%s,"messages":[{"id":"u%d","role":"user","content":"Go on"}]}`, run, parentOf(run), run)
		add(run, store.Event, `{"type":"RUN_STARTED","threadId":"t","runId":"r%d"}`, run)
		add(run, store.Event, `{"type":"STATE_SNAPSHOT","snapshot":{"n":0,"list":[]}}`)
		for n := 0; n < events/runs; n += 43 {
			id++
			add(run, store.Event, `{"type":"TEXT_MESSAGE_START","messageId":"m%d","role":"assistant"}`, id)
			for i := range 40 {
				add(run, store.Event, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"some words, part %d; "}`, id, i)
			}
			add(run, store.Event, `{"type":"TEXT_MESSAGE_END","messageId":"m%d"}`, id)
			add(run, store.Event, `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":%d},{"op":"add","path":"/list/-","value":%d}]}`, id, id)
		}
		add(run, store.Event, `{"type":"RUN_FINISHED","threadId":"t","runId":"r%d"}`, run)
		add(run, store.End, "eof")
	}
	return entries
}

func parentOf(run int) string {
	if run == 0 {
		return ""
	}
	return fmt.Sprintf(`,"parentRunId":"r%d"`, run-1)
}

// BenchmarkWalk steps forward, back and at random in a thread of 100,000 events. It reports the
// 95th percentile of a step, and what the Walker takes in memory.
func BenchmarkWalk(b *testing.B) {
	for _, runs := range []int{1, 1000} {
		log, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "log.db"), true)
		if err != nil {
			b.Fatal(err)
		}
		defer log.Close()
		entries := longThread(runs, 100_000)
		for at := 0; at < len(entries); at += 10_000 {
			if _, err := log.Append(b.Context(), key, int64(at), entries[at:min(at+10_000, len(entries))]); err != nil {
				b.Fatal(err)
			}
		}
		last := int64(len(entries))
		w := restore.NewWalker(log, key, restore.Options{}, 64<<20)
		if _, err := w.Moment(b.Context(), last); err != nil {
			b.Fatal(err)
		}
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
					m, err := w.Moment(b.Context(), c.next())
					if err != nil {
						b.Fatal(err)
					}
					m.MessageChanges()
					m.StateChanges(200, 4096)
					times = append(times, time.Since(start))
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
				b.ReportMetric(float64(w.Bytes())/(1<<20), "MiB")
			})
		}
	}
}
