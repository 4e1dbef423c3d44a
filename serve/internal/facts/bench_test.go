package facts_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/serve/internal/facts"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// BenchmarkOf computes the facts of a run of 100,000 events.
func BenchmarkOf(b *testing.B) {
	const events = 100_000
	log, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "log.db"), true)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	list := make([]store.Entry, 0, events)
	add := func(format string, args ...any) {
		list = append(list, store.Entry{Stream: "s", Kind: store.Event, Arrived: start, Data: fmt.Appendf(nil, format, args...)})
	}
	add(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	for len(list) < events-4 {
		i := len(list)
		add(`{"type":"TEXT_MESSAGE_START","messageId":"m%d","role":"assistant"}`, i)
		add(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"some words, part %d; "}`, i, i)
		add(`{"type":"TEXT_MESSAGE_END","messageId":"m%d"}`, i)
	}
	add(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	if _, err := log.Append(b.Context(), store.Key{Thread: "t"}, 0, list); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for run, err := range log.Runs(b.Context(), store.RunQuery{}) {
			if err != nil {
				b.Fatal(err)
			}
			f, err := facts.Of(b.Context(), log, &run)
			if err != nil || f.Events != int64(len(list)) || len(f.Findings) > 0 {
				b.Fatal(err, f)
			}
		}
	}
}
