package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

const (
	// tokensOf is the number of deltas of a message, and messagesOf that of the messages of a run,
	// which also has a request, a start and two ends.
	tokensOf   = 100
	messagesOf = 10
	tokenRun   = messagesOf*(tokensOf+2) + 4
	// positions is the number of random positions that are restored in each round.
	positions = 20
)

// checkpoints measures restores at random positions of a long thread of tokens, without and with
// checkpoints in the log.
func checkpoints(ctx context.Context, s *settings) (_ string, err error) {
	all, err := s.openAll(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	var t strings.Builder
	t.WriteString(page.Row("log", "events", "messages (MB)", "thread (MB)", "checkpoints (MB)", "make them (s)", "without, at the end (ms)", "with, p50 (ms)", "p95 (ms)", "longest (ms)"))
	t.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, l := range all {
		row, err := s.checkpointsOf(ctx, l)
		if err != nil {
			return "", fmt.Errorf("%s: %w", l.Name, err)
		}
		t.WriteString(row)
	}
	return t.String() + fmt.Sprintf("\n%d random positions, measured on %s.\n", s.rounds*positions, page.Today()), nil
}

// A keptLog counts the bytes that are kept.
type keptLog struct {
	store.Log
	bytes int
}

func (l *keptLog) Keep(ctx context.Context, key store.Key, kind string, list []store.Derived) error {
	for _, d := range list {
		l.bytes += len(d.Head) + len(d.Data)
	}
	return l.Log.Keep(ctx, key, kind, list)
}

func (s *settings) checkpointsOf(ctx context.Context, of *log) (row string, err error) {
	l, key := &keptLog{Log: of.Log}, store.Key{Thread: "tokens"}
	if err := writeTokens(ctx, l, key, s.replay/tokenRun); err != nil {
		return "", err
	}
	t, err := restore.Open(ctx, l, key, restore.Options{})
	if err != nil {
		return "", err
	}
	begun := time.Now()
	last, err := t.At(ctx, t.Last)
	if err != nil {
		return "", err
	}
	without := milliseconds(begun)
	begun = time.Now()
	if err := t.KeepCheckpoints(ctx, t.Last); err != nil {
		return "", err
	}
	made := milliseconds(begun)
	again, err := t.At(ctx, t.Last)
	if err != nil {
		return "", err
	}
	if !same(last, again) {
		return "", errors.New("another conversation is restored from a checkpoint")
	}
	random := rand.New(rand.NewPCG(41, 1))
	var times []float64
	for round := range s.rounds {
		for range positions {
			begun := time.Now()
			if _, err := t.At(ctx, 1+random.Int64N(t.Last)); err != nil {
				return "", err
			}
			times = append(times, milliseconds(begun))
		}
		s.progress(round, of.Name, "%.0f ms", page.Median(slices.Clone(times)))
	}
	slices.Sort(times)
	thread, err := l.Thread(ctx, key)
	if err != nil {
		return "", err
	}
	return page.Row(of.Name, fmt.Sprint(t.Last), page.Number(float64(len(last.Messages))/1e6), page.Number(float64(thread.Bytes)/1e6), page.Number(float64(l.bytes)/1e6),
		page.Number(made/1000), page.Number(without), page.Number(page.Percentile(times, 0.5)), page.Number(page.Percentile(times, 0.95)), page.Number(times[len(times)-1])), nil
}

// writeTokens appends runs that continue each other, whose messages arrive in tokens: two words in each.
func writeTokens(ctx context.Context, l store.Log, key store.Key, runs int) error {
	random := rand.New(rand.NewPCG(41, 2))
	words := make([]string, 5000)
	for i := range words {
		for range 2 + random.IntN(8) {
			words[i] += string(rune('a' + random.IntN(26)))
		}
	}
	frequency := rand.NewZipf(random, 1.1, 2, uint64(len(words)-1))
	after := int64(0)
	for run := range runs {
		stream, parent := fmt.Sprint("run-", run), ""
		if run > 0 {
			parent = fmt.Sprintf(`,"parentRunId":"run-%d"`, run-1)
		}
		var entries []store.Entry
		add := func(kind store.Kind, format string, args ...any) {
			entries = append(entries, store.Entry{Stream: stream, Kind: kind, Arrived: time.Now(), Data: fmt.Appendf(nil, format, args...)})
		}
		add(store.Input, `{"threadId":"tokens","runId":"%s"%s,"messages":[{"id":"user-%d","role":"user","content":"Go on"}]}`, stream, parent, run)
		add(store.Event, `{"type":"RUN_STARTED","threadId":"tokens","runId":"%s"}`, stream)
		for range messagesOf {
			id := fmt.Sprintf("msg_%x", random.Uint64())
			add(store.Event, `{"type":"TEXT_MESSAGE_START","messageId":"%s","role":"assistant"}`, id)
			for range tokensOf {
				add(store.Event, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"%s","delta":"%s %s "}`, id, words[frequency.Uint64()], words[frequency.Uint64()])
			}
			add(store.Event, `{"type":"TEXT_MESSAGE_END","messageId":"%s"}`, id)
		}
		add(store.Event, `{"type":"RUN_FINISHED","threadId":"tokens","runId":"%s"}`, stream)
		add(store.End, "eof")
		var err error
		if after, err = l.Append(ctx, key, after, entries); err != nil {
			return err
		}
	}
	return nil
}
