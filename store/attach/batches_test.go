package attach_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
	"github.com/p20export/p20export/store/memory"
)

// Readers of a thread and of its runs, each with interruptions, get every event once while a
// writer appends, also if the memory of the Hub is small.
func TestBatches(t *testing.T) {
	t.Parallel()
	log := memory.New()
	defer log.Close()
	h := attach.New(log, attach.Settings{WindowBytes: 4 << 10, MemoryBytes: 4 << 20, Idle: time.Millisecond})
	defer h.Close()
	key := store.Key{Thread: "t"}
	const runs, steps = 5, 200
	var all []string
	byRun := make([][]string, runs)
	sources := []attach.Source{{}}
	for run := range runs {
		list := []string{fmt.Sprintf(`{"type":"RUN_STARTED","threadId":"t","runId":"r%d"}`, run)}
		for i := range steps {
			list = append(list, fmt.Sprintf(`{"type":"CUSTOM","name":"step","value":"%s%d"}`, strings.Repeat("x", i*10), i))
		}
		byRun[run] = append(list, fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":"t","runId":"r%d"}`, run))
		all = append(all, byRun[run]...)
		sources = append(sources, attach.Source{Stream: fmt.Sprint("s", run), From: int64(run*(steps+4) + 1)})
	}
	var wait sync.WaitGroup
	for i, source := range sources {
		wait.Go(func() {
			want := all
			if i > 0 {
				want = byRun[i-1]
			}
			var got []string
			var after attach.Cursor
			for closed := false; !closed && (i > 0 || len(got) < len(want)); {
				ctx, cancel := context.WithCancel(t.Context())
				n := 0
				for b, err := range h.Batches(ctx, key, attach.BatchOptions{Source: source, After: after}) {
					if err != nil {
						t.Error(err)
						cancel()
						return
					}
					for _, e := range b.Events {
						got = append(got, string(e))
					}
					after, closed = b.Next, b.Closed
					if n++; n == 3 || len(got) == len(want) && i == 0 {
						break
					}
				}
				cancel()
			}
			if !slices.Equal(got, want) {
				t.Errorf("source %d: %d events, want %d", i, len(got), len(want))
			}
		})
	}
	for run, list := range byRun {
		entries := []store.Entry{{Kind: store.Input, Data: []byte("{}")}}
		for _, e := range list {
			entries = append(entries, store.Entry{Kind: store.Event, Data: []byte(e)})
		}
		entries = append(entries, store.Entry{Kind: store.End, Data: []byte("eof")})
		for part := range slices.Chunk(entries, 7) {
			for i := range part {
				part[i].Stream = fmt.Sprint("s", run)
			}
			last, _ := log.Thread(t.Context(), key)
			if _, err := log.Append(t.Context(), key, last.Last, part); err != nil {
				t.Fatal(err)
			}
		}
	}
	wait.Wait()
	if used := h.Stats(); used.Readers != 0 {
		t.Errorf("%d readers are left", used.Readers)
	}
}

// A place that the log does not have is found out, and the errors of a thread are those of
// Events.
func TestBatchesErrors(t *testing.T) {
	t.Parallel()
	log := memory.New()
	defer log.Close()
	h := attach.New(log, attach.Settings{})
	defer h.Close()
	key := store.Key{Thread: "t"}
	if _, err := log.Append(t.Context(), key, 0, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	first := func(key store.Key, o attach.BatchOptions) (attach.Batch, error) {
		for b, err := range h.Batches(t.Context(), key, o) {
			return b, err
		}
		return attach.Batch{}, nil
	}
	for _, c := range []attach.Cursor{{Position: 1, Check: 1}, {Position: 9, Check: 1}} {
		if _, err := first(key, attach.BatchOptions{After: c}); !errors.Is(err, store.ErrRewound) {
			t.Errorf("after %v: %v", c, err)
		}
	}
	b, err := first(key, attach.BatchOptions{Tail: true})
	if err != nil || len(b.Events) > 0 || b.Next.Position != 1 || !b.UpToDate || b.Closed {
		t.Errorf("at the end: %+v, %v", b, err)
	}
	if _, err := log.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if _, err := first(key, attach.BatchOptions{}); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("a deleted thread: %v", err)
	}
}
