package vectors_test

import (
	"fmt"
	"regexp"
	"strings"
)

// The artifacts that the cases edit. Both are in canonical form.
const (
	finished = `{
  "schema": "ag-ui.compacted-message-snapshot.export.v1",
  "framework": "ag_ui",
  "surface": "compacted_message_snapshot_artifact",
  "thread_id_ref": "thread-1",
  "run_id_ref": "run-1",
  "parent_run_id_ref": "run-0",
  "started_at": "2026-01-31T12:00:00Z",
  "finished_at": "2026-01-31T12:00:01.500000Z",
  "messages": [
    {
      "id": "m1",
      "role": "user",
      "content": "Hello"
    },
    {
      "id": "m2",
      "role": "assistant",
      "content": "Hi there",
      "name": "guide"
    }
  ],
  "terminal_event": "RUN_FINISHED"
}
`
	failed = `{
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
      "content": "Hello"
    }
  ],
  "terminal_event": "RUN_ERROR",
  "error_code": "E1",
  "error_message": "the model is gone"
}
`
)

// An author collects cases. In the text of a case, ⟦X*N⟧ means X repeated N times.
type author struct {
	kind, profile string
	cases         []vector
}

// ok adds an accepted file in canonical form.
func (a *author) ok(rule, name, about, input string) { a.loose(rule, name, about, input, input) }

// loose adds an accepted file with its canonical form, which is empty for an envelope that
// is not canonical.
func (a *author) loose(rule, name, about, input, canonical string) {
	v := a.vector(rule, name, about, input)
	v.Outcome = "accepted"
	if canonical != "" {
		v.CanonicalDigest = sum(expand(canonical))
	}
	a.cases = append(a.cases, v)
}

// bad adds a malformed file and its findings, each "code pointer", in order.
// "code pointer *N" means N of them.
func (a *author) bad(rule, name, about, input string, findings ...string) {
	v := a.vector(rule, name, about, input)
	v.Outcome = "malformed"
	for _, f := range findings {
		var e expected
		f, times, _ := strings.Cut(f, " *")
		if times != "" {
			fmt.Sscan(times, &e.Times)
		}
		e.Code, e.Pointer, _ = strings.Cut(f, " ")
		v.Findings = append(v.Findings, e)
	}
	if len(findings) == 0 {
		panic(name + ": a malformed case without a finding")
	}
	a.cases = append(a.cases, v)
}

func (a *author) vector(rule, name, about, text string) vector {
	return vector{
		Name: rule + "-" + name, Rule: rule, Kind: a.kind, Profile: a.profile, About: about,
		Input: newInput(text), Findings: []expected{},
	}
}

// swap replaces the only occurrence of old in text.
func swap(text, old, new string) string {
	if strings.Count(text, old) != 1 {
		panic(fmt.Sprintf("%q stands %d times in %s", old, strings.Count(text, old), text))
	}
	return strings.Replace(text, old, new, 1)
}

// value replaces the value of a key of the artifact, which is on one line.
func value(text, key, value string) string { return line(text, "  ", key, value) }

// first replaces a value of the first message.
func first(key, value string) string {
	head, rest, _ := strings.Cut(finished, "    },\n")
	return line(head, "      ", key, value) + "    },\n" + rest
}

// second replaces a value of the second message.
func second(key, value string) string {
	head, rest, _ := strings.Cut(finished, "    },\n")
	return head + "    },\n" + line(rest, "      ", key, value)
}

func line(text, indent, key, value string) string {
	re := regexp.MustCompile(`(?m)^` + indent + `"` + key + `": .*?(,?)$`)
	if n := len(re.FindAllString(text, -1)); n != 1 {
		panic(fmt.Sprintf("%s stands %d times", key, n))
	}
	return re.ReplaceAllStringFunc(text, func(found string) string {
		comma := ""
		if strings.HasSuffix(found, ",") {
			comma = ","
		}
		return indent + `"` + key + `": ` + value + comma
	})
}

