package attach

import (
	"context"
	"testing"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// lateLog is a log on which a run begins while the first reader of a thread looks for one, and
// before the follower of the thread begins.
type lateLog struct {
	store.Log
	t      *testing.T
	looked int
	began  chan struct{}
}

// ofReader marks the context of the reader.
type ofReader struct{}

func (l *lateLog) Thread(ctx context.Context, key store.Key) (store.Thread, error) {
	if ctx.Value(ofReader{}) == nil {
		select {
		case <-l.began:
			return l.Log.Thread(ctx, key)
		case <-ctx.Done():
			return store.Thread{}, ctx.Err()
		}
	}
	if l.looked++; l.looked != 2 {
		return l.Log.Thread(ctx, key)
	}
	appendTo(l.t, l.Log, input("a"))
	thread, err := l.Log.Thread(ctx, key)
	appendTo(l.t, l.Log, events("a", started, begin)...)
	close(l.began)
	return thread, err
}

// A reader gets a run that began after it had looked for runs and before its follower had begun.
func TestConnectBeforeFollower(t *testing.T) {
	t.Parallel()
	log := &lateLog{Log: memory.New(), t: t, began: make(chan struct{})}
	h := New(log, Settings{})
	defer h.Close()
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), ofReader{}, true), time.Minute)
	defer cancel()
	for text, err := range h.Connect(ctx, key(), true) {
		if err != nil {
			t.Fatal(err)
		}
		if frames := parse(t, text); len(frames) != 3 || frames[0].Data != started {
			t.Errorf("the prelude is %q", text)
		}
		return
	}
}
