package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

func (s *seen) ThreadSealed()    { s.count("sealed", 1) }
func (s *seen) SealFailed()      { s.count("failed", 1) }
func (s *seen) ThreadRewritten() { s.count("rewritten", 1) }

// sealable is a log that can fail, and whose entries can be replaced.
type sealable struct {
	store.Log
	fails    atomic.Bool
	replaced atomic.Bool
	calls    atomic.Int64 // of Seal
}

var errDisk = errors.New("no space\nleft on the device")

func (l *sealable) Seal(ctx context.Context, key store.Key, s store.Seal, b store.Blocks) error {
	l.calls.Add(1)
	if l.fails.Load() {
		return errDisk
	}
	return l.Log.Seal(ctx, key, s, b)
}

func (l *sealable) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range l.Log.Read(ctx, key, after) {
			if err == nil && e.Position == 1 && l.replaced.Load() {
				e.Data = []byte("{}")
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// newSealer returns a log, a Sealer that is not started, and what it reports.
func newSealer(t *testing.T, log store.Log) (*sealable, *Sealer, *seen) {
	t.Helper()
	key, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	events, o := &sealable{Log: log}, &seen{counts: map[string]int{}}
	s := NewSealer(SealerSettings{
		Seal:   &seal.Settings{Name: "agents.example/log", Signers: []sign.Signer{key}},
		Events: events, Log: slog.New(slog.NewTextHandler(o, nil)), Observer: o,
	})
	return events, s, o
}

// ended are entries with which a run begins and ends.
func ended(stream string) []store.Entry {
	return []store.Entry{
		{Stream: stream, Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)},
		{Stream: stream, Kind: store.Event, Data: []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)},
	}
}

// appendTo appends entries to a thread.
func appendTo(t *testing.T, log store.Log, thread string, entries []store.Entry) {
	t.Helper()
	key := store.Key{Thread: thread}
	th, err := log.Thread(t.Context(), key)
	if err != nil && !errors.Is(err, store.ErrNoThread) {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), key, th.Last, entries); err != nil {
		t.Fatal(err)
	}
}

// wantSealed checks up to which position a thread is sealed, and how many seals it has.
func wantSealed(t *testing.T, log store.Log, thread string, position int64, seals int) {
	t.Helper()
	th, err := log.Thread(t.Context(), store.Key{Thread: thread})
	if err != nil || th.Sealed != position {
		t.Errorf("thread %s is sealed up to %d, want %d; %v", thread, th.Sealed, position, err)
	}
	n := 0
	for _, err := range log.Seals(t.Context(), store.Key{Thread: thread}, 0) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != seals {
		t.Errorf("thread %s has %d seals, want %d", thread, n, seals)
	}
}

// A thread is sealed when a run or a stream ends, once for what has ended by then, and not
// before.
func TestSealer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, s, o := newSealer(t, memory.New())
		s.Start()
		synctest.Wait() // for the search at the start
		log := s.Watch(events)
		run := ended("s")
		appendTo(t, log, "t", run[:1])
		time.Sleep(time.Hour)
		wantSealed(t, log, "t", 0, 0)
		appendTo(t, log, "t", run[1:])
		appendTo(t, log, "t", []store.Entry{{Stream: "s", Kind: store.End, Data: []byte("eof")}})
		for n := range 5 {
			appendTo(t, log, "t", ended(fmt.Sprint("s", n)))
		}
		if threads, behind := s.Behind(); threads != 1 || behind != 0 {
			t.Errorf("%d threads wait for %v", threads, behind)
		}
		time.Sleep(time.Second)
		wantSealed(t, log, "t", 13, 1)
		appendTo(t, log, "t", []store.Entry{{Stream: "s0", Kind: store.End, Data: []byte("eof")}})
		time.Sleep(time.Second)
		wantSealed(t, log, "t", 14, 2)
		if threads, behind := s.Behind(); threads != 0 || behind != 0 {
			t.Errorf("%d threads wait for %v", threads, behind)
		}
		appendTo(t, log, "t", []store.Entry{{Stream: "other", Kind: store.Event, Data: []byte(`{"type":"CUSTOM","name":"RUN_FINISHED"}`)}})
		time.Sleep(time.Hour)
		wantSealed(t, log, "t", 14, 2)
		appendTo(t, log, "u", ended("s")) // is sealed at the end
		s.Finish(t.Context())
		wantSealed(t, log, "u", 2, 1)
		if o.of("sealed") != 3 || o.of("failed") != 0 || o.said("not sealed") != 0 {
			t.Errorf("%v\n%s", o.counts, &o.text)
		}
	})
}

