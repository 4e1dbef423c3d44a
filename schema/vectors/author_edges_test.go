package vectors_test

import (
	"fmt"
	"strings"
)

// These cases test for mistakes of other implementations that no other case would notice.
// Most were found by making small changes to a third validator, written from the contract.

// insert returns the artifact with members before framework.
func insert(members string) string {
	return swap(finished, `  "framework"`, "  "+members+",\n  \"framework\"")
}

func (a *author) textEdges() {
	for _, c := range []struct{ name, about, bytes string }{
		{"lead-c1", "a lead byte of overlong forms only", "\xc1\xbf"},
		{"lead-f5", "a lead byte past U+10FFFF", "\xf5\x80\x80\x80"},
		{"fourth-byte", "a fourth byte that continues nothing", "\xf1\x80\x80A"},
		{"third-byte", "a third byte that continues nothing", "\xe1\x80A"},
	} {
		a.bad("T2", c.name, c.about, first("content", `"a`+c.bytes+`b"`), "json_invalid_utf8 /messages/0/content")
	}
	a.ok("T2", "planes", "code points of planes 5 and 12", first("content", "\"\U00050000\U000c0000\""))
	a.bad("T2", "cut-at-end", "a sequence cut by the end of the file", finished[:strings.Index(finished, "Hello")]+"\xf0\x9f\x98", "json_invalid_utf8 /messages/0/content")

	for _, c := range []struct{ name, about, value string }{
		{"raw-1f", "U+001F unescaped in a string", "\"a\x1fb\""},
		{"escape-v", `\v`, `"\v"`},
		{"escape-apostrophe", `\'`, `"\'"`},
		{"escape-upper-u", `\U0041`, `"\U0041"`},
		{"escape-line-feed", "a line feed as the fourth hex digit", "\"\\u123\n\""},
		{"escape-then-bad-byte", "a bad escape begins before the bad byte in it", "\"\\u12\xff\""},
		{"exponent-letter", "a letter where a digit of the exponent belongs", "1ex"},
		{"minus-alone", "a minus sign alone", "-"},
		{"double-minus", "two minus signs", "--1"},
		{"point-first", "a number that begins with its point", ".5"},
	} {
		a.bad("T3", c.name, c.about, first("content", c.value), "json_syntax /messages/0/content")
	}
	a.bad("T3", "vertical-tab", "U+000B between tokens", swap(finished, `"framework":`, "\v\"framework\":"), "json_syntax /schema")
	for _, number := range []string{"1E5", "1e+5", "1e-5", "-1", "-0", "0", "1.5", "1e05", "0.0", "-0.0E-0"} {
		a.bad("T3", "number-"+strings.NewReplacer("+", "plus", "-", "minus", ".", "point").Replace(number), "a number that JSON has, and the contract has not", first("content", number), "wrong_type /messages/0/content")
	}
	a.bad("T3", "repeated-read", "a repeated key whose value is not read", `{"x":1,"x":`, "key_unknown /x", "json_duplicate_key /x", "json_syntax /x")
	a.bad("T3", "smuggled-read", "a family whose value is not read, at the top", `{"state":`, "extra_event_family /state", "json_syntax /state")
	a.bad("T3", "messages-not-closed", "what stands for the list has its type with its opening brace", `{"messages":{`, "wrong_type /messages", "json_syntax /messages")
	a.bad("T3", "message-not-closed", "what stands for a message, too", `{"messages":[[`, "wrong_type /messages/0", "json_syntax /messages/0/0")
	a.bad("T3", "id-not-closed", "what stands for a string, too", `{"messages":[{"id":[`, "wrong_type /messages/0/id", "json_syntax /messages/0/id/0")
	a.bad("T3", "times-not-closed", "the order of times needs the closing brace", `{"started_at":"2026-01-31T12:00:00Z","finished_at":"2026-01-31T11:00:00Z"`, "json_syntax /finished_at")
	a.bad("T3", "repeated-id-not-closed", "a repeated id does not", `{"messages":[{"id":"a","role":"user","content":"x"},{"id":"a"`, "message_id_repeated /messages/1/id", "json_syntax /messages/1/id")

	a.bad("T4", "normal-forms", "names in two normal forms of Unicode are two", insert("\"é\": 1, \"e\u0301\": 2"), "key_unknown /é", "key_unknown /e\u0301")
	a.bad("T4", "halves", "two different halves are two names, though their pointers are one", insert(`"\ud800": 1, "\ud801": 2`), "key_unknown /\ufffd *2")
	a.bad("T4", "half-and-replacement", "half of a pair is not U+FFFD", insert(`"\ud800": 1, "\ufffd": 2`), "key_unknown /\ufffd *2")
	a.bad("T4", "value-of-repeated", "the value of a repeated member is read over, at any depth", insert(`"x": {"a": 1, "a": {"state": 1, "b": 1, "b": 2}}`), "key_unknown /x", "json_duplicate_key /x/a", "extra_event_family /x/a/state", "json_duplicate_key /x/a/b")
	a.bad("T4", "family-repeated-inside", "a family's key again, inside a value that is read over", insert(`"x": {"state": 1, "state": {"raw": 1}}`), "key_unknown /x", "extra_event_family /x/state", "json_duplicate_key /x/state", "extra_event_family /x/state/raw")
	a.bad("T4", "inside-inner-family", "a key twice inside a family inside a value that is read over", insert(`"x": {"state": {"a": 1, "a": 2}}`), "key_unknown /x", "extra_event_family /x/state", "json_duplicate_key /x/state/a")
	a.bad("T4", "family-repeated", "the value of a repeated family is read over", insert(`"state": 1, "state": {"raw": 1}`), "extra_event_family /state", "json_duplicate_key /state", "extra_event_family /state/raw")
	a.bad("T4", "messages", "the message list twice; the second is read over", swap(finished, `  "terminal_event"`, "  \"messages\": [{\"raw\": 1}, 7],\n  \"terminal_event\""), "json_duplicate_key /messages", "extra_event_family /messages/0/raw")
}

