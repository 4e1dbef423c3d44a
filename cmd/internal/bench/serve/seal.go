package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

const (
	// endRate is the number of runs that end in a second in other threads, and endEvents the
	// number of their events.
	endRate   = 20
	endEvents = 10
)

// seals compares the delay of events while runs of other threads end, with and without sealing
// these threads.
func seals(ctx context.Context, s *settings) (string, error) {
	type choice struct {
		log  string
		seal bool
	}
	results := make(map[choice][]delay)
	for round := range s.rounds {
		for _, name := range s.logs {
			for i := range 2 {
				c := choice{name, (round+i)%2 == 1} // in turn
				d, err := s.delayOf(ctx, name, load{readers: s.delay, ends: true, seal: c.seal})
				if err != nil {
					return "", fmt.Errorf("%s: %w", name, err)
				}
				results[c] = append(results[c], d)
				s.progress(round, name, "sealed: %v, p99 %.2f ms", c.seal, page.Percentile(d.read, 0.99)/1e6)
			}
		}
	}
	var t strings.Builder
	t.WriteString(page.Row("log", "sealed", "durable to reader p50 (ms)", "p99 (ms)", "append p99 (ms)", "p99 to reader, not sealed = 1", "p99 of append, not sealed = 1"))
	t.WriteString("|---|---|--:|--:|--:|--:|--:|\n")
	for _, name := range s.logs {
		without := results[choice{name, false}]
		for _, sealed := range []bool{false, true} {
			var columns [5][]float64
			for round, d := range results[choice{name, sealed}] {
				p99, appended := page.Percentile(d.read, 0.99), page.Percentile(d.append, 0.99)
				for i, value := range []float64{
					page.Percentile(d.read, 0.5) / 1e6, p99 / 1e6, appended / 1e6,
					p99 / page.Percentile(without[round].read, 0.99), appended / page.Percentile(without[round].append, 0.99),
				} {
					columns[i] = append(columns[i], value)
				}
			}
			cells := []string{name, map[bool]string{false: "no", true: strconv.Itoa(endRate) + " in a second"}[sealed]}
			for i, values := range columns {
				if i > 2 && !sealed {
					cells = append(cells, "")
				} else {
					cells = append(cells, page.Range(values))
				}
			}
			t.WriteString(page.Row(cells...))
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}

// endRuns appends runs to other threads until ctx is done, and seals the threads if by is not
// nil. It returns when both have ended.
func endRuns(ctx context.Context, log store.Log, by *seal.Settings) error {
	ended := make(chan store.Key, endRate)
	var sealing sync.WaitGroup
	var failed error
	sealing.Go(func() {
		for key := range ended {
			if by == nil || failed != nil {
				continue
			}
			if _, err := by.Seal(ctx, log, key); err != nil && ctx.Err() == nil {
				failed = err
			}
		}
	})
	ticks := time.NewTicker(time.Second / endRate)
	defer ticks.Stop()
	last := make(map[store.Key]int64)
	var err error
	for n := 0; err == nil; n++ {
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
		if ctx.Err() != nil {
			break
		}
		key := store.Key{Thread: "other-" + strconv.Itoa(n%endRate)}
		if last[key], err = log.Append(ctx, key, last[key], ofRun(strconv.Itoa(n))); err != nil {
			break
		}
		select {
		case ended <- key:
		default: // the thread is sealed with its next run
		}
	}
	close(ended)
	sealing.Wait()
	if err == nil || ctx.Err() != nil {
		err = failed
	}
	return err
}

// ofRun returns the entries of a run.
func ofRun(id string) []store.Entry {
	add := func(list []store.Entry, text string) []store.Entry {
		return append(list, store.Entry{Stream: id, Kind: store.Event, Arrived: time.Now(), Data: []byte(text)})
	}
	entries := add(nil, `{"type":"RUN_STARTED","threadId":"other","runId":"`+id+`"}`)
	for range endEvents - 2 {
		entries = add(entries, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a few words"}`)
	}
	return add(entries, `{"type":"RUN_FINISHED","threadId":"other","runId":"`+id+`"}`)
}

// newOperator returns settings that seal with a new key.
func newOperator() (*seal.Settings, error) {
	key, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		return nil, err
	}
	return &seal.Settings{Name: "bench", Signers: []sign.Signer{key}}, nil
}
