package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// Entries become visible with Flush, and only when their thread is known.
func TestStreamFlush(t *testing.T) {
	log, ctx := newLog(), t.Context()
	s := transfer.NewStream(log, transfer.StreamSettings{ID: "s", Thread: "f"})
	step := func(want int, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if n := len(entries(t, log, store.Key{Thread: "t"})); n != want {
			t.Errorf("the thread has %d entries, want %d", n, want)
		}
	}
	request := []byte(input("q", "r"))
	step(0, s.Input(ctx, request, begin))
	request[0] = 'x' // the stream has its own copy
	step(0, s.Event(ctx, []byte(delta(1)), begin))
	step(3, s.Event(ctx, []byte(started("t", "r")), begin))
	step(4, s.Event(ctx, []byte(delta(2)), begin))
	step(5, s.End(ctx, capture.EndEOF, begin))
	step(5, s.End(ctx, capture.EndEOF, begin))
	if e := entries(t, log, store.Key{Thread: "t"})[0]; string(e.Data) != input("q", "r") {
		t.Errorf("the request is %s", e.Data)
	}
	if got, want := fmt.Sprint(s.Parts()), "[{t 5 0 0 5 0}]"; got != want {
		t.Errorf("the parts are %s, want %s", got, want)
	}
}

// A stream whose thread is not known, or whose log fails, keeps a limited number of entries.
func TestStreamLimits(t *testing.T) {
	count := func(s *transfer.Stream, data string) (n int, err error) {
		for n = 0; n < 100_000; n++ {
			if err = s.Event(t.Context(), []byte(data), begin); errors.Is(err, transfer.ErrWaiting) || errors.Is(err, transfer.ErrThreads) {
				break
			}
		}
		if again := s.Flush(t.Context()); !errors.Is(again, err) || !errors.Is(s.End(t.Context(), capture.EndEOF, begin), err) {
			t.Errorf("after %v, Flush returns %v", err, again)
		}
		return n, err
	}
	for _, c := range []struct {
		log  store.Log
		data string
		want int
	}{
		{newLog(), `{"type":"CUSTOM"}`, 16384},
		{newLog(), strings.Repeat(" ", 1<<20), 16},
		{newLog(), strings.Repeat(" ", 17<<20), 1},
		{&faulty{Log: newLog(), before: func(int) error { return errors.New("gone") }}, started("t", "r"), 16384},
	} {
		if n, err := count(transfer.NewStream(c.log, transfer.StreamSettings{ID: "s"}), c.data); n != c.want || !errors.Is(err, transfer.ErrWaiting) {
			t.Errorf("%d entries of %d bytes were kept: %v, want %d", n, len(c.data), err, c.want)
		}
	}
	s, n := transfer.NewStream(newLog(), transfer.StreamSettings{ID: "s"}), 0
	var err error
	for ; err == nil && n < 2000; n++ {
		err = s.Event(t.Context(), []byte(started(fmt.Sprint(n), "r")), begin)
	}
	if n != 1001 || !errors.Is(err, transfer.ErrThreads) {
		t.Errorf("after %d threads: %v", n, err)
	}
}

// A large event is appended after the entries that wait for the next batch.
func TestLargeEvent(t *testing.T) {
	large := `{"type":"CUSTOM","value":"` + strings.Repeat("a", 16<<20) + `"}`
	for _, events := range [][]string{
		{started("t", "r"), large, finished("t", "r")},
		append(append(run("t", "r", 1005), large), run("t", "r2", 1)...),
		{`{"type":"CUSTOM"}`, large, delta(1)}, // the thread is only known at the end
	} {
		log := newLog()
		if appended, _ := mustImport(t, log, plain(t, events...), transfer.ImportSettings{Thread: "t"}); appended != int64(len(events))+1 {
			t.Errorf("%d entries were appended for %d events", appended, len(events))
		}
		if got := entries(t, log, store.Key{Thread: "t"}); string(got[len(got)-2].Data) != events[len(events)-1] {
			t.Error("the last event differs")
		}
	}
}

