package vectors_test

import (
	"fmt"
	"strings"
)

// eventTypes and familyKeys list the names of section 6 of the contract.
var (
	eventTypes = strings.Fields(`RUN_STARTED RUN_FINISHED RUN_ERROR STEP_STARTED STEP_FINISHED
		TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TEXT_MESSAGE_CHUNK
		TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_CHUNK TOOL_CALL_RESULT
		STATE_SNAPSHOT STATE_DELTA MESSAGES_SNAPSHOT ACTIVITY_SNAPSHOT ACTIVITY_DELTA RAW CUSTOM
		REASONING_START REASONING_END REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT
		REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK REASONING_ENCRYPTED_VALUE
		SUBAGENT_STARTED SUBAGENT_FINISHED SUBAGENT_ERROR THINKING_START THINKING_END
		THINKING_TEXT_MESSAGE_START THINKING_TEXT_MESSAGE_CONTENT THINKING_TEXT_MESSAGE_END META`)
	familyKeys = strings.Fields(`event events rawEvent rawEvents state states snapshot delta deltas patch patches
		toolCall toolCalls toolCallId toolCallName parentMessageId toolCallResult activity activities activityType
		reasoning encryptedValue encryptedContent thinking step steps stepName subagent subagents subagentRunId`)
)

func (a *author) families() {
	top := func(name string) string { return insert(`"` + name + `": {}`) }
	inside := func(name string) string { return second("name", `"guide",`+"\n      \""+name+`": []`) }
	for _, name := range append(append([]string{}, eventTypes...), familyKeys...) {
		a.bad("A4", name, "the key "+name, top(name), "extra_event_family /"+name)
		a.bad("M7", name, "the key "+name+" in a message", inside(name), "extra_event_family /messages/1/"+name)
	}
	for _, c := range []struct{ name, key string }{
		{"snake", "tool_calls"}, {"kebab", "tool-calls"}, {"pascal", "ToolCalls"}, {"shouting", "TOOLCALLS"}, {"lower", "state_snapshot"}, {"camel", "stateSnapshot"},
		{"scattered", "_s-t_a-t_e_"}, {"longest", "state" + strings.Repeat("_", 59)},
	} {
		a.bad("A4", "spelled-"+c.name, "a family in another spelling", top(c.key), "extra_event_family /"+c.key)
	}
	a.bad("A4", "past-64-bytes", "a name of 65 bytes stands for no family", top("state"+strings.Repeat("_", 60)), "key_unknown /state"+strings.Repeat("_", 60))
	a.bad("A4", "escaped", "a family's name with an escape", top(`\u0073tate`), "extra_event_family /state")
	for _, c := range []struct{ name, key string }{
		{"kelvin", "thin\u212aing"}, {"long-s", "\u017ftate"}, {"dotless", "act\u0131v\u0131ty"}, {"full-width", "ｓｔａｔｅ"}, {"space", "state "}, {"dot", "tool.calls"}, {"prefix", "stat"}, {"longer", "statement"},
	} {
		a.bad("A4", "not-"+c.name, "a name that stands for no family", top(c.key), "key_unknown /"+c.key)
	}
	deep := func(name, about, input string, findings ...string) {
		a.bad("A4", "deep-"+name, about, input, findings...)
	}
	deep("unknown", "inside an unknown key", swap(finished, `  "framework"`, `  "x": {"y": [1, {"toolCalls": []}]},`+"\n  \"framework\""), "key_unknown /x", "extra_event_family /x/y/1/toolCalls")
	deep("wrong-type", "inside a value of the wrong type", value(finished, "run_id_ref", `{"state":{}}`), "wrong_type /run_id_ref", "extra_event_family /run_id_ref/state")
	deep("constant", "inside a constant of the wrong type", value(finished, "schema", `[{"events":[]}]`), "wrong_type /schema", "extra_event_family /schema/0/events")
	deep("within-family", "a family inside a family is reported once", swap(finished, `  "framework"`, `  "state": {"events": [{"delta": 1}]},`+"\n  \"framework\""), "extra_event_family /state")
	deep("beside", "two families side by side", swap(finished, `  "framework"`, `  "x": {"state": {"raw": 1}, "raw": 1},`+"\n  \"framework\""), "key_unknown /x", "extra_event_family /x/state", "extra_event_family /x/raw")
	a.bad("M7", "deep", "inside an unknown key of a message", second("name", `"guide","x":[{"STATE_DELTA":[]}]`), "key_unknown /messages/1/x", "extra_event_family /messages/1/x/0/STATE_DELTA")
	a.bad("M7", "deep-content", "inside content of the wrong type", second("content", `{"reasoning":"x"}`), "wrong_type /messages/1/content", "extra_event_family /messages/1/content/reasoning")
	a.bad("M7", "assistant", "an upstream message with its tool calls", second("name", `"guide","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]`), "extra_event_family /messages/1/toolCalls")
	a.ok("A4", "in-text", "message text is never searched", second("content", `"{\"toolCalls\": [], \"type\": \"STATE_SNAPSHOT\"} events RAW"`))
	a.ok("M7", "in-text", "text that is called like families", second("content", `"state events toolCalls"`))
	a.ok("A4", "in-ref", "a reference may be called like a family", value(finished, "run_id_ref", `"STATE_SNAPSHOT"`))
	a.ok("A4", "in-name", "a speaker may be called like a family", second("name", `"reasoning"`))
	a.bad("A4", "as-value", "an array of events where the artifact belongs", `[{"type":"RUN_STARTED"},{"state":1}]`, "not_an_object")
}