// without removes a key of the artifact.
func without(text, key string) string {
	re := regexp.MustCompile(`(?m)^  "` + key + `": (\[(?s:.*?)\n  \]|.*?)(,?)\n`)
	if n := len(re.FindAllString(text, -1)); n != 1 {
		panic(fmt.Sprintf("%s stands %d times", key, n))
	}
	return strings.Replace(re.ReplaceAllString(text, ""), ",\n}", "\n}", 1)
}

// messages replaces the message list.
func messages(list string) string {
	start := strings.Index(finished, `"messages": `) + len(`"messages": `)
	end := strings.Index(finished, "  \"terminal_event\"")
	return finished[:start] + list + ",\n" + finished[end:]
}

// join returns an envelope with one event per line.
func join(events ...string) string { return strings.Join(events, "\n") + "\n" }

const (
	runStarted  = `{"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1"}`
	snapshot    = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":"Hello"}]}`
	runFinished = `{"type":"RUN_FINISHED","threadId":"thread-1","runId":"run-1"}`
	runError    = `{"type":"RUN_ERROR","message":"the model is gone"}`
)

// authored returns every case.
func authored() []vector {
	a := &author{kind: "artifact", profile: "v1"}
	a.text()
	a.wrapper()
	a.references()
	a.resolving()
	a.timestamps()
	a.terminal()
	a.traces()
	a.messages()
	a.families()
	a.canonical()
	a.reporting()
	a.textEdges()
	a.artifactEdges()
	a.profile = "assay"
	a.assay()
	a.assayEdges()
	a.kind, a.profile = "envelope", "v1"
	a.envelope()
	a.envelopeEdges()
	return a.cases
}

