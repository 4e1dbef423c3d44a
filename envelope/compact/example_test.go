package compact_test

import (
	"fmt"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/compact"
)

// The example of the Stream Compaction page.
func Example() {
	c := compact.New(compact.Options{Mode: compact.ModeStream}, func(data []byte) error {
		fmt.Println(string(data))
		return nil
	})
	for _, text := range []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hello"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":" "}`,
		`{"type":"CUSTOM","name":"thinking"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"world"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
	} {
		e, err := envelope.ReadEvent([]byte(text))
		if err == nil {
			err = c.Event(e)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := c.End(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}
	// {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hello world"}
	// {"type":"TEXT_MESSAGE_END","messageId":"m1"}
	// {"type":"CUSTOM","name":"thinking"}
}