func (a *author) artifactEdges() {
	for _, name := range []string{"__proto__", "constructor", "toString", "hasOwnProperty", "message", "tool", "toolName", "run", "runId", "messageId", "snapshots", "interrupt", "value", "input", "result", "usage", "context", "timestamp", "type", "sta\u2010te"} {
		a.bad("A3", "name-"+strings.Trim(strings.ReplaceAll(name, "\u2010", "-hyphen-"), "_"), "a name that is no key of the contract and stands for no family", insert(`"`+name+`": 1`), "key_unknown /"+name)
	}
	a.bad("M6", "messages", "messages inside a message", second("name", `"guide","messages":[]`), "key_unknown /messages/1/messages")
	for _, c := range []struct{ name, key, pointer string }{
		{"1024-two-byte", strings.Repeat("é", 511) + "a", "/" + strings.Repeat("é", 511) + "a"},
		{"1025-two-byte", strings.Repeat("é", 512), ""},
		{"1024-escaped", strings.Repeat("~", 511) + "a", "/" + strings.Repeat("~0", 511) + "a"},
		{"1025-escaped", strings.Repeat("~", 512), ""},
	} {
		a.bad("A3", "pointer-"+c.name, "pointers are bounded in bytes, as they are written", insert(`"`+c.key+`": 1`), strings.TrimSpace("key_unknown "+c.pointer))
	}
	a.bad("A3", "pointer-below-long", "below a name that does not fit, the pointer stays that of the value around", insert(`"⟦n*1024⟧": {"state": 1}`), "key_unknown", "extra_event_family")
	a.bad("A6", "read-over", "half of a pair in a value that is read over", insert(`"x": ["\ud800"]`), "key_unknown /x")
	a.bad("A11", "untrimmed", "v1 counts white space too", value(finished, "run_id_ref", `"⟦r*256⟧ "`), "ref_not_opaque /run_id_ref", "too_long /run_id_ref")

	at := func(text string) string { return value(without(finished, "finished_at"), "started_at", `"`+text+`"`) }
	for month := 1; month <= 12; month++ {
		name, text := fmt.Sprintf("day-31-%02d", month), at(fmt.Sprintf("2026-%02d-31T12:00:00Z", month))
		switch month {
		case 2, 4, 6, 9, 11:
			a.bad("A16", name, "a month that has no 31st", text, "timestamp_malformed /started_at")
		default:
			a.ok("A16", name, "a month that has one", text)
		}
	}
	a.bad("A15", "fraction-full-width", "a full-width digit of fraction", at("2026-01-31T12:00:00.５Z"), "timestamp_malformed /started_at")
	a.bad("A17", "year-10000-whole", "the first instant of year 10000", at("9999-12-31T23:59:00-00:01"), "timestamp_malformed /started_at")
	a.bad("A17", "year-0-last", "the last second of year 0", at("0001-01-01T00:00:59+00:01"), "timestamp_malformed /started_at")
	a.ok("A17", "year-1-first", "the first instant of year 1", at("0001-01-01T00:01:00+00:01"))
	a.ok("A17", "year-9999-last", "the last minute of year 9999", at("9999-12-31T23:58:59.999999-00:01"))
	span := func(from, to string) string {
		return value(value(finished, "started_at", `"2026-01-31T12:00:00`+from+`Z"`), "finished_at", `"2026-01-31T12:00:00`+to+`Z"`)
	}
	a.ok("A18", "fraction-longer", ".25 is before .5", span(".25", ".5"))
	a.bad("A18", "fraction-shorter", ".5 is after .25", span(".5", ".25"), "times_out_of_order /finished_at")
	a.ok("A18", "fraction-zeros", ".5 and .500000 are one instant", span(".500000", ".5"))
	a.bad("A18", "fraction-leading-zero", ".1 is after .09", span(".1", ".09"), "times_out_of_order /finished_at")
	a.bad("A18", "placed", "it stands where finished_at does", swap(span(".5", ".25"), `  "messages"`, "  \"x\": 1,\n  \"messages\""), "times_out_of_order /finished_at", "key_unknown /x")
	a.bad("A22", "lower-case", "it does not hold beside another spelling of RUN_FINISHED", swap(value(finished, "terminal_event", `"run_finished"`), `"run_finished"`, `"run_finished","error_code":"x"`), "wrong_value /terminal_event")

	a.bad("M3", "not-closed", "a list that is not closed has not too many", `{"messages":[`+strings.Join(compact(2001), ","), "json_syntax /messages/2000")
	a.ok("M10", "u0008", "U+0008 alone is not blank", second("content", `"\b"`))
	a.ok("M10", "u000e", "U+000E alone is not blank", second("content", `"\u000e"`))
	a.ok("C3", "u0085", "U+0085 is not escaped", second("content", "\"a\u0085b\""))
	for _, role := range []string{"RUN_FINISHED", "RUN_ERROR", "run_started"} {
		a.bad("M15", strings.ToLower(strings.ReplaceAll(role, "_", "-")), "a role that names an event of the run itself", second("role", `"`+role+`"`), "extra_event_family /messages/1/role")
	}
	a.bad("M16", "apart", "not only the message before counts", messages(`[{"id":"a","role":"user","content":"x"},{"id":"b","role":"user","content":"x"},{"id":"a","role":"user","content":"x"}]`), "message_id_repeated /messages/2/id")
	a.bad("M16", "halves", "ids that hold half of a pair are not compared", messages(`[{"id":"\ud800","role":"user","content":"x"},{"id":"\ud800","role":"user","content":"x"}]`), "lone_surrogate /messages/0/id", "lone_surrogate /messages/1/id")
	a.bad("M16", "of-a-malformed-message", "the id of a malformed message counts", messages(`[{"id":"a"},{"id":"a","role":"user","content":"x"}]`), "key_missing /messages/0/content", "key_missing /messages/0/role", "message_id_repeated /messages/1/id")
}

