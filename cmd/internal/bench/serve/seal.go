package main

import (
	"context"
	"fmt"
	"slices"
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

// The three ways to measure the delay. Two of them are the same, so that their ratio shows the
// noise.
const (
	unsealed      = "no"
	unsealedAgain = "no, again"
	sealed        = "yes"
)

// seals compares the delay of events while runs of other threads end, with and without sealing
// these threads. Percentiles are those of all rounds together: the slowest events of one round
// are few.
func seals(ctx context.Context, s *settings) (string, error) {
	ways := []string{unsealed, sealed, unsealedAgain}
	type choice struct{ log, way string }
	results := make(map[choice]*delay)
	for round := range s.rounds {
		for _, name := range s.logs {
			for i := range ways {
				c := choice{name, ways[(round+i)%len(ways)]} // in turn
				d, err := s.delayOf(ctx, name, load{readers: s.delay, ends: true, seal: c.way == sealed})
				if err != nil {
					return "", fmt.Errorf("%s: %w", name, err)
				}
				if results[c] == nil {
					results[c] = &delay{}
				}
				results[c].read, results[c].append = append(results[c].read, d.read...), append(results[c].append, d.append...)
				s.progress(round, name, "sealed: %s, p99 %.2f ms", c.way, page.Percentile(d.read, 0.99)/1e6)
			}
		}
	}
	var t strings.Builder
	t.WriteString(page.Row("log", "sealed", "durable to reader p50 (ms)", "p99 (ms)", "append p50 (ms)", "append p99 (ms)", "to reader, not sealed = 1: p50", "p99", "append, not sealed = 1: p50", "p99"))
	t.WriteString("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, name := range s.logs {
		var without []float64
		for _, way := range []string{unsealed, unsealedAgain, sealed} {
			d := results[choice{name, way}]
			slices.Sort(d.read)
			slices.Sort(d.append)
			values := []float64{page.Percentile(d.read, 0.5), page.Percentile(d.read, 0.99), page.Percentile(d.append, 0.5), page.Percentile(d.append, 0.99)}
			cells := []string{name, way}
			for _, value := range values {
				cells = append(cells, page.Number(value/1e6))
			}
			if way == unsealed {
				without = values
				cells = append(cells, "", "", "", "")
			} else {
				for i, value := range values {
					cells = append(cells, "**"+page.Number(value/without[i])+"**")
				}
			}
			t.WriteString(page.Row(cells...))
		}
	}
	return t.String() + fmt.Sprintf("\n%d rounds of %v, measured on %s.\n", s.rounds, s.duration, page.Today()), nil
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