// A failure is logged once with its reason, and tried again after a minute at most, and when
// the next run of the thread ends.
func TestSealerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, s, o := newSealer(t, memory.New())
		s.Start()
		log := s.Watch(events)
		events.fails.Store(true)
		appendTo(t, log, "t", ended("s"))
		time.Sleep(time.Hour)
		if n := events.calls.Load(); n < 60 || n > 70 || o.of("failed") != int(n) {
			t.Errorf("%d tries in an hour; %v", n, o.counts)
		}
		if _, behind := s.Behind(); behind < time.Hour {
			t.Errorf("behind by %v", behind)
		}
		if o.said("thread not sealed") != 1 || o.said("no space left on the device") != 1 {
			t.Errorf("the log has\n%s", &o.text)
		}
		before := events.calls.Load()
		appendTo(t, log, "t", ended("s2"))
		time.Sleep(time.Second)
		if events.calls.Load() != before+1 {
			t.Error("the end of a run is not a reason to try again")
		}
		events.fails.Store(false)
		time.Sleep(time.Minute + time.Second)
		wantSealed(t, log, "t", 4, 1)
		events.fails.Store(true)
		appendTo(t, log, "t", ended("s3"))
		s.Finish(t.Context()) // which tries once more
		if o.said("the next start seals them") != 1 {
			t.Errorf("the log has\n%s", &o.text)
		}
	})
}

// A thread whose entries are not those that were sealed is not sealed any more.
func TestSealerRewritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, s, o := newSealer(t, memory.New())
		s.Start()
		log := s.Watch(events)
		appendTo(t, log, "t", ended("s"))
		appendTo(t, log, "u", ended("s"))
		time.Sleep(time.Second)
		events.replaced.Store(true)
		for n := range 3 {
			appendTo(t, log, "t", ended(fmt.Sprint("s", n)))
			time.Sleep(time.Hour)
		}
		events.replaced.Store(false)
		appendTo(t, log, "t", ended("s4"))
		appendTo(t, log, "u", ended("s4"))
		s.Finish(t.Context())
		wantSealed(t, log, "t", 2, 1)
		wantSealed(t, log, "u", 4, 2)
		if o.of("rewritten") != 1 || o.of("failed") != 0 || o.said("THE THREAD WAS REWRITTEN") != 1 || o.said("code="+string(finding.ThreadRewritten)) != 1 {
			t.Errorf("%v\n%s", o.counts, &o.text)
		}
	})
}

// At the start, threads are sealed that were changed lately, of one tenant if it is named.
func TestSealerStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		appendTo(t, log, "old", ended("s"))
		time.Sleep(sealedLately + time.Second)
		for n := range 300 {
			appendTo(t, log, fmt.Sprint(n), ended("s"))
		}
		if _, err := log.Append(t.Context(), store.Key{Tenant: "other", Thread: "t"}, 0, ended("s")); err != nil {
			t.Fatal(err)
		}
		_, s, _ := newSealer(t, log)
		s.Tenant = new("")
		s.Start()
		time.Sleep(time.Minute)
		stat, err := log.Stat(t.Context())
		if err != nil || stat.Seals != 300 {
			t.Errorf("%d seals, want %d; %v", stat.Seals, 300, err)
		}
		s.Finish(t.Context())
	})
}

// The memory for threads that wait is bounded. Those that have no room are found later, also if
// the log fails meanwhile, and others can never be sealed.
func TestSealerFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const threads = 3 * maxWaiting
		events, s, o := newSealer(t, memory.New())
		log := s.Watch(events)
		s.Start()
		events.fails.Store(true)
		for n := range threads {
			appendTo(t, log, fmt.Sprint(n), ended("s"))
			if n%100 == 0 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(10 * time.Minute)
		if n, behind := s.Behind(); n > maxWaiting+1 || n < maxWaiting || behind < 10*time.Minute {
			t.Errorf("%d threads wait for %v", n, behind)
		}
		events.fails.Store(false)
		time.Sleep(10 * time.Minute)
		stat, err := log.Stat(t.Context())
		if n, _ := s.Behind(); err != nil || stat.Seals != threads || n != 0 {
			t.Errorf("%d seals, want %d, and %d threads wait; %v", stat.Seals, threads, n, err)
		}
		s.Finish(t.Context())
		if strings.Contains(o.text.String(), "the next start") {
			t.Error("something is left")
		}
	})
}

// What waits is sealed at the end, also what had no room, unless there is no time.
func TestSealerFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const threads = 2*maxWaiting + 10
		events, s, _ := newSealer(t, memory.New())
		log := s.Watch(events)
		for n := range threads {
			appendTo(t, log, fmt.Sprint(n), ended("s"))
		}
		s.Start()
		s.Finish(t.Context())
		if stat, err := log.Stat(t.Context()); err != nil || stat.Seals != threads {
			t.Errorf("%d seals, want %d; %v", stat.Seals, threads, err)
		}

		hanging, s, o := newSealer(t, hangs{memory.New()})
		appendTo(t, s.Watch(hanging), "t", ended("s"))
		s.Start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		s.Finish(ctx)
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute || o.said("the next start seals them") != 1 {
			t.Errorf("it took %v\n%s", took, &o.text)
		}
	})
}

// hangs is a log whose seals hang until their time is over.
type hangs struct{ store.Log }

func (hangs) Seal(ctx context.Context, _ store.Key, _ store.Seal, _ store.Blocks) error {
	<-ctx.Done()
	return ctx.Err()
}
