package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// broken is a log that counts how often it is read, and whose followers can be made to fail.
type broken struct {
	store.Log
	mu      sync.Mutex
	follows int // all, and those that go on
	active  int
	reads   int
	cut     chan struct{} // closed to end the followers
}

func (b *broken) Follow(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	b.mu.Lock()
	b.follows++
	b.active++
	cut := b.cut
	b.mu.Unlock()
	return func(yield func(*store.Entry, error) bool) {
		defer func() {
			b.mu.Lock()
			b.active--
			b.mu.Unlock()
		}()
		ctx, cancel := context.WithCancelCause(ctx)
		go func() {
			select {
			case <-cut:
				cancel(errInjected)
			case <-ctx.Done():
			}
		}()
		defer cancel(nil)
		for e, err := range b.Log.Follow(ctx, key, after) {
			if err != nil && context.Cause(ctx) == errInjected {
				err = errInjected
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (b *broken) Select(ctx context.Context, key store.Key, s store.Selection) iter.Seq2[*store.Entry, error] {
	b.mu.Lock()
	b.reads++
	b.mu.Unlock()
	return b.Log.Select(ctx, key, s)
}

// reading is a reader in its own goroutine. Its text has no checks. Its fields can be read after synctest.Wait.
type reading struct {
	text  strings.Builder
	parts [][]byte
	err   error
	done  bool
}

func read(texts iter.Seq2[[]byte, error]) *reading {
	r := new(reading)
	go func() {
		for text, err := range texts {
			r.err = err
			r.text.WriteString(plain(string(text)))
			r.parts = append(r.parts, text)
		}
		r.done = true
	}()
	return r
}

// If the log stops following, all readers of the thread get its error, and the next reader
// follows again.
func TestFollowerFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &broken{Log: memory.New(), cut: make(chan struct{})}
		h := New(log, Settings{})
		defer h.Close()
		follow := EventOptions{Follow: true}
		a, b := read(h.Events(t.Context(), key(), follow)), read(h.Stream(t.Context(), key(), "a", 0))
		other := read(h.Events(t.Context(), store.Key{Thread: "other"}, follow))
		synctest.Wait()
		appendTo(t, log, event("a", "1"))
		synctest.Wait()
		cut := log.cut
		log.mu.Lock()
		log.cut = make(chan struct{})
		log.mu.Unlock()
		close(cut)
		synctest.Wait()
		for _, r := range []*reading{a, b, other} {
			if !r.done || !errors.Is(r.err, errInjected) {
				t.Errorf("a reader ended: %v, with %v", r.done, r.err)
			}
		}
		appendTo(t, log, event("a", "2"))
		follow.After.Position = 1
		again := read(h.Events(t.Context(), key(), follow))
		synctest.Wait()
		appendTo(t, log, event("a", "3"))
		synctest.Wait()
		if diff := cmp.Diff(sse(1, 1)+sse(2, 2, 3, 3), a.text.String()+again.text.String()); diff != "" || again.done {
			t.Errorf("%v\n%s", again.err, diff)
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		appendTo(t, log, event("a", "1"))
		h := New(log, Settings{Idle: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		follow := EventOptions{Follow: true}
		readers := []*reading{
			read(h.Events(t.Context(), key(), follow)), read(h.Stream(t.Context(), key(), "a", 0)),
			read(h.Events(t.Context(), store.Key{Thread: "other"}, follow)), read(h.Events(ctx, key(), follow)),
		}
		synctest.Wait()
		if s := h.Stats(); s.Threads != 2 || s.Readers != 4 || s.Bytes == 0 {
			t.Errorf("with readers: %+v", s)
		}
		cancel()
		synctest.Wait()
		h.Close()
		h.Close()
		readers = append(readers, read(h.Events(t.Context(), key(), follow)))
		synctest.Wait()
		for i, r := range readers {
			want := ErrClosed
			if i == 3 {
				want = context.Canceled
			}
			if !r.done || r.err != want {
				t.Errorf("reader %d ended: %v, with %v", i, r.done, r.err)
			}
		}
	})
}

// After Finish, readers end when they have what the log had, even if the follower is behind.
func TestFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &late{memory.New(), make(chan struct{})}
		appendTo(t, log, event("a", "1"))
		h := New(log, Settings{})
		follow := EventOptions{Follow: true}
		behind, all, none := read(h.Events(t.Context(), key(), follow)), read(h.Events(t.Context(), key(), EventOptions{Follow: true, After: Cursor{Position: 3}})), read(h.Events(t.Context(), store.Key{Thread: "none"}, follow))
		synctest.Wait()
		appendTo(t, log, event("a", "2"), event("a", "3"))
		h.Finish(t.Context())
		synctest.Wait()
		if behind.done || !all.done || all.err != ErrClosed || !none.done || none.err != ErrClosed {
			t.Errorf("with an event missing, the reader ended: %v; with all: %v, %v; without a thread: %v, %v", behind.done, all.done, all.err, none.done, none.err)
		}
		close(log.c)
		synctest.Wait()
		if want := sse(1, "1", 2, "2", 3, "3"); !behind.done || behind.err != ErrClosed || plain(behind.text.String()) != plain(want) {
			t.Errorf("the reader ended: %v, with %v, after\n%s", behind.done, behind.err, behind.text.String())
		}
		h.Close()
	})
}

// The last reader of a thread ends its follower, and the next one begins again.
func TestLastReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &broken{Log: memory.New()}
		h := New(log, Settings{})
		defer h.Close()
		for n := range 3 {
			appendTo(t, log, event("a", "1"))
			var cancels []context.CancelFunc
			for range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				read(h.Events(ctx, key(), EventOptions{Follow: true}))
				cancels = append(cancels, cancel)
			}
			for i, cancel := range cancels {
				synctest.Wait()
				if want := len(cancels) - i; log.active != 1 || h.Stats().Readers != want {
					t.Errorf("%d followers, and %d readers of %d", log.active, h.Stats().Readers, want)
				}
				cancel()
			}
			synctest.Wait()
			if log.active != 0 || log.follows != n+1 || h.Stats() != (Stats{}) {
				t.Errorf("after the last reader: %d of %d followers, %+v", log.active, log.follows, h.Stats())
			}
		}
	})
}

func TestClosedLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		h := New(log, Settings{})
		defer h.Close()
		r := read(h.Events(t.Context(), key(), EventOptions{Follow: true}))
		synctest.Wait()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !r.done || !errors.Is(r.err, store.ErrClosed) {
			t.Errorf("the reader ended: %v, with %v", r.done, r.err)
		}
	})
}

func TestDeleted(t *testing.T) {
	t.Parallel()
	log := memory.New()
	appendTo(t, log, event("a", "1"))
	if _, err := log.Delete(t.Context(), key()); err != nil {
		t.Fatal(err)
	}
	h := New(log, Settings{})
	defer h.Close()
	for _, o := range []EventOptions{{}, {Follow: true}, {View: Compact}, {View: Compact, Follow: true}} {
		if got, err := collect(h.Events(t.Context(), key(), o)); got != "" || !errors.Is(err, store.ErrDeleted) {
			t.Errorf("%+v: %q, %v", o, got, err)
		}
	}
	if got, err := collect(h.Stream(t.Context(), key(), "a", 0)); got != "" || !errors.Is(err, store.ErrDeleted) {
		t.Errorf("%q, %v", got, err)
	}
}

// When a thread is deleted, all its readers end, wherever they are, with nothing wrong before.
func TestDeletedWhileRead(t *testing.T) {
	t.Parallel()
	for _, window := range []int{1, 5000, 0} {
		synctest.Test(t, func(t *testing.T) {
			log := memory.New()
			for n := range 30 {
				appendTo(t, log, append(run(fmt.Sprint(n)), end(fmt.Sprint(n)))...)
			}
			entries := entriesOf(t, log)
			h := New(log, Settings{WindowBytes: window})
			defer h.Close()
			var readers []*reading
			at := make(map[*reading]int64)
			wait := make(chan struct{})
			for _, view := range []View{Raw, Compact} {
				for after := int64(0); after < 200; after += 30 {
					r := read(func(yield func([]byte, error) bool) {
						n := 0
						for text, err := range h.Events(t.Context(), key(), EventOptions{View: view, Follow: true, After: Cursor{Position: after}}) {
							if n++; n == 4 {
								<-wait
							}
							if !yield(text, err) {
								return
							}
						}
					})
					at[r] = after
					readers = append(readers, r)
				}
			}
			synctest.Wait()
			if _, err := log.Delete(t.Context(), key()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			close(wait)
			synctest.Wait()
			for _, r := range readers {
				got := parse(t, bytes.Join(r.parts, nil))
				want := rawFrames(entries[min(at[r], int64(len(entries))):], "")
				if raw := len(got) == 0 || got[0].ID == want[0].ID; raw && len(got) > 0 && !slices.Equal(got, want[:len(got)]) {
					t.Errorf("after %d: %v", at[r], got)
				}
				if !r.done || !errors.Is(r.err, store.ErrDeleted) {
					t.Errorf("the reader after %d ended: %v, %v", at[r], r.done, r.err)
				}
			}
		})
	}
}

// The follower continues with a page of its own when the last page that readers loaded ends
// before the last entry.
func TestLoadedBeforeFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		long := strings.Repeat("x", 900)
		appendTo(t, log, event("a", "1"), event("a", long))
		h := New(log, Settings{WindowBytes: 6400})
		defer h.Close()
		var got strings.Builder
		for text, err := range h.Events(t.Context(), key(), EventOptions{Follow: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if got.Len() == 0 {
				appendTo(t, log, event("a", "3"))
				synctest.Wait()
			}
			if got.WriteString(plain(string(text))); strings.HasSuffix(got.String(), sse(3, 3)) {
				break
			}
		}
		if diff := cmp.Diff(sse(1, 1, 2, long, 3, 3), got.String()); diff != "" {
			t.Error(diff)
		}
	})
}

