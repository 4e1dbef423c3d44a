package runs

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/transfer"
)

// A goingOn is a log to which the run appends another event whenever something is looked up.
type goingOn struct {
	*memory.Log
	key     store.Key
	stream  string
	most    int // the lookups after which it fails
	lookups int
}

func (l *goingOn) append(ctx context.Context, data string) error {
	if l.lookups++; l.lookups > l.most {
		return errors.New("too many lookups")
	}
	t, err := l.Log.Thread(ctx, l.key)
	if err == nil {
		_, err = l.Log.Append(ctx, l.key, t.Last, []store.Entry{{Stream: l.stream, Kind: store.Event, Data: []byte(data)}})
	}
	return err
}

func (l *goingOn) Runs(ctx context.Context, q store.RunQuery) iter.Seq2[store.Run, error] {
	if err := l.append(ctx, `{"type":"TEXT_MESSAGE_START","messageId":"m`+string(rune('0'+l.lookups%10))+`"}`); err != nil {
		return func(yield func(store.Run, error) bool) { yield(store.Run{}, err) }
	}
	return l.Log.Runs(ctx, q)
}

func (l *goingOn) Thread(ctx context.Context, k store.Key) (store.Thread, error) {
	t, err := l.Log.Thread(ctx, k)
	return t, errors.Join(err, l.append(ctx, `{"type":"CUSTOM","name":"n","value":1}`))
}

// A run that goes on while others look it up is ended without another look: only what was
// appended since is read.
func TestFinishGoingOn(t *testing.T) {
	t.Parallel()
	log := &goingOn{Log: memory.New(), key: store.Key{Thread: "t"}, stream: streamID("r", 1, "a"), most: 20}
	defer log.Close()
	if _, err := log.Log.Append(t.Context(), log.key, 0, []store.Entry{
		{Stream: log.stream, Kind: store.Input, Data: []byte(`{}`)},
		{Stream: log.stream, Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)},
	}); err != nil {
		t.Fatal(err)
	}
	if ended, closed, err := finish(t.Context(), log, log.key, log.stream, cancelled, true, "cancelled"); !ended || !closed || err != nil {
		t.Fatalf("%t, %t, %v", ended, closed, err)
	}
	var got []string
	for e, err := range log.Read(t.Context(), log.key, 2) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Kind)+" "+e.Type)
	}
	if want := []string{"event CUSTOM", "event TEXT_MESSAGE_START", "closing TEXT_MESSAGE_END", "closing RUN_FINISHED", "end "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A slowLog is a log that takes long to append.
type slowLog struct {
	*memory.Log
	append time.Duration
	last   time.Time     // when an append returned
	pause  time.Duration // the longest between two appends
}

func (l *slowLog) Append(ctx context.Context, k store.Key, after int64, entries []store.Entry) (int64, error) {
	if !l.last.IsZero() {
		l.pause = max(l.pause, time.Since(l.last))
	}
	time.Sleep(l.append)
	defer func() { l.last = time.Now() }()
	return l.Log.Append(ctx, k, after, entries)
}

// unobserved observes nothing of a writer.
type unobserved struct{ Observer }

func (unobserved) Appended(int, time.Duration) {}
func (unobserved) AppendFailed(error)          {}

// Between the appends of a run that never pauses, there are pauses in which others can append,
// whether or not its events are ever flushed. A slow log gets longer ones.
func TestWriterRests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		append, want time.Duration
		flush        bool
	}{
		{time.Millisecond, 20 * time.Millisecond, false},
		{time.Millisecond, 20 * time.Millisecond, true},
		{100 * time.Millisecond, 400 * time.Millisecond, false},
		{100 * time.Millisecond, 400 * time.Millisecond, true},
		{10 * time.Second, 5 * time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &slowLog{Log: memory.New(), append: test.append}
			defer log.Close()
			runs := &Runs{log: log, ctx: t.Context(), settings: Settings{Observer: unobserved{}, Limits: Limits{StoreTimeout: time.Minute}}}
			w := newWriter(runs, slog.New(slog.DiscardHandler), transfer.StreamSettings{ID: "s", Thread: "t", Pinned: true})
			events := 0
			for began := time.Now(); time.Since(began) < 3*max(restAfter, restEvery*test.want); events++ {
				time.Sleep(test.append / 200)
				err := w.event([]byte(`{"type":"CUSTOM","name":"n","value":1}`), time.Now())
				if err == nil && test.flush {
					err = w.flush()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if log.pause < test.want*9/10 || log.pause > test.want+600*time.Millisecond {
				t.Errorf("%v for an append, flush %t, %d events: the longest pause is %v, want %v", test.append, test.flush, events, log.pause, test.want)
			}
		})
	}
}
