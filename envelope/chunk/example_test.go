package chunk_test

import (
	"fmt"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
)

func Example() {
	var x chunk.Expander
	for _, data := range []string{
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"Hel"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","delta":"lo"}`,
		`{"type":"TOOL_CALL_CHUNK","delta":"{}"}`,
		`{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`,
	} {
		e, err := envelope.ReadEvent([]byte(data))
		if err != nil {
			fmt.Println(err)
			return
		}
		fault := x.Expand(e, func(e *envelope.Event) { fmt.Printf("%s\n", e.Data) })
		if fault != nil {
			fmt.Println("ignored:", fault)
		}
	}
	// Output:
	// {"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}
	// {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"}
	// {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"lo"}
	// {"type":"TEXT_MESSAGE_END","messageId":"m1"}
	// ignored: the first TOOL_CALL_CHUNK of a tool call must have a toolCallId
	// {"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}
}
