//go:build spec

package witness_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// templates are events that together have every field of the schema.
var templates = strings.Split(strings.TrimSpace(`
{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user","name":"n","subagentRunId":"a","timestamp":1,"rawEvent":{},"metadata":{"k":null}}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}
{"type":"TEXT_MESSAGE_END","messageId":"m"}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"system","delta":"","name":"n"}
{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"n","parentMessageId":"m"}
{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":""}
{"type":"TOOL_CALL_END","toolCallId":"c"}
{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"n","parentMessageId":"m","delta":""}
{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"","role":"tool"}
{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"text","text":"t","id":"i","metadata":1}]}
{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"image","id":"i","source":{"type":"data","value":"","mimeType":"t"},"metadata":{}}]}
{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"audio","source":{"type":"url","value":"u","mimeType":"t"}}]}
{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"video","source":{"type":"file","value":"f","provider":"p","mimeType":"t"}}]}
{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"document","id":"i","source":{"type":"file","value":"f"},"metadata":[]}]}
{"type":"STATE_SNAPSHOT","snapshot":null}
{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":null},{"op":"remove","path":"","value":1}]}
{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a~1b","value":1},{"op":"test","path":"/~0","value":1}]}
{"type":"ACTIVITY_DELTA","messageId":"m","activityType":"t","patch":[{"op":"move","from":"/a","path":"/b"},{"op":"copy","from":"","path":"/b"}]}
{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"t","content":{"k":null},"replace":false}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"developer","content":"","name":"n","encryptedValue":"v","metadata":{}}]}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"system","content":"","subagentRunId":"a"}]}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","content":"","encryptedValue":"v","toolCalls":[{"id":"c","type":"function","function":{"name":"n","arguments":""},"encryptedValue":"v","metadata":{}}]}]}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":[{"type":"text","text":""}],"name":"n"}]}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"tool","content":"","toolCallId":"c","error":"e","encryptedValue":"v","metadata":{}}]}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"activity","activityType":"t","content":{},"metadata":{},"subagentRunId":"a"}]}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"reasoning","content":"","encryptedValue":"v","metadata":{}}]}
{"type":"RAW","event":null,"source":"s"}
{"type":"CUSTOM","name":"n","value":null}
{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.1","parentRunId":"p"}
{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","protocolVersion":"1.1","parentRunId":"p","state":{},"messages":[],"forwardedProps":{}}}
{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":""}],"context":[{"description":"d","value":"v"}]}}
{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"n","description":"d","parameters":{},"metadata":{}}]}}
{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"resolved","payload":1,"metadata":{}}]}}
{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":0,"outcome":{"type":"success","pendingToolCallIds":["c"]}}
{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"},"usage":[{"provider":"p","model":"m","inputTokens":9007199254740991,"outputTokens":0,"totalTokens":1,"reasoningTokens":0,"cachedInputTokens":1.0,"cacheWriteInputTokens":0}]}
{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r","message":"m","toolCallId":"c","responseSchema":{},"expiresAt":"e","metadata":{},"subagentRunId":"a"}]}}
{"type":"RUN_ERROR","message":"m","code":"c","usage":[{"inputTokens":0,"outputTokens":5}]}
{"type":"STEP_STARTED","stepName":"s"}
{"type":"STEP_FINISHED","stepName":"s","subagentRunId":"a"}
{"type":"REASONING_START","messageId":"m"}
{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}
{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":""}
{"type":"REASONING_MESSAGE_END","messageId":"m"}
{"type":"REASONING_MESSAGE_CHUNK","messageId":"m","delta":""}
{"type":"REASONING_END","messageId":"m"}
{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"c","encryptedValue":"v"}
{"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"n","description":"d","parentSubagentRunId":"p","parentToolCallId":"c","parentMessageId":"m"}
{"type":"SUBAGENT_FINISHED","subagentRunId":"a","result":0,"outcome":{"type":"success"}}
{"type":"SUBAGENT_FINISHED","subagentRunId":"a","outcome":{"type":"suspended","interruptIds":["i"]}}
{"type":"SUBAGENT_ERROR","subagentRunId":"a","message":"m","code":"c"}
`), "\n")

// other returns a value in place of one: of the same kind, null, or one of odd.
func other(r *rand.Rand, value any) any {
	choice := r.IntN(6)
	if choice == 0 {
		return nil
	}
	if choice > 2 {
		return odd(r)
	}
	switch value.(type) {
	case string:
		return []any{"novel", "x", ""}[r.IntN(3)]
	case json.Number:
		return []any{json.Number("9007199254740992"), json.Number("9007199254740991"), json.Number("-1")}[r.IntN(3)]
	case []any:
		return []any{}
	case map[string]any:
		return []any{map[string]any{}, true}[r.IntN(2)]
	}
	return false
}

// blemished returns a template in which one value is another, is missing or is new.
func blemished(r *rand.Rand) string {
	text := named(r, templates[r.IntN(len(templates))])
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		panic(err) // a template is JSON
	}
	var changes []func()
	change := func(old any, set func(any)) { changes = append(changes, func() { set(other(r, old)) }) }
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			changes = append(changes, func() { v[names[r.IntN(len(names))]] = odd(r) })
			for _, key := range slices.Sorted(maps.Keys(v)) {
				item := v[key]
				change(item, func(o any) { v[key] = o })
				changes = append(changes, func() { delete(v, key) })
				walk(item)
			}
		case []any:
			for i, item := range v {
				change(item, func(o any) { v[i] = o })
				walk(item)
			}
		}
	}
	walk(value)
	changes[r.IntN(len(changes))]()
	out, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(out)
}
