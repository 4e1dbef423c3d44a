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

func ExampleCompare() {
	golden := []string{
		`{"type":"TOOL_CALL_START","toolCallId":"call-1","toolCallName":"weather"}`,
		`{"type":"TOOL_CALL_RESULT","content":"rain","messageId":"message-1","toolCallId":"call-1"}`,
		`{"type":"TOOL_CALL_RESULT","content":"4","messageId":"message-2","toolCallId":"call-2"}`,
	}
	now := []string{
		`{"type":"TOOL_CALL_START","toolCallId":"call-1","toolCallName":"forecast"}`,
		`{"type":"TOOL_CALL_RESULT","content":"4","messageId":"message-1","toolCallId":"call-2"}`,
	}
	source := func(lines []string) trace.Source {
		return func() (*trace.Line, error) {
			if len(lines) == 0 {
				return nil, nil
			}
			text := lines[0]
			lines = lines[1:]
			return trace.ReadLine([]byte(text), envelope.Ref{})
		}
	}
	err := trace.Compare(source(golden), source(now), trace.Comparison{}, func(d *trace.Difference) error {
		switch d.Kind {
		case trace.Changed:
			for _, c := range d.Changes {
				fmt.Printf("%s %s: %s is now %s\n", d.A.Type, c.Pointer, c.A, c.B)
			}
		case trace.Missing:
			fmt.Printf("%s is missing\n", d.A.Text)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// TOOL_CALL_START /toolCallName: "weather" is now "forecast"
	// {"type":"TOOL_CALL_RESULT","content":"rain","messageId":"message-1","toolCallId":"call-1"} is missing
}