func (a *author) canonical() {
	order := `{"terminal_event":"RUN_FINISHED","messages":[{"name":"a","content":"x","role":"user","id":"m1"}],"started_at":"2026-01-31T12:00:00Z","run_id_ref":"run-1","thread_id_ref":"thread-1","surface":"compacted_message_snapshot_artifact","framework":"ag_ui","schema":"ag-ui.compacted-message-snapshot.export.v1"}`
	canonical := `{
  "schema": "ag-ui.compacted-message-snapshot.export.v1",
  "framework": "ag_ui",
  "surface": "compacted_message_snapshot_artifact",
  "thread_id_ref": "thread-1",
  "run_id_ref": "run-1",
  "started_at": "2026-01-31T12:00:00Z",
  "messages": [
    {
      "id": "m1",
      "role": "user",
      "content": "x",
      "name": "a"
    }
  ],
  "terminal_event": "RUN_FINISHED"
}
`
	a.loose("C1", "reversed", "every key in the reverse order, on one line", order, canonical)
	a.loose("C1", "error-keys", "the error keys before the others", swap(swap(failed, `,
  "error_code": "E1",
  "error_message": "the model is gone"`, ""), "{\n  \"schema\"", "{\n  \"error_message\": \"the model is gone\",\n  \"error_code\": \"E1\",\n  \"schema\""), failed)
	a.loose("C1", "parent-first", "an optional key first", swap(without(finished, "parent_run_id_ref"), "{\n  \"schema\"", "{\n  \"parent_run_id_ref\": \"run-0\",\n  \"schema\""), finished)
	a.loose("C1", "finished-last", "finished_at last", swap(without(finished, "finished_at"), `"RUN_FINISHED"`, "\"RUN_FINISHED\",\n  \"finished_at\": \"2026-01-31T12:00:01.500000Z\""), finished)
	a.loose("C2", "compact", "no white space", strings.NewReplacer("\n", "", "  ", "", `": `, `":`).Replace(finished), finished)
	a.loose("C2", "crlf", "lines that end in CR LF", strings.ReplaceAll(finished, "\n", "\r\n"), finished)
	a.loose("C2", "tabs", "indented by tabs", strings.ReplaceAll(finished, "  ", "\t"), finished)
	a.loose("C2", "four-spaces", "indented by four spaces", strings.ReplaceAll(finished, "  ", "    "), finished)
	a.loose("C2", "two-line-feeds", "an empty line at the end", finished+"\n", finished)
	a.loose("C2", "space-before-colon", "a space before a colon", strings.Replace(finished, `":`, `" :`, 1), finished)
	a.loose("C2", "no-line-feed", "no line feed at the end", strings.TrimSpace(finished), finished)
	a.loose("C3", "escaped-letter", "a letter as an escape", first("content", `"\u0048ello"`), finished)
	a.loose("C3", "escaped-slash", "an escaped slash", first("content", `"a\/b"`), first("content", `"a/b"`))
	a.loose("C3", "upper-hex", "upper-case hex digits", first("content", `"\u001B"`), first("content", `"\u001b"`))
	a.loose("C3", "long-newline", "a line feed as \\u000a", first("content", `"a\u000ab"`), first("content", `"a\nb"`))
	a.loose("C3", "escaped-quote", "a quote as \\u0022", first("content", `"a\u0022b"`), first("content", `"a\"b"`))
	a.loose("C3", "escaped-delete", "U+007F is not escaped", first("content", `"a\u007fb"`), first("content", "\"a\x7fb\""))
	a.loose("C3", "escaped-line-separator", "U+2028 and U+2029 are not escaped", first("content", `"a\u2028\u2029"`), first("content", "\"a\u2028\u2029\""))
	a.loose("C3", "escaped-html", "<, > and & are not escaped", first("content", `"\u003c\u003e\u0026"`), first("content", `"<>&"`))
	a.loose("C3", "escaped-pair", "a pair of escapes is written as one character", first("content", `"\ud83d\ude00"`), first("content", `"😀"`))
	a.loose("C3", "escaped-name", "a key with an escape", swap(finished, `"surface"`, `"surf\u0061ce"`), finished)
	controls := ""
	for r := rune(0); r < 0x20; r++ {
		controls += canonicalRune(r)
	}
	a.ok("C3", "every-control", "every control character in its one spelling", first("content", `"`+controls+`x"`))
	a.ok("C3", "unicode", "no normal form of Unicode is applied", first("content", "\"e\u0301é\u212b\u00c5\""))
	a.ok("C2", "values-kept", "timestamps keep their spelling, strings their white space", value(value(finished, "started_at", `"2026-01-31T04:00:00.10-08:00"`), "finished_at", `"2026-01-31T12:00:00.100Z"`))
}

