package assay

import (
	"strings"
)

func lineMutations() []mutation {
	l := func(name, code string, change func([]string) []string) mutation {
		return mutation{"lines: " + name, code, code == accepted, func(f *forge) { f.lines = change }}
	}
	first := func(name, code string, change func(string) string) mutation {
		return l(name, code, func(lines []string) []string {
			lines[0] = change(strings.TrimSuffix(lines[0], "\n")) + "\n"
			return lines
		})
	}
	return []mutation{
		first("CRLF", accepted, func(s string) string { return s + "\r" }),
		first("two CR", accepted, func(s string) string { return s + "\r\r" }),
		first("spaces", accepted, func(s string) string { return " " + strings.ReplaceAll(s, `":`, `" :`) + "\t " }),
		first("vertical tab", contractJSON, func(s string) string { return "\v" + s }),
		first("no-break space inside", contractJSON, func(s string) string { return strings.Replace(s, ",", ",\u00a0", 1) }),
		first("null byte", contractJSON, func(s string) string { return s + "\x00" }),
		first("mark of byte order", contractJSON, func(s string) string { return "\ufeff" + s }),
		first("second value", contractJSON, func(s string) string { return s + "{}" }),
		first("comma", contractJSON, func(s string) string { return s + "," }),
		first("cut", contractJSON, func(s string) string { return s[:len(s)-1] }),
		first("empty", contractEvent, func(string) string { return "" }),
		first("a CR alone", contractEvent, func(string) string { return "\r" }),
		first("a space alone", contractJSON, func(string) string { return " " }),
		first("null", contractJSON, func(string) string { return "null" }),
		first("empty object", contractJSON, func(string) string { return "{}" }),
		first("empty array", contractJSON, func(string) string { return "[]" }),
		first("bad UTF-8", contractJSON, func(s string) string { return strings.Replace(s, "é", "\xe9", 1) }),
		first("UTF-8 of a surrogate", contractJSON, func(s string) string { return strings.Replace(s, "é", "\xed\xa0\x80", 1) }),
		l("mark of byte order later", contractJSON, func(l []string) []string { l[1] = "\ufeff" + l[1]; return l }),
		l("no final line feed", accepted, func(l []string) []string { l[2] = strings.TrimSuffix(l[2], "\n"); return l }),
		l("blank line at the end", contractEvent, func(l []string) []string { return append(l, "\n") }),
		l("blank line between", contractEvent, func(l []string) []string { return []string{l[0], "\n", l[1], l[2]} }),
		l("spaces at the end", contractJSON, func(l []string) []string { return append(l, "  ") }),
		l("two events in a line", contractJSON, func(l []string) []string { l[0] = strings.TrimSuffix(l[0], "\n"); return l }),
		l("event over two lines", contractJSON, func(l []string) []string { l[0] = strings.Replace(l[0], ",", ",\n", 1); return l }),
		l("keys in other order", accepted, func(l []string) []string {
			l[0] = `{"assaypii":false,` + strings.Replace(l[0][1:], `"assaypii":false,`, "", 1)
			return l
		}),
		l("line at the limit", accepted, func(l []string) []string { l[1] = padLine(l[1], 1<<20); return l }),
		l("line past the limit", limitLine, func(l []string) []string { l[1] = padLine(l[1], 1<<20+1); return l }),
		l("last line at the limit", accepted, func(l []string) []string { l[2] = strings.TrimSuffix(padLine(l[2], 1<<20), "\n"); return l }),
		l("last line past the limit", limitLine, func(l []string) []string { l[2] = strings.TrimSuffix(padLine(l[2], 1<<20+1), "\n"); return l }),
		l("line at the limit with CR", limitLine, func(l []string) []string {
			l[1] = strings.TrimSuffix(padLine(l[1], 1<<20), "\n") + "\r\n"
			return l
		}),
	}
}

// padLine pads a line with spaces to a number of bytes before its line feed.
func padLine(line string, size int) string {
	line = strings.TrimSuffix(line, "\n")
	return line + strings.Repeat(" ", size-len(line)) + "\n"
}