func (a *author) text() {
	pad := 8<<20 - len(finished)
	a.loose("T1", "at-limit", "8,388,608 bytes, most of them white space at the end", finished+fmt.Sprintf("⟦ *%d⟧", pad), finished)
	a.bad("T1", "past-limit", "8,388,609 bytes, otherwise well formed", finished+fmt.Sprintf("⟦ *%d⟧", pad+1), "file_too_large")
	a.bad("T1", "past-limit-brackets", "8,388,609 brackets: a larger file is not read at all", fmt.Sprintf("⟦[*%d⟧", 8<<20+1), "file_too_large")

	for _, c := range []struct{ name, about, bytes string }{
		{"continuation", "a continuation byte alone", "\x80"},
		{"overlong-slash", "a slash in two bytes", "\xc0\xaf"},
		{"overlong-nul", "U+0000 in two bytes", "\xc0\x80"},
		{"overlong-three", "U+07FF in three bytes", "\xe0\x9f\xbf"},
		{"overlong-four", "U+FFFF in four bytes", "\xf0\x8f\xbf\xbf"},
		{"surrogate", "U+D800 in three bytes", "\xed\xa0\x80"},
		{"surrogate-pair", "U+1F600 as two surrogates of three bytes (CESU-8)", "\xed\xa0\xbd\xed\xb8\x80"},
		{"past-last", "U+110000", "\xf4\x90\x80\x80"},
		{"five-bytes", "a lead byte of five", "\xf8\x88\x80\x80\x80"},
		{"truncated", "three bytes of four", "\xf0\x9f\x98"},
		{"latin-1", "an e with acute in Latin-1", "\xe9"},
		{"byte-ff", "a byte no UTF-8 has", "\xff"},
	} {
		a.bad("T2", c.name, c.about, first("content", `"a`+c.bytes+`b"`), "json_invalid_utf8 /messages/0/content")
	}
	a.bad("T2", "in-name", "a bad byte in a key", swap(finished, `"surface"`, "\"sur\xfface\""), "json_invalid_utf8 /framework")
	a.bad("T2", "in-unclosed", "a bad byte in a string that is not closed comes first", finished[:strings.Index(finished, "Hello")]+"\xe2\x82", "json_invalid_utf8 /messages/0/content")
	a.bad("T2", "before-syntax", "a bad byte and then a bad escape in one string", first("content", "\"\xff\\x\""), "json_invalid_utf8 /messages/0/content")
	for _, c := range []struct{ name, about, char string }{
		{"two-bytes", "U+00E9 and U+07FF", "é\u07ff"},
		{"three-bytes", "U+0800, U+D7FF, U+E000 and U+FFFD", "\u0800\ud7ff\ue000\ufffd"},
		{"four-bytes", "U+10000 and U+10FFFF", "\U00010000\U0010ffff"},
		{"noncharacters", "U+FFFE, U+FFFF and U+FDD0 are code points", "\ufffe\uffff\ufdd0"},
	} {
		a.ok("T2", c.name, c.about, first("content", `"a`+c.char+`b"`))
	}

	syntax := func(name, about, input, pointer string) {
		a.bad("T3", name, about, input, strings.TrimSpace("json_syntax "+pointer))
	}
	syntax("empty", "no byte at all", "", "")
	syntax("blank", "nothing but white space", " \n\t\r ", "")
	syntax("bom", "a byte order mark before the value", "\ufeff"+finished, "")
	syntax("utf-16", "UTF-16 with its mark", "\xff\xfe{\x00}\x00", "")
	syntax("nul-before", "U+0000 before the value", "\x00"+finished, "")
	syntax("nul-in-string", "U+0000 unescaped in a string", first("content", "\"a\x00b\""), "/messages/0/content")
	syntax("newline-in-string", "a line feed unescaped in a string", first("content", "\"a\nb\""), "/messages/0/content")
	syntax("tab-in-name", "a tab unescaped in a key", swap(finished, `"surface"`, "\"sur\tface\""), "/framework")
	syntax("unclosed-string", "the file ends inside a string", finished[:strings.Index(finished, "Hello")], "/messages/0/content")
	syntax("unclosed-object", "the file ends before the last brace", strings.TrimSuffix(finished, "}\n"), "/terminal_event")
	syntax("unclosed-list", "the file ends inside the message list", finished[:strings.Index(finished, "    {\n      \"id\": \"m2\"")], "/messages/1")
	syntax("trailing-comma", "a comma after the last member", swap(finished, `"RUN_FINISHED"`, `"RUN_FINISHED",`), "/terminal_event")
	syntax("trailing-comma-list", "a comma after the last message", messages("[{\"id\":\"m1\",\"role\":\"user\",\"content\":\"x\"},]"), "/messages/1")
	syntax("no-comma", "no comma between members", swap(finished, `"ag_ui",`, `"ag_ui"`), "/framework")
	syntax("no-colon", "no colon after a name", swap(finished, `"framework":`, `"framework"`), "/schema")
	syntax("bare-name", "a name without quotes", swap(finished, `"framework"`, `framework`), "/schema")
	syntax("single-quotes", "a name in single quotes", swap(finished, `"framework"`, `'framework'`), "/schema")
	syntax("comment", "a comment", swap(finished, `"framework"`, "// no\n  \"framework\""), "/schema")
	syntax("bad-escape", "an escape JSON does not have", first("content", `"\x41"`), "/messages/0/content")
	syntax("short-escape", "three hex digits", first("content", `"\u12"`), "/messages/0/content")
	syntax("bad-literal", "True", first("content", `True`), "/messages/0/content")
	syntax("nan", "NaN", first("content", `NaN`), "/messages/0/content")
	a.bad("T3", "leading-zero", "a number with a leading zero: 0 is the value, 1 is at fault", first("content", `01`), "wrong_type /messages/0/content", "json_syntax /messages/0/content")
	a.bad("T3", "literal-longer", "true is the value, what follows is at fault", first("content", `truely`), "wrong_type /messages/0/content", "json_syntax /messages/0/content")
	syntax("bare-point", "a number that ends in its point", first("content", `1.`), "/messages/0/content")
	syntax("plus", "a number with a plus sign", first("content", `+1`), "/messages/0/content")
	syntax("no-exponent", "an exponent without digits", first("content", `1e`), "/messages/0/content")
	syntax("no-break-space", "U+00A0 between tokens is no JSON white space", swap(finished, `"framework":`, "\u00a0\"framework\":"), "/schema")
	syntax("mismatch", "a list closed by a brace", messages("[}"), "/messages/0")
	a.bad("T3", "after-other-findings", "what was found before the fault is reported, what is absent is not judged",
		`{"schema":"x","framework":7,"messages":[],`, "wrong_value /schema", "wrong_type /framework", "messages_empty /messages", "json_syntax /messages")
	a.bad("T3", "list-not-ended", "a list that was not read to its end is not called empty", `{"messages":[`, "json_syntax /messages/0")
	a.bad("T3", "key-read", "a key is read when its colon is", `{"x":`, "key_unknown /x", "json_syntax /x")
	a.bad("T3", "key-not-read", "a name without its colon is no key yet", `{"x"`, "json_syntax")
	a.bad("T3", "family-read", "a family whose value is not read", `{"schema":{"state":`, "wrong_type /schema", "extra_event_family /schema/state", "json_syntax /schema/state")
	a.bad("T3", "value-not-read", "a value that is not read to its end has no type", `{"schema":tru`, "json_syntax /schema")
	a.bad("T3", "bracket-read", "a list has its type with its opening bracket", `{"schema":[`, "wrong_type /schema", "json_syntax /schema/0")
	a.bad("T3", "not-closed", "rules about the object as a whole need its closing brace", `{"terminal_event":"RUN_FINISHED","error_code":"x"`, "json_syntax /error_code")
	a.bad("T3", "escape-before-bad-byte", "a bad escape is at fault at its backslash", first("content", "\"\\\xff\""), "json_syntax /messages/0/content")
	a.bad("T3", "message-closed", "a message that is closed is judged as a whole", `{"messages":[{"id":"m1"}`, "key_missing /messages/0/content", "key_missing /messages/0/role", "json_syntax /messages/0")
	a.loose("T3", "white-space", "white space of every JSON kind between all tokens", strings.NewReplacer("\n", "\r\n\t ", ": ", " : ").Replace(finished), finished)
	a.bad("T3", "huge-number", "1e400 and an integer of 400 digits are JSON, and of the wrong type here",
		swap(first("content", "1e400"), `"RUN_FINISHED"`, "\"RUN_FINISHED\",\n  \"x\": ⟦9*400⟧"), "wrong_type /messages/0/content", "key_unknown /x")

	dup := func(name, about, input string, findings ...string) { a.bad("T4", name, about, input, findings...) }
	dup("top", "a key of the artifact twice", swap(finished, `  "framework"`, "  \"schema\": \"ag-ui.compacted-message-snapshot.export.v1\",\n  \"framework\""), "json_duplicate_key /schema")
	a.ok("T4", "two-objects", "two objects may have the same keys", finished)
	dup("top-escaped", "a key twice, once with an escape", swap(finished, `  "framework"`, "  \"\\u0073chema\": \"x\",\n  \"framework\""), "json_duplicate_key /schema")
	dup("message", "a key of a message twice; the first is judged", first("content", "\"Hello\",\n      \"content\": 7"), "json_duplicate_key /messages/0/content")
	dup("message-last", "a key of the second message twice", second("name", "\"guide\",\n      \"id\": \"m1\""), "json_duplicate_key /messages/1/id")
	dup("nested", "a key twice inside a value that is read over", value(finished, "run_id_ref", `{"a":{"b":[{"c":1,"c":2}]}}`), "wrong_type /run_id_ref", "json_duplicate_key /run_id_ref/a/b/0/c")
	dup("in-family", "a key twice inside a family's value, of which nothing else is judged", swap(finished, "  \"framework\"", "  \"state\": {\"a\":1,\"a\":2,\"events\":3},\n  \"framework\""), "extra_event_family /state", "json_duplicate_key /state/a")
	dup("empty", "the empty name twice", swap(finished, "  \"framework\"", "  \"\": 1, \"\": 2,\n  \"framework\""), "key_unknown /", "json_duplicate_key /")
	dup("family", "a family's key twice: the second is only a repeated one", swap(finished, "  \"framework\"", "  \"raw\": 1, \"raw\": 2,\n  \"framework\""), "extra_event_family /raw", "json_duplicate_key /raw")
	dup("family-inside-repeated", "a family's key inside a repeated member", swap(finished, "  \"framework\"", "  \"schema\": {\"delta\": [{\"step\": 1}]},\n  \"framework\""), "json_duplicate_key /schema", "extra_event_family /schema/delta")
	dup("two", "a key three times", swap(finished, "  \"framework\"", "  \"schema\": 1, \"schema\": 2,\n  \"framework\""), "json_duplicate_key /schema *2")
	dup("in-list", "a key twice in a file that is no object", `[{"a":1,"a":2}]`, "not_an_object", "json_duplicate_key /0/a")
	dup("surrogate", "two names of one half of a pair", swap(finished, "  \"framework\"", "  \"\\ud800\": 1, \"\\uD800\": 2,\n  \"framework\""), "key_unknown /\ufffd", "json_duplicate_key /\ufffd")
	a.bad("T4", "different-names", "names that only look the same are different", swap(finished, "  \"framework\"", "  \"Schema\": 1, \"schema \": 2, \"s\\u0441hema\": 3,\n  \"framework\""), "key_unknown /Schema", "key_unknown /schema ", "key_unknown /s\u0441hema")

	nested := func(n int) string { return fmt.Sprintf("⟦[*%d⟧⟦]*%d⟧", n, n) }
	a.bad("T5", "at-limit", "512 open at once: the artifact and 511 lists", value(finished, "run_id_ref", nested(511)), "wrong_type /run_id_ref")
	a.bad("T5", "past-limit", "513 open at once", value(finished, "run_id_ref", nested(512)), "wrong_type /run_id_ref", "json_too_deep /run_id_ref"+strings.Repeat("/0", 506))
	a.bad("T5", "objects", "513 objects open at once, and never closed", "⟦{\"a\":*600⟧", "key_unknown /a", "json_too_deep "+strings.Repeat("/a", 512))
	a.bad("T5", "brackets", "200,000 brackets", "⟦[*200000⟧", "not_an_object", "json_too_deep "+strings.Repeat("/0", 512))

	for _, c := range []struct{ name, about, after string }{
		{"brace", "one brace more", "}"}, {"value", "a second value", "{}"}, {"comma", "a comma", ","}, {"null-character", "U+0000", "\x00"},
		{"bom", "a byte order mark", "\ufeff"}, {"form-feed", "U+000C is no JSON white space", "\f"}, {"second-artifact", "a second artifact", finished}, {"bad-byte", "a byte that is no UTF-8", "\xff"},
	} {
		a.bad("T6", c.name, c.about+" after the value", finished+c.after, "json_trailing_data")
	}
	a.bad("T6", "after-list", "a second value after one that is no object", "[] []", "not_an_object", "json_trailing_data")
	a.bad("T6", "judged-whole", "the artifact before it is judged as a whole", without(failed, "error_message")+"7", "key_missing /error_message", "json_trailing_data")
	a.loose("T6", "white-space", "white space of every JSON kind after the value", finished+" \t\r\n", finished)
	a.loose("T6", "nothing", "no line feed at the end", strings.TrimSuffix(finished, "\n"), finished)
}

