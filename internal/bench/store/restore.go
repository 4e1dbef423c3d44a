package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/bench/page"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// A conversation makes the entries of a thread that is restored. In each run, a user asks and
// an agent answers in answerDeltas deltas.
type conversation struct {
	name string
	// full requests have the whole conversation and no parentRunId. The others have the
	// new message and the id of their parent.
	full bool
	// parent returns the parent of a run, from 0.
	parent func(run int) int
}

const answerDeltas = 10

// conversations lists the threads that are restored.
func conversations() []conversation {
	previous := func(run int) int { return run - 1 }
	random := func(run int) int { return rand.New(rand.NewPCG(1, uint64(run))).IntN(run) }
	return []conversation{
		{"full", true, previous},
		{"normalized", false, previous},
		{"normalized, branches", false, random},
	}
}

type message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Content string `json:"content"`
}

// question and answer are the messages of a run.
func question(run int) message {
	return message{fmt.Sprintf("user-%d", run), "user", fmt.Sprintf("And what is the population of city %d, and which river runs through it?", run)}
}

func answer(run int) message {
	return message{fmt.Sprintf("assistant-%d", run), "assistant", strings.Repeat(answerDelta(run), answerDeltas)}
}

func answerDelta(run int) string { return fmt.Sprintf("City %d has a river. ", run) }

// entries returns the entries of a run.
func (c conversation) entries(thread string, run int) ([]store.Entry, error) {
	id := fmt.Sprintf("run-%d", run)
	started := map[string]any{"type": "RUN_STARTED", "threadId": thread, "runId": id}
	input := map[string]any{"threadId": thread, "runId": id, "tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{}}
	messages := []message{}
	switch {
	case c.full:
		for i := range run {
			messages = append(messages, question(i), answer(i))
		}
		input["state"] = map[string]any{"answered": run}
	case run > 0:
		input["parentRunId"] = fmt.Sprintf("run-%d", c.parent(run))
		started["parentRunId"] = input["parentRunId"]
	}
	input["messages"] = append(messages, question(run))
	own := answer(run)
	events := []any{
		input,
		started,
		map[string]any{"type": "TEXT_MESSAGE_START", "messageId": own.ID, "role": own.Role},
	}
	for range answerDeltas {
		events = append(events, map[string]any{"type": "TEXT_MESSAGE_CONTENT", "messageId": own.ID, "delta": answerDelta(run)})
	}
	events = append(events,
		map[string]any{"type": "TEXT_MESSAGE_END", "messageId": own.ID},
		map[string]any{"type": "STATE_SNAPSHOT", "snapshot": map[string]any{"answered": run + 1}},
		map[string]any{"type": "RUN_FINISHED", "threadId": thread, "runId": id})
	var entries []store.Entry
	for i, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		kind := store.Event
		if i == 0 {
			kind = store.Input
		}
		entries = append(entries, store.Entry{Stream: id, Kind: kind, Arrived: time.Now(), Data: data})
	}
	return append(entries, store.Entry{Stream: id, Kind: store.End, Arrived: time.Now(), Data: []byte(capture.EndEOF)}), nil
}

// write appends the runs to a thread.
func (c conversation) write(ctx context.Context, l *log, key store.Key, runs int) (after int64, err error) {
	for run := range runs {
		entries, err := c.entries(key.Thread, run)
		if err != nil {
			return 0, err
		}
		if after, err = l.Append(ctx, key, after, entries); err != nil {
			return 0, err
		}
	}
	return after, nil
}

// A restoration is how long restoring took, in milliseconds.
type restoration struct{ open, last, middle float64 }

// restore restores the conversations of the last run and of the one in the middle, and returns
// the first of them.
func (l *log) restore(ctx context.Context, key store.Key, runs int) (r restoration, last *restore.Result, err error) {
	begun := time.Now()
	t, err := restore.Open(ctx, l.Log, key, restore.Options{})
	if err != nil {
		return r, nil, err
	}
	r.open = milliseconds(begun)
	if len(t.Graph.Nodes) != runs {
		return r, nil, fmt.Errorf("the thread has %d runs, want %d", len(t.Graph.Nodes), runs)
	}
	begun = time.Now()
	if last, err = t.Run(ctx, t.Graph.Nodes[runs-1]); err != nil {
		return r, nil, err
	}
	r.last = milliseconds(begun)
	begun = time.Now()
	_, err = t.Run(ctx, t.Graph.Nodes[runs/2])
	r.middle = milliseconds(begun)
	return r, last, err
}

func milliseconds(since time.Time) float64 { return time.Since(since).Seconds() * 1000 }

// same reports whether two results are the same conversation.
func same(a, b *restore.Result) bool {
	return bytes.Equal(a.Messages, b.Messages) && bytes.Equal(a.State, b.State)
}

// restores measures how long it takes to restore conversations.
func restores(ctx context.Context, s *settings) (_ string, err error) {
	all, err := s.openAll(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	var t strings.Builder
	t.WriteString(page.Row("requests", "runs", "log", "thread (MB)", "read the runs (ms)", "restore the last run (ms)", "restore the middle run (ms)"))
	t.WriteString("|---|--:|---|--:|--:|--:|--:|\n")
	for _, c := range conversations() {
		key := store.Key{Thread: c.name}
		var first *restore.Result
		results := make([][]restoration, len(all))
		for _, l := range all {
			if _, err := c.write(ctx, l, key, s.runs); err != nil {
				return "", fmt.Errorf("%s: %w", l.Name, err)
			}
		}
		for round := range s.rounds {
			for i := range all {
				i := (round + i) % len(all)
				r, last, err := all[i].restore(ctx, key, s.runs)
				if err != nil {
					return "", fmt.Errorf("%s: %w", all[i].Name, err)
				}
				if first == nil {
					first = last
				}
				if !same(first, last) {
					return "", fmt.Errorf("%s: another conversation is restored", all[i].Name)
				}
				results[i] = append(results[i], r)
				s.progress(round, all[i].Name, "%s: %.0f ms", c.name, r.open+r.last)
			}
		}
		name, runs := c.name, fmt.Sprint(s.runs)
		for i, l := range all {
			thread, err := l.Thread(ctx, key)
			if err != nil {
				return "", fmt.Errorf("%s: %w", l.Name, err)
			}
			cells := []string{name, runs, l.Name, page.Number(float64(thread.Bytes) / 1e6)}
			for _, of := range []func(restoration) float64{
				func(r restoration) float64 { return r.open },
				func(r restoration) float64 { return r.last },
				func(r restoration) float64 { return r.middle },
			} {
				cells = append(cells, page.Number(page.Median(each(results[i], of))))
			}
			t.WriteString(page.Row(cells...))
			name, runs = "", ""
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}
