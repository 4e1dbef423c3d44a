package event_test

import (
	"fmt"

	"github.com/p20export/p20export/envelope/event"
)

func ExampleDecode() {
	for _, text := range []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m1"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hello"}`,
		`{"type":"COFFEE_BREAK","minutes":5}`,
		`{"type":"TEXT_MESSAGE_END","messageId":null}`,
	} {
		e, err := event.Decode([]byte(text))
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		switch e := e.(type) {
		case *event.TextMessageStart:
			fmt.Println(e.MessageID, "by", e.Role.Or(event.RoleAssistant))
		case *event.TextMessageContent:
			fmt.Println(e.MessageID, e.Delta)
		case *event.Unknown:
			minutes, _ := e.Extra.Get("minutes")
			fmt.Println(e.Type(), minutes)
		}
	}
	// Output:
	// m1 by assistant
	// m1 Hello
	// COFFEE_BREAK 5
	// error: TEXT_MESSAGE_END: /messageId is null where a string belongs at byte 39
}

func ExampleTolerant() {
	text := `{"type":"STATE_DELTA","patch":{"op":"add","path":"/foo","value":1},"rawEvent":null}`
	var tolerated []event.Fault
	e, err := event.Decode([]byte(text), event.Tolerant(&tolerated))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range tolerated {
		fmt.Println(f.Tolerance, f.Pointer)
	}
	fmt.Printf("%s\n", event.Append(nil, e))
	// Output:
	// null_optional /rawEvent
	// draft_name /patch
	// single_operation /patch
	// {"type":"STATE_DELTA","delta":[{"op":"add","path":"/foo","value":1}]}
}

func ExampleAppend() {
	fmt.Printf("%s\n", event.Append(nil, &event.ToolCallResult{
		Base:       event.Base{Timestamp: event.Some[int64](1716400000123)},
		MessageID:  "m2",
		ToolCallID: "c1",
		Content:    event.Content{Text: "22 °C"},
	}))
	fmt.Printf("%s\n", event.Append(nil, &event.MessagesSnapshot{Messages: []event.Message{
		&event.UserMessage{
			MessageBase: event.MessageBase{ID: "m1"},
			Content: event.Content{Parts: []event.Part{
				&event.TextPart{Text: "What is this?"},
				&event.MediaPart{Type: event.MediaImage, Source: event.Source{Type: event.SourceURL, Value: "https://example.com/a.png"}},
			}},
		},
	}}))
	// Output:
	// {"type":"TOOL_CALL_RESULT","timestamp":1716400000123,"messageId":"m2","toolCallId":"c1","content":"22 °C"}
	// {"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"m1","content":[{"type":"text","text":"What is this?"},{"type":"image","source":{"type":"url","value":"https://example.com/a.png"}}]}]}
}

// An approval is asked for in the outcome of one run, and given in the request of the next.
func ExampleReadPayload() {
	text := `{"type":"RUN_FINISHED","threadId":"t","runId":"r1","outcome":"interrupt",
		"interrupt":{"id":"call_1","payload":{"functionName":"delete_file","functionArguments":{"path":"/tmp/a"}}}}`
	e, err := event.Decode([]byte(text), event.Tolerant(nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	interrupt := e.(*event.RunFinished).Outcome.Interrupts[0]
	payload, _ := interrupt.Metadata.Get("payload")
	if p, ok := event.ReadPayload(payload); ok {
		request := p.(*event.ApprovalRequest)
		fmt.Println(interrupt.Reason, request.FunctionName, request.FunctionArguments)
	}

	in := &event.RunAgentInput{ThreadID: "t", RunID: "r2", Resume: []event.ResumeEntry{{
		InterruptID: interrupt.ID,
		Status:      event.StatusResolved,
		Payload:     event.AppendPayload(nil, &event.ApprovalAnswer{Approved: true}),
	}}}
	fmt.Printf("%s\n", event.AppendRunInput(nil, in))
	// Output:
	// function_approval delete_file {"path":"/tmp/a"}
	// {"threadId":"t","runId":"r2","messages":[],"resume":[{"interruptId":"call_1","status":"resolved","payload":{"approved":true}}]}
}

func ExampleUpgrader() {
	var u event.Upgrader
	for _, text := range []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"THINKING_TEXT_MESSAGE_START"}`,
		`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"Hm"}`,
		`{"type":"THINKING_TEXT_MESSAGE_END"}`,
	} {
		e, err := event.Decode([]byte(text), event.Tolerant(nil))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", event.Append(nil, u.Upgrade(e)))
	}
	// Output:
	// {"type":"RUN_STARTED","threadId":"t","runId":"r"}
	// {"type":"REASONING_MESSAGE_START","messageId":"thinking-1-1","role":"reasoning"}
	// {"type":"REASONING_MESSAGE_CONTENT","messageId":"thinking-1-1","delta":"Hm"}
	// {"type":"REASONING_MESSAGE_END","messageId":"thinking-1-1"}
}
