package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
)

// A Conversation makes the entries of a thread that is restored. In each run, a user asks and
// an agent answers in answerDeltas deltas.
type Conversation struct {
	Name string
	// Full requests have the whole conversation and no parentRunId. The others have the
	// new message and the id of their parent.
	Full bool
	// Parent returns the parent of a run, from 0.
	Parent func(run int) int
}

const answerDeltas = 10

// Conversations lists the threads that are restored.
func Conversations() []Conversation {
	previous := func(run int) int { return run - 1 }
	random := func(run int) int { return rand.New(rand.NewPCG(1, uint64(run))).IntN(run) }
	return []Conversation{
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
func (c Conversation) entries(thread string, run int) ([]store.Entry, error) {
	id := fmt.Sprintf("run-%d", run)
	started := map[string]any{"type": "RUN_STARTED", "threadId": thread, "runId": id}
	input := map[string]any{"threadId": thread, "runId": id, "tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{}}
	messages := []message{}
	switch {
	case c.Full:
		for i := range run {
			messages = append(messages, question(i), answer(i))
		}
		input["state"] = map[string]any{"answered": run}
	case run > 0:
		input["parentRunId"] = fmt.Sprintf("run-%d", c.Parent(run))
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

// Write appends the runs to a thread.
func (c Conversation) Write(ctx context.Context, l store.Log, key store.Key, runs int) (after int64, err error) {
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
