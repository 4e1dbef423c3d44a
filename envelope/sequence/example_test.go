package sequence_test

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/sequence"
)

func ExampleChecker() {
	stream := `{"type":"RUN_STARTED","threadId":"t","runId":"r"}
{"type":"TEXT_MESSAGE_START","messageId":"m1"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"Hello"}
{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	checker := sequence.New(sequence.Options{Protocol: event.V1})
	for line := range strings.Lines(stream) {
		e, err := envelope.ReadEvent([]byte(strings.TrimSpace(line)))
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, f := range checker.Event(e) {
			fmt.Printf("%s: %s\n", f.Rule, f.Message)
		}
	}
	// Output:
	// G10: TEXT_MESSAGE_CONTENT names text message "m2", which is not open; TEXT_MESSAGE_START opens it
	// G23: RUN_FINISHED leaves 1 text message open: "m1"
}
