package restore_test

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/store"
)

// events returns the events of a run after RUN_STARTED.
func (t *thread) events(r *run) (list []step) {
	add := func(format string, args ...any) {
		list = append(list, step{kind: store.Event, data: fmt.Sprintf(format, args...)})
	}
	for range 1 + t.rand.IntN(3) {
		id := t.name("m")
		switch t.rand.IntN(12) {
		case 0, 1, 2:
			add(`{"type":"TEXT_MESSAGE_START","messageId":%q,"role":"assistant"}`, id)
			add(`{"type":"TEXT_MESSAGE_CONTENT","messageId":%q,"delta":"Answer %s \ud83d\ude00"}`, id, id)
			add(`{"type":"TEXT_MESSAGE_END","messageId":%q}`, id)
		case 3:
			add(`{"type":"TEXT_MESSAGE_CHUNK","messageId":%q,"role":"assistant","delta":"In "}`, id)
			add(`{"type":"TEXT_MESSAGE_CHUNK","delta":"pieces"}`)
		case 4:
			add(`{"type":"TOOL_CALL_START","toolCallId":"c-%s","toolCallName":"look"}`, id)
			add(`{"type":"TOOL_CALL_ARGS","toolCallId":"c-%s","delta":"{}"}`, id)
			add(`{"type":"TOOL_CALL_END","toolCallId":"c-%s"}`, id)
			if t.chance(0.6) {
				add(`{"type":"TOOL_CALL_RESULT","messageId":%q,"toolCallId":"c-%s","content":"found"}`, id, id)
			}
		case 5:
			add(`{"type":"TOOL_CALL_CHUNK","toolCallId":"c-%s","toolCallName":"look","delta":"{"}`, id)
			add(`{"type":"TOOL_CALL_CHUNK","delta":"}"}`)
		case 6:
			add(`{"type":"REASONING_MESSAGE_START","messageId":%q,"role":"reasoning"}`, id)
			add(`{"type":"REASONING_MESSAGE_CONTENT","messageId":%q,"delta":"Hm"}`, id)
			add(`{"type":"REASONING_MESSAGE_END","messageId":%q}`, id)
		case 7:
			add(`{"type":"ACTIVITY_SNAPSHOT","messageId":%q,"activityType":"PLAN","content":{"n":1}}`, id)
			add(`{"type":"ACTIVITY_DELTA","messageId":%q,"activityType":"PLAN","patch":[{"op":"replace","path":"/n","value":2}]}`, id)
		case 8:
			add(`{"type":"STATE_SNAPSHOT","snapshot":{"by":%q,"n":1}}`, id)
		case 9:
			add(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/%s","value":true}]}`, id)
			add(`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":%d}]}`, t.serial)
		case 10:
			list = append(list, step{kind: store.Event, make: func(r *run) string { return shortened(r, t.chance(0.5)) }})
		case 11:
			add(`{"type":"CUSTOM","name":"x","value":null}`)
			if t.broken {
				add(`{"type":"TEXT_MESSAGE_CONTENT"`)
			}
		}
	}
	switch t.rand.IntN(8) {
	case 0:
		add(`{"type":"RUN_FINISHED","threadId":"t","runId":%q,"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"ask"}]}}`, r.id)
	case 1:
		add(`{"type":"RUN_ERROR","message":"failed"}`)
	case 2:
		if t.broken {
			list = append(list, step{kind: store.Closing, data: `{"type":"RUN_ERROR","message":"The run has no owner"}`})
			break
		}
		fallthrough
	default:
		if !t.broken || t.chance(0.8) {
			add(`{"type":"RUN_FINISHED","threadId":"t","runId":%q}`, r.id)
		}
	}
	if t.chance(0.6) {
		list = append(list, step{kind: store.End, data: "eof"})
		r.closed = true
	}
	return list
}

// shortened returns a MESSAGES_SNAPSHOT with the messages that a client has, or without
// the first.
func shortened(r *run, short bool) string {
	list := strings.TrimPrefix(r.now().messages, "[")
	if _, rest, ok := strings.Cut(list, `},{"id"`); ok && short {
		list = `{"id"` + rest
	}
	return `{"type":"MESSAGES_SNAPSHOT","messages":[` + list + `}`
}