// A thousand readers of one thread share its memory, and the log is read once for all: for
// those that follow, for those that join within the window, and for those that read the
// history.
func TestShared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		window, before, during int   // bytes, and numbers of events
		after                  int64 // of those that join last
		reads                  int
	}{
		"follow": {64 << 10, 0, 100, 70, 0},
		"load":   {256 << 10, 100, 10, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := &broken{Log: memory.New()}
				h := New(log, Settings{WindowBytes: test.window})
				defer h.Close()
				write := func(n int) {
					for range n {
						appendTo(t, log, event("a", strings.Repeat("x", 1000)))
						synctest.Wait()
					}
				}
				var readers []*reading
				join := func(after int64) {
					for range 500 {
						readers = append(readers, read(h.Events(t.Context(), key(), EventOptions{Follow: true, After: Cursor{Position: after}})))
					}
					synctest.Wait()
				}
				write(test.before)
				join(0)
				write(test.during)
				join(test.after)
				if s := h.Stats(); s.Bytes > int64(test.window) || s.Threads != 1 || s.Readers != 1000 || log.follows != 1 || log.reads > test.reads {
					t.Errorf("%+v with %d followers and %d reads", s, log.follows, log.reads)
				}
				seen := make(map[*byte]int)
				for i, r := range readers {
					if want := readers[i/500*500].text.String(); r.text.String() != want {
						t.Fatalf("reader %d has %d bytes, and another one has %d", i, r.text.Len(), len(want))
					}
					for _, text := range r.parts {
						seen[unsafe.SliceData(text)] = max(seen[unsafe.SliceData(text)], len(text))
					}
				}
				bytes := 0
				for _, n := range seen {
					bytes += n
				}
				if thread := readers[0].text.Len(); bytes > 3*thread {
					t.Errorf("the readers have %d bytes of text of a thread of %d", bytes, thread)
				}
			})
		})
	}
}

// A reader that does not read delays no other one, and then gets everything.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		h := New(log, Settings{WindowBytes: 1000})
		defer h.Close()
		wait := make(chan struct{})
		slow := read(func(yield func([]byte, error) bool) {
			for text, err := range h.Events(t.Context(), key(), EventOptions{Follow: true}) {
				<-wait
				if !yield(text, err) {
					return
				}
			}
		})
		fast := read(h.Events(t.Context(), key(), EventOptions{Follow: true}))
		var want strings.Builder
		for n := range 200 {
			appendTo(t, log, event("a", "x"))
			want.WriteString(sse(n+1, "x"))
			synctest.Wait()
			if fast.text.String() != want.String() {
				t.Fatalf("after event %d: %q", n+1, fast.text.String())
			}
		}
		close(wait)
		synctest.Wait()
		if diff := cmp.Diff(want.String(), slow.text.String()); diff != "" {
			t.Error(diff)
		}
	})
}

// Settings.Delivered measures texts that came while the reader waited, and no others.
func TestDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		appendTo(t, log, event("a", "1"))
		var took []time.Duration
		h := New(log, Settings{Delivered: func(d time.Duration) { took = append(took, d) }})
		defer h.Close()
		read(func(yield func([]byte, error) bool) {
			for text, err := range h.Events(t.Context(), key(), EventOptions{Follow: true}) {
				if err == nil {
					time.Sleep(time.Second)
				}
				if !yield(text, err) {
					return
				}
			}
		})
		time.Sleep(time.Minute)
		appendTo(t, log, event("a", "2"))
		time.Sleep(time.Minute)
		appendTo(t, log, input("b"), event("a", "3"))
		time.Sleep(time.Millisecond)
		appendTo(t, log, event("a", "4"), event("a", "5"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]time.Duration{time.Second, time.Second, 2*time.Second - time.Millisecond}, took); diff != "" {
			t.Error(diff)
		}
	})
}

// Requests take no place in the pages of readers, so long ones do not make pages short.
func TestLongRequests(t *testing.T) {
	t.Parallel()
	log := &broken{Log: memory.New()}
	for range 50 {
		appendTo(t, log, store.Entry{Stream: "a", Kind: store.Input, Data: fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", maxPageBytes))})
		appendTo(t, log, run("a")...)
	}
	h := New(log, Settings{})
	defer h.Close()
	if text, err := collect(h.Events(t.Context(), key(), EventOptions{})); err != nil || strings.Count(text, "RUN_FINISHED") != 50 || log.reads > 2 {
		t.Errorf("%d bytes, %v; the log was read %d times", len(text), err, log.reads)
	}
}