// compact returns n messages with the ids 0 to n-1.
func compact(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":"%d","role":"user","content":"x"}`, i))
	}
	return list
}

func (a *author) assayEdges() {
	a.bad("P2", "repeated", "ids past the limit are compared", messages(`[{"id":"⟦a*97⟧","role":"user","content":"x"},{"id":"⟦a*97⟧","role":"user","content":"x"}]`),
		"too_long /messages/0/id", "message_id_repeated /messages/1/id", "too_long /messages/1/id")
	a.bad("P5", "control", "a text too long that holds a control character has both", value(failed, "error_code", `"\u0001⟦a*48⟧"`), "control_character /error_code", "too_long /error_code")
	a.bad("P6", "control", "a text too long that holds a control character has both", value(failed, "error_message", `"\u0001⟦a*200⟧"`), "control_character /error_message", "too_long /error_message")
	// Replace an escape of six bytes by six bytes of other characters.
	other := func(bytes int, text string) string {
		return strings.Replace(eventData(bytes), `⟦\u0001*395⟧`, `⟦\u0001*394⟧`+text, 1)
	}
	a.bad("P7", "utf-8", "é takes two bytes", other(1_044_481, "ééé"), "event_line_too_long")
	a.bad("P7", "astral", "a code point outside the BMP takes four bytes", other(1_044_481, "😀xx"), "event_line_too_long")
	a.ok("P7", "html", "<, > and & take one byte", other(1_044_480, "<>&<>&"))
	a.ok("P7", "line-separator", "U+2028 takes three bytes and is not escaped", other(1_044_480, "\u2028xxx"))
	a.ok("P7", "escapes", "a quote, a backslash and U+0008 take two bytes each", other(1_044_480, `\"\\\b`))
	a.ok("P7", "trimmed", "white space at the ends takes nothing", strings.Replace(eventData(1_044_480), `"content": "⟦`, `"content": "  ⟦`, 1))
}