func (a *author) reporting() {
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  \"x%03d\": 1,\n", i)
		}
		return swap(finished, `  "framework"`, b.String()+`  "framework"`)
	}
	list := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("key_unknown /x%03d", i))
		}
		return all
	}
	a.bad("A3", "100-findings", "a hundred findings are listed", members(100), list(100)...)
	a.bad("A3", "101-findings", "the hundred and first is only counted", members(101), append(list(100), "findings_past_limit")...)
	a.bad("A2", "listed-first", "a missing key stands at the start of the object, and is among the first hundred", without(members(120), "schema"), append(append([]string{"key_missing /schema"}, list(99)...), "findings_past_limit")...)
	a.bad("M5", "listed-first", "of a message too", messages(`[{⟦"x":{"":{"raw":1}},*1⟧"id":"m1","role":"user"},{"id":"m2"}]`),
		"key_missing /messages/0/content", "key_unknown /messages/0/x", "extra_event_family /messages/0/x//raw", "key_missing /messages/1/content", "key_missing /messages/1/role")
	a.bad("A5", "everything", "findings of all kinds in document order",
		`{"run_id_ref":"a b","schema":1,"messages":[{"id":"","role":"x","content":[{"state":1}]},3],"extra":{"raw":1},"finished_at":"2026-01-31T11:00:00Z","started_at":"2026-01-31T12:00:00Z","terminal_event":"RUN_ERROR"}`,
		"key_missing /framework", "key_missing /surface", "key_missing /thread_id_ref", "ref_not_opaque /run_id_ref", "wrong_type /schema",
		"value_blank /messages/0/id", "wrong_value /messages/0/role", "wrong_type /messages/0/content", "extra_event_family /messages/0/content/0/state",
		"wrong_type /messages/1", "key_unknown /extra", "extra_event_family /extra/raw", "times_out_of_order /finished_at", "key_missing /error_message")
}
