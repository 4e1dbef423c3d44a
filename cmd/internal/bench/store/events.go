package main

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/store"
)

// eventSize is the size of the events with text, which are all but four of a run.
const eventSize = 200

// runEvents is the number of events of a run.
const runEvents = 1000

// The parts of an event with text. The stamp between them is the time at which the event was
// appended; text fills the event.
const (
	beforeStamp = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"message-1","delta":"`
	stampSize   = 19
	afterText   = `"}`
	textSize    = eventSize - len(beforeStamp) - stampSize - len(afterText)
)

// A generator makes the entries of a thread: runs of runEvents events, each a stream of its
// own with an end. The same name gives the same entries, except for times.
type generator struct {
	thread string
	run    int
	event  int // of the run, from 0
	words  *rand.Rand
	buffer []byte
}

func newGenerator(thread string) *generator {
	return &generator{thread: thread, words: rand.New(rand.NewPCG(1, uint64(len(thread))))}
}

// entries returns the next n entries, which are valid until the next call.
func (g *generator) entries(n int) []store.Entry {
	g.buffer = g.buffer[:0]
	if cap(g.buffer) < n*eventSize {
		g.buffer = make([]byte, 0, n*eventSize)
	}
	all := make([]store.Entry, n)
	now, stamp := time.Now(), page.Now()
	for i := range all {
		all[i] = store.Entry{Stream: g.thread + "-" + strconv.Itoa(g.run), Kind: store.Event, Arrived: now}
		begin := len(g.buffer)
		switch g.event++; g.event {
		case 1:
			g.buffer = fmt.Appendf(g.buffer, `{"type":"RUN_STARTED","threadId":%q,"runId":"run-%d"}`, g.thread, g.run)
		case 2:
			g.buffer = append(g.buffer, `{"type":"TEXT_MESSAGE_START","messageId":"message-1","role":"assistant"}`...)
		case runEvents - 1:
			g.buffer = append(g.buffer, `{"type":"TEXT_MESSAGE_END","messageId":"message-1"}`...)
		case runEvents:
			g.buffer = fmt.Appendf(g.buffer, `{"type":"RUN_FINISHED","threadId":%q,"runId":"run-%d"}`, g.thread, g.run)
		case runEvents + 1:
			all[i].Kind = store.End
			g.buffer = append(g.buffer, capture.EndEOF...)
			g.run, g.event = g.run+1, 0
		default:
			g.buffer = appendText(g.buffer, stamp, g.words)
		}
		all[i].Data = g.buffer[begin:len(g.buffer):len(g.buffer)]
	}
	return all
}

// appendText appends an event with text of random words.
func appendText(b []byte, stamp int64, words *rand.Rand) []byte {
	b = fmt.Appendf(append(b, beforeStamp...), "%0*d", stampSize, stamp)
	for left := textSize; left > 0; {
		word := vocabulary[words.IntN(len(vocabulary))]
		word = word[:min(len(word), left)]
		b = append(b, word...)
		left -= len(word)
	}
	return append(b, afterText...)
}

// stampOf returns the stamp of an event, and whether it has one.
func stampOf(event []byte) (int64, bool) {
	rest, ok := bytes.CutPrefix(event, []byte(beforeStamp))
	if !ok || len(rest) < stampSize {
		return 0, false
	}
	stamp, err := strconv.ParseInt(string(rest[:stampSize]), 10, 64)
	return stamp, err == nil
}

// vocabulary has the words of the texts, with a space before each.
var vocabulary = [...]string{
	" the", " of", " and", " run", " thread", " agent", " message", " answer", " question", " weather", " in", " to", " a",
	" is", " was", " were", " capital", " city", " river", " country", " therefore", " because", " although", " between",
	" result", " tool", " call", " search", " document", " summary", " first", " second", " third", " last", " following",
	" number", " example", " interesting", " different", " possible", " important", " question,", " however,", " finally,",
	" Paris", " London", " Oslo", " Nairobi", " 1984", " 2026", " 37", " 42.5", " percent", " million", " people", " years",
	" ago.", " today.", " tomorrow.", " yesterday.", " Yes.", " No.", " Perhaps.", " Why?",
}

// random returns a random name.
func random() string { return cryptorand.Text() }

// A writer appends the entries of a generator to a thread.
type writer struct {
	*log
	*generator
	after int64
}

func (l *log) newWriter(thread string) *writer {
	return &writer{log: l, generator: newGenerator(thread)}
}

// write appends the next n entries in batches.
func (w *writer) write(ctx context.Context, n, batch int) error {
	for n > 0 {
		entries := w.entries(min(batch, n))
		last, err := w.Append(ctx, store.Key{Thread: w.thread}, w.after, entries)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		w.after, n = last, n-len(entries)
	}
	return nil
}

// fillBatch is the number of entries of an append that fills a log.
const fillBatch = 10_000
