package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// A program opens a log, appends a run to a thread after what the thread already has, and
// reads the thread.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	events, err := sqlite.Open(ctx, filepath.Join(dir, "events.db"), true)
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()

	key, now := store.Key{Thread: "thread-1"}, time.Now()
	run := []store.Entry{
		{Stream: "exchange-1", Kind: store.Input, Arrived: now, Data: []byte(`{"threadId":"thread-1","runId":"run-1","messages":[]}`)},
		{Stream: "exchange-1", Kind: store.Event, Arrived: now, Data: []byte(`{"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1"}`)},
		{Stream: "exchange-1", Kind: store.Event, Arrived: now, Data: []byte(`{"type":"RUN_FINISHED","threadId":"thread-1","runId":"run-1"}`)},
		{Stream: "exchange-1", Kind: store.End, Arrived: now, Data: []byte("eof")},
	}
	for {
		thread, err := events.Thread(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNoThread) {
			log.Fatal(err)
		}
		last, err := events.Append(ctx, key, thread.Last, run) // Last is 0 for a new thread
		if errors.Is(err, store.ErrConflict) {
			continue // another writer was faster
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("appended up to position", last)
		break
	}

	for e, err := range events.Read(ctx, key, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s %s\n", e.Position, e.Kind, e.Data)
	}
	// Output:
	// appended up to position 4
	// 1 input {"threadId":"thread-1","runId":"run-1","messages":[]}
	// 2 event {"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1"}
	// 3 event {"type":"RUN_FINISHED","threadId":"thread-1","runId":"run-1"}
	// 4 end eof
}
