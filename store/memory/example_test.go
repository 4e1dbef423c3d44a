package memory_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// A log finds the runs of a thread, and refuses to append anywhere but at its end.
func Example() {
	ctx, events, key := context.Background(), memory.New(), store.Key{Thread: "thread-1"}
	defer events.Close()

	entries := []store.Entry{
		{Stream: "s", Kind: store.Input, Data: []byte(`{"threadId":"thread-1","runId":"run-1","messages":[]}`)},
		{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1"}`)},
		{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"RUN_FINISHED","threadId":"thread-1","runId":"run-1"}`)},
	}
	if _, err := events.Append(ctx, key, 0, entries); err != nil {
		log.Fatal(err)
	}
	_, err := events.Append(ctx, key, 2, entries)
	fmt.Println(err, errors.Is(err, store.ErrConflict))

	for e, err := range events.Read(ctx, key, 1) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Position, e.Run, e.Type)
	}
	for r, err := range events.Runs(ctx, store.RunQuery{Thread: &key.Thread}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.ID, r.Input, r.Start, r.Last, r.End)
	}
	// Output:
	// thread "thread-1": append after position 2: the last position is 3 true
	// 2 2 RUN_STARTED
	// 3 2 RUN_FINISHED
	// run-1 1 2 3 finished
}
