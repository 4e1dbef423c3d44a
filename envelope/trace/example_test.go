package trace_test

import (
	"fmt"
	"log"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/trace"
)

func Example() {
	stream := []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"4974e042","role":"assistant","timestamp":1769860800000}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"4974e042","delta":"Hel"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"4974e042","delta":"lo"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"4974e042"}`,
	}
	events := func(each func(*envelope.Event)) {
		for _, text := range stream {
			e, err := envelope.ReadEvent([]byte(text))
			if err != nil {
				log.Fatal(err)
			}
			each(e)
		}
	}
	var ids trace.IDs
	events(ids.Event)
	n := trace.New(trace.Options{}, &ids, func(l *trace.Line) error {
		fmt.Printf("%s\n", l.Text)
		return nil
	})
	events(func(e *envelope.Event) {
		if err := n.Event(e); err != nil {
			log.Fatal(err)
		}
	})
	if err := n.End(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"type":"TEXT_MESSAGE_START","messageId":"message-1","role":"assistant"}
	// {"type":"TEXT_MESSAGE_CONTENT","delta":"Hello","messageId":"message-1"}
	// {"type":"TEXT_MESSAGE_END","messageId":"message-1"}
}
