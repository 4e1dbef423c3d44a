package vectors_test

import (
	"fmt"
	"slices"
	"strings"
)

func (a *author) envelope() {
	whole := join(runStarted, snapshot, runFinished)
	a.ok("C4", "finished", "a finished run", whole)
	a.ok("C4", "failed", "a failed run", join(runStarted, snapshot, runError))
	a.ok("C4", "inner-space", "white space inside an event is upstream's", join(strings.ReplaceAll(runStarted, ":", " : "), snapshot, runFinished))
	a.loose("C4", "crlf", "lines that end in CR LF", strings.ReplaceAll(whole, "\n", "\r\n"), "")
	a.loose("C4", "no-line-feed", "no line feed at the end", strings.TrimSuffix(whole, "\n"), "")
	a.loose("C4", "bom", "a byte order mark at the start is read over", "\ufeff"+whole, "")
	a.loose("C4", "empty-line", "an empty line between events", join(runStarted, "", snapshot, runFinished), "")
	a.loose("C4", "empty-line-first", "an empty line before the events", "\n"+whole, "")
	a.loose("C4", "empty-line-last", "an empty line after the events", whole+"\n", "")
	a.loose("C4", "indented", "white space before an event", " "+whole, "")
	a.loose("C4", "space-after", "white space after an event", strings.Replace(whole, "\n", " \t\n", 1), "")

	for _, rule := range []string{"E1", "E3", "E4", "E5", "E6"} {
		a.ok(rule, "whole", "exactly the three, in their order", whole)
	}
	a.ok("E8", "empty", "an envelope may hold names that an artifact may not", join(`{"type":"RUN_STARTED","threadId":"","runId":" "}`, snapshot, `{"type":"RUN_FINISHED","threadId":"","runId":" "}`))
	a.ok("E9", "pair", "a pair of escapes and the character are the same", join(strings.Replace(runStarted, "run-1", `\ud83d\ude00`, 1), snapshot, strings.Replace(runFinished, "run-1", "😀", 1)))

	// JSON text: each line is read separately.
	text := func(rule, name, about, second string, finding string) {
		a.bad(rule, "event-"+name, about, join(runStarted, second, runFinished), "envelope_incomplete", finding)
	}
	text("T2", "bad-byte", "a bad byte in an event", `{"type":"MESSAGES_SNAPSHOT","messages":[{"content":"`+"\xff"+`"}]}`, "json_invalid_utf8 /messages/0/content")
	text("T3", "unclosed", "an event that is not closed", strings.TrimSuffix(snapshot, "}"), "json_syntax /messages")
	text("T3", "literal", "nothing of JSON", `{"type":"MESSAGES_SNAPSHOT","messages":nil}`, "json_syntax /messages")
	text("T4", "top", "a key of an event twice", `{"type":"MESSAGES_SNAPSHOT","messages":[],"messages":[]}`, "json_duplicate_key /messages")
	text("T4", "nested", "a key of a message twice", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":1,"\u0069d":2}]}`, "json_duplicate_key /messages/0/id")
	text("T4", "then-syntax", "the first fault ends the reading of the line", `{"type":"MESSAGES_SNAPSHOT","x":{"a":1,"a":2},]}`, "json_duplicate_key /x/a")
	text("T5", "past-limit", "513 open at once", `{"type":"MESSAGES_SNAPSHOT","messages":⟦[*512⟧⟦]*512⟧}`, "json_too_deep /messages"+strings.Repeat("/0", 507))
	a.ok("T5", "event-at-limit", "512 open at once in an event", join(runStarted, `{"type":"MESSAGES_SNAPSHOT","messages":[],"x":⟦[*511⟧⟦]*511⟧}`, runFinished))
	text("T6", "second-value", "a second value on a line", snapshot+"{}", "json_trailing_data")
	a.bad("T6", "event-two-on-a-line", "two events on one line are none", join(runStarted+runStarted, snapshot, runFinished), "envelope_incomplete", "json_trailing_data")
	a.bad("T3", "event-over-lines", "an event over two lines", join(runStarted, `{"type":"MESSAGES_SNAPSHOT",`, `"messages":[]}`, runFinished), "envelope_incomplete", "json_syntax /type", "json_trailing_data")
	a.ok("T3", "event-huge-number", "1e400, an integer of 400 digits and half of a pair are JSON where no rule looks", join(runStarted, `{"type":"MESSAGES_SNAPSHOT","messages":[{"content":"\ud800"}],"x":[1e400,⟦9*400⟧]}`, runFinished))

	for _, c := range []struct{ name, line string }{{"list", "[]"}, {"string", `"RUN_STARTED"`}, {"number", "1"}, {"null", "null"}} {
		a.bad("E1", c.name, "a line that is no object", join(runStarted, snapshot, c.line, runFinished), "event_not_object")
	}
	for _, c := range []struct{ name, event, pointer string }{
		{"absent", `{}`, ""}, {"other-key", `{"Type":"RAW"}`, ""}, {"null", `{"type":null}`, " /type"}, {"number", `{"type":4}`, " /type"}, {"empty", `{"type":""}`, " /type"},
		{"half-pair", `{"type":"RAW\ud800"}`, " /type"}, {"list", `{"type":["RAW"]}`, " /type"}, {"envelope", `{"event":{"type":"RAW"}}`, ""},
	} {
		a.bad("E2", c.name, "an event without a usable type", join(runStarted, snapshot, runFinished, c.event), "event_type_missing"+c.pointer)
	}
	a.ok("E2", "escaped", "a type with an escape", join(strings.Replace(runStarted, "RUN_STARTED", `RUN\u005fSTARTED`, 1), snapshot, runFinished))

	places := []string{"RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED", "RUN_ERROR"}
	events := []string{runStarted, snapshot, runFinished}
	for i, name := range slices.Concat(eventTypes, []string{"UNHEARD_OF", "run_finished", "TEXT_MESSAGE", "STATE"}) {
		if slices.Contains(places, name) {
			continue
		}
		extra := fmt.Sprintf(`{"type":"%s","messageId":"m1","delta":"x"}`, name)
		a.bad("E3", name, fmt.Sprintf("one %s more, at place %d", name, i%4), join(slices.Insert(slices.Clone(events), i%4, extra)...), "extra_event_family /type")
	}
	a.bad("E3", "only", "extra events and none of the three", join(`{"type":"RAW"}`, `{"type":"CUSTOM"}`), "envelope_incomplete *3", "extra_event_family /type *2")
	a.bad("E3", "many", "more than a hundred extra events", fmt.Sprintf("%s⟦{\"type\":\"RAW\"}\n*100⟧", join(runStarted, snapshot)), "envelope_incomplete", "extra_event_family /type *99", "findings_past_limit")

	for i, name := range []string{"started", "snapshot", "terminal"} {
		a.bad("E4", name, "the "+name+" event twice", join(slices.Insert(slices.Clone(events), i, events[i])...), "envelope_event_repeated /type")
	}
	a.bad("E4", "both-terminals", "RUN_FINISHED and RUN_ERROR", join(runStarted, snapshot, runFinished, runError), "envelope_event_repeated /type")
	a.bad("E4", "not-judged", "nothing else of the second one is judged", join(runStarted, snapshot, `{"type":"MESSAGES_SNAPSHOT","messages":7}`, runFinished, `{"type":"RUN_ERROR","runId":"other"}`), "envelope_event_repeated /type *2")
	a.bad("E4", "late", "a second RUN_STARTED after the end", join(runStarted, snapshot, runFinished, strings.ReplaceAll(runStarted, "-1", "-2")), "envelope_event_repeated /type")
	a.bad("E4", "two-envelopes", "two envelopes in one file", whole+whole, "envelope_event_repeated /type *3")

	for _, order := range [][]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var list, name []string
		late, last := []string{}, 0
		for _, i := range order {
			list = append(list, events[i])
			name = append(name, []string{"started", "snapshot", "terminal"}[i])
			if i < last {
				late = append(late, "envelope_order /type")
			}
			last = max(last, i)
		}
		a.bad("E5", strings.Join(name, "-"), "the three in another order", join(list...), late...)
	}

	a.bad("E6", "empty", "no event at all", "", "envelope_incomplete *3")
	a.bad("E6", "blank", "nothing but white space", " \n\t\n", "envelope_incomplete *3")
	for i, name := range []string{"started", "snapshot", "terminal"} {
		a.bad("E6", "no-"+name, "the "+name+" event is absent", join(slices.Delete(slices.Clone(events), i, i+1)...), "envelope_incomplete")
		a.bad("E6", "only-"+name, "nothing but the "+name+" event", join(events[i]), "envelope_incomplete *2")
	}
	a.bad("E6", "artifact", "an artifact on one line", strings.Join(strings.Fields(failed), " ")+"\n", "envelope_incomplete *3", "event_type_missing")

	for _, c := range []struct{ key, own string }{{"threadId", "thread-1"}, {"runId", "run-1"}} {
		member := fmt.Sprintf(`"%s":"%s"`, c.key, c.own)
		started := func(v string) string { return strings.Replace(runStarted, `"`+c.own+`"`, v, 1) }
		ended := func(v string) string { return strings.Replace(runFinished, `"`+c.own+`"`, v, 1) }
		a.bad("E7", c.key, "RUN_STARTED without "+c.key, join(strings.Replace(runStarted, ","+member, "", 1), snapshot, runFinished), "event_field_malformed /"+c.key)
		a.ok("E7", c.key+"-terminal", "the terminal event need not have "+c.key, join(runStarted, snapshot, strings.Replace(runFinished, ","+member, "", 1)))
		for _, k := range []struct{ name, v string }{{"null", "null"}, {"number", "1"}, {"list", "[]"}} {
			a.bad("E8", c.key+"-"+k.name, c.key+" of RUN_STARTED is "+k.v, join(started(k.v), snapshot, runFinished), "event_field_malformed /"+c.key)
			a.bad("E8", c.key+"-terminal-"+k.name, c.key+" of the terminal event is "+k.v, join(runStarted, snapshot, ended(k.v)), "event_field_malformed /"+c.key)
		}
		a.bad("E8", c.key+"-not-judged", "not judged of the terminal event without RUN_STARTED", join(snapshot, ended("7")), "envelope_incomplete")
		a.bad("E9", c.key, "half of a pair in RUN_STARTED", join(started(`"\ud800"`), snapshot, runFinished), "lone_surrogate /"+c.key)
		a.bad("E9", c.key+"-terminal", "half of a pair in the terminal event", join(runStarted, snapshot, ended(`"\udfff"`)), "lone_surrogate /"+c.key)
		a.bad("E9", c.key+"-both", "the same half in both", join(started(`"\ud800"`), snapshot, ended(`"\ud800"`)), "lone_surrogate /"+c.key+" *2")

		// Another thread is malformed; the terminal event may name another run.
		differs := func(name, about, input string, others ...string) {
			if c.key == "threadId" {
				a.bad("E11", name, about, input, append([]string{"terminal_names_other_thread /threadId"}, others...)...)
			} else if name = "run-" + name; len(others) == 0 {
				a.ok("E11", name, about, input)
			} else {
				a.bad("E11", name, about, input, others...)
			}
		}
		for _, k := range []struct{ name, v string }{{"other", "other"}, {"empty", ""}, {"space", c.own + " "}, {"upper", strings.ToUpper(c.own)}} {
			differs(k.name, c.key+" is another", join(runStarted, snapshot, ended(`"`+k.v+`"`)))
		}
		differs("error", c.key+" of RUN_ERROR is another", join(runStarted, snapshot, strings.Replace(runError, "{", fmt.Sprintf(`{"%s":"other",`, c.key), 1)))
		differs("before", c.key+" of a terminal event that stands first", join(ended(`"other"`), runStarted, snapshot), "envelope_order /type", "envelope_order /type")
		differs("normal-form", "é in two normal forms of Unicode is two names", join(started(`"é"`), snapshot, ended("\"e\u0301\"")))
	}
	a.ok("E11", "escaped", "threadId with an escape is the same", join(runStarted, snapshot, strings.Replace(runFinished, "thread-1", `thread\u002d1`, 1)))
	a.bad("E11", "not-judged", "not judged without RUN_STARTED", join(snapshot, strings.Replace(runFinished, "thread-1", "other", 1)), "envelope_incomplete")
	a.bad("E11", "both", "both names are others", join(runStarted, snapshot, `{"type":"RUN_FINISHED","runId":"x","threadId":"y"}`), "terminal_names_other_thread /threadId")

	for _, c := range []struct{ name, snapshot string }{
		{"absent", `{"type":"MESSAGES_SNAPSHOT"}`}, {"null", `{"type":"MESSAGES_SNAPSHOT","messages":null}`}, {"object", `{"type":"MESSAGES_SNAPSHOT","messages":{"0":{}}}`}, {"string", `{"type":"MESSAGES_SNAPSHOT","messages":"[]"}`},
	} {
		a.bad("E12", c.name, "no list of messages", join(runStarted, c.snapshot, runFinished), "snapshot_malformed /messages")
	}
	a.ok("E12", "empty", "an empty list", join(runStarted, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`, runFinished))
	for _, c := range []struct{ name, v string }{{"null", "null"}, {"string", `"Hello"`}, {"list", "[{}]"}, {"number", "1"}} {
		a.bad("E13", c.name, "a message is "+c.v, join(runStarted, `{"type":"MESSAGES_SNAPSHOT","messages":[{},`+c.v+`,{}]}`, runFinished), "snapshot_malformed /messages/1")
	}
	a.bad("E13", "several", "each is reported", join(runStarted, `{"type":"MESSAGES_SNAPSHOT","messages":[1,{},2]}`, runFinished), "snapshot_malformed /messages/0", "snapshot_malformed /messages/2")
	a.ok("E13", "rich", "messages richer than those of an artifact", join(
		`{"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1","parentRunId":null,"input":{"state":{},"messages":[]},"rawEvent":{}}`,
		`{"type":"MESSAGES_SNAPSHOT","timestamp":1769860800000,"messages":[{},{"id":"m2","role":"assistant","toolCalls":[{"id":"c"}]},{"id":"m3","role":"user","content":[{"type":"image"}]},{"role":"activity"}]}`,
		`{"type":"RUN_FINISHED","result":{"state":1},"outcome":{"type":"success"}}`))
}