func (a *author) envelopeEdges() {
	whole := join(runStarted, snapshot, runFinished)
	a.ok("T1", "envelope", "an envelope may be larger", join(runStarted, strings.Replace(snapshot, `[{`, `[⟦ *8388608⟧{`, 1), runFinished))
	line := func(rule, name, about, text string, finding string) {
		a.bad(rule, name, about, whole+text+"\n", finding)
	}
	line("T3", "event-list-not-closed", "a list that is not closed is only that", "[1", "json_syntax /0")
	line("T6", "event-list", "a list and more on a line is only that", "[1] x", "json_trailing_data")
	line("T6", "event-scalar", "a string and more on a line is only that", `"messages":[]}`, "json_trailing_data")
	line("T3", "event-type-wrong", "a type of the wrong type in an event that is not closed", `{"type":1,`, "json_syntax /type")
	line("T3", "event-no-type", "no type in an event that is not closed", `{"a":1`, "json_syntax /a")
	line("T6", "event-no-type", "no type, and more on the line", `{"a":1} x`, "json_trailing_data")
	line("T4", "event-in-type", "a key twice inside what stands for the type", `{"type":{"a":1,"a":2}}`, "json_duplicate_key /type/a")
	line("E3", "space", "a type that is a space is no absent one", `{"type":" "}`, "extra_event_family /type")
	line("E3", "constructor", "a type that some languages know", `{"type":"constructor"}`, "extra_event_family /type")
	a.bad("E3", "padded", "a type is not trimmed", join(strings.Replace(runStarted, "RUN_STARTED", " RUN_STARTED", 1), snapshot, runFinished), "envelope_incomplete", "extra_event_family /type")
	a.bad("E2", "goes-on", "an event without a type does not end the reading", join("{}", runStarted, snapshot, runFinished, `{"type":"RAW"}`), "event_type_missing", "extra_event_family /type")

	a.bad("T6", "event-lone-cr", "a CR alone ends no line", runStarted+"\r"+snapshot+"\n"+runFinished+"\n", "envelope_incomplete *2", "json_trailing_data")
	a.loose("C4", "cr-inside", "a CR as white space inside an event", join(strings.Replace(runStarted, ",", ",\r", 1), snapshot, runFinished), "")
	a.bad("T3", "event-bom", "a byte order mark on the second line", join(runStarted, "\ufeff"+snapshot, runFinished), "envelope_incomplete", "json_syntax")
	a.bad("T6", "event-form-feed", "U+000C at the end of a line", join(runStarted, snapshot+"\f", runFinished), "envelope_incomplete", "json_trailing_data")

	a.bad("E11", "other-name-malformed", "a name is compared though the other is malformed", join(strings.Replace(runStarted, `"run-1"`, "null", 1), snapshot, strings.Replace(runFinished, "thread-1", "other", 1)), "event_field_malformed /runId", "terminal_names_other_thread /threadId")
	a.ok("E9", "elsewhere", "half of a pair in a key that no rule names", join(strings.Replace(runStarted, "{", `{"x":"\ud800",`, 1), snapshot, strings.Replace(runFinished, "{", `{"\udfff":1,`, 1)))
	a.ok("E13", "2001", "a snapshot of more messages than an artifact may have", join(runStarted, `{"type":"MESSAGES_SNAPSHOT","messages":[⟦{},*2000⟧{}]}`, runFinished))
}