// Several streams are open at once, their log fails at random, and imports complete them.
// Each stream has each entry once and in order.
func TestStreams(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		log := newLog()
		gone := errors.New("gone")
		failing := &faulty{Log: log,
			before: func(int) error { return failAt(r, "before", gone) },
			after:  func(int) error { return failAt(r, "after", gone) },
		}
		type live struct {
			stream *transfer.Stream
			dir    string
			events []string
			sent   int
		}
		var all []*live
		for i := range rapid.IntRange(1, 3).Draw(r, "streams") {
			l := &live{}
			for j := range rapid.IntRange(1, 3).Draw(r, "runs") {
				l.events = append(l.events, run(rapid.SampledFrom([]string{"a", "b"}).Draw(r, "thread"), fmt.Sprint(j), 2)...)
			}
			name := fmt.Sprintf("stream%d", i)
			l.dir = recording{name: name, request: input("q", "r")}.write(t, l.events...)
			l.stream = transfer.NewStream(failing, transfer.StreamSettings{ID: name})
			if err := l.stream.Input(t.Context(), []byte(input("q", "r")), begin); err != nil {
				r.Fatal(err)
			}
			all = append(all, l)
		}
		for range rapid.IntRange(0, 40).Draw(r, "steps") {
			l := rapid.SampledFrom(all).Draw(r, "stream")
			if l.sent < len(l.events) && rapid.Bool().Draw(r, "event") {
				if err := l.stream.Event(t.Context(), []byte(l.events[l.sent]), begin); err != nil && !errors.Is(err, gone) {
					r.Fatal(err)
				}
				l.sent++
			} else if err := l.stream.Flush(t.Context()); err != nil && !errors.Is(err, gone) {
				r.Fatal(err)
			}
		}
		for i, l := range all {
			row := transfer.Import(t.Context(), log, inputs.File(l.dir), transfer.ImportSettings{})
			if row.Verdict != project.Written {
				r.Fatal(show(row))
			}
			want := newLog()
			mustImport(t, want, l.dir, transfer.ImportSettings{})
			for _, thread := range []string{"a", "b"} {
				if got, want := dataOf(t, log, thread, i), dataOf(t, want, thread, i); got != want {
					r.Fatalf("thread %s, stream %d:\n%s\nwant\n%s", thread, i, got, want)
				}
			}
		}
	})
}

// failAt returns err in one of eight calls.
func failAt(r *rapid.T, name string, err error) error {
	if rapid.IntRange(0, 7).Draw(r, name) == 0 {
		return err
	}
	return nil
}

// dataOf returns the entries of a stream in a thread.
func dataOf(t testing.TB, log store.Log, thread string, stream int) string {
	var b strings.Builder
	for _, e := range entries(t, log, store.Key{Thread: thread}) {
		if e.Stream == fmt.Sprintf("stream%d", stream) {
			fmt.Fprintf(&b, "%s %s\n", e.Kind, e.Data)
		}
	}
	return b.String()
}

// A stream stops when its context is done, also while other writers win every position.
func TestStreamCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	log := newLog()
	other := &faulty{Log: log}
	other.before = func(n int) error {
		if n == 10 {
			cancel()
		}
		th, err := log.Thread(t.Context(), store.Key{Thread: "t"})
		if err != nil && !errors.Is(err, store.ErrNoThread) {
			return err
		}
		_, err = log.Append(t.Context(), store.Key{Thread: "t"}, th.Last, []store.Entry{{Stream: "other", Kind: store.Event, Data: []byte("x")}})
		return err
	}
	s := transfer.NewStream(other, transfer.StreamSettings{ID: "s"})
	if err := s.Event(ctx, []byte(started("t", "r")), begin); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(ctx); err == nil || other.n != 10 {
		t.Errorf("after %d appends: %v", other.n, err)
	}
	other.before = nil
	if err := s.Flush(t.Context()); err != nil || len(entries(t, log, store.Key{Thread: "t"})) != 11 {
		t.Errorf("%v\n%s", err, dump(t, log))
	}
}
