package attach

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// large returns a log with threads that each have a run with a message and an input of half
// a megabyte.
func large(t *testing.T, threads int) store.Log {
	log := memory.New()
	text := strings.Repeat("x", 1<<19)
	for i := range threads {
		entries := []store.Entry{
			{Stream: "a", Kind: store.Input, Data: []byte(`{"messages":[{"id":"u","role":"user","content":"` + text + `"}]}`)},
			event("a", `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`),
			event("a", `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`),
			event("a", `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"`+text+`"}`),
			event("a", `{"type":"TEXT_MESSAGE_END","messageId":"m"}`),
		}
		if i%2 == 0 {
			entries = append(entries, event("a", `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`), end("a"))
		}
		if _, err := log.Append(t.Context(), thread(i), 0, entries); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

func thread(i int) store.Key { return store.Key{Thread: fmt.Sprint(i)} }

// slow is a reader that does not go on after a large text until it may.
type slow struct {
	began, done bool
	err         error
	bytes       int
}

func (s *slow) read(texts iter.Seq2[[]byte, error], proceed <-chan struct{}) {
	for text, err := range texts {
		s.began, s.err, s.bytes = true, err, s.bytes+len(text)
		if len(text) > 1<<16 {
			<-proceed
		}
	}
	s.done = true
}

// Readers of many large threads that do not read leave the memory within its limit. Those
// for whom nothing is left get ErrMemory, and small threads go on. When readers leave, their
// memory is free.
func TestMemory(t *testing.T) {
	t.Parallel()
	const threads, limit = 60, 8 << 20
	for name, open := range map[string]func(ctx context.Context, h *Hub, i int) iter.Seq2[[]byte, error]{
		"connect": func(ctx context.Context, h *Hub, i int) iter.Seq2[[]byte, error] {
			return h.Connect(ctx, thread(i), false)
		},
		"events": func(ctx context.Context, h *Hub, i int) iter.Seq2[[]byte, error] {
			return h.Events(ctx, thread(i), EventOptions{})
		},
		"compact": func(ctx context.Context, h *Hub, i int) iter.Seq2[[]byte, error] {
			return h.Events(ctx, thread(i), EventOptions{View: Compact, After: Cursor{Position: 1}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := large(t, threads)
				appendTo(t, log, event("a", `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`))
				h := New(log, Settings{MemoryBytes: limit})
				defer h.Close()
				ctx, cancel := context.WithCancel(t.Context())
				proceed := make(chan struct{})
				readers := make([]slow, 3*threads)
				for i := range readers {
					go readers[i].read(open(ctx, h, i%threads), proceed)
				}
				synctest.Wait()
				check := func(when string) {
					if s := h.Stats(); s.Bytes > limit {
						t.Errorf("%s: %d bytes are in use", when, s.Bytes)
					}
				}
				check("before the wait")
				time.Sleep(memoryWait)
				synctest.Wait()
				check("after the wait")
				refused := 0
				for i := range readers {
					switch r := &readers[i]; {
					case !r.began:
						t.Errorf("reader %d waits", i)
					case r.done && !errors.Is(r.err, ErrMemory):
						t.Errorf("reader %d ended with %v", i, r.err)
					case r.done:
						refused++
					}
				}
				if refused == 0 || refused > len(readers)-3 {
					t.Errorf("%d of %d readers were refused", refused, len(readers))
				}
				if text, err := collect(h.Events(t.Context(), key(), EventOptions{})); err != nil || text == "" {
					t.Errorf("a small thread: %q, %v", text, err)
				}
				cancel()
				close(proceed)
				synctest.Wait()
				if s := h.Stats(); s != (Stats{}) {
					t.Errorf("without readers: %+v", s)
				}
				for i := 0; i < threads; i += 2 {
					if text, err := collect(open(t.Context(), h, i)); err != nil || len(text) < 1<<19 {
						t.Errorf("thread %d, alone: %d bytes, %v", i, len(text), err)
					}
				}
			})
		})
	}
}
