package vectors_test

import (
	"fmt"
	"strings"
)

// spaces is the white space of the contract, which Python's str.strip removes.
var spaces = []rune{
	0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x85, 0xa0, 0x1680,
	0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a,
	0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
}

// notSpaces are characters that some programs treat as white space.
var notSpaces = []rune{0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0xfeff, 0x2800, 0x3164}

// canonicalRune returns a code point in canonical form, escaped if JSON requires it.
func canonicalRune(r rune) string {
	switch r {
	case '\b':
		return `\b`
	case '\t':
		return `\t`
	case '\n':
		return `\n`
	case '\f':
		return `\f`
	case '\r':
		return `\r`
	}
	if r < 0x20 {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// lengths adds an accepted text of n code points and a malformed one of n+1, in several
// scripts. with returns the file with a text.
func (a *author) lengths(rule string, n int, finding string, with func(text string) string) {
	for _, c := range []struct{ name, about, char string }{
		{"ascii", "ASCII letters", "a"},
		{"two-byte", "letters of two bytes", "é"},
		{"astral", "code points outside the BMP, two UTF-16 units each", "😀"},
		{"combining", "letters each with a combining mark, two code points", "e\u0301"},
	} {
		size := len([]rune(c.char))
		text := fmt.Sprintf("⟦%s*%d⟧", c.char, n/size)
		a.ok(rule, fmt.Sprintf("%d-%s", n, c.name), fmt.Sprintf("%d code points: %s", n, c.about), with(text))
		a.bad(rule, fmt.Sprintf("%d-%s", n+1, c.name), fmt.Sprintf("%d code points: %s", n+1, c.about), with(text+"x"), finding)
	}
}

func (a *author) references() {
	for _, key := range []string{"thread_id_ref", "run_id_ref", "parent_run_id_ref"} {
		name := strings.TrimSuffix(strings.ReplaceAll(key, "_", "-"), "-ref")
		ref := func(text string) string { return value(finished, key, `"`+text+`"`) }
		if key == "run_id_ref" {
			a.lengths("A11", 256, "too_long /"+key, ref)
		} else {
			a.ok("A11", "256-"+name, "256 code points in "+key, ref("⟦r*256⟧"))
			a.bad("A11", "257-"+name, "257 code points in "+key, ref("⟦r*257⟧"), "too_long /"+key)
		}
		a.bad("A12", name, key+" is a URL", ref("https://example.org/r/1"), "ref_not_opaque /"+key)
		a.bad("A13", name, key+" holds U+0007", ref(`run\u0007`), "ref_not_opaque /"+key)
		a.bad("A14", name, key+" holds a space", ref("run 1"), "ref_not_opaque /"+key)
	}
	ref := func(text string) string { return value(finished, "run_id_ref", `"`+text+`"`) }
	for _, c := range []struct{ name, text string }{
		{"uuid", "3f8a2f6e-0d2f-4d5c-9e59-0c8a3a7d5b11"}, {"urn", "urn:uuid:3f8a2f6e"}, {"slashes", "a/b//c"}, {"colon-slash", "a:/b"}, {"at", "run@host#1?x=y&z"},
		{"percent", "run%3A%2F%2F1"}, {"cjk", "実行-1"}, {"emoji", "run-😀"}, {"dots", "../run"}, {"one", "r"}, {"quote", `a\"b\\c`}, {"html", "<run>&amp;"},
	} {
		a.ok("A12", c.name, "no :// is in it", ref(c.text))
	}
	a.bad("A12", "alone", "nothing but ://", ref("://"), "ref_not_opaque /run_id_ref")
	a.bad("A12", "escaped", ":// spelled with escapes", ref(`a\u003a\/\u002fb`), "ref_not_opaque /run_id_ref")
	a.bad("A12", "several-faults", "one finding, though it breaks A12, A13 and A14", ref(`a://b c\u0000`), "ref_not_opaque /run_id_ref")
	a.bad("A12", "too-long-too", "a URL that is also too long", ref("a://⟦b*256⟧"), "ref_not_opaque /run_id_ref", "too_long /run_id_ref")
	a.ok("A13", "format", "a soft hyphen and a directional mark are no control characters (they are Cf, not Cc)", ref("a\u00ad\u200eb"))
	for _, r := range []rune{0x00, 0x01, 0x08, 0x0e, 0x1b, 0x7f, 0x80, 0x84, 0x86, 0x9f} {
		a.bad("A13", fmt.Sprintf("u%04x", r), fmt.Sprintf("U+%04X, which is no white space", r), ref("a"+canonicalRune(r)+"b"), "ref_not_opaque /run_id_ref")
	}
	for _, r := range spaces {
		a.bad("A14", fmt.Sprintf("u%04x", r), fmt.Sprintf("white space U+%04X", r), ref("a"+canonicalRune(r)+"b"), "ref_not_opaque /run_id_ref")
	}
	a.bad("A14", "leading", "white space at the start is not trimmed away", ref(" run-1"), "ref_not_opaque /run_id_ref")
	a.bad("A14", "trailing", "white space at the end is not trimmed away", ref("run-1\u3000"), "ref_not_opaque /run_id_ref")
	for _, r := range notSpaces {
		a.ok("A14", fmt.Sprintf("u%04x-is-none", r), fmt.Sprintf("U+%04X is no white space", r), ref("a"+string(r)+"b"))
	}
}

func (a *author) timestamps() {
	at := func(text string) string { return value(without(finished, "finished_at"), "started_at", `"`+text+`"`) }
	for _, c := range []struct{ rule, name, about, text string }{
		{"A15", "z", "UTC", "2026-01-31T12:00:00Z"},
		{"A15", "offset", "an offset east", "2026-01-31T12:00:00+05:30"},
		{"A15", "offset-west", "an offset west", "2026-01-31T12:00:00-08:00"},
		{"A15", "offset-zero", "an offset of zero", "2026-01-31T12:00:00+00:00"},
		{"A15", "offset-minus-zero", "an unknown local offset (RFC 3339 §4.3)", "2026-01-31T12:00:00-00:00"},
		{"A15", "offset-largest", "the largest offset", "2026-01-31T12:00:00+23:59"},
		{"A15", "fraction-1", "one digit of fraction", "2026-01-31T12:00:00.1Z"},
		{"A15", "fraction-2", "two digits", "2026-01-31T12:00:00.12Z"},
		{"A15", "fraction-3", "three digits", "2026-01-31T12:00:00.123Z"},
		{"A15", "fraction-4", "four digits", "2026-01-31T12:00:00.1234Z"},
		{"A15", "fraction-5", "five digits", "2026-01-31T12:00:00.12345Z"},
		{"A15", "fraction-6", "six digits", "2026-01-31T12:00:00.123456+02:00"},
		{"A15", "fraction-zeros", "a fraction of zeros", "2026-01-31T12:00:00.000000Z"},
		{"A16", "leap-day", "February 29 of a leap year", "2024-02-29T00:00:00Z"},
		{"A16", "leap-day-2000", "2000 was a leap year", "2000-02-29T00:00:00Z"},
		{"A16", "last-second", "the last second of a year", "2026-12-31T23:59:59.999999Z"},
		{"A17", "year-1", "the first year", "0001-01-01T00:00:00Z"},
		{"A17", "year-9999", "the last year", "9999-12-31T23:59:59.999999Z"},
		{"A17", "year-1-utc", "year 1 in UTC and as written", "0001-01-01T00:00:00-00:01"},
	} {
		a.ok(c.rule, c.name, c.about, at(c.text))
	}
	for _, c := range []struct{ rule, name, about, text string }{
		{"A15", "fraction-7", "seven digits of fraction", "2026-01-31T12:00:00.1234567Z"},
		{"A15", "fraction-8", "eight digits", "2026-01-31T12:00:00.12345678Z"},
		{"A15", "fraction-9", "nine digits", "2026-01-31T12:00:00.123456789Z"},
		{"A15", "fraction-0", "a point without digits", "2026-01-31T12:00:00.Z"},
		{"A15", "comma", "a comma before the fraction", "2026-01-31T12:00:00,5Z"},
		{"A15", "lower-z", "a lower-case z", "2026-01-31T12:00:00z"},
		{"A15", "lower-t", "a lower-case t", "2026-01-31t12:00:00Z"},
		{"A15", "space", "a space for the T", "2026-01-31 12:00:00Z"},
		{"A15", "no-offset", "no offset", "2026-01-31T12:00:00"},
		{"A15", "date", "a date alone", "2026-01-31"},
		{"A15", "no-seconds", "no seconds", "2026-01-31T12:00Z"},
		{"A15", "basic", "the basic form of ISO 8601", "20260131T120000Z"},
		{"A15", "offset-basic", "an offset without its colon", "2026-01-31T12:00:00+0530"},
		{"A15", "offset-hours", "an offset of hours alone", "2026-01-31T12:00:00+05"},
		{"A15", "offset-24", "an offset of 24 hours", "2026-01-31T12:00:00+24:00"},
		{"A15", "offset-60", "an offset of 60 minutes", "2026-01-31T12:00:00+00:60"},
		{"A15", "offset-minus-sign", "U+2212 for the minus sign", "2026-01-31T12:00:00\u221208:00"},
		{"A15", "offset-seconds", "an offset with seconds", "2026-01-31T12:00:00+05:30:00"},
		{"A15", "year-5", "a year of five digits", "12026-01-31T12:00:00Z"},
		{"A15", "year-signed", "a year with a sign", "+2026-01-31T12:00:00Z"},
		{"A15", "year-2", "a year of two digits", "26-01-31T12:00:00Z"},
		{"A15", "month-1", "a month of one digit", "2026-1-31T12:00:00Z"},
		{"A15", "leading", "white space before it", " 2026-01-31T12:00:00Z"},
		{"A15", "trailing", "white space after it", "2026-01-31T12:00:00Z "},
		{"A15", "line-feed", "a line feed after it", `2026-01-31T12:00:00Z\n`},
		{"A15", "digits", "Arabic-Indic digits", "٢٠٢٦-٠١-٣١T١٢:٠٠:٠٠Z"},
		{"A15", "unix", "seconds since 1970", "1769860800"},
		{"A15", "text", "no timestamp at all", "yesterday"},
		{"A15", "http", "the form of HTTP", "Sat, 31 Jan 2026 12:00:00 GMT"},
		{"A16", "hour-24", "24:00", "2026-01-31T24:00:00Z"},
		{"A16", "hour-25", "hour 25", "2026-01-31T25:00:00Z"},
		{"A16", "minute-60", "minute 60", "2026-01-31T12:60:00Z"},
		{"A16", "leap-second", "a leap second that was", "2016-12-31T23:59:60Z"},
		{"A16", "second-61", "second 61", "2026-01-31T12:00:61Z"},
		{"A16", "month-0", "month 0", "2026-00-31T12:00:00Z"},
		{"A16", "month-13", "month 13", "2026-13-31T12:00:00Z"},
		{"A16", "day-0", "day 0", "2026-01-00T12:00:00Z"},
		{"A16", "day-32", "January 32", "2026-01-32T12:00:00Z"},
		{"A16", "april-31", "April 31", "2026-04-31T12:00:00Z"},
		{"A16", "february-29", "February 29 of no leap year", "2026-02-29T12:00:00Z"},
		{"A16", "february-1900", "1900 was no leap year", "1900-02-29T12:00:00Z"},
		{"A16", "february-30", "February 30", "2024-02-30T12:00:00Z"},
		{"A17", "year-0", "year 0", "0000-06-01T00:00:00Z"},
		{"A17", "year-0-instant", "year 1 as written, year 0 in UTC", "0001-01-01T00:00:00+00:01"},
		{"A17", "year-0-written", "year 0 as written, year 1 in UTC", "0000-12-31T23:59:59-00:01"},
		{"A17", "year-10000-instant", "year 9999 as written, year 10000 in UTC", "9999-12-31T23:59:59-00:01"},
	} {
		a.bad(c.rule, c.name, c.about, at(c.text), "timestamp_malformed /started_at")
	}
	a.bad("A15", "finished-at", "the same rules hold for finished_at", value(finished, "finished_at", `"2026-01-31"`), "timestamp_malformed /finished_at")

	span := func(from, to string) string {
		return value(value(finished, "started_at", `"`+from+`"`), "finished_at", `"`+to+`"`)
	}
	a.ok("A18", "same", "the same instant", span("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"))
	a.ok("A18", "same-in-another-zone", "the same instant in two zones", span("2026-01-31T12:00:00Z", "2026-01-31T04:00:00.000-08:00"))
	a.ok("A18", "zone", "earlier on the clock, later as an instant", span("2026-01-31T12:00:00+05:30", "2026-01-31T07:00:00Z"))
	a.ok("A18", "microsecond", "one microsecond later", span("2026-01-31T12:00:00.999999Z", "2026-01-31T12:00:01Z"))
	a.bad("A18", "second", "a second before", span("2026-01-31T12:00:00Z", "2026-01-31T11:59:59Z"), "times_out_of_order /finished_at")
	a.bad("A18", "microsecond-before", "a microsecond before", span("2026-01-31T12:00:00.000001Z", "2026-01-31T12:00:00Z"), "times_out_of_order /finished_at")
	a.bad("A18", "zone-before", "later on the clock, earlier as an instant", span("2026-01-31T12:00:00Z", "2026-01-31T17:29:59+05:30"), "times_out_of_order /finished_at")
	a.bad("A18", "not-judged", "not judged when one of the two is malformed", span("2026-01-31T12:00:00Z", "2025-01-31T12:00:00z"), "timestamp_malformed /finished_at")
	a.bad("A18", "order-in-file", "finished_at may stand before started_at in the file, not in time",
		swap(without(finished, "finished_at"), `  "schema"`, "  \"finished_at\": \"2026-01-31T11:00:00Z\",\n  \"schema\""), "times_out_of_order /finished_at")
}

func (a *author) terminal() {
	end := func(text string) string { return value(finished, "terminal_event", `"`+text+`"`) }
	for _, c := range []struct{ name, text string }{
		{"lower", "run_finished"}, {"camel", "RunFinished"}, {"hyphen", "RUN-ERROR"}, {"space", "RUN_FINISHED "}, {"other", "DONE"}, {"cancelled", "RUN_CANCELLED"}, {"role", "assistant"},
	} {
		a.bad("A19", c.name, "another text", end(c.text), "wrong_value /terminal_event")
	}
	a.ok("A19", "finished", "RUN_FINISHED", finished)
	a.ok("A19", "error", "RUN_ERROR", failed)
	for _, name := range eventTypes {
		if name != "RUN_FINISHED" && name != "RUN_ERROR" {
			a.bad("A20", strings.ToLower(name), "the type of another event", end(name), "extra_event_family /terminal_event")
		}
	}
	a.ok("A20", "error", "RUN_ERROR is no other family", failed)
	a.bad("A20", "normal-form", "another event in another spelling", end("State-Snapshot"), "extra_event_family /terminal_event")
	a.bad("A20", "key", "a family by the name of its key", end("toolCalls"), "extra_event_family /terminal_event")

	a.bad("A21", "absent", "RUN_ERROR without error_message", without(failed, "error_message"), "key_missing /error_message")
	a.bad("A21", "neither", "RUN_ERROR without both error keys", without(without(failed, "error_message"), "error_code"), "key_missing /error_message")
	a.bad("A21", "wrong-type", "error_message is there, though no string", value(failed, "error_message", "7"), "wrong_type /error_message")
	a.ok("A21", "no-code", "error_code is optional", without(failed, "error_code"))
	a.loose("A21", "terminal-last", "the rule holds whatever the order of the keys is", swap(without(failed, "terminal_event"), `"the model is gone"`, "\"the model is gone\",\n  \"terminal_event\": \"RUN_ERROR\""), failed)

	with := func(members string) string { return swap(finished, `"RUN_FINISHED"`, `"RUN_FINISHED",`+members) }
	a.ok("A22", "error", "both stand beside RUN_ERROR", failed)
	a.bad("A22", "message", "error_message beside RUN_FINISHED", with(`"error_message":"x"`), "error_key_forbidden /error_message")
	a.bad("A22", "code", "error_code beside RUN_FINISHED", with(`"error_code":"x"`), "error_key_forbidden /error_code")
	a.bad("A22", "both", "both beside RUN_FINISHED", with(`"error_message":"x","error_code":"x"`), "error_key_forbidden /error_message", "error_key_forbidden /error_code")
	a.bad("A22", "null", "error_code is there, though null", with(`"error_code":null`), "error_key_forbidden /error_code", "wrong_type /error_code")
	a.bad("A22", "unknown-terminal", "neither rule holds when the terminal label is another", swap(end("DONE"), `"DONE"`, `"DONE","error_code":"x"`), "wrong_value /terminal_event")

	a.lengths("A23", 128, "too_long /error_code", func(text string) string { return value(failed, "error_code", `"`+text+`"`) })
	a.lengths("A24", 1024, "too_long /error_message", func(text string) string { return value(failed, "error_message", `"`+text+`"`) })
	for _, r := range []rune{0x00, 0x09, 0x0a, 0x0d, 0x1b, 0x1f, 0x7f, 0x85, 0x9f} {
		a.bad("A25", fmt.Sprintf("u%04x", r), fmt.Sprintf("U+%04X in error_message", r), value(failed, "error_message", `"a`+canonicalRune(r)+`b"`), "control_character /error_message")
	}
	a.bad("A25", "code", "a line feed in error_code", value(failed, "error_code", `"E1\n"`), "control_character /error_code")
	a.bad("A25", "stack-trace", "a stack trace", value(failed, "error_message", `"panic: x\n\tmain.go:1"`), "control_character /error_message")
	a.bad("A25", "too-long-too", "control characters in a text that is too long", value(failed, "error_message", `"\u0000⟦a*1024⟧"`), "control_character /error_message", "too_long /error_message")
	a.ok("A25", "u00a0", "U+00A0 and U+2028 are no control characters", value(failed, "error_message", "\"a\u00a0b\u2028c\""))
	a.ok("A25", "white-space-at-ends", "an error text keeps its white space", value(failed, "error_message", `" gone "`))
}

func (a *author) messages() {
	for _, c := range []struct{ name, v string }{{"object", "{}"}, {"string", `"Hello"`}, {"null", "null"}, {"number", "0"}} {
		a.bad("M1", c.name, "messages is "+c.v, messages(c.v), "wrong_type /messages")
	}
	a.ok("M1", "list", "a list", finished)
	a.bad("M1", "family-inside", "a family inside what stands for the list", messages(`{"m1":{"toolCalls":[]}}`), "wrong_type /messages", "extra_event_family /messages/m1/toolCalls")
	a.bad("M2", "empty", "an empty list", messages("[]"), "messages_empty /messages")
	a.ok("M2", "one", "one message", failed)

	numbered := func(n int, more string) string {
		var b strings.Builder
		b.WriteByte('[')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n    {\n      \"id\": \"m%d\",\n      \"role\": \"user\",\n      \"content\": \"x\"\n    }", i)
		}
		return messages(b.String() + more + "\n  ]")
	}
	a.ok("M3", "2000", "2,000 messages", numbered(2000, ""))
	a.bad("M3", "2001", "2,001 messages", numbered(2001, ""), "messages_too_many /messages")
	a.bad("M3", "not-judged", "of those past the limit only T4 is judged", numbered(2000, `,7,{"raw":1,"id":"m1","id":2}`), "messages_too_many /messages", "json_duplicate_key /messages/2001/id")

	for _, c := range []struct{ name, v string }{{"string", `"Hello"`}, {"null", "null"}, {"list", "[]"}, {"number", "1"}} {
		a.bad("M4", c.name, "a message is "+c.v, messages(`[{"id":"m1","role":"user","content":"x"},`+c.v+"]"), "wrong_type /messages/1")
	}
	a.ok("M4", "objects", "two objects", finished)
	a.bad("M4", "family-inside", "a family inside a list where a message belongs", messages(`[[{"delta":1}]]`), "wrong_type /messages/0", "extra_event_family /messages/0/0/delta")

	for _, key := range []string{"id", "role", "content"} {
		members := map[string]string{"id": `"id":"m1"`, "role": `"role":"user"`, "content": `"content":"x"`}
		delete(members, key)
		var list []string
		for _, k := range []string{"id", "role", "content"} {
			if m, ok := members[k]; ok {
				list = append(list, m)
			}
		}
		a.bad("M5", "no-"+key, "a message without "+key, messages("[{"+strings.Join(list, ",")+"}]"), "key_missing /messages/0/"+key)
	}
	a.bad("M5", "empty", "an empty message after a whole one", messages(`[{"id":"m1","role":"user","content":"x"},{}]`), "key_missing /messages/1/content", "key_missing /messages/1/id", "key_missing /messages/1/role")
	a.ok("M5", "no-name", "name is optional", second("name", `"a"`))
	a.bad("M5", "not-ended", "a message that was not read to its end has no missing key", `{"messages":[{"id":"m1"`, "json_syntax /messages/0/id")

	add := func(member string) string { return second("name", `"guide",`+member) }
	for _, c := range []struct{ name, member, pointer string }{
		{"metadata", `"metadata":{}`, "metadata"}, {"created-at", `"createdAt":"2026-01-31T12:00:00Z"`, "createdAt"}, {"upper", `"ID":"m2"`, "ID"}, {"parts", `"parts":[]`, "parts"},
		{"error", `"error":"x"`, "error"}, {"run-id", `"run_id_ref":"x"`, "run_id_ref"}, {"empty", `"":1`, ""},
	} {
		a.bad("M6", c.name, "a key a message does not have", add(c.member), "key_unknown /messages/1/"+c.pointer)
	}
	a.ok("M6", "all", "the four keys of a message", finished)
	a.bad("M6", "half-pair", "a name that holds half of a pair", add(`"\udfff":1`), "key_unknown /messages/1/\ufffd")

	for _, key := range []string{"id", "role", "content", "name"} {
		for _, c := range []struct{ name, v string }{{"number", "7"}, {"null", "null"}, {"list", `["x"]`}, {"object", `{"type":"text","text":"x"}`}, {"boolean", "false"}} {
			a.bad("M8", key+"-"+c.name, key+" is a "+c.name, second(key, c.v), "wrong_type /messages/1/"+key)
		}
		a.bad("M9", key, "half of a pair in "+key, second(key, `"a\ude00"`), "lone_surrogate /messages/1/"+key)
		for _, c := range []struct{ name, v string }{{"empty", ""}, {"space", " "}, {"no-break", "\u00a0\u3000"}} {
			a.bad("M10", key+"-"+c.name, key+" is blank", second(key, `"`+c.v+`"`), "value_blank /messages/1/"+key)
		}
	}
	a.ok("M8", "strings", "strings that look like other types", second("content", `"null"`))
	a.loose("M9", "pair", "a pair of escapes", second("content", `"\ud83d\ude00"`), second("content", `"😀"`))
	a.bad("M8", "multimodal", "content is a list of parts, with a family inside", second("content", `[{"type":"text","text":"x","rawEvent":{}}]`), "wrong_type /messages/1/content", "extra_event_family /messages/1/content/0/rawEvent")
	for _, r := range spaces {
		a.bad("M10", fmt.Sprintf("u%04x", r), fmt.Sprintf("content of U+%04X alone", r), second("content", `"`+canonicalRune(r)+`"`), "value_blank /messages/1/content")
	}
	for _, r := range notSpaces {
		a.ok("M10", fmt.Sprintf("u%04x-is-none", r), fmt.Sprintf("U+%04X alone is not blank", r), second("content", `"`+string(r)+`"`))
	}
	a.bad("M10", "all", "every white space at once", second("content", `"`+func() (s string) {
		for _, r := range spaces {
			s += canonicalRune(r)
		}
		return s
	}()+`"`), "value_blank /messages/1/content")
	a.ok("M10", "controls", "content may hold control characters", second("content", `"\u0000\u001b`+"\x7f\""))
	a.ok("M10", "white-space-kept", "content keeps its white space", second("content", `"\n  a\t"`))

	a.lengths("M11", 256, "too_long /messages/1/id", func(text string) string { return second("id", `"`+text+`"`) })
	a.lengths("M12", 262_144, "too_long /messages/1/content", func(text string) string { return second("content", `"`+text+`"`) })
	a.lengths("M13", 128, "too_long /messages/1/name", func(text string) string { return second("name", `"`+text+`"`) })
	a.bad("M12", "counted-untrimmed", "v1 counts white space too", second("content", `"a⟦ *262144⟧"`), "too_long /messages/1/content")
	a.ok("M11", "white-space", "an id may hold white space and ://", second("id", `" message 2 of http://x "`))

	for _, role := range []string{"developer", "system", "assistant", "user", "tool"} {
		a.ok("M14", role, "the role "+role, second("role", `"`+role+`"`))
	}
	for _, c := range []struct{ name, v string }{{"upper", "USER"}, {"capital", "User"}, {"space", "user "}, {"function", "function"}, {"model", "model"}, {"agent", "agent"}, {"plural", "tools"}} {
		a.bad("M14", c.name, "another role", second("role", `"`+c.v+`"`), "wrong_value /messages/1/role")
	}
	for _, role := range []string{"reasoning", "activity", "state", "tool_call", "RAW", "STATE_DELTA", "thinking", "subagent", "Custom"} {
		a.bad("M15", strings.ToLower(strings.ReplaceAll(role, "_", "-")), "a role that names a family", second("role", `"`+role+`"`), "extra_event_family /messages/1/role")
	}

	a.ok("M15", "tool", "the role tool is no family", second("role", `"tool"`))
	a.bad("M16", "same", "the same id", second("id", `"m1"`), "message_id_repeated /messages/1/id")
	a.bad("M16", "escaped", "the same id with an escape", second("id", `"\u006d1"`), "message_id_repeated /messages/1/id")
	for _, r := range []rune{0x20, 0x0a, 0x1c, 0x85, 0xa0, 0x2028, 0x3000} {
		a.bad("M16", fmt.Sprintf("u%04x", r), fmt.Sprintf("the same id but for U+%04X at its ends", r), second("id", `"`+canonicalRune(r)+"m1"+canonicalRune(r)+`"`), "message_id_repeated /messages/1/id")
	}
	a.bad("M16", "three", "three of one id: two are repeated", messages(`[{"id":"a","role":"user","content":"x"},{"id":"a","role":"user","content":"x"},{"id":" a","role":"user","content":"x"}]`),
		"message_id_repeated /messages/1/id", "message_id_repeated /messages/2/id")
	a.bad("M16", "too-long-too", "an id that is too long is compared", messages(`[{"id":"⟦a*257⟧","role":"user","content":"x"},{"id":"⟦a*257⟧","role":"user","content":"x"}]`),
		"too_long /messages/0/id", "message_id_repeated /messages/1/id", "too_long /messages/1/id")
	a.bad("M16", "blank", "blank ids are not compared", messages(`[{"id":" ","role":"user","content":"x"},{"id":" ","role":"user","content":"x"}]`), "value_blank /messages/0/id", "value_blank /messages/1/id")
	a.ok("M16", "case", "case is kept", second("id", `"M1"`))
	a.ok("M16", "normal-form", "é in two normal forms of Unicode is two ids", strings.Replace(second("id", "\"e\u0301\""), `"m1"`, `"é"`, 1))
	a.ok("M16", "inner-space", "white space inside counts", strings.Replace(second("id", `"m  1"`), `"m1"`, `"m 1"`, 1))
}

func (a *author) assay() {
	a.ok("P1", "finished", "the same artifact under assay", finished)
	for _, key := range []string{"thread_id_ref", "run_id_ref", "parent_run_id_ref"} {
		ref := func(text string) string { return value(finished, key, `"`+text+`"`) }
		name := strings.TrimSuffix(strings.ReplaceAll(key, "_", "-"), "-ref")
		if key == "run_id_ref" {
			a.lengths("P1", 96, "too_long /"+key, ref)
		} else {
			a.ok("P1", "96-"+name, "96 code points in "+key, ref("⟦r*96⟧"))
			a.bad("P1", "97-"+name, "97 code points in "+key, ref("⟦r*97⟧"), "too_long /"+key)
		}
	}
	a.bad("P1", "half-pair", "a text that holds half of a pair is not counted", value(finished, "run_id_ref", `"\ud800⟦r*97⟧"`), "lone_surrogate /run_id_ref")
	a.bad("P1", "several", "two findings about one reference", value(finished, "run_id_ref", `"⟦r*97⟧ "`), "ref_not_opaque /run_id_ref", "too_long /run_id_ref")
	a.bad("P1", "257", "past the v1 limit there is one finding too", value(finished, "run_id_ref", `"⟦r*257⟧"`), "too_long /run_id_ref")
	for _, c := range []struct {
		rule, key string
		limit     int
		pointer   string
		with      func(text string) string
	}{
		{"P2", "id", 96, "/messages/1/id", func(t string) string { return second("id", `"`+t+`"`) }},
		{"P3", "name", 60, "/messages/1/name", func(t string) string { return second("name", `"`+t+`"`) }},
		{"P4", "content", 400, "/messages/1/content", func(t string) string { return second("content", `"`+t+`"`) }},
		{"P5", "error_code", 48, "/error_code", func(t string) string { return value(failed, "error_code", `"`+t+`"`) }},
		{"P6", "error_message", 200, "/error_message", func(t string) string { return value(failed, "error_message", `"`+t+`"`) }},
	} {
		a.lengths(c.rule, c.limit, "too_long "+c.pointer, c.with)
		a.ok(c.rule, "trimmed", fmt.Sprintf("%s is counted trimmed: %d code points between white space", c.key, c.limit), c.with(fmt.Sprintf(" \u00a0⟦a*%d⟧\u3000 ", c.limit)))
		a.bad(c.rule, "trimmed-past", "one more between white space", c.with(fmt.Sprintf(" ⟦a*%d⟧ ", c.limit+1)), "too_long "+c.pointer)
		a.ok(c.rule, "inner", "white space inside counts, and keeps the limit", c.with(fmt.Sprintf("a⟦ *%d⟧b", c.limit-2)))
		a.bad(c.rule, "inner-past", "white space inside counts", c.with(fmt.Sprintf("a⟦ *%d⟧b", c.limit-1)), "too_long "+c.pointer)
	}
	a.bad("P4", "untrimmed-past-v1", "past the v1 limit with its white space", second("content", `"a⟦ *262144⟧"`), "too_long /messages/1/content")
	a.ok("P7", "1044480", "an artifact that takes 1,044,480 bytes of its event line", eventData(1_044_480))
	a.bad("P7", "1044481", "one that takes a byte more", eventData(1_044_481), "event_line_too_long")
	a.bad("P7", "not-judged", "not judged when something else is wrong", swap(eventData(1_044_481), `"RUN_FINISHED"`, `"DONE"`), "wrong_value /terminal_event")
	a.profile = "v1"
	a.ok("P7", "v1", "v1 knows no event line", eventData(1_044_481))
	a.ok("P1", "v1", "v1 has its own limits", value(second("content", `"⟦a*401⟧"`), "run_id_ref", `"⟦r*97⟧"`))
	a.profile = "assay"
}

// eventData returns an artifact that needs this many bytes of its event line. It has 440
// messages, mostly of control characters, which need six bytes each.
func eventData(bytes int) string {
	const (
		count   = 440
		fixed   = len(`{"schema":"ag-ui.compacted-message-snapshot.export.v1","framework":"ag_ui","surface":"compacted_message_snapshot_artifact","thread_id_ref":"thread-1","run_id_ref":"run-1","parent_run_id_ref":"run-0","started_at":"2026-01-31T12:00:00Z","finished_at":"2026-01-31T12:00:01.500000Z","messages":[],"terminal_event":"RUN_FINISHED","error_code":"","error_message":""}`)
		message = len(`{"id":"m000","role":"user","content":"","name":""},`)
		most    = 395 * 6 // so that five letters more still keep the limit of 400
	)
	rest := bytes - fixed - count*message - len("440")
	var list []string
	for i := range count {
		n := min(most, rest-(count-1-i))
		rest -= n
		content := strings.Repeat("x", n%6)
		if n >= 6 {
			content = fmt.Sprintf(`⟦\u0001*%d⟧`, n/6) + content
		}
		list = append(list, fmt.Sprintf("    {\n      \"id\": \"m%03d\",\n      \"role\": \"user\",\n      \"content\": \"%s\"\n    }", i, content))
	}
	if rest != 0 {
		panic(fmt.Sprintf("%d bytes are left", rest))
	}
	return messages("[\n" + strings.Join(list, ",\n") + "\n  ]")
}
