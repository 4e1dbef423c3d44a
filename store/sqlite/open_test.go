package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store"
)

func openTest(t *testing.T, path string) store.Log {
	t.Helper()
	log, err := Open(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// runEvents returns the entries of a stream with one run of n events.
func runEvents(stream string, n int) []store.Entry {
	now := time.UnixMicro(time.Now().UnixMicro()).UTC()
	entries := []store.Entry{{Stream: stream, Kind: store.Input, Data: []byte(`{"threadId":"t"}`), Arrived: now}}
	for i := range n {
		data := fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%d"}`, i)
		switch i {
		case 0:
			data = `{"type":"RUN_STARTED","threadId":"t","runId":"r-` + stream + `"}`
		case n - 1:
			data = `{"type":"RUN_FINISHED","threadId":"t","runId":"r-` + stream + `"}`
		}
		entries = append(entries, store.Entry{Stream: stream, Kind: store.Event, Data: []byte(data), Arrived: now})
	}
	return append(entries, store.Entry{Stream: stream, Kind: store.End, Data: []byte(`complete`)})
}

// readAll reads a thread.
func readAll(t *testing.T, log store.Log, key store.Key) []store.Entry {
	t.Helper()
	var all []store.Entry
	for e, err := range log.Read(t.Context(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		c := *e
		c.Data = append([]byte{}, e.Data...)
		all = append(all, c)
	}
	return all
}

func TestSQLiteThread(t *testing.T) {
	log := openTest(t, filepath.Join(t.TempDir(), "log"))
	key := store.Key{Thread: "t"}
	last := int64(0)
	var want []store.Entry
	for i := range 5 {
		entries := runEvents(fmt.Sprint("s", i), 400)
		next, err := log.Append(t.Context(), key, last, entries)
		if err != nil {
			t.Fatal(err)
		}
		last = next
		want = append(want, entries...)
	}
	got := readAll(t, log, key)
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
	for i := range got {
		g := store.Entry{Stream: got[i].Stream, Kind: got[i].Kind, Data: got[i].Data, Arrived: got[i].Arrived}
		if diff := cmp.Diff(want[i], g); diff != "" {
			t.Fatal(diff)
		}
	}
	packed, err := log.Pack(t.Context(), key)
	if err != nil || packed.Entries != last {
		t.Fatal(packed, err)
	}
	if diff := cmp.Diff(got, readAll(t, log, key)); diff != "" {
		t.Fatal(diff)
	}
	runs := 0
	for r, err := range log.Runs(t.Context(), store.RunQuery{}) {
		if runs++; err != nil || r.End != store.Finished || r.Entries != 400 {
			t.Error(r, err)
		}
	}
	if runs != 5 {
		t.Errorf("%d runs", runs)
	}
	if _, err := log.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), key, 0, want); !errors.Is(err, store.ErrDeleted) {
		t.Error(err)
	}
}
