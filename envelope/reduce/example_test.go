package reduce_test

import (
	"fmt"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
)

// A Reducer has the messages and the state after each event.
func ExampleReducer() {
	r := reduce.New(reduce.Options{})
	for _, event := range []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hel"}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/done","value":true}]}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"lo"}`,
		`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/missing"}]}`,
	} {
		e, err := envelope.ReadEvent([]byte(event))
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, f := range r.Event(e) {
			fmt.Println(f)
		}
	}
	fmt.Println(string(r.AppendMessages(nil)))
	fmt.Println(string(r.AppendState(nil)))
	// Output:
	// patch_failed: STATE_DELTA is ignored: operation 0 ("remove" "/missing"): there is no member "missing"
	// [{"id":"m","role":"assistant","content":"Hello"}]
	// {"done":true}
}
