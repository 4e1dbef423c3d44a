package main

// A mutant is the program without the check of one rule.
type mutant struct {
	rule  string
	check string // the disabled check, for people
	file  string
	old   string // occurs exactly once in the file
	new   string
}

const (
	decode   = "artifact/decode.go"
	message  = "artifact/messages.go"
	encode   = "artifact/encode.go"
	refs     = "artifact/reference.go"
	stamps   = "artifact/times.go"
	reader   = "internal/strictjson/decoder.go"
	quoted   = "internal/strictjson/strings.go"
	escape   = "internal/strictjson/escape.go"
	event    = "envelope/event.go"
	bounded  = "envelope/bounded.go"
	identity = "envelope/identity.go"
	validate = "project/validate/validate.go"
)

// v1Limit and assayLimit are the conditions that compare lengths.
const (
	v1Limit    = "n = runes(s); n > limit {"
	assayLimit = "n = runes(Trim(s)); n > limit {"
)

// exempt returns the edit that disables a limit for one rule.
func exempt(rule string) (old, new string) {
	switch rule[0] {
	case 'P':
		return assayLimit, `n = runes(Trim(s)); n > limit && l.assay != "` + rule + `" {`
	}
	return v1Limit, `n = runes(s); n > limit && l.v1 != "` + rule + `" {`
}

// limit returns the mutant without the limit of a rule, which is that of subject.
func limit(rule, subject string) mutant {
	old, new := exempt(rule)
	return mutant{rule, "the limit of " + subject, decode, old, new}
}

// drop returns the mutant without a statement.
func drop(rule, check, file, statement string) mutant {
	return mutant{rule, check, file, statement, ""}
}

const (
	unknownKey = "\tc.add(t.Start, func(p finding.Pointer) finding.Finding {\n\t\tf := finding.Violation(ruleFor(p, \"A3\", \"M6\")"
	familyKey  = "\tc.add(t.Start, func(p finding.Pointer) finding.Finding {\n\t\treturn finding.Violation(ruleFor(p, \"A4\", \"M7\")"
	wrongKind  = `		fault(rules.kind, "is %s where a string belongs", t.Kind)`
	inMessages = `strings.HasPrefix(string(c.json.Pointer()), "/messages/")`
)