func jsonMutations() []mutation {
	d := func(name, code, data string) mutation {
		m := event0("json: "+name, code, func(e *object) { e.set("data", data) })
		m.strict = false
		return m
	}
	loose := func(m mutation) mutation { m.strict = true; return m }
	z := func(name, code, value string) mutation {
		return event0("json: "+name, code, func(e *object) { e.set("zz", value) })
	}
	return []mutation{
		d("depth at the limit", accepted, nest(63)),
		d("depth past the limit", limitDepth, nest(64)),
		d("depth at the limit in an object", accepted, strings.Repeat(`{"a":`, 63)+"1"+strings.Repeat("}", 63)),
		d("depth past the limit in an object", limitDepth, strings.Repeat(`{"a":`, 64)+"1"+strings.Repeat("}", 64)),
		z("depth past the limit in an unknown field", limitDepth, nest(64)),
		z("fault before too much depth", contractJSON, "[1,,"+nest(64)+"]"),
		z("fault after too much depth", limitDepth, "["+nest(64)+",,]"),
		z("control character before too much depth", limitDepth, "[\"\x01\","+nest(64)+"]"),
		z("wide space before too much depth", limitDepth, "[\u2003"+nest(64)+"]"),
		z("duplicate before too much depth", contractJSON, `[{"a":1,"a":2},`+nest(64)+"]"),
		z("duplicates told apart by control characters before too much depth", limitDepth, "[{\"\x01\":1,\"\x02\":2},"+nest(64)+"]"),
		z("duplicate control characters before too much depth", contractJSON, "[{\"\x01\":1,\"\x01\":2},"+nest(64)+"]"),
		z("escaped control character before too much depth", contractJSON, "[\"\\\x01\","+nest(64)+"]"),
		z("huge number before too much depth", limitDepth, "[1e400,"+nest(64)+"]"),
		z("too many keys before too much depth", contractJSON, "["+keys(10_001)+","+nest(64)+"]"),
		mutation{"json: too much depth behind the event", contractJSON, false, func(f *forge) {
			f.lines = func(l []string) []string { l[0] = strings.TrimSuffix(l[0], "\n") + nest(65) + "\n"; return l }
		}},
		loose(d("keys at the limit", accepted, keys(10_000))),
		d("keys past the limit", contractJSON, keys(10_001)),
		d("duplicate key", contractJSON, `{"a":1,"a":1}`),
		d("duplicate key after unescaping", contractJSON, `{"a":1,"\u0061":1}`),
		d("duplicate key deep", contractJSON, `[[{"a":{"b":1,"c":2,"b":3}}]]`),
		d("keys alike in another object", accepted, `{"a":{"a":{"a":1}}}`),
		loose(d("keys not normalised", accepted, `{"é":1,"e\u0301":2}`)),
		loose(d("order of UTF-16", accepted, `{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"\r":4,"1":5,"\u0080":6,"\u00f6":7,"":8}`)),
		d("order of UTF-16, canonical", accepted, "{\"\":8,\"\\r\":4,\"1\":5,\"\u0080\":6,\"ö\":7,\"€\":3,\"😀\":2,\"\ufb33\":1}"),
		loose(d("escapes", accepted, `"\u0041\/\b\f\n\r\t\"\\\u001f\u007f\u2028\ud83d\ude00\uFFFF"`)),
		d("escapes, canonical", accepted, "\"/<>&\\b\\f\\n\\r\\t\\\"\\\\\\u001f\u007f\u2028\u2029😀\ufeff\uffff\""),
		d("surrogate alone", contractJSON, `"\ud83d"`),
		d("low surrogate alone", contractJSON, `"\ude00"`),
		d("two high surrogates", contractJSON, `"\ud83d\ud83d\ude00"`),
		d("surrogate and a letter", contractJSON, `"\ud83dx"`),
		d("surrogate and an escape", contractJSON, `"\ud83d\n"`),
		d("surrogate in a key", contractJSON, `{"\ud83d":1}`),
		d("short escape", contractJSON, `"\u12"`),
		d("unknown escape", contractJSON, `"\x41"`),
		d("control character", contractJSON, "\"\x01\""),
		d("DEL", accepted, "\"\x7f\""),
		d("leading zero", contractJSON, "01"),
		d("plus", contractJSON, "+1"),
		d("point first", contractJSON, ".5"),
		d("point last", contractJSON, "5."),
		d("exponent empty", contractJSON, "5e"),
		d("NaN", contractJSON, "NaN"),
		d("word", contractJSON, "nul"),
		d("capital word", contractJSON, "True"),
		d("comment", contractJSON, "/**/1"),
		d("trailing comma in an array", contractJSON, "[1,]"),
		d("trailing comma in an object", contractJSON, `{"a":1,}`),
		d("missing comma", contractJSON, "[1 2]"),
		d("name without quotes", contractJSON, "{a:1}"),
		d("single quotes", contractJSON, "'a'"),
		d("private name of serde", accepted, `{"$serde_json::private::Number":"1"}`),
		d("private raw name of serde", accepted, `{"$serde_json::private::RawValue":"1"}`),
		event0("json: duplicate field", contractJSON, func(e *object) { e.add(`"type"`, `"example.type"`) }),
		event0("json: duplicate field after unescaping", contractJSON, func(e *object) { e.add(`"typ\u0065"`, `"example.type"`) }),
		event0("json: escaped field", accepted, func(e *object) { (*e)[1].name = `"assay\u0067it"` }),
		event0("json: escaped value", accepted, func(e *object) { e.set("assayrunid", `"\u0072un"`) }),
		event0("json: surrogate in an unknown field", contractJSON, func(e *object) { e.set("zz", `"\ud800"`) }),
	}
}