func (a *author) wrapper() {
	for _, c := range []struct{ name, text string }{
		{"list", "[]"}, {"list-of-artifact", "[" + finished + "]"}, {"string", `"artifact"`}, {"number", "7"}, {"true", "true"}, {"null", "null"},
	} {
		a.bad("A1", c.name, "the value is no object", c.text, "not_an_object")
	}
	a.ok("A1", "object", "a finished run with every optional key", finished)
	a.ok("A1", "object-failed", "a failed run", failed)

	for _, key := range []string{"schema", "framework", "surface", "thread_id_ref", "run_id_ref", "started_at", "messages", "terminal_event"} {
		a.bad("A2", "no-"+strings.ReplaceAll(key, "_", "-"), key+" is absent", without(finished, key), "key_missing /"+key)
	}
	a.bad("A2", "empty", "an object without a key", "{}", "key_missing /framework", "key_missing /messages", "key_missing /run_id_ref", "key_missing /schema",
		"key_missing /started_at", "key_missing /surface", "key_missing /terminal_event", "key_missing /thread_id_ref")
	for _, key := range []string{"parent_run_id_ref", "finished_at"} {
		a.ok("A2", "without-"+strings.ReplaceAll(key, "_", "-"), key+" is optional", without(finished, key))
	}

	for _, c := range []struct{ name, key, pointer string }{
		{"plain", "extra", "extra"}, {"empty", "", ""}, {"upper-case", "SCHEMA", "SCHEMA"}, {"camel-case", "runIdRef", "runIdRef"}, {"upstream", "threadId", "threadId"},
		{"tilde", "a~b", "a~0b"}, {"slash", "a/b", "a~1b"}, {"metadata", "metadata", "metadata"}, {"space", "schema ", "schema "}, {"non-ascii", "schéma", "schéma"},
		{"role", "role", "role"}, {"type", "type", "type"}, {"numeric", "0", "0"},
	} {
		a.bad("A3", c.name, "a key the contract does not have", insert(`"`+c.key+`": 1`), "key_unknown /"+c.pointer)
	}
	a.ok("A3", "none", "every key the contract has", finished)
	a.bad("A3", "half-pair", "a name that holds half of a surrogate pair", insert(`"a\ud800b": 1`), "key_unknown /a\ufffdb")
	a.bad("A3", "half-pairs", "two halves side by side are one U+FFFD in a pointer", insert(`"\udc00\udc00": 1`), "key_unknown /\ufffd")
	a.bad("A3", "several", "all are reported, in document order", swap(insert(`"z": 1`), `  "terminal_event"`, "  \"b\": [], \"a\": {},\n  \"terminal_event\""), "key_unknown /z", "key_unknown /b", "key_unknown /a")
	a.bad("A3", "long-name", "a pointer of 1,024 bytes", insert(`"⟦n*1023⟧": 1`), "key_unknown /"+strings.Repeat("n", 1023))
	a.bad("A3", "too-long-name", "a pointer past 1,024 bytes is cut to the value around", insert(`"⟦n*1024⟧": 1`), "key_unknown")

	for _, key := range []string{"schema", "framework", "surface", "thread_id_ref", "run_id_ref", "parent_run_id_ref", "started_at", "finished_at", "terminal_event"} {
		v := map[string]string{"schema": "1", "framework": "null", "surface": "[]", "thread_id_ref": "42", "run_id_ref": "null", "parent_run_id_ref": "null", "started_at": "1769860800000", "finished_at": "null", "terminal_event": "{}"}[key]
		a.bad("A5", strings.ReplaceAll(key, "_", "-"), key+" is "+v, value(finished, key, v), "wrong_type /"+key)
	}
	for _, c := range []struct{ key, v string }{{"error_code", "500"}, {"error_message", "null"}} {
		a.bad("A5", strings.ReplaceAll(c.key, "_", "-"), c.key+" is "+c.v, value(failed, c.key, c.v), "wrong_type /"+c.key)
	}
	a.ok("A5", "strings", "strings that look like other types", value(finished, "run_id_ref", `"null"`))
	a.bad("A5", "boolean", "true where a string belongs", value(finished, "run_id_ref", "true"), "wrong_type /run_id_ref")
	a.bad("A5", "list-of-string", "a list of the string", value(finished, "run_id_ref", `["run-1"]`), "wrong_type /run_id_ref")

	for _, key := range []string{"schema", "thread_id_ref", "started_at", "terminal_event"} {
		a.bad("A6", strings.ReplaceAll(key, "_", "-"), "a high half alone in "+key, value(finished, key, `"\ud800"`), "lone_surrogate /"+key)
	}
	a.bad("A6", "low", "a low half alone", value(finished, "run_id_ref", `"run\udc00"`), "lone_surrogate /run_id_ref")
	a.bad("A6", "reversed", "a low half before a high one", value(finished, "run_id_ref", `"\udc00\ud800"`), "lone_surrogate /run_id_ref")
	a.bad("A6", "two-highs", "a high half before a pair", value(finished, "run_id_ref", `"\ud800\ud83d\ude00"`), "lone_surrogate /run_id_ref")
	a.bad("A6", "apart", "halves with a character between", value(finished, "run_id_ref", `"\ud83d-\ude00"`), "lone_surrogate /run_id_ref")
	a.bad("A6", "error-message", "half of a pair in an error text", value(failed, "error_message", `"x\ud83d"`), "lone_surrogate /error_message")
	a.loose("A6", "pair", "a pair of escapes is one code point", value(finished, "run_id_ref", `"run\ud83d\uDE00"`), value(finished, "run_id_ref", `"run😀"`))
	a.loose("A6", "escaped-backslash", "an escaped backslash before ud800 is no escape of a half", value(finished, "run_id_ref", `"run\u005cud800"`), value(finished, "run_id_ref", `"run\\ud800"`))

	for _, key := range []string{"thread_id_ref", "run_id_ref", "parent_run_id_ref", "started_at", "finished_at", "terminal_event"} {
		a.bad("A7", strings.ReplaceAll(key, "_", "-"), key+" is empty", value(finished, key, `""`), "value_blank /"+key)
	}
	a.ok("A7", "one", "one code point", value(finished, "run_id_ref", `"0"`))
	a.bad("A7", "error-code", "error_code is a space", value(failed, "error_code", `" "`), "value_blank /error_code")
	a.bad("A7", "error-message", "error_message is empty", value(failed, "error_message", `""`), "value_blank /error_message")

	for _, k := range []struct{ rule, key, good string }{
		{"A8", "schema", "ag-ui.compacted-message-snapshot.export.v1"}, {"A9", "framework", "ag_ui"}, {"A10", "surface", "compacted_message_snapshot_artifact"},
	} {
		for _, c := range []struct{ name, value string }{
			{"empty", ""}, {"upper", strings.ToUpper(k.good)}, {"space", k.good + " "}, {"prefix", k.good[:len(k.good)-1]}, {"longer", k.good + "2"},
		} {
			a.bad(k.rule, c.name, k.key+" is another text", value(finished, k.key, `"`+c.value+`"`), "wrong_value /"+k.key)
		}
		escaped := fmt.Sprintf(`"\u%04x%s"`, k.good[0], k.good[1:])
		a.loose(k.rule, "escaped", k.key+" with an escape has the same value", value(finished, k.key, escaped), finished)
	}
	a.bad("A8", "v2", "schema is of another version", value(finished, "schema", `"ag-ui.compacted-message-snapshot.export.v2"`), "wrong_value /schema")
	a.bad("A9", "hyphen", "framework with a hyphen", value(finished, "framework", `"ag-ui"`), "wrong_value /framework")
}