// mutants is in the order of the contract.
var mutants = []mutant{
	{"T1", "the size of the file", decode, "if len(data) > MaxFileBytes {", "if len(data) > 2*MaxFileBytes {"},
	{"T2", "UTF-8 in strings", quoted, "n = multibyteLen(data[i:])", "n = max(1, multibyteLen(data[i:]))"},
	{"T3", "control characters in strings", quoted, "case c < 0x20:", "case c < 0x20 && false:"},
	{"T4", "duplicate names", reader, "t.Duplicate = d.index.add(", "d.index.add("},
	{"T5", "the depth", reader, "if len(d.open) == MaxDepth {", "if len(d.open) == 2*MaxDepth {"},
	{"T6", "bytes after the value", reader, "case d.pos < len(d.data):\n\t\t\treturn Token{}, d.fail(Trailing", "case d.pos < 0:\n\t\t\treturn Token{}, d.fail(Trailing"},

	drop("A1", "an artifact is an object", decode, `		c.fault("A1", start.Start, "the file contains %s; an artifact is an object", start.Kind)`),
	{"A2", "required keys", decode, "range required {", "range required[:0] {"},
	{"A3", "unknown keys of the artifact", decode, unknownKey, "\tif !" + inMessages + " {\n\t\treturn false\n\t}\n" + unknownKey},
	{"A4", "families outside messages", decode, familyKey, "\tif !" + inMessages + " {\n\t\treturn\n\t}\n" + familyKey},
	{"A5", "strings of the artifact", decode, wrongKind, "\t\tif rules.kind != \"A5\" {\n\t" + wrongKind + "\n\t\t}"},
	{"A6", "half pairs in the artifact", decode, "\tif !valid {\n\t\tfault(rules.surrogate,", "\tif !valid && rules.surrogate != \"A6\" {\n\t\tfault(rules.surrogate,"},
	{"A7", "blank strings of the artifact", decode, "if IsBlank(value) {", `if IsBlank(value) && rules.blank != "A7" {`},
	{"A8", "the value of `schema`", decode, `exact: exact{Schema, "A8"}`, ""},
	{"A9", "the value of `framework`", decode, `exact: exact{Framework, "A9"}`, ""},
	{"A10", "the value of `surface`", decode, `exact: exact{Surface, "A10"}`, ""},
	limit("A11", "references"),
	{"A12", "`://` in references", refs, `case strings.Contains(s, "://"):`, "case false:"},
	{"A13", "control characters in references", refs, "case HasControl(s):", "case false:"},
	{"A14", "white space in references", refs, "case strings.ContainsFunc(s, IsSpace):", "case false:"},
	{"A27", "`//` and `www.` before references", refs, "case namesNetwork(s):", "case false:"},
	{"A28", "schemes before references", refs, "case hasScheme(s):", "case false:"},
	{"A29", "hosts before references", refs, "case hasHost(s):", "case false:"},
	{"A15", "the form of timestamps", stamps, "if !isTimestamp(s) {", "if false {"},
	{"A16", "the calendar", stamps, "if err != nil {", "if err != nil && false {"},
	{"A17", "years", stamps, `year < 1 || year > 9999 || s[:4] == "0000"`, "year < -9"},
	{"A18", "the order of times", decode, "finished.Before(started) {", "finished.Before(started) && false {"},
	{"A19", "terminal labels", decode, `return "A19", why`, `return "", ""`},
	{"A20", "families as terminal labels", decode, "ok && f != RunFinished && f != RunError {", `ok && f == "" {`},
	{"A21", "error_message with RUN_ERROR", decode, "if !hasMessage {", "if !hasMessage && false {"},
	{"A22", "error keys with RUN_FINISHED", decode, "case RunFinished:", `case "":`},
	limit("A23", "`error_code`"),
	limit("A24", "`error_message`"),
	{"A25", "control characters in error texts", decode, `return "A25", "contains a control character"`, `return "", ""`},
	{"A26", "stack traces in error texts", decode, `return "A26", "contains what looks like a stack trace"`, `return "", ""`},

	drop("M1", "messages is a list", message, `		c.fault("M1", t.Start, "%s is %s where a list belongs", c.json.Pointer(), t.Kind)`),
	{"M2", "the empty list", message, "case count == 0:", "case count < 0:"},
	{"M3", "the number of messages", message, "case count > limit:", "case count > 1<<30:"},
	drop("M4", "a message is an object", message, `		c.fault("M4", t.Start, "%s is %s; a message is an object", c.json.Pointer(), t.Kind)`),
	{"M5", "required keys of a message", message, "if !key.seen {", "if !key.seen && false {"},
	{"M6", "unknown keys of messages", decode, unknownKey, "\tif " + inMessages + " {\n\t\treturn false\n\t}\n" + unknownKey},
	{"M7", "families in messages", decode, familyKey, "\tif " + inMessages + " {\n\t\treturn\n\t}\n" + familyKey},
	{"M8", "strings of messages", decode, wrongKind, "\t\tif rules.kind != \"M8\" {\n\t" + wrongKind + "\n\t\t}"},
	{"M9", "half pairs in messages", decode, "\tif !valid {\n\t\tfault(rules.surrogate,", "\tif !valid && rules.surrogate != \"M9\" {\n\t\tfault(rules.surrogate,"},
	{"M10", "blank strings of messages", decode, "if IsBlank(value) {", `if IsBlank(value) && rules.blank != "M10" {`},
	limit("M11", "`id`"),
	limit("M12", "`content`"),
	limit("M13", "`name`"),
	{"M14", "roles", message, `return "M14", why`, `return "", ""`},
	{"M15", "families as roles", message, "if _, ok := family(role); ok {", "if _, ok := family(role); ok && false {"},
	{"M16", "duplicate ids", message, "if first, ok := c.ids[id]; ok {", "if first, ok := c.ids[id]; ok && first < 0 {"},

	limit("P1", "references under assay"),
	limit("P2", "`id` under assay"),
	limit("P3", "`name` under assay"),
	limit("P4", "`content` under assay"),
	limit("P5", "`error_code` under assay"),
	limit("P6", "`error_message` under assay"),
	{"P7", "the event line", decode, "n > MaxEventData {", "n > 2*MaxEventData {"},

	{"E1", "an event is an object", event, "if kind != strictjson.ObjectStart {", "if false {"},
	{"E2", "the type of an event", event, `if kind.Kind != strictjson.String || !valid || name == "" {`, `if false && valid {`},
	drop("E3", "other events", bounded, `		c.found.Add(e.violation(kind, "E3", "/type", "%s is not allowed in a bounded envelope", finding.Quote(e.Type)).WithHint(hint.FreezeEnvelope))`),
	drop("E4", "repeated events", bounded, `		c.found.Add(e.violation(kind, "E4", "/type", "there is already a %s", placeNames[place]))`),
	{"E5", "the order of events", bounded, "case place < c.latest:", "case place < 0 && kind.Kind == 0:"},
	{"E6", "missing events", bounded, "if !ok {\n\t\t\tc.found.Add(finding.Violation(\"E6\"", "if !ok && false {\n\t\t\tc.found.Add(finding.Violation(\"E6\""},
	drop("E7", "missing ids in RUN_STARTED", identity, `			report(e.violation(e.whole(), "E7", finding.Pointer("").Name(key), "RUN_STARTED has no %s", key))`),
	drop("E8", "ids are strings", identity, `		report(e.violation(v, "E8", finding.Pointer("").Name(key), "%s of %s is %s where a string belongs", key, e.Type, v.Kind))`),
	drop("E9", "half pairs in ids", identity, `		report(e.violation(v, "E9", finding.Pointer("").Name(key), "%s of %s contains half of a surrogate pair", key, e.Type))`),
	{"E11", "the thread of the terminal event", identity, `differs("threadId", started.thread); why != ""`, `differs("threadId", started.thread); why != "" && false`},
	drop("E12", "the list of the snapshot", bounded, `		c.found.Add(e.violation(list, "E12", "/messages", "the snapshot has no list of messages"))`),
	drop("E13", "messages of the snapshot are objects", bounded, `			c.found.Add(e.violation(v, "E13", finding.Pointer("/messages").Index(i), "message %d is %s where an object belongs", i, v.Kind))`),

	{"C1", "the order of keys", encode, "framework\", a.Framework)\n\tw.string(\",\\n  \", \"surface\", a.Surface)", "surface\", a.Surface)\n\tw.string(\",\\n  \", \"framework\", a.Framework)"},
	{"C2", "the line feed at the end", encode, `w.write("\n}\n")`, `w.write("\n}")`},
	{"C3", "the short escape of U+0008", escape, `'\b': 'b', `, ""},
	{"C4", "white space around events", validate, "l.invalid = true", "l.invalid = false"},
}
