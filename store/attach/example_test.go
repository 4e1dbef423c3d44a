package attach_test

import (
	"context"
	"fmt"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
	"github.com/p20export/p20export/store/memory"
)

func Example() {
	ctx := context.Background()
	log := memory.New()
	defer log.Close()
	key := store.Key{Thread: "thread-1"}
	_, err := log.Append(ctx, key, 0, []store.Entry{
		{Stream: "s1", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"thread-1","runId":"r1"}`)},
		{Stream: "s1", Kind: store.Event, Data: []byte(`{"type":"RUN_FINISHED","threadId":"thread-1","runId":"r1"}`)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	hub := attach.New(log, attach.Settings{})
	defer hub.Close()
	after, err := attach.ParseCursor("1") // the id of the last event that the client got
	if err != nil {
		fmt.Println(err)
		return
	}
	for text, err := range hub.Events(ctx, key, attach.EventOptions{After: after}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s", text)
	}
	// Output:
	// id: 2-e6d54bfe
	// data: {"type":"RUN_FINISHED","threadId":"thread-1","runId":"r1"}
}
