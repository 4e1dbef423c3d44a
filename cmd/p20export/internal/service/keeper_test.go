package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
	"github.com/p20export/p20export/store/transfer"
)

// telling is a log that tells when something was kept, or fails to keep it.
type telling struct {
	store.Log
	kept chan store.Key
	err  error
}

func (l telling) Keep(ctx context.Context, key store.Key, kind string, list []store.Derived) error {
	err := l.err
	if err == nil {
		err = l.Log.Keep(ctx, key, kind, list)
	}
	select {
	case l.kept <- key:
	case <-ctx.Done():
	}
	return err
}

// fillLong appends a run that is long enough for checkpoints.
func fillLong(t *testing.T, log store.Log, thread string) store.Key {
	t.Helper()
	key := store.Key{Thread: thread}
	entries := []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)}}
	for i := range 10_000 {
		entries = append(entries, store.Entry{Stream: "s", Kind: store.Event, Data: fmt.Appendf(nil, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/n","value":%d}]}`, i)})
	}
	last := int64(0)
	for len(entries) > 0 {
		n := min(1000, len(entries))
		var err error
		if last, err = log.Append(t.Context(), key, last, entries[:n]); err != nil {
			t.Fatal(err)
		}
		entries = entries[n:]
	}
	return key
}

func readEnd(t *testing.T, log store.Log, key store.Key, o restore.Options) {
	t.Helper()
	th, err := restore.Open(t.Context(), log, key, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := th.At(t.Context(), th.Last); err != nil {
		t.Fatal(err)
	}
}

// TestKeeper keeps checkpoints of a run that was read. The next reader then needs no more.
func TestKeeper(t *testing.T) {
	t.Parallel()
	log := telling{memory.New(), make(chan store.Key), nil}
	k := NewKeeper(log, slog.New(slog.DiscardHandler))
	key := fillLong(t, log, "long")
	readEnd(t, log, key, restore.Options{Behind: k.Add})
	readEnd(t, log, key, restore.Options{Behind: k.Add})
	if n := len(k.queue); n != 1 {
		t.Fatalf("%d runs wait", n)
	}
	before := exported(t, log, key)
	k.Start()
	defer k.Close()
	for range 2 { // the messages, and the rest
		if got := <-log.kept; got != key {
			t.Fatalf("checkpoints of %v were kept", got)
		}
	}
	readEnd(t, log, key, restore.Options{Behind: func(store.Key, restore.Options, int64) { t.Error("there are no checkpoints") }})
	if after := exported(t, log, key); !bytes.Equal(before, after) {
		t.Error("the checkpoints have changed what is exported of the thread")
	}
}

func exported(t *testing.T, log store.Log, key store.Key) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := transfer.WriteThread(t.Context(), log, key, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestKeeperFails cannot keep checkpoints. It does not try again for each reader, and says so once.
func TestKeeperFails(t *testing.T) {
	t.Parallel()
	log := telling{memory.New(), make(chan store.Key), errors.New("read only")}
	var out bytes.Buffer
	k := NewKeeper(log, slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	key := fillLong(t, log, "long")
	readEnd(t, log, key, restore.Options{Behind: k.Add})
	readEnd(t, log, key, restore.Options{Input: restore.Full, Behind: k.Add})
	k.Start()
	for range 2 {
		<-log.kept
	}
	k.Close()
	if text := out.String(); strings.Count(text, "\n") > 1 || !strings.Contains(text, "level=DEBUG") {
		t.Errorf("the log has:\n%s", text)
	}
	readEnd(t, log, key, restore.Options{Input: restore.Normalized, Behind: k.Add})
	if n := len(k.queue); n != 0 {
		t.Errorf("%d runs wait after a failure", n)
	}
}
