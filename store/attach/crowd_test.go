package attach

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/p20export/p20export/store/memory"
)

// TestConnectCrowd lets many clients join a long run at the same time, while it goes on. All have
// begun to read before the first goes on, so the Hub needs memory for the preludes of all of them:
// together these are 40 times as large as its memory.
func TestConnectCrowd(t *testing.T) {
	t.Parallel()
	const clients, words, limit = 1000, 20_000, 32 << 20
	delta := func(n int) string {
		return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"some more of the words of a long answer, part %d; "}`, n)
	}
	list := []string{started, begin}
	for n := range words {
		list = append(list, delta(n))
	}
	log := memory.New()
	appendTo(t, log, events("a", list...)...)
	h := New(log, Settings{MemoryBytes: limit})
	defer h.Close()
	last := int64(len(list))
	var appending sync.Mutex
	add := func(list ...string) {
		appending.Lock()
		defer appending.Unlock()
		var err error
		if last, err = log.Append(t.Context(), key(), last, events("a", list...)); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var begun, most atomic.Int64
	all := make(chan struct{})
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			got, end := 0, ""
			for text, err := range h.Connect(ctx, key(), false) {
				if err != nil {
					t.Error(err)
					cancel() // the others wait for this one
					return
				}
				if got == 0 {
					switch n := begun.Add(1); {
					case n == clients:
						add(`{"type":"TEXT_MESSAGE_END","messageId":"m"}`, finished)
						close(all)
					case n%(clients/4) == 0:
						add(delta(0)) // further clients need another prelude
					}
					select {
					case <-all:
					case <-ctx.Done():
						return
					}
				}
				for used := h.Stats().Bytes; ; {
					if before := most.Load(); used <= before || most.CompareAndSwap(before, used) {
						break
					}
				}
				got, end = got+len(text), string(text[max(0, len(text)-300):])
			}
			if got < 50*words || !strings.Contains(end, finished) {
				t.Errorf("a client got %d bytes, the last are %q", got, end)
			}
		})
	}
	running.Wait()
	if most.Load() > limit || most.Load() < 50*words {
		t.Errorf("at most %d bytes were in use; the limit is %d", most.Load(), limit)
	}
}
