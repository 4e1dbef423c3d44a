package restore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

func ExampleOpen() {
	ctx := context.Background()
	events, key := memory.New(), store.Key{Thread: "t"}
	for i, text := range []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r1"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"Hello"}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r1"}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2","role":"assistant","delta":"Oslo"}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r2"}`,
	} {
		if _, err := events.Append(ctx, key, int64(i), []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte(text)}}); err != nil {
			log.Fatal(err)
		}
	}
	thread, err := restore.Open(ctx, events, key, restore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range thread.Graph.Nodes {
		r, err := thread.Run(ctx, n)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", n.ID, r.Messages)
	}
	// Go back to the first run, and continue from there.
	first, err := thread.Run(ctx, thread.Graph.Nodes[0])
	if err != nil {
		log.Fatal(err)
	}
	input, err := thread.Fork(first, "r3", lineage.Normalized)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", event.AppendRunInput(nil, input))
	// Output:
	// r1: [{"id":"m1","role":"assistant","content":"Hello"}]
	// r2: [{"id":"m1","role":"assistant","content":"Hello"},{"id":"m2","role":"assistant","content":"Oslo"}]
	// {"threadId":"t","runId":"r3","parentRunId":"r1","messages":[]}
}

func ExampleThread_Live() {
	ctx := context.Background()
	events, key := memory.New(), store.Key{Thread: "t"}
	var list []store.Entry
	for _, text := range []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r1"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"}`,
	} {
		list = append(list, store.Entry{Stream: "s", Kind: store.Event, Data: []byte(text)})
	}
	if _, err := events.Append(ctx, key, 0, list); err != nil {
		log.Fatal(err)
	}
	thread, err := restore.Open(ctx, events, key, restore.Options{Dialect: reduce.Client})
	if err != nil {
		log.Fatal(err)
	}
	live, err := thread.Live(ctx, thread.Graph.Nodes[0])
	if err != nil {
		log.Fatal(err)
	}
	prelude, err := live.Prelude()
	if err != nil {
		log.Fatal(err)
	}
	for _, event := range prelude {
		fmt.Printf("%s\n", event)
	}
	// The client then gets the entries after live.Position.
	// Output:
	// {"type":"RUN_STARTED","threadId":"t","runId":"r1"}
	// {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"assistant","content":"Hel"}]}
	// {"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}
}
